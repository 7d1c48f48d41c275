/* SPDX-License-Identifier: BSD-2-Clause */
/* The relay's messages: each kind encoded and parsed again, and every refusal. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "user/ipc/relay.h"

static const uint8_t part[SL_ANNOUNCE_PART_BYTES + 1] = { 1, 2, 3 };

static void there_and_back(const struct sl_relay_message *m, size_t expected_bytes)
{
	uint8_t bytes[SL_RELAY_MAX_BYTES];
	struct sl_relay_message got;
	size_t len = sl_relay_encode(m, bytes);

	assert_int_equal(len, expected_bytes);
	assert_int_equal(sl_relay_parse(bytes, len, &got), 0);
	assert_int_equal(got.kind, m->kind);
	assert_int_equal(got.node, m->node);
	assert_int_equal(got.up, m->up);
	assert_int_equal(got.gone, m->gone);
	assert_int_equal(got.system_port, m->system_port);
	assert_int_equal(got.epoch, m->epoch);
	assert_int_equal(got.mtu_bytes, m->mtu_bytes);
	assert_int_equal(got.part_bytes, m->part_bytes);
	assert_int_equal(got.weight, m->weight);
	assert_memory_equal(&got.flow, &m->flow, sizeof(m->flow));
	if (m->part_bytes)
		assert_memory_equal(got.part, m->part, m->part_bytes);
}

static void every_kind_parses_to_what_was_encoded(void **state)
{
	(void)state;
	there_and_back(
		&(struct sl_relay_message){ .kind = SL_RELAY_SEND, .part = part, .part_bytes = 3 },
		7);
	there_and_back(&(struct sl_relay_message){ .kind = SL_RELAY_RECEIVED,
						   .node = 255,
						   .part = part,
						   .part_bytes = SL_ANNOUNCE_PART_BYTES },
		       SL_RELAY_MAX_BYTES);
	there_and_back(&(struct sl_relay_message){ .kind = SL_RELAY_PORT,
						   .system_port = 0x0201,
						   .up = true },
		       6);
	there_and_back(&(struct sl_relay_message){ .kind = SL_RELAY_PORT,
						   .system_port = 0x0201,
						   .gone = true },
		       6);
	there_and_back(&(struct sl_relay_message){ .kind = SL_RELAY_FLOW,
						   .system_port = 0x0201,
						   .weight = 1024,
						   .flow = { .version = 6, .protocol = 17 } },
		       48);
	there_and_back(&(struct sl_relay_message){ .kind = SL_RELAY_FLOW,
						   .system_port = 0x0201,
						   .gone = true,
						   .flow = { .version = 4, .protocol = 6 } },
		       48);
	there_and_back(&(struct sl_relay_message){ .kind = SL_RELAY_PEER,
						   .node = 2,
						   .up = true,
						   .epoch = 0xfffffffe,
						   .mtu_bytes = 68 },
		       12);
	there_and_back(&(struct sl_relay_message){ .kind = SL_RELAY_PEER, .node = 2 }, 12);
}

static void message_with_a_field_out_of_range_is_not_written(void **state)
{
	static const struct sl_relay_message cases[] = {
		{ .kind = 0 },
		{ .kind = 5, .node = 1 },
		{ .kind = SL_RELAY_SEND },
		{ .kind = SL_RELAY_SEND, .part = part, .part_bytes = SL_ANNOUNCE_PART_BYTES + 1 },
		{ .kind = SL_RELAY_RECEIVED, .part = part, .part_bytes = 1 },
		{ .kind = SL_RELAY_PORT, .system_port = 0x0200 },
		{ .kind = SL_RELAY_FLOW,
		  .system_port = 0x0200,
		  .weight = 1,
		  .flow = { .version = 4 } },
		{ .kind = SL_RELAY_FLOW, .system_port = 0x0201, .flow = { .version = 4 } },
		{ .kind = SL_RELAY_FLOW, .system_port = 0x0201, .weight = 1 },
		{ .kind = SL_RELAY_FLOW,
		  .system_port = 0x0201,
		  .weight = 1025,
		  .flow = { .version = 4 } },
		{ .kind = SL_RELAY_PORT, .system_port = 0x0002 },
		{ .kind = SL_RELAY_PORT, .system_port = 0x0201, .up = true, .gone = true },
		{ .kind = SL_RELAY_PEER, .up = true, .epoch = 1, .mtu_bytes = 1500 },
		{ .kind = SL_RELAY_PEER, .node = 1, .up = true, .mtu_bytes = 1500 },
		{ .kind = SL_RELAY_PEER, .node = 1, .up = true, .epoch = 1, .mtu_bytes = 67 },
		{ .kind = SL_RELAY_PEER, .node = 1, .epoch = 1 },
	};
	uint8_t bytes[SL_RELAY_MAX_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(sl_relay_encode(&cases[i], bytes), 0);
}

static void bytes_of_a_bad_version_kind_length_or_value_are_refused(void **state)
{
	static const struct {
		const char *name;
		size_t len;
		int err;
		uint8_t bytes[13];
	} cases[] = {
		{ "empty", 0, -EMSGSIZE, { 0 } },
		{ "truncated", 3, -EMSGSIZE, { 2, 1, 0 } },
		{ "version", 5, -EPROTO, { 1, 1, 0, 0, 1 } },
		{ "kind_zero", 5, -EPROTO, { 2, 0, 0, 0, 1 } },
		{ "kind_unknown", 5, -EPROTO, { 2, 6, 1, 0, 1 } },
		{ "flow_short", 12, -EMSGSIZE, { 2, 5, 0, 0, 1, 2, 1, 0 } },
		{ "send_without_part", 4, -EMSGSIZE, { 2, 1, 0, 0 } },
		{ "send_with_flags", 5, -EINVAL, { 2, 1, 0, 1, 1 } },
		{ "received_from_nobody", 5, -EINVAL, { 2, 4, 0, 0, 1 } },
		{ "port_short", 5, -EMSGSIZE, { 2, 2, 0, 1, 1 } },
		{ "port_long", 7, -EMSGSIZE, { 2, 2, 0, 1, 1, 2, 0 } },
		{ "port_number_zero", 6, -EINVAL, { 2, 2, 0, 1, 0, 0 } },
		{ "port_unknown_flag", 6, -EINVAL, { 2, 2, 0, 4, 1, 2 } },
		{ "port_up_and_gone", 6, -EINVAL, { 2, 2, 0, 3, 1, 2 } },
		{ "port_with_node", 6, -EINVAL, { 2, 2, 1, 1, 1, 2 } },
		{ "peer_short", 11, -EMSGSIZE, { 2, 3, 1, 1, 1, 0, 0, 0, 0, 5, 0 } },
		{ "peer_long", 13, -EMSGSIZE, { 2, 3, 1, 1, 1, 0, 0, 0, 0, 5, 0, 0, 0 } },
		{ "peer_zero", 12, -EINVAL, { 2, 3, 0, 1, 1, 0, 0, 0, 0, 5, 0, 0 } },
		{ "peer_up_without_epoch", 12, -EINVAL, { 2, 3, 1, 1, 0, 0, 0, 0, 0, 5, 0, 0 } },
		{ "peer_up_without_mtu", 12, -EINVAL, { 2, 3, 1, 1, 1, 0, 0, 0, 67, 0, 0, 0 } },
		{ "peer_down_with_mtu", 12, -EINVAL, { 2, 3, 1, 0, 0, 0, 0, 0, 0, 5, 0, 0 } },
		{ "peer_gone", 12, -EINVAL, { 2, 3, 1, 3, 1, 0, 0, 0, 0, 5, 0, 0 } },
	};
	uint8_t longest[SL_RELAY_MAX_BYTES + 1] = { 2, 1, 0, 0 };
	struct sl_relay_message m;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (sl_relay_parse(cases[i].bytes, cases[i].len, &m) != cases[i].err)
			print_error("%s\n", cases[i].name);
		assert_int_equal(sl_relay_parse(cases[i].bytes, cases[i].len, &m), cases[i].err);
	}
	assert_int_equal(sl_relay_parse(longest, sizeof(longest), &m), -EMSGSIZE);
	assert_int_equal(sl_relay_parse(longest, sizeof(longest) - 1, &m), 0);
}

static void taps_are_named_after_node_and_port(void **state)
{
	char name[IF_NAMESIZE];

	(void)state;
	sl_relay_tap_name(0x0201, name);
	assert_string_equal(name, "n2p1");
	sl_relay_tap_name(0xffff, name);
	assert_string_equal(name, "n255p255");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_parses_to_what_was_encoded),
		cmocka_unit_test(message_with_a_field_out_of_range_is_not_written),
		cmocka_unit_test(bytes_of_a_bad_version_kind_length_or_value_are_refused),
		cmocka_unit_test(taps_are_named_after_node_and_port),
	};
	return cmocka_run_group_tests_name("relay", tests, NULL, NULL);
}
