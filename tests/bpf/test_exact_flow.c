// SPDX-License-Identifier: BSD-2-Clause
/*
 * Exact flows in sl_edge: which packets are of a flow, what becomes of them, who wins beside a rule
 * list, and random packets against a dictionary of the same flows.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "bpf/abi/classifier.h"
#include "bpf/abi/exact_flow.h"
#include "bpf/abi/l3_port.h"
#include "bpf/lib/endian.bpf.h"
#include "tests/lib/edge_case.h"
#include "user/classify/compile.h"
#include "user/daemon/lists.h"
#include "user/datapath/exact_flows.h"

#define SLOT 5 /* of the list, where there is one */

/* Without rule lists, and beside them. */
static struct edge *alone, *beside, *world;
/* sl_exact_puts of each */
static uint64_t *alone_puts, *beside_puts, *puts_there;

/* --- Flows --- */

static struct sl_flow_key key_of(bool ip6, const char *src, const char *dst, uint8_t protocol,
				 uint16_t sport, uint16_t dport)
{
	struct sl_flow_key key = { .source_port = sl_htons(sport),
				   .destination_port = sl_htons(dport),
				   .protocol = protocol,
				   .version = ip6 ? 6 : 4 };

	assert_int_equal(inet_pton(ip6 ? AF_INET6 : AF_INET, src, key.source), 1);
	assert_int_equal(inet_pton(ip6 ? AF_INET6 : AF_INET, dst, key.destination), 1);
	return key;
}

/* The flow of a frame that says nothing of its own, but for the protocol. */
static struct sl_flow_key usual(bool ip6, uint8_t protocol)
{
	return key_of(ip6, ip6 ? "2001:db8:1::2" : "10.1.0.2", ip6 ? "2001:db8:2::2" : "10.2.0.2",
		      protocol, 1234, 4321);
}

static int flows_fd(void)
{
	return edge_map_fd(world, "sl_exact_flow");
}

static void put(const struct sl_flow_key *key, uint32_t action)
{
	const struct sl_exact_flow flow = { .action = action };

	assert_int_equal(bpf_map_update_elem(flows_fd(), key, &flow, BPF_ANY), 0);
	sl_exact_puts_note(puts_there);
}

static struct sl_exact_flow get(const struct sl_flow_key *key)
{
	struct sl_exact_flow flow = { 0 };

	assert_int_equal(bpf_map_lookup_elem(flows_fd(), key, &flow), 0);
	return flow;
}

static void flush(void)
{
	struct sl_flow_key key;

	while (!bpf_map_get_next_key(flows_fd(), NULL, &key))
		assert_int_equal(bpf_map_delete_elem(flows_fd(), &key), 0);
	*puts_there = 0;
}

static struct sl_counter hits(const char *map, uint32_t number)
{
	struct sl_counter per_cpu[256], sum = { 0 };

	assert_int_equal(bpf_map_lookup_elem(edge_map_fd(world, map), &number, per_cpu), 0);
	for (long i = 0; i < sysconf(_SC_NPROCESSORS_CONF); i++)
		sl_counter_add(&sum, &per_cpu[i]);
	return sum;
}

/* The port has a list of this one rule. */
static void set_list(const struct sl_rule *rule, uint32_t default_action)
{
	const struct sl_list_maps maps = { edge_map_fd(world, "sl_filter_small"),
					   edge_map_fd(world, "sl_filter_large") };
	static const uint8_t families[] = { AF_INET, AF_INET6 };

	for (uint32_t f = 0; f < 2; f++) {
		struct sl_list list;
		struct sl_image image;

		assert_int_equal(sl_compile(rule, rule ? 1 : 0, families[f], default_action,
					    SL_RULE_NONE, &image),
				 0);
		assert_int_equal(sl_list_make(image.bytes, image.n_bytes, &list), 0);
		assert_int_equal(sl_list_put(&maps, SLOT * 2 + f, &list), 0);
		sl_list_close(&list);
		free(image.bytes);
	}
	world->filter = SLOT + 1;
}

/* --- Which packets are of a flow --- */

struct match_case {
	const char *name;
	bool ip6;
	uint8_t protocol; /* of the flow; 0: UDP */
	bool matches;
	struct frame in;
};

#define V4(...)             \
	{                   \
		__VA_ARGS__ \
	}
#define V6(...)                          \
	{                                \
		.ip6 = true, __VA_ARGS__ \
	}
