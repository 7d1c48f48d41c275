/* SPDX-License-Identifier: BSD-2-Clause */
/* Flows as words: there and back, and every refusal. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "user/reserve/flow_words.h"

static const char *const keys[] = { "source", "destination", "protocol", "source_port",
				    "destination_port" };

/* The last word, if not NULL, is a sixth one. */
static json_t *words_of(const char *const value[5], const char *sixth)
{
	json_t *words = json_object();

	for (int i = 0; i < 5; i++)
		if (value[i])
			json_object_set_new(words, keys[i], json_string(value[i]));
	if (sixth)
		json_object_set_new(words, sixth, json_string("1"));
	return words;
}

static void flow_comes_back_as_it_was_written(void **state)
{
	static const char *const flows[][5] = {
		{ "10.1.0.2", "10.2.0.2", "udp", "1000", "53" },
		{ "2001:db8::1", "2001:db8::2", "tcp", "0", "65535" },
		{ "10.1.0.2", "10.2.0.2", "132", "1", "2" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(flows) / sizeof(flows[0]); i++) {
		char why[SL_FLOW_WHY_BYTES];
		struct sl_flow_key flow;
		json_t *words = words_of(flows[i], NULL), *back;

		assert_int_equal(sl_flow_read(words, &flow, why), 0);
		back = sl_flow_json(&flow);
		assert_true(json_equal(words, back));
		json_decref(words);
		json_decref(back);
	}
}

static void flow_that_is_none_is_refused_by_its_word(void **state)
{
	static const struct {
		const char *value[5], *sixth, *why;
	} cases[] = {
		{ { NULL, "10.2.0.2", "udp", "1", "2" },
		  NULL,
		  "a flow needs source: write source, destination, protocol, source_port and "
		  "destination_port" },
		{ { "10.1.0.2", "10.2.0.2", "udp", "1", "2" },
		  "dscp",
		  "a flow has source, destination, protocol, source_port and destination_port, and "
		  "nothing else" },
		{ { "10.1.0.0/24", "10.2.0.2", "udp", "1", "2" },
		  NULL,
		  "source: \"10.1.0.0/24\" is not an IPv4 or IPv6 address" },
		{ { "10.1.0.2", "2001:db8::2", "udp", "1", "2" },
		  NULL,
		  "destination: \"2001:db8::2\" is not of the source's family" },
		{ { "10.1.0.2", "10.2.0.2", "icmp", "1", "2" },
		  NULL,
		  "protocol: \"icmp\" is not one that has ports: write tcp, udp, 33, 132 or 136" },
		{ { "10.1.0.2", "10.2.0.2", "udp", "1-2", "2" },
		  NULL,
		  "source_port: \"1-2\" is not one value" },
		{ { "10.1.0.2", "10.2.0.2", "udp", "1", "65536" },
		  NULL,
		  "destination_port: \"65536\" is not one value" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char why[SL_FLOW_WHY_BYTES] = "";
		struct sl_flow_key flow;
		json_t *words = words_of(cases[i].value, cases[i].sixth);

		assert_int_equal(sl_flow_read(words, &flow, why), -EINVAL);
		assert_string_equal(why, cases[i].why);
		json_decref(words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flow_comes_back_as_it_was_written),
		cmocka_unit_test(flow_that_is_none_is_refused_by_its_word),
	};
	return cmocka_run_group_tests_name("flow_words", tests, NULL, NULL);
}
