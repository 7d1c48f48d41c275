// SPDX-License-Identifier: BSD-2-Clause
/*
 * ECMP in sl_edge: how flows spread over the members of a group, and what moves them. The
 * destination MAC of a frame that leaves names its member. The seed fixes the hashes, so nothing
 * here is random.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <linux/bpf.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/forwarding.h"
#include "bpf/abi/l3_port.h"
#include "tests/lib/edge_rig.h"
#include "tests/lib/frame.h"

#define MEMBERS 4
#define FLOWS	4096

static struct router {
	struct edge *edge; /* owned */
	uint32_t group_id, member_id[MEMBERS];
} router;

static int router_create(uint32_t seed)
{
	const struct sl_config config = {
		.engine = SL_ENGINE_FAST,
		.managed = 1,
		.hash_seed = seed,
	};
	struct router *r = &router;
	int err = edge_create(&config, &r->edge);

	if (!err)
		err = edge_set_tx(r->edge, EDGE_PORT(2));
	if (!err)
		err = edge_set_port(r->edge, EDGE_PORT(1), FRAME_DST_MAC,
				    SL_PORT_FORWARD4 | SL_PORT_FORWARD6);
	for (uint32_t i = 0; i < MEMBERS && !err; i++) {
		const struct sl_adj adj = {
			.port_ifindex = EDGE_PORT(2),
			.l3_ifindex = EDGE_PORT(2),
			.mtu_bytes = 1500,
			.dst_mac = { 2, 0, 0, 0, 0, i },
			.src_mac = { 2, 0, 0, 0, 0, 0x0c },
		};

		err = sl_fib_nexthop_create(r->edge->fib, &r->member_id[i]);
		if (!err)
			err = sl_fib_nexthop_set_adj(r->edge->fib, r->member_id[i], &adj);
	}
	if (!err)
		err = sl_fib_nexthop_create(r->edge->fib, &r->group_id);
	if (!err)
		err = edge_route(r->edge, "10.2.0.0/16", r->group_id);
	return err ? err : edge_route(r->edge, "2001:db8:2::/48", r->group_id);
}

static int setup(void **state)
{
	int err = edge_enter_namespace();

	(void)state;
	return err ? err : router_create(0x5eed);
}

static int teardown(void **state)
{
	(void)state;
	edge_destroy(router.edge);
	return 0;
}

/* weights[i] of member i; 0: not in the group */
static void set_group(const uint32_t weights[MEMBERS])
{
	struct sl_member members[MEMBERS];
	uint32_t n = 0;

	for (uint32_t i = 0; i < MEMBERS; i++)
		if (weights[i])
			members[n++] = (struct sl_member){ router.member_id[i], weights[i] };
	assert_int_equal(sl_fib_nexthop_set_group(router.edge->fib, router.group_id, members, n),
			 0);
}

static uint32_t member_of(const struct frame *frame)
{
	static uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES];
	uint32_t len = frame_build(frame, in), out_len;

	assert_int_equal(edge_run(router.edge, EDGE_PORT(1), in, len, out, &out_len), XDP_REDIRECT);
	assert_true(out[5] < MEMBERS);
	return out[5];
}

/* Flow number i: another source port, and every 64th another source address. */
static uint32_t flow_member(bool ip6, uint32_t i)
{
	char src[40];

	snprintf(src, sizeof(src), ip6 ? "2001:db8:1::%x" : "10.1.0.%u", i / 64 + 1);
	return member_of(
		&(struct frame){ .ip6 = ip6, .src = src, .sport = 1024 + i, .flow_label = i });
}

static void read_members(bool ip6, uint8_t member[FLOWS])
{
	for (uint32_t i = 0; i < FLOWS; i++)
		member[i] = flow_member(ip6, i);
}

static void assert_spread(bool ip6, const uint32_t weights[MEMBERS])
{
	uint32_t seen[MEMBERS] = { 0 }, total = 0;

	set_group(weights);
	for (uint32_t i = 0; i < FLOWS; i++)
		seen[flow_member(ip6, i)]++;
	for (uint32_t i = 0; i < MEMBERS; i++)
		total += weights[i];
	for (uint32_t i = 0; i < MEMBERS; i++) {
		uint32_t fair = FLOWS * weights[i] / total;

		/* 5 standard deviations of a fair draw are at most 160 flows; a bucket is 32 */
		if (seen[i] + 192 < fair || seen[i] > fair + 192)
			fail_msg("member %u got %u flows; its weight asks for %u", i, seen[i],
				 fair);
	}
}