/* UDP, ports 1234 and 4321, at byte `at` of the IP packet */
#define PORTS(at)                                               \
	{ (at), 0x04 }, { (at) + 1, 0xd2 }, { (at) + 2, 0x10 }, \
	{                                                       \
		(at) + 3, 0xe1                                  \
	}

static const struct match_case match_cases[] = {
	{ "its_packet", false, 0, true, V4() },
	{ "its_packet_ip6", true, 0, true, V6() },
	{ "tcp", false, 6, true, V4(.protocol = 6) },
	{ "sctp", true, 132, true, V6(.protocol = 132) },
	{ "other_source", false, 0, false, V4(.src = "10.1.0.3") },
	{ "other_destination", false, 0, false, V4(.dst = "10.2.0.3") },
	{ "other_protocol", false, 0, false, V4(.protocol = 6) },
	{ "other_source_port", false, 0, false, V4(.sport = 1235) },
	{ "other_destination_port", false, 0, false, V4(.dport = 4320) },
	{ "ports_exchanged", false, 0, false, V4(.sport = 4321, .dport = 1234) },
	{ "ends_exchanged", false, 0, false,
	  V4(.src = "10.2.0.2", .dst = "10.1.0.2", .sport = 4321, .dport = 1234) },
	{ "last_bit_of_the_source_ip6", true, 0, false, V6(.src = "2001:db8:1::3") },
	{ "first_bit_of_the_source_ip6", true, 0, false, V6(.src = "3001:db8:1::2") },
	{ "middle_of_the_destination_ip6", true, 0, false, V6(.dst = "2001:db8:2:1::2") },
	{ "other_family", true, 0, false, V4() },
	{ "any_dscp_and_length", false, 0, true, V4(.tos = 0xb8, .payload_bytes = 700) },
	{ "options", false, 0, true,
	  V4(.payload_bytes = 46, .patch = { { 0, 0x46 }, { 20, 1 }, PORTS(24) }) },
	{ "first_fragment", false, 0, true, V4(.fragment = 0x2000) },
	{ "later_fragment", false, 0, false, V4(.fragment = 0x0001) },
	{ "ports_cut_off", false, 0, false, V4(.payload_bytes = 3) },
	{ "icmp_has_no_ports", false, 1, false, V4(.protocol = 1) },
	{ "gre_has_no_ports", false, 47, false, V4(.protocol = 47) },
	{ "ip6_behind_a_header", true, 0, true,
	  V6(.protocol = 60, .payload_bytes = 48, .patch = { { 40, 17 }, { 41, 0 }, PORTS(48) }) },
	{ "ip6_later_fragment", true, 0, false,
	  V6(.protocol = 44, .payload_bytes = 48, .patch = { { 40, 17 }, { 42, 0 }, { 43, 8 } }) },
};

/*
 * The flow is denied: its packets are dropped and counted, others pass as if there were none. What
 * the kernel takes for another reason (options, fragments of IPv6) passes there.
 */
static void packet_is_of_the_flow(void **state)
{
	const struct match_case *c = *state;
	const struct sl_flow_key key = usual(c->ip6, c->protocol ? c->protocol : 17);
	struct edge_case check = { .name = c->name, .in = c->in, FORWARD_BY(PLAIN) };
	static uint8_t frame[FRAME_MAX_BYTES];
	struct sl_counter before, after;
	struct sl_exact_flow flow;
	uint32_t len;

	flush();
	world->filter = 0;
	put(&key, SL_FILTER_DENY);
	if (c->in.dst && strcmp(c->in.dst, "10.1.0.2") == 0)
		check.what = EDGE_BACK;
	if (c->matches) {
		check.end = EDGE_DROP;
		check.what = SL_DROP_FILTER;
	}
	before = hits("sl_exact_hits", 0);
	len = frame_build(&c->in, frame);
	edge_check(world, &check);
	after = hits("sl_exact_hits", 0);
	flow = get(&key);
	assert_int_equal(flow.packets, c->matches);
	assert_int_equal(flow.bytes, c->matches ? len : 0);
	assert_int_equal(after.packets - before.packets, c->matches);
	assert_int_equal(after.bytes - before.bytes, c->matches ? len : 0);
}

/* --- What becomes of its packets --- */

