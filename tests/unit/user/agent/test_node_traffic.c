/* SPDX-License-Identifier: BSD-2-Clause */
/* A node is at rest after three seconds without a packet that it forwards, and no sooner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "user/agent/node_traffic.h"

static const struct step {
	uint64_t s, in, out, kernel, rx; /* packets; rx of the first of two ports */
	const char *expected;
} steps[] = {
	{ 10, 1000, 500, 7, 1500,
	  "{\"at_rest\":false,\"in_pps\":0,\"kernel_pps\":0,\"out_pps\":0,\"ports\":[]}" },
	{ 11, 1200, 500, 7, 1700,
	  "{\"at_rest\":false,\"in_pps\":200,\"kernel_pps\":0,\"out_pps\":0,"
	  "\"ports\":[{\"port\":\"eth1\",\"rx_pps\":200,\"tx_pps\":0}]}" },
	/* One packet in two seconds is not none. */
	{ 13, 1200, 501, 7, 1700,
	  "{\"at_rest\":false,\"in_pps\":0,\"kernel_pps\":0,\"out_pps\":1,\"ports\":[]}" },
	{ 14, 1200, 501, 8, 1700,
	  "{\"at_rest\":false,\"in_pps\":0,\"kernel_pps\":1,\"out_pps\":0,\"ports\":[]}" },
	{ 16, 1200, 501, 8, 1704,
	  "{\"at_rest\":false,\"in_pps\":0,\"kernel_pps\":0,\"out_pps\":0,"
	  "\"ports\":[{\"port\":\"eth1\",\"rx_pps\":2,\"tx_pps\":0}]}" },
	/* Control traffic goes on, and is no news. */
	{ 17, 1200, 501, 8, 1706,
	  "{\"at_rest\":true,\"in_pps\":0,\"kernel_pps\":0,\"out_pps\":0,\"ports\":[]}" },
	/* A daemon that has started anew counts from 0. */
	{ 18, 3, 501, 8, 1706,
	  "{\"at_rest\":false,\"in_pps\":0,\"kernel_pps\":0,\"out_pps\":0,\"ports\":[]}" },
	{ 21, 3, 501, 8, 1706,
	  "{\"at_rest\":true,\"in_pps\":0,\"kernel_pps\":0,\"out_pps\":0,\"ports\":[]}" },
};

static void three_seconds_without_a_packet_are_rest(void **state)
{
	static struct sl_node_traffic t = { .n_ports = 2, .ports = { "eth1", "eth2" } };

	(void)state;
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		const struct step *step = &steps[i];
		const struct sl_traffic_sample sample = { .ns = step->s * 1000000000ULL,
							  .in = step->in,
							  .out = step->out,
							  .kernel = step->kernel,
							  .rx = { step->rx } };
		json_t *row = sl_node_traffic_take(&t, &sample);
		char *text = json_dumps(row, JSON_COMPACT | JSON_SORT_KEYS);

		assert_string_equal(text, step->expected);
		free(text);
		json_decref(row);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_seconds_without_a_packet_are_rest),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