/*
 * The member of an ICMP error about flow i, which a router sends to the flow's destination: it
 * quotes a packet of the other direction. `type`: 3 or 128, say.
 */
static uint32_t error_member(bool ip6, uint32_t i, uint8_t type)
{
	static uint8_t in[FRAME_MAX_BYTES], quoted[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES];
	const struct frame error = { .ip6 = ip6,
				     .src = ip6 ? "2001:db8:1::ffff" : "10.1.0.250",
				     .protocol = ip6 ? IPPROTO_ICMPV6 : IPPROTO_ICMP,
				     .payload_bytes = 100 };
	uint32_t len = frame_build(&error, in), at = frame_l3_offset(&error) + (ip6 ? 40 : 20);
	struct frame back = {
		.ip6 = ip6, .sport = 4321, .dport = (uint16_t)(1024 + i), .flow_label = 0x54321 + i
	}; /* as hosts do: one for each direction */
	uint32_t out_len;
	char dst[40];

	snprintf(dst, sizeof(dst), ip6 ? "2001:db8:1::%x" : "10.1.0.%u", i / 64 + 1);
	back.src = ip6 ? "2001:db8:2::2" : "10.2.0.2";
	back.dst = dst;
	frame_build(&back, quoted);
	in[at] = type;
	memcpy(in + at + 8, quoted + frame_l3_offset(&back), ip6 ? 48 : 28);
	assert_int_equal(edge_run(router.edge, EDGE_PORT(1), in, len, out, &out_len), XDP_REDIRECT);
	return out[5];
}

static void ecmp_icmp_errors_go_where_their_flow_goes(void **state)
{
	static const uint8_t errors[2][5] = { { 3, 4, 5, 11, 12 }, { 1, 2, 3, 4, 127 } };

	(void)state;
	set_group((uint32_t[MEMBERS]){ 1, 1, 1, 1 });
	for (int ip6 = 0; ip6 <= 1; ip6++) {
		const uint32_t about_echo = error_member(ip6, 0, ip6 ? 128 : 8);

		for (uint32_t i = 0; i < 500; i++) {
			assert_int_equal(error_member(ip6, i, errors[ip6][i % 5]),
					 flow_member(ip6, i));
			/* An echo request quotes nothing. */
			assert_int_equal(error_member(ip6, i, ip6 ? 128 : 8), about_echo);
		}
	}
}

static void ecmp_ip4_equal_weights_share_evenly(void **state)
{
	(void)state;
	assert_spread(false, (uint32_t[MEMBERS]){ 1, 1, 1, 1 });
}

static void ecmp_ip6_equal_weights_share_evenly(void **state)
{
	(void)state;
	assert_spread(true, (uint32_t[MEMBERS]){ 1, 1, 1, 1 });
}

static void ecmp_ip4_weights_share_in_proportion(void **state)
{
	(void)state;
	assert_spread(false, (uint32_t[MEMBERS]){ 1, 2, 5, 0 });
}

static void ecmp_ip6_weights_share_in_proportion(void **state)
{
	(void)state;
	assert_spread(true, (uint32_t[MEMBERS]){ 1, 2, 5, 0 });
}

static void ecmp_removing_a_member_moves_only_its_flows(void **state)
{
	static uint8_t before[FLOWS], after[FLOWS];
	uint32_t moved = 0;

	(void)state;
	set_group((uint32_t[MEMBERS]){ 1, 1, 1, 1 });
	read_members(false, before);
	set_group((uint32_t[MEMBERS]){ 1, 1, 0, 1 });
	read_members(false, after);
	for (uint32_t i = 0; i < FLOWS; i++) {
		if (before[i] != 2)
			assert_int_equal(after[i], before[i]);
		assert_int_not_equal(after[i], 2);
		moved += before[i] == 2;
	}
	assert_true(moved > 0);
}