static void flow_gives_the_packet_to_the_kernel(void **state)
{
	const struct edge_case c = { .in = V4(), PUNTS(FILTER) };
	const struct sl_flow_key key = usual(false, 17);

	(void)state;
	flush();
	put(&key, SL_FILTER_KERNEL);
	edge_check(world, &c);
}

static void flow_sets_the_dscp(void **state)
{
	static uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES], want[FRAME_MAX_BYTES];

	(void)state;
	flush();
	world->filter = 0;
	assert_int_equal(edge_set_port(world, EDGE_PORT(1), FRAME_DST_MAC,
				       SL_PORT_FORWARD4 | SL_PORT_FORWARD6),
			 0);
	for (int ip6 = 0; ip6 < 2; ip6++) {
		const struct frame frame = { .ip6 = ip6, .tos = 3 };
		struct frame sent = edge_sent(&frame, EDGE_PLAIN);
		const struct sl_flow_key key = usual(ip6, 17);
		uint32_t len = frame_build(&frame, in), out_len, want_len;

		put(&key, (46u + 1) << SL_RULE_DSCP_SHIFT);
		sent.tos = 46 << 2 | 3;
		want_len = frame_build(&sent, want);
		assert_int_equal(edge_run(world, EDGE_PORT(1), in, len, out, &out_len),
				 XDP_REDIRECT);
		assert_int_equal(out_len, want_len);
		assert_memory_equal(out, want, want_len);
	}
}

/* IPv6 headers that nobody can read to their end could hide any flow's packet. */
static void headers_without_end_are_dropped(void **state)
{
	const struct edge_case c = { .in = V6(.protocol = 60, .payload_bytes = 7),
				     DROPS(FILTER_HEADERS) };

	const struct sl_flow_key other = usual(false, 6);

	(void)state;
	flush();
	world->filter = 0;
	put(&other, SL_FILTER_DENY);
	edge_check(world, &c);
}

/* While nobody has said that there are flows, no packet is looked at for them. */
static void no_packet_is_looked_at_without_flows(void **state)
{
	const struct edge_case passes = { .in = V4(), FORWARD_BY(PLAIN) },
			       dropped = { .in = V4(), DROPS(FILTER) },
			       unreadable = { .in = V6(.protocol = 60, .payload_bytes = 7),
					      FORWARD_BY(PLAIN) },
			       hides = { .in = V6(.protocol = 60, .payload_bytes = 7),
					 DROPS(FILTER_HEADERS) };
	const struct sl_flow_key key = usual(false, 17);
	const struct sl_exact_flow flow = { .action = SL_FILTER_DENY };

	(void)state;
	flush();
	world->filter = 0;
	assert_int_equal(bpf_map_update_elem(flows_fd(), &key, &flow, BPF_ANY), 0);
	edge_check(world, &passes);
	edge_check(world, &unreadable);
	sl_exact_puts_note(puts_there);
	edge_check(world, &dropped);
	edge_check(world, &hides);
}

/* A flow that ends when it is idle says when it had its last packet; others do not. */
static void flow_notes_when_it_was_used(void **state)
{
	const struct edge_case c = { .in = V4(), FORWARD_BY(PLAIN) };
	const struct sl_flow_key key = usual(false, 17);
	struct sl_exact_flow flow = { .action = SL_FILTER_PERMIT, .idle_s = 60, .used = 1 };
	struct timespec now;
	uint64_t now_ns;

	(void)state;
	flush();
	world->filter = 0;
	assert_int_equal(bpf_map_update_elem(flows_fd(), &key, &flow, BPF_ANY), 0);
	sl_exact_puts_note(puts_there);
	edge_check(world, &c);
	clock_gettime(CLOCK_MONOTONIC, &now);
	now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	flow = get(&key);
	/* The machine may have stopped us in between. */
	assert_in_range(flow.used, (now_ns >> SL_EXACT_FLOW_USED_SHIFT) - 30,
			now_ns >> SL_EXACT_FLOW_USED_SHIFT);
	put(&key, SL_FILTER_PERMIT);
	edge_check(world, &c);
	flow = get(&key);
	assert_int_equal(flow.used, 0);
	assert_int_equal(flow.packets, 1);
}

/* --- The sweep of sluiced --- */

