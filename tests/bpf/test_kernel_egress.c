/* SPDX-License-Identifier: BSD-2-Clause */
/* What sl_kernel_egress takes from the kernel and what it leaves to it, one packet at a time. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include "rdma-bridge/port/kernel_egress.skel.h"
#include "tests/lib/frame.h"

#define MAX_BYTES 2000 /* of a frame that the bridge takes, here; a test run takes up to a page */

static struct rb_kernel_egress_bpf *bpf;

static int load(void **state)
{
	(void)state;
	bpf = rb_kernel_egress_bpf__open_and_load();
	if (!bpf)
		return -1;
	bpf->bss->tap_ifindex = 1;
	bpf->bss->frame_max_bytes = MAX_BYTES;
	return 0;
}

static int unload(void **state)
{
	(void)state;
	rb_kernel_egress_bpf__destroy(bpf);
	return 0;
}

static int run(const struct frame *description, uint32_t gso_bytes)
{
	uint8_t bytes[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES];
	struct __sk_buff context = { .gso_size = gso_bytes, .gso_segs = gso_bytes ? 2 : 0 };
	DECLARE_LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = bytes, .data_out = out,
			    .data_size_out = sizeof(out), .ctx_in = &context,
			    .ctx_size_in = sizeof(context));

	opts.data_size_in = frame_build(description, bytes);
	assert_int_equal(
		bpf_prog_test_run_opts(bpf_program__fd(bpf->progs.sl_kernel_egress), &opts), 0);
	assert_int_equal(opts.data_size_out, opts.data_size_in);
	assert_memory_equal(out, bytes, opts.data_size_in);
	return (int)opts.retval;
}

static void unicast_ip_that_fits_goes_to_the_bridge_and_the_rest_stays(void **state)
{
	static const struct {
		const char *name;
		struct frame frame;
		uint32_t gso_bytes;
		int verdict;
	} cases[] = {
		{ "ipv4", { 0 }, 0, TC_ACT_REDIRECT },
		{ "ipv6", { .ip6 = true }, 0, TC_ACT_REDIRECT },
		{ "tag", { .tag = { { 0x8100, 5 } } }, 0, TC_ACT_REDIRECT },
		{ "two_tags", { .tag = { { 0x88a8, 9 }, { 0x8100, 5 } } }, 0, TC_ACT_REDIRECT },
		{ "arp", { .ethertype = 0x0806 }, 0, TC_ACT_UNSPEC },
		{ "lldp", { .ethertype = 0x88cc }, 0, TC_ACT_UNSPEC },
		{ "multicast", { .dst_mac = 0x01005e000005 }, 0, TC_ACT_UNSPEC },
		{ "broadcast", { .dst_mac = 0xffffffffffff }, 0, TC_ACT_UNSPEC },
		{ "largest", { .payload_bytes = MAX_BYTES - 34 }, 0, TC_ACT_REDIRECT },
		{ "too_large", { .payload_bytes = MAX_BYTES - 33 }, 0, TC_ACT_UNSPEC },
		{ "to_be_cut", { .payload_bytes = 3000 }, 1448, TC_ACT_REDIRECT },
		{ "cut_too_large", { .payload_bytes = 3000 }, 1900, TC_ACT_UNSPEC },
	};
	uint64_t taken = 0;

	(void)state;
	bpf->bss->alive_until_ns = UINT64_MAX;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		print_message("%s\n", cases[i].name);
		bpf->bss->taken = 0;
		assert_int_equal(run(&cases[i].frame, cases[i].gso_bytes), cases[i].verdict);
		assert_int_equal(bpf->bss->taken, cases[i].verdict == TC_ACT_REDIRECT);
		taken += bpf->bss->taken;
	}
	assert_int_equal(taken, 6);
}

static void everything_stays_with_the_kernel_while_the_bridge_is_silent(void **state)
{
	const struct frame frame = { 0 };

	(void)state;
	bpf->bss->alive_until_ns = 0;
	assert_int_equal(run(&frame, 0), TC_ACT_UNSPEC);
	bpf->bss->alive_until_ns = 1; /* long ago */
	assert_int_equal(run(&frame, 0), TC_ACT_UNSPEC);
	bpf->bss->alive_until_ns = UINT64_MAX;
	assert_int_equal(run(&frame, 0), TC_ACT_REDIRECT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(unicast_ip_that_fits_goes_to_the_bridge_and_the_rest_stays),
		cmocka_unit_test(everything_stays_with_the_kernel_while_the_bridge_is_silent),
	};
	return cmocka_run_group_tests_name("kernel_egress", tests, load, unload);
}