static void ecmp_replacing_an_adjacency_moves_no_flow(void **state)
{
	static uint8_t before[FLOWS], after[FLOWS];
	struct sl_adj adj = {
		.port_ifindex = EDGE_PORT(2),
		.l3_ifindex = EDGE_PORT(2),
		.mtu_bytes = 1400,
		.dst_mac = { 2, 0, 0, 0, 0, 1 },
		.src_mac = { 2, 0, 0, 0, 0, 0x0c },
	};

	(void)state;
	set_group((uint32_t[MEMBERS]){ 1, 1, 1, 1 });
	read_members(false, before);
	assert_int_equal(sl_fib_nexthop_set_adj(router.edge->fib, router.member_id[1], &adj), 0);
	read_members(false, after);
	assert_memory_equal(before, after, FLOWS);
}

static void ecmp_fragments_of_a_packet_go_together(void **state)
{
	(void)state;
	set_group((uint32_t[MEMBERS]){ 1, 1, 1, 1 });
	for (uint32_t i = 0; i < 256; i++) {
		char src[16];
		struct frame first = { .src = src, .fragment = 0x2000, .sport = 1 + i };
		struct frame later = { .src = src, .fragment = 0x2000 | 100, .sport = 9999 };
		struct frame last = { .src = src, .fragment = 200, .dport = 1 };

		snprintf(src, sizeof(src), "10.1.1.%u", i);
		assert_int_equal(member_of(&first), member_of(&later));
		assert_int_equal(member_of(&first), member_of(&last));
	}
}

static void ecmp_ip6_fragments_ignore_what_looks_like_ports(void **state)
{
	(void)state;
	set_group((uint32_t[MEMBERS]){ 1, 1, 1, 1 });
	for (uint32_t i = 0; i < 256; i++) {
		struct frame a = { .ip6 = true, .protocol = IPPROTO_FRAGMENT, .sport = 1 + i };
		struct frame b = { .ip6 = true, .protocol = IPPROTO_FRAGMENT };

		assert_int_equal(member_of(&a), member_of(&b));
	}
}

/* Does the member change within 64 frames that differ in one field? */
#define ASSERT_MATTERS(ip6_, ...)                                                                  \
	do {                                                                                       \
		uint32_t i_, first_ = MEMBERS, differ_ = 0;                                        \
		set_group((uint32_t[MEMBERS]){ 1, 1, 1, 1 });                                      \
		for (i_ = 1; i_ <= 64; i_++) {                                                     \
			char text[40];                                                             \
			snprintf(text, sizeof(text), (ip6_) ? "2001:db8:2::%x" : "10.2.0.%u", i_); \
			uint32_t m_ = member_of(&(struct frame){ .ip6 = (ip6_), __VA_ARGS__ });    \
			if (first_ == MEMBERS)                                                     \
				first_ = m_;                                                       \
			differ_ += m_ != first_;                                                   \
		}                                                                                  \
		assert_in_range(differ_, 32, 63);                                                  \
	} while (0)

static void ecmp_every_field_of_the_flow_matters(void **state)
{
	(void)state;
	ASSERT_MATTERS(false, .dst = text);
	ASSERT_MATTERS(false, .sport = i_);
	ASSERT_MATTERS(false, .dport = i_);
	ASSERT_MATTERS(false, .protocol = IPPROTO_TCP, .dport = i_);
	ASSERT_MATTERS(false, .protocol = IPPROTO_SCTP, .dport = i_);
	ASSERT_MATTERS(false, .protocol = 100 + i_);
	ASSERT_MATTERS(true, .dst = text);
	ASSERT_MATTERS(true, .sport = i_);
	ASSERT_MATTERS(true, .dport = i_);
	ASSERT_MATTERS(true, .protocol = 140 + i_);
	ASSERT_MATTERS(true, .protocol = IPPROTO_FRAGMENT, .flow_label = i_);
	ASSERT_MATTERS(true, .protocol = IPPROTO_FRAGMENT, .flow_label = i_ << 14 & 0xfffff);
}

static uint32_t flags_are(uint32_t flags)
{
	return (uint32_t)edge_set_port(router.edge, EDGE_PORT(1), FRAME_DST_MAC,
				       SL_PORT_FORWARD4 | SL_PORT_FORWARD6 | flags);
}