static void sweep_says_that_there_are_none_when_the_last_has_gone(void **state)
{
	const struct sl_flow_key key = usual(false, 17);
	struct sl_exact_flow_sweep sweep = { 0 };

	(void)state;
	flush();
	put(&key, SL_FILTER_DENY);
	assert_int_equal(sl_exact_flows_sweep(flows_fd(), puts_there, 0, &sweep), 0);
	assert_int_equal(sweep.flows, 1);
	assert_int_not_equal(*puts_there, 0);
	assert_int_equal(bpf_map_delete_elem(flows_fd(), &key), 0);
	assert_int_equal(sl_exact_flows_sweep(flows_fd(), puts_there, 0, &sweep), 0);
	assert_int_equal(sweep.flows, 0);
	assert_int_equal(*puts_there, 0);
}

static void sweep_that_ends_the_last_idle_flow_says_that_there_are_none(void **state)
{
	const struct sl_exact_flow flow = { .action = SL_FILTER_DENY, .idle_s = 1, .used = 1 };
	const struct sl_flow_key key = usual(false, 17);
	struct sl_exact_flow_sweep sweep = { 0 };

	(void)state;
	flush();
	assert_int_equal(bpf_map_update_elem(flows_fd(), &key, &flow, BPF_ANY), 0);
	sl_exact_puts_note(puts_there);
	assert_int_equal(sl_exact_flows_sweep(flows_fd(), puts_there, UINT64_MAX, &sweep), 0);
	assert_int_equal(*puts_there, 0);
}

/* Who puts a flow behind the look of a round still finds it in force when the round ends. */
static void sweep_leaves_what_is_put_during_its_round(void **state)
{
	struct sl_exact_flow_sweep sweep = { .place = { .is_inside = true } };

	(void)state;
	flush();
	sl_exact_puts_note(puts_there);
	sweep.puts = *puts_there;
	sl_exact_puts_note(puts_there);
	assert_int_equal(sl_exact_flows_sweep(flows_fd(), puts_there, 0, &sweep), 0);
	assert_int_equal(sweep.flows, 0);
	assert_int_equal(*puts_there, 2);
}

static void sweep_brings_flows_into_force_of_which_nobody_told(void **state)
{
	const struct sl_exact_flow flow = { .action = SL_FILTER_DENY };
	const struct sl_flow_key key = usual(false, 17);
	struct sl_exact_flow_sweep sweep = { 0 };

	(void)state;
	flush();
	assert_int_equal(bpf_map_update_elem(flows_fd(), &key, &flow, BPF_ANY), 0);
	assert_int_equal(sl_exact_flows_sweep(flows_fd(), puts_there, 0, &sweep), 0);
	assert_int_equal(*puts_there, 1);
}

/* --- As a rule that the flow names --- */

#define RULE_ID	    0xc0ffee
#define RULE_NUMBER 0 /* the counter that a rig has */

static void put_as(const struct sl_flow_key *key, const struct sl_flow_rule *rule)
{
	const struct sl_exact_flow flow = { .action = SL_FILTER_PERMIT, .rule = RULE_ID };
	const uint32_t id = RULE_ID;
	const int rules = edge_map_fd(world, "sl_flow_rule");

	flush();
	world->filter = 0;
	bpf_map_delete_elem(rules, &id);
	if (rule)
		assert_int_equal(bpf_map_update_elem(rules, &id, rule, BPF_ANY), 0);
	assert_int_equal(bpf_map_update_elem(flows_fd(), key, &flow, BPF_ANY), 0);
	sl_exact_puts_note(puts_there);
}

/* The rule's action is the flow's, at a port without a list, too, and both count the packet. */
static void flow_does_as_its_rule(void **state)
{
	static const struct {
		uint32_t action;
		struct edge_case expected;
	} cases[] = {
		{ SL_FILTER_PERMIT, { .in = V4(), FORWARD_BY(PLAIN) } },
		{ SL_FILTER_DENY, { .in = V4(), DROPS(FILTER) } },
		{ SL_FILTER_REJECT, { .in = V4(), DROPS(FILTER) } },
		{ SL_FILTER_KERNEL, { .in = V4(), PUNTS(FILTER) } },
		/* Without its policer, its next hop or its chain a rule lets nothing pass. */
		{ SL_RULE_POLICE, { .in = V4(), DROPS(POLICED) } },
		{ SL_RULE_NEXT_HOP, { .in = V4(), DROPS(NEXT_HOP) } },
		{ SL_RULE_CHAIN, { .in = V4(), DROPS(CHAIN) } },
	};
	const struct sl_flow_key key = usual(false, 17);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct sl_flow_rule rule = { .action = cases[i].action,
						   .number = RULE_NUMBER };
		const uint64_t before = hits("sl_filter_hits", RULE_NUMBER).packets;

		put_as(&key, &rule);
		edge_check(world, &cases[i].expected);
		assert_int_equal(hits("sl_filter_hits", RULE_NUMBER).packets, before + 1);
		assert_int_equal(get(&key).packets, 1);
	}
}

