/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Datagrams of sFlow, byte for byte as sflow_version_5.txt has them.
 * tests/vm/sflow_samples.bats has tshark read them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "user/sflow/datagram.h"

static const struct sl_sflow_agent ip4 = { AF_INET, { 192, 0, 2, 1 } };
static const struct sl_sflow_agent ip6 = { AF_INET6, { 0xfd, 0, 0, 9, [15] = 1 } };

static void assert_bytes(const struct sl_sflow_datagram *d, const uint8_t *bytes, size_t n)
{
	assert_int_equal(d->n_bytes, n);
	assert_memory_equal(d->bytes, bytes, n);
}

static void empty_datagram_is_its_header(void **state)
{
	static const uint8_t of_ip4[] = { 0, 0, 0, 5, 0, 0, 0, 1, 192, 0, 2, 1, 0, 0,
					  0, 0, 0, 0, 1, 2, 0, 1, 0,   0, 0, 0, 0, 0 };
	static const uint8_t of_ip6[] = { 0, 0, 0, 5, 0, 0, 0, 2, 0xfd, 0, 0, 9, 0, 0,
					  0, 0, 0, 0, 0, 0, 0, 0, 0,	1, 0, 0, 0, 0,
					  0, 0, 1, 2, 0, 1, 0, 0, 0,	0, 0, 0 };
	struct sl_sflow_datagram d;

	(void)state;
	sl_sflow_datagram_begin(&d, &ip4, 0x102, 0x10000);
	assert_bytes(&d, of_ip4, sizeof(of_ip4));
	assert_int_equal(d.n_samples, 0);
	sl_sflow_datagram_begin(&d, &ip6, 0x102, 0x10000);
	assert_bytes(&d, of_ip6, sizeof(of_ip6));
}

static void flow_sample_has_the_frame_padded_to_words(void **state)
{
	static const uint8_t frame[5] = { 1, 2, 3, 4, 5 };
	static const struct sl_sflow_flow flow = { .sequence = 7,
						   .ifindex = 0x1020304,
						   .sampling = 1000,
						   .pool = 0x80000001,
						   .drops = 2,
						   .out = SL_SFLOW_OUT_DROPPED | SL_SFLOW_DROP_ACL,
						   .frame_bytes = 60,
						   .header_bytes = sizeof(frame),
						   .header = frame };
	static const uint8_t expected[] = {
		0, 0, 0, 1,    0,    0, 0, 64,		   /* flow sample */
		0, 0, 0, 7,    0,    2, 3, 4,		   /* sequence; source: the lower 24 bits */
		0, 0, 3, 0xe8, 0x80, 0, 0, 1,  0, 0, 0, 2, /* sampling, pool, drops */
		1, 2, 3, 4,    0x40, 0, 1, 2,		   /* in, out */
		0, 0, 0, 1,    0,    0, 0, 1,  0, 0, 0, 24, /* one record: a header */
		0, 0, 0, 1,    0,    0, 0, 64, 0, 0, 0, 4,  /* Ethernet, 60 + FCS, FCS */
		0, 0, 0, 5,    1,    2, 3, 4,  5, 0, 0, 0,
	};
	struct sl_sflow_datagram d;

	(void)state;
	sl_sflow_datagram_begin(&d, &ip4, 1, 0);
	assert_true(sl_sflow_datagram_flow(&d, &flow));
	assert_int_equal(d.n_samples, 1);
	assert_int_equal(d.bytes[27], 1);
	assert_int_equal(d.n_bytes, 28 + sizeof(expected));
	assert_memory_equal(d.bytes + 28, expected, sizeof(expected));
}

static void counter_sample_has_every_counter(void **state)
{
	static const struct sl_sflow_counters counters = { .sequence = 9,
							   .ifindex = 3,
							   .speed_bps = 10000000000,
							   .full_duplex = true,
							   .admin_up = true,
							   .oper_up = true,
							   .promiscuous = true,
							   .in_bytes = 0x100000002,
							   .out_bytes = 0x300000004,
							   .in_packets = 5,
							   .in_multicast = 6,
							   .in_discards = 7,
							   .in_errors = 8,
							   .out_packets = 9,
							   .out_discards = 10,
							   .out_errors = 11 };
	static const uint8_t expected[] = {
		0,    0,    0,	  2,	0,    0,    0,	  108,		    /* counters sample */
		0,    0,    0,	  9,	0,    0,    0,	  3,	0, 0, 0, 1, /* sequence, source, one
									       record */
		0,    0,    0,	  1,	0,    0,    0,	  88,		    /* generic counters */
		0,    0,    0,	  3,	0,    0,    0,	  6,	0, 0, 0, 2,  0x54, 0x0b,
		0xe4, 0,				     /* speed */
		0,    0,    0,	  1,	0,    0,    0,	  3, /* full duplex, up and up */
		0,    0,    0,	  1,	0,    0,    0,	  2,	0, 0, 0, 5,  0,	   0,
		0,    6, /* in */
		0xff, 0xff, 0xff, 0xff, 0,    0,    0,	  7,	0, 0, 0, 8,  0xff, 0xff,
		0xff, 0xff, 0,	  0,	0,    3,    0,	  0,	0, 4, 0, 0,  0,	   9, /* out */
		0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 10, 0,	   0,
		0,    11,   0,	  0,	0,    1,
	};
	struct sl_sflow_datagram d;

	(void)state;
	sl_sflow_datagram_begin(&d, &ip4, 1, 0);
	assert_true(sl_sflow_datagram_counters(&d, &counters));
	assert_int_equal(d.n_bytes, 28 + sizeof(expected));
	assert_memory_equal(d.bytes + 28, expected, sizeof(expected));
}

/* The largest sample fits an empty datagram; one that does not fit leaves a datagram as it is. */
static void samples_fit_or_change_nothing(void **state)
{
	static const uint8_t frame[SL_SFLOW_OF_FRAME_MAX + 1];
	struct sl_sflow_flow flow = { .header = frame, .header_bytes = SL_SFLOW_OF_FRAME_MAX };
	struct sl_sflow_counters counters = { 0 };
	struct sl_sflow_datagram d, before;

	(void)state;
	sl_sflow_datagram_begin(&d, &ip6, 1, 0);
	assert_true(sl_sflow_datagram_flow(&d, &flow));
	assert_true(sl_sflow_datagram_flow(&d, &flow));
	before = d;
	assert_false(sl_sflow_datagram_flow(&d, &flow));
	assert_memory_equal(&d, &before, sizeof(d));
	assert_true(sl_sflow_datagram_counters(&d, &counters));
	assert_int_equal(d.bytes[39], 3);
	before = d;
	assert_false(sl_sflow_datagram_counters(&d, &counters));
	assert_memory_equal(&d, &before, sizeof(d));
	flow.header_bytes++;
	sl_sflow_datagram_begin(&d, &ip4, 1, 0);
	assert_false(sl_sflow_datagram_flow(&d, &flow));
	flow.header_bytes = 0;
	assert_true(sl_sflow_datagram_flow(&d, &flow));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_datagram_is_its_header),
		cmocka_unit_test(flow_sample_has_the_frame_padded_to_words),
		cmocka_unit_test(counter_sample_has_every_counter),
		cmocka_unit_test(samples_fit_or_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