/* As the kernel with fib_multipath_hash_policy 0. */
static void ecmp_by_addresses_protocol_and_ports_do_not_matter(void **state)
{
	(void)state;
	for (int ip6 = 0; ip6 <= 1; ip6++) {
		assert_int_equal(flags_are(ip6 ? SL_PORT_HASH_L3_6 : SL_PORT_HASH_L3_4), 0);
		set_group((uint32_t[MEMBERS]){ 1, 1, 1, 1 });
		for (uint32_t i = 1; i < 64; i++) {
			const struct frame udp = { .ip6 = ip6, .sport = i, .dport = 2 * i };
			const struct frame tcp = { .ip6 = ip6,
						   .protocol = IPPROTO_TCP,
						   .sport = i };
			const uint32_t member = member_of(&(struct frame){ .ip6 = ip6 });
			assert_int_equal(member_of(&udp), member);
			assert_int_equal(member_of(&tcp), member);
			assert_int_equal(error_member(ip6, i, ip6 ? 1 : 3), flow_member(ip6, i));
		}
		ASSERT_MATTERS(ip6, .dst = text);
		ASSERT_MATTERS(!ip6, .sport = i_); /* the other family has a policy of its own */
	}
	assert_int_equal(flags_are(0), 0);
}

static void ecmp_fields_outside_the_flow_do_not_matter(void **state)
{
	(void)state;
	set_group((uint32_t[MEMBERS]){ 1, 1, 1, 1 });
	for (uint32_t i = 1; i < 64; i++) {
		struct frame ip4 = { .tos = i, .id = i, .ttl = 64 + i, .payload_bytes = 26 + i };
		struct frame ip6 = {
			.ip6 = true, .tos = i, .ttl = 64 + i, .payload_bytes = 26 + i
		};
		struct frame label = { .ip6 = true, .flow_label = i };
		struct frame fragment = { .ip6 = true, .protocol = IPPROTO_FRAGMENT, .tos = i };
		struct frame icmp = { .protocol = IPPROTO_ICMP, .sport = i };

		assert_int_equal(member_of(&ip4), member_of(&(struct frame){ .ip6 = false }));
		assert_int_equal(member_of(&ip6), member_of(&(struct frame){ .ip6 = true }));
		assert_int_equal(member_of(&label), member_of(&(struct frame){ .ip6 = true }));
		assert_int_equal(
			member_of(&fragment),
			member_of(&(struct frame){ .ip6 = true, .protocol = IPPROTO_FRAGMENT }));
		assert_int_equal(member_of(&icmp),
				 member_of(&(struct frame){ .protocol = IPPROTO_ICMP }));
	}
}

/*
 * Routers in a row must not choose alike, or the second one uses only some of its links.
 */
static void ecmp_another_seed_spreads_one_members_flows_evenly(void **state)
{
	static uint8_t before[FLOWS], after[FLOWS];
	uint32_t seen[MEMBERS] = { 0 }, n = 0;
	struct router first = router;

	(void)state;
	set_group((uint32_t[MEMBERS]){ 1, 1, 1, 1 });
	read_members(false, before);
	assert_int_equal(router_create(77), 0);
	set_group((uint32_t[MEMBERS]){ 1, 1, 1, 1 });
	read_members(false, after);
	edge_destroy(router.edge);
	router = first;

	for (uint32_t i = 0; i < FLOWS; i++)
		if (before[i] == 0) {
			seen[after[i]]++;
			n++;
		}
	for (uint32_t i = 0; i < MEMBERS; i++)
		assert_in_range(seen[i], n / 4 - 96, n / 4 + 96);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ecmp_ip4_equal_weights_share_evenly),
		cmocka_unit_test(ecmp_icmp_errors_go_where_their_flow_goes),
		cmocka_unit_test(ecmp_ip6_equal_weights_share_evenly),
		cmocka_unit_test(ecmp_ip4_weights_share_in_proportion),
		cmocka_unit_test(ecmp_ip6_weights_share_in_proportion),
		cmocka_unit_test(ecmp_removing_a_member_moves_only_its_flows),
		cmocka_unit_test(ecmp_replacing_an_adjacency_moves_no_flow),
		cmocka_unit_test(ecmp_fragments_of_a_packet_go_together),
		cmocka_unit_test(ecmp_ip6_fragments_ignore_what_looks_like_ports),
		cmocka_unit_test(ecmp_every_field_of_the_flow_matters),
		cmocka_unit_test(ecmp_by_addresses_protocol_and_ports_do_not_matter),
		cmocka_unit_test(ecmp_fields_outside_the_flow_do_not_matter),
		cmocka_unit_test(ecmp_another_seed_spreads_one_members_flows_evenly),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