static void flow_whose_rule_is_not_there_lets_nothing_pass(void **state)
{
	const struct edge_case dropped = { .in = V4(), DROPS(FILTER) },
			       passes = { .in = V4(), FORWARD_BY(PLAIN) };
	const struct sl_flow_rule other = { .version = 6 }, own = { .version = 4 };
	const struct sl_flow_key key = usual(false, 17);
	const uint64_t before = hits("sl_filter_hits", RULE_NUMBER).packets;

	(void)state;
	put_as(&key, NULL);
	edge_check(world, &dropped);
	put_as(&key, &other);
	edge_check(world, &dropped);
	assert_int_equal(hits("sl_filter_hits", RULE_NUMBER).packets, before);
	put_as(&key, &own);
	edge_check(world, &passes);
}

/* Without any list there are no rules. */
static void flow_that_names_a_rule_lets_nothing_pass_without_lists(void **state)
{
	const struct edge_case dropped = { .in = V4(), DROPS(FILTER) };
	const struct sl_flow_rule rule = { .action = SL_FILTER_PERMIT };
	const struct sl_flow_key key = usual(false, 17);

	(void)state;
	put_as(&key, &rule);
	edge_check(world, &dropped);
}

/* What comes out of a chain would go round in circles. */
static void packet_out_of_a_chain_is_not_judged_again(void **state)
{
	static uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES];
	const uint32_t both = SL_PORT_FORWARD4 | SL_PORT_FORWARD6;
	const struct frame frame = { 0 };
	const struct sl_flow_key key = usual(false, 17);
	uint32_t len = frame_build(&frame, in), out_len;

	(void)state;
	flush();
	world->filter = 0;
	put(&key, SL_FILTER_DENY);
	assert_int_equal(edge_set_port(world, EDGE_PORT(1), FRAME_DST_MAC, both | SL_PORT_CHAINED),
			 0);
	assert_int_equal(edge_run(world, EDGE_PORT(1), in, len, out, &out_len), XDP_REDIRECT);
	assert_int_equal(get(&key).packets, 0);
	assert_int_equal(edge_set_port(world, EDGE_PORT(1), FRAME_DST_MAC, both), 0);
	assert_int_equal(edge_run(world, EDGE_PORT(1), in, len, out, &out_len), XDP_DROP);
}

/* --- Beside a list --- */

static void flow_wins_over_the_list(void **state)
{
	const struct edge_case passes = { .in = V4(), FORWARD_BY(PLAIN) },
			       dropped = { .in = V4(), DROPS(FILTER) },
			       other = { .in = V4(.dport = 9), DROPS(FILTER) },
			       other_passes = { .in = V4(.dport = 9), FORWARD_BY(PLAIN) };
	const struct sl_rule denies = { .action = SL_FILTER_DENY, .number = 7 },
			     permits = { .action = SL_FILTER_PERMIT, .number = 7 };
	const struct sl_flow_key key = usual(false, 17);
	uint64_t before;

	(void)state;
	flush();
	set_list(&denies, SL_FILTER_DENY);
	before = hits("sl_filter_hits", 0).packets;
	put(&key, SL_FILTER_PERMIT);
	edge_check(world, &passes);
	edge_check(world, &other);
	set_list(&permits, SL_FILTER_PERMIT);
	put(&key, SL_FILTER_DENY);
	edge_check(world, &dropped);
	edge_check(world, &other_passes);
	/* Without the flow the list decides again. */
	assert_int_equal(bpf_map_delete_elem(flows_fd(), &key), 0);
	edge_check(world, &passes);
	assert_int_equal(hits("sl_filter_hits", 0).packets, before);
	world->filter = 0;
}

/* The rules of a list, auxiliary ones too, count no packet of a flow. */
static void list_does_not_see_the_packets_of_a_flow(void **state)
{
	const struct edge_case passes = { .in = V4(), FORWARD_BY(PLAIN) };
	const struct sl_rule counts = { .action = SL_FILTER_COUNT, .number = 0 };
	const struct sl_flow_key key = usual(false, 17);
	uint64_t before;

	(void)state;
	flush();
	set_list(&counts, SL_FILTER_PERMIT);
	before = hits("sl_filter_hits", 0).packets;
	edge_check(world, &passes);
	assert_int_equal(hits("sl_filter_hits", 0).packets, before + 1);
	put(&key, SL_FILTER_PERMIT);
	edge_check(world, &passes);
	assert_int_equal(hits("sl_filter_hits", 0).packets, before + 1);
	world->filter = 0;
}

/* --- Random packets against a dictionary --- */

#define RANDOM_FLOWS   600
#define RANDOM_PACKETS 4000

struct modelled {
	struct sl_flow_key key;
	uint32_t action;
	uint64_t packets, bytes;
};

/* Few values of each field, so that packets differ from flows in one of them. */
static struct frame random_frame(void)
{
	static const char *const ip4[] = { "10.1.0.2", "10.1.0.3", "10.2.0.2", "10.2.0.130" };
	static const char *const ip6[] = { "2001:db8:1::2", "2001:db8:1::8000:0:0:2",
					   "2001:db8:2::2", "2001:db8:2:8000::2" };
	const bool is6 = random() & 1;
	const char *const *addrs = is6 ? ip6 : ip4;

	return (struct frame){
		.ip6 = is6,
		.src = addrs[random() % 2],
		.dst = addrs[2 + random() % 2],
		.protocol = random() % 2 ? 17 : 6,
		.sport = (uint16_t)(1000 + random() % 6),
		.dport = (uint16_t)(1000 + random() % 6),
		.payload_bytes = (int32_t)(20 + random() % 400),
	};
}

static struct sl_flow_key key_of_frame(const struct frame *f)
{
	return key_of(f->ip6, f->src, f->dst, f->protocol, f->sport, f->dport);
}

static struct modelled *find(struct modelled *all, size_t n, const struct sl_flow_key *key)
{
	for (size_t i = 0; i < n; i++)
		if (!memcmp(&all[i].key, key, sizeof(*key)))
			return &all[i];
	return NULL;
}

static void random_packets_as_a_dictionary_says(void **state)
{
	static const uint32_t actions[] = { SL_FILTER_PERMIT, SL_FILTER_DENY, SL_FILTER_KERNEL };
	static uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES];
	static struct modelled all[RANDOM_FLOWS];
	const struct sl_counter before = hits("sl_exact_hits", 0);
	struct sl_counter sum = { 0 }, after;
	size_t n = 0, changes = 0;

	(void)state;
	srandom(20261127);
	flush();
	assert_int_equal(edge_set_port(world, EDGE_PORT(1), FRAME_DST_MAC,
				       SL_PORT_FORWARD4 | SL_PORT_FORWARD6),
			 0);
	for (uint32_t i = 0; i < RANDOM_PACKETS + RANDOM_FLOWS; i++) {
		const struct frame frame = random_frame();
		const struct sl_flow_key key = key_of_frame(&frame);
		struct modelled *flow = find(all, n, &key);
		int want = XDP_REDIRECT;
		uint32_t len, out_len;

		/* A flow comes, is replaced, which sets its counters to 0, or goes. */
		if (i % 8 == 0) {
			if (!flow && n < RANDOM_FLOWS)
				flow = &all[n++];
			else if (flow && random() % 4 == 0) {
				assert_int_equal(bpf_map_delete_elem(flows_fd(), &key), 0);
				*flow = all[--n];
				changes++;
				continue;
			}
			if (!flow)
				continue;
			*flow = (struct modelled){ .key = key, .action = actions[random() % 3] };
			put(&key, flow->action);
			continue;
		}
		len = frame_build(&frame, in);
		if (flow) {
			flow->packets++;
			flow->bytes += len;
			sum.packets++;
			sum.bytes += len;
			want = flow->action == SL_FILTER_DENY	  ? XDP_DROP
			       : flow->action == SL_FILTER_KERNEL ? XDP_PASS
								  : XDP_REDIRECT;
		}
		if (edge_run(world, EDGE_PORT(1), in, len, out, &out_len) != want)
			fail_msg("packet %u: %s to %s, protocol %u, ports %u, %u: not as the "
				 "dictionary says",
				 i, frame.src, frame.dst, frame.protocol, frame.sport, frame.dport);
	}
	for (size_t i = 0; i < n; i++) {
		const struct sl_exact_flow flow = get(&all[i].key);

		assert_int_equal(flow.packets, all[i].packets);
		assert_int_equal(flow.bytes, all[i].bytes);
	}
	after = hits("sl_exact_hits", 0);
	assert_int_equal(after.packets - before.packets, sum.packets);
	assert_int_equal(after.bytes - before.bytes, sum.bytes);
	/* The packets have tried both. */
	assert_in_range(sum.packets, RANDOM_PACKETS / 10, RANDOM_PACKETS * 9 / 10);
	assert_true(changes > 5);
}

/* --- Running --- */

static int setup(void **state)
{
	int err = edge_enter_namespace();

	(void)state;
	if (!err)
		err = edge_world_flows(SL_ENGINE_FAST, false, &alone);
	if (!err)
		err = edge_world_flows(SL_ENGINE_LPM, true, &beside);
	if (!err)
		err = sl_exact_puts_open(edge_map_fd(alone, "sl_exact_puts"), &alone_puts);
	if (!err)
		err = sl_exact_puts_open(edge_map_fd(beside, "sl_exact_puts"), &beside_puts);
	return err;
}

static int teardown(void **state)
{
	(void)state;
	sl_exact_puts_close(alone_puts);
	sl_exact_puts_close(beside_puts);
	edge_destroy(alone);
	edge_destroy(beside);
	return 0;
}

static int use_alone(void **state)
{
	(void)state;
	world = alone;
	puts_there = alone_puts;
	return 0;
}

static int use_beside(void **state)
{
	(void)state;
	world = beside;
	puts_there = beside_puts;
	return 0;
}

#define N_MATCHES (sizeof(match_cases) / sizeof(match_cases[0]))

int main(void)
{
	static const struct CMUnitTest others[] = {
		cmocka_unit_test_setup(flow_gives_the_packet_to_the_kernel, use_alone),
		cmocka_unit_test_setup(flow_sets_the_dscp, use_alone),
		cmocka_unit_test_setup(headers_without_end_are_dropped, use_alone),
		cmocka_unit_test_setup(flow_notes_when_it_was_used, use_alone),
		cmocka_unit_test_setup(no_packet_is_looked_at_without_flows, use_alone),
		cmocka_unit_test_setup(sweep_says_that_there_are_none_when_the_last_has_gone,
				       use_alone),
		cmocka_unit_test_setup(sweep_that_ends_the_last_idle_flow_says_that_there_are_none,
				       use_alone),
		cmocka_unit_test_setup(sweep_leaves_what_is_put_during_its_round, use_alone),
		cmocka_unit_test_setup(sweep_brings_flows_into_force_of_which_nobody_told,
				       use_alone),
		cmocka_unit_test_setup(flow_does_as_its_rule, use_beside),
		cmocka_unit_test_setup(flow_whose_rule_is_not_there_lets_nothing_pass, use_beside),
		cmocka_unit_test_setup(flow_that_names_a_rule_lets_nothing_pass_without_lists,
				       use_alone),
		cmocka_unit_test_setup(packet_out_of_a_chain_is_not_judged_again, use_alone),
		cmocka_unit_test_setup(flow_wins_over_the_list, use_beside),
		cmocka_unit_test_setup(list_does_not_see_the_packets_of_a_flow, use_beside),
		cmocka_unit_test_setup(random_packets_as_a_dictionary_says, use_alone),
	};
	static struct CMUnitTest tests[2 * N_MATCHES + sizeof(others) / sizeof(others[0])];
	static char names[N_MATCHES][64];
	size_t n = 0;

	for (size_t i = 0; i < N_MATCHES; i++) {
		snprintf(names[i], sizeof(names[i]), "%s_beside_lists", match_cases[i].name);
		tests[n++] = (struct CMUnitTest){ .name = match_cases[i].name,
						  .test_func = packet_is_of_the_flow,
						  .setup_func = use_alone,
						  .initial_state = (void *)&match_cases[i] };
		tests[n++] = (struct CMUnitTest){ .name = names[i],
						  .test_func = packet_is_of_the_flow,
						  .setup_func = use_beside,
						  .initial_state = (void *)&match_cases[i] };
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		tests[n++] = others[i];
	return cmocka_run_group_tests(tests, setup, teardown);
}
