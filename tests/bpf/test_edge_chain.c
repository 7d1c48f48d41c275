// SPDX-License-Identifier: BSD-2-Clause
/*
 * Chains of elements that sl_edge runs, beside the worker's: the same text and the same packets
 * must give the same packets and the same counters, element by element, on both. Packets are for
 * this node, so that what leaves a chain goes to the kernel as the chain has left it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>

#include "bpf/abi/l3_port.h"
#include "elements/graph/fast_graph.h"
#include "tests/lib/chain_rig.h"
#include "tests/lib/edge_case.h"
#include "tests/lib/own_mark.h"
#include "user/classify/compile.h"
#include "user/daemon/lists.h"
#include "user/lib/clock.h"

#define SLOT	       5   /* of the port's list */
#define CHAINS	       50u /* of a text */
#define PACKETS	       4u  /* through each chain */
#define ELEMENTS_MAX   (SL_FAST_ELEMENTS_MAX - EL_AT_FIRST)
#define PROCESSORS_MAX 1024
#define TEXT_BYTES     (CHAINS * 1024u)

static struct edge *world;
static int chains_fd, counts_fd, names_fd, processors;
static uint32_t texts = 200; /* of random chains; another number is an argument */

/* --- Random numbers --- */

static uint32_t random_state = 1;

static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % below;
}

static bool coin(void)
{
	return draw(2);
}

/* --- Random chains, as text --- */

struct text {
	char bytes[TEXT_BYTES];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *text, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	text->n +=
		(size_t)vsnprintf(text->bytes + text->n, TEXT_BYTES - text->n, format, arguments);
	va_end(arguments);
	assert_true(text->n < TEXT_BYTES);
}

/* One value or a range below `values`, often one that packets have. */
static void put_range(struct text *text, const char *name, uint32_t values)
{
	uint32_t low = draw(values), high = low + draw(values - low);

	put(text, coin() ? "%s=%u" : "%s=%u-%u", name, low, high);
}

static void put_classifier(struct text *text)
{
	put(text, "Classifier(");
	switch (draw(6)) {
	case 0:
		put(text, "paint=%u", draw(3));
		break;
	case 1:
		put(text, "protocol=%u", (const uint32_t[]){ 6, 17, 132 }[draw(3)]);
		break;
	case 2:
		put_range(text, "dscp", 64);
		break;
	case 3:
		put_range(text, "length", 200);
		break;
	case 4:
		put_range(text, "source_port", 2000);
		break;
	default:
		put_range(text, "destination_port", 6000);
		put(text, ", ");
		put_range(text, "dscp", 64);
	}
	put(text, ")");
}

/* An element named e<i>. Returns whether it has a second output. */
static bool put_element(struct text *text, uint32_t i)
{
	put(text, "\te%u :: ", i);
	switch (draw(6)) {
	case 0:
		put(text, "Counter;\n");
		return false;
	case 1:
		put(text, "Paint(colour=%u);\n", draw(3));
		return false;
	case 2:
		put(text, "Dscp(dscp=%u);\n", draw(64));
		return false;
	case 3:
		put(text, "Sample(one_in=%u);\n", 1 + draw(4));
		return true;
	case 4:
		put(text, "Mark(dscp=%u);\n", draw(64));
		return true;
	default:
		put_classifier(text);
		put(text, ";\n");
		return true;
	}
}

/* `output`, `drop`, or one of the elements after i of n. */
static void put_target(struct text *text, uint32_t i, uint32_t n, bool *led)
{
	uint32_t at = i + 1 + draw(n - i);

	if (at == n) {
		put(text, coin() ? "output" : "drop");
		return;
	}
	led[at] = true;
	put(text, "e%u", at);
}

/* Every element has one before it that leads to it. */
static void put_chain(struct text *text, uint32_t number)
{
	bool two[ELEMENTS_MAX], led[ELEMENTS_MAX + 1] = { false };
	uint32_t n = 1 + draw(ELEMENTS_MAX);

	put(text, "chain c%u fast {\n", number);
	for (uint32_t i = 0; i < n; i++)
		two[i] = put_element(text, i);
	put(text, "\tinput -> e0;\n");
	for (uint32_t i = 0; i < n; i++) {
		if (two[i] && draw(4)) {
			put(text, "\te%u[1] -> ", i);
			put_target(text, i, n, led);
			put(text, ";\n");
		}
		put(text, "\te%u -> ", i);
		if (i + 1 < n && !led[i + 1]) {
			led[i + 1] = true;
			put(text, "e%u", i + 1);
		} else {
			put_target(text, i, n, led);
		}
		put(text, ";\n");
	}
	put(text, "}\n");
}

/* --- Random packets for this node --- */

static uint32_t draw_packet(uint8_t bytes[FRAME_MAX_BYTES])
{
	const uint8_t protocols[] = { 6, 17, 33, 132, 136, 1, 58, 44 };
	struct frame frame = {
		.ip6 = coin(),
		.tos = (uint8_t)draw(256),
		.ttl = (uint8_t)(2 + draw(200)),
		.protocol = protocols[draw(8)],
		.sport = (uint16_t)(1 + draw(2000)),
		.dport = (uint16_t)(1 + draw(6000)),
		.payload_bytes = draw(8) ? (int32_t)(20 + draw(180)) : (int32_t)(1 + draw(8)),
		.padding_bytes = draw(20),
	};

	if (!frame.ip6 && !draw(4))
		frame.fragment = (uint16_t)(coin() ? 0x2000 : draw(0x1fff));
	/* headers that can be read to their end: else no chain gets the packet */
	if (frame.protocol == 44) {
		frame.sport = 17 << 8;
		frame.payload_bytes = 60;
	}
	frame.dst = frame.ip6 ? "2001:db8:23::2" : "10.23.0.2";
	return frame_build(&frame, bytes);
}

/* --- Both back ends --- */

static uint8_t worker_bytes[FRAME_MAX_BYTES];
static uint32_t worker_len; /* 0: nothing has left */

static void keep(struct chain_rig *rig, struct el_graph *graph, struct el_packet *packet)
{
	(void)rig, (void)graph;
	memcpy(worker_bytes, packet->data, packet->len_bytes);
	worker_len = packet->len_bytes;
}

static void run_worker(struct chain_rig *rig, uint32_t chain, const uint8_t *bytes, uint32_t len)
{
	struct el_packet *packet = chain_rig_packet(rig, len);

	memcpy(packet->data, bytes, len);
	worker_len = 0;
	assert_true(chain_rig_enter(rig, chain, packet));
	chain_rig_idle(rig);
}

/* The port's only rule sends all packets into a chain of that name. */
static void set_rule(void)
{
	const struct sl_list_maps maps = { edge_map_fd(world, "sl_filter_small"),
					   edge_map_fd(world, "sl_filter_large") };
	const struct sl_rule rule = { .action = SL_RULE_CHAIN };
	static const uint8_t families[] = { AF_INET, AF_INET6 };

	for (uint32_t f = 0; f < 2; f++) {
		struct sl_list list;
		struct sl_image image;

		assert_int_equal(
			sl_compile(&rule, 1, families[f], SL_FILTER_DENY, SL_RULE_NONE, &image), 0);
		assert_int_equal(sl_list_make(image.bytes, image.n_bytes, &list), 0);
		assert_int_equal(sl_list_put(&maps, SLOT * 2 + f, &list), 0);
		sl_list_close(&list);
		free(image.bytes);
	}
	world->filter = SLOT + 1;
	assert_int_equal(edge_set_port(world, EDGE_PORT(1), FRAME_DST_MAC,
				       SL_PORT_FORWARD4 | SL_PORT_FORWARD6),
			 0);
}

static void set_chain(const struct el_graph *graph, uint32_t place)
{
	const uint32_t rule = 0;
	struct sl_fast_chain chain;
	char error[EL_ERROR_BYTES];
	uint32_t line;

	if (el_fast_graph(graph, place * SL_FAST_ELEMENTS_MAX, &chain, &line, error))
		fail_msg("%s", error);
	for (uint32_t i = 0; i < graph->n_instances; i++)
		if (chain.element[i].kind == SL_FAST_OWN)
			chain.own_set = EDGE_OWN_SET;
	assert_int_equal(bpf_map_update_elem(names_fd, &rule, &chain.of, BPF_ANY), 0);
	assert_int_equal(bpf_map_update_elem(chains_fd, &chain.of.id, &chain, BPF_ANY), 0);
}

static void remove_chain(const struct el_graph *graph)
{
	char name[SL_CHAIN_NAME_BYTES] = { 0 };
	uint64_t id;

	memcpy(name, graph->name, strlen(graph->name));
	id = sl_chain_id(name);
	assert_int_equal(bpf_map_delete_elem(chains_fd, &id), 0);
}

static struct sl_fast_count read_count(uint32_t chain, uint32_t element)
{
	static struct sl_fast_count each[PROCESSORS_MAX];
	struct sl_fast_count sum = { 0 };
	uint32_t at = chain * SL_FAST_ELEMENTS_MAX + element;

	assert_int_equal(bpf_map_lookup_elem(counts_fd, &at, each), 0);
	for (int i = 0; i < processors; i++) {
		sum.packets += each[i].packets;
		sum.bytes += each[i].bytes;
		sum.dropped_packets += each[i].dropped_packets;
		sum.dropped_bytes += each[i].dropped_bytes;
	}
	return sum;
}

static void clear_counts(void)
{
	static const struct sl_fast_count none[PROCESSORS_MAX];

	for (uint32_t i = 0; i < CHAINS * SL_FAST_ELEMENTS_MAX; i++)
		assert_int_equal(bpf_map_update_elem(counts_fd, &i, none, BPF_ANY), 0);
}

static void same_counters(const struct el_graph *graph, uint32_t chain, const char *text)
{
	for (uint32_t i = 0; i < graph->n_instances; i++) {
		const struct el_instance *at = &graph->instances[i];
		struct sl_fast_count count = read_count(chain, i);

		if (count.packets != at->in.packets || count.bytes != at->in.bytes ||
		    count.dropped_packets != at->dropped.packets ||
		    count.dropped_bytes != at->dropped.bytes)
			fail_msg("%s of %s: %llu packets, %llu dropped, and of the worker %llu, "
				 "%llu, in:\n%s",
				 at->name, graph->name, (unsigned long long)count.packets,
				 (unsigned long long)count.dropped_packets,
				 (unsigned long long)at->in.packets,
				 (unsigned long long)at->dropped.packets, text);
	}
}

static uint32_t left, ended; /* packets */

static void same_packet(struct chain_rig *rig, uint32_t chain, const char *text)
{
	static uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES];
	uint32_t len = draw_packet(in), out_len;
	int action = edge_run(world, EDGE_PORT(1), in, len, out, &out_len);

	run_worker(rig, chain, in, len);
	assert_int_equal(action, worker_len ? XDP_PASS : XDP_DROP);
	*(worker_len ? &left : &ended) += 1;
	if (worker_len && (out_len != worker_len || memcmp(out, worker_bytes, out_len)))
		fail_msg("another packet leaves c%u than the worker's, in:\n%s", chain, text);
}

static void random_graphs_and_packets_are_the_same_on_both(void **state)
{
	static struct text text;

	(void)state;
	set_rule();
	for (uint32_t i = 0; i < texts; i++) {
		struct chain_rig *rig;

		text.n = 0;
		for (uint32_t chain = 0; chain < CHAINS; chain++)
			put_chain(&text, chain);
		rig = chain_rig_create_with(text.bytes, own_mark_classes);
		rig->on_sent = keep;
		clear_counts();
		for (uint32_t chain = 0; chain < CHAINS; chain++) {
			const struct el_graph *graph = &rig->chains.chains[chain];

			set_chain(graph, chain);
			for (uint32_t packet = 0; packet < PACKETS; packet++)
				same_packet(rig, chain, text.bytes);
			same_counters(graph, chain, text.bytes);
			remove_chain(graph);
		}
		chain_rig_destroy(rig);
	}
	/* both ends are there */
	assert_true(left > texts * CHAINS && ended > texts * CHAINS / 4);
}

/* What leaves is routed; what ends counts as a drop of an element. */
static void packets_that_leave_are_routed_and_others_dropped_by_name(void **state)
{
	struct chain_rig *rig = chain_rig_create(
		"chain c0 fast { s :: Sample(one_in=2); input -> s -> Dscp(dscp=46) -> output; }");
	const struct edge_case drop = { "first",
					{ .src = "10.1.7.2", .dst = "10.2.0.2" },
					DROPS(ELEMENT) };
	const struct frame in = { .src = "10.1.7.2", .dst = "10.2.0.2", .tos = 1 };
	static uint8_t bytes[FRAME_MAX_BYTES], want[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES];
	struct frame marked = in, sent;
	uint32_t len = frame_build(&in, bytes), want_len, out_len;

	(void)state;
	set_rule();
	clear_counts();
	set_chain(&rig->chains.chains[0], 0);
	edge_check(world, &drop);
	marked.tos = 46 << 2 | 1;
	sent = edge_sent(&marked, EDGE_PLAIN);
	want_len = frame_build(&sent, want);
	assert_int_equal(edge_run(world, EDGE_PORT(1), bytes, len, out, &out_len), XDP_REDIRECT);
	assert_int_equal(out_len, want_len);
	assert_memory_equal(out, want, want_len);
	remove_chain(&rig->chains.chains[0]);
	chain_rig_destroy(rig);
}

/* Another chain's id would be found by chance; its name says that it is not the rule's. */
static void chain_of_the_same_id_and_another_name_is_not_run(void **state)
{
	struct chain_rig *rig = chain_rig_create("chain c0 fast { input -> output; }");
	const struct edge_case away = { "away",
					{ .src = "10.1.7.2", .dst = "10.2.0.2" },
					DROPS(CHAIN) };
	const struct el_graph *graph = &rig->chains.chains[0];
	const uint32_t rule = 0;
	struct sl_rule_chain of;

	(void)state;
	set_rule();
	for (uint32_t i = 0; i < SL_CHAIN_NAME_BYTES; i += 7) {
		set_chain(graph, 0);
		assert_int_equal(bpf_map_lookup_elem(names_fd, &rule, &of), 0);
		of.name[i] ^= 1;
		assert_int_equal(bpf_map_update_elem(names_fd, &rule, &of, BPF_ANY), 0);
		edge_check(world, &away);
	}
	remove_chain(graph);
	chain_rig_destroy(rig);
}

/* The worker has such a chain whole: nothing is counted here. */
static void chain_for_another_set_of_own_elements_is_not_run(void **state)
{
	struct chain_rig *rig = chain_rig_create_with(
		"chain c0 fast { input -> Counter -> Mark(dscp=1) -> output; }", own_mark_classes);
	const struct edge_case away = { "away",
					{ .src = "10.1.7.2", .dst = "10.2.0.2" },
					DROPS(CHAIN) };
	const struct el_graph *graph = &rig->chains.chains[0];
	struct sl_fast_chain chain;
	uint64_t id;

	(void)state;
	set_rule();
	clear_counts();
	set_chain(graph, 0);
	assert_int_equal(bpf_map_get_next_key(chains_fd, NULL, &id), 0);
	assert_int_equal(bpf_map_lookup_elem(chains_fd, &id, &chain), 0);
	chain.own_set = EDGE_OWN_SET + 1;
	assert_int_equal(bpf_map_update_elem(chains_fd, &id, &chain, BPF_ANY), 0);
	edge_check(world, &away);
	for (uint32_t i = 0; i < graph->n_instances; i++)
		assert_int_equal(read_count(0, i).packets, 0);
	remove_chain(graph);
	chain_rig_destroy(rig);
}

/* --- Processor time --- */

#define CEILING 5u /* percent */
static const char timed_chain[] = "chain c0 fast ceiling 5% { input -> Counter -> drop; }";
static const struct edge_case ends = { "ends",
				       { .src = "10.1.7.2", .dst = "10.2.0.2" },
				       DROPS(ELEMENT) };
static const struct edge_case beyond = { "beyond",
					 { .src = "10.1.7.2", .dst = "10.2.0.2" },
					 DROPS(CHAIN_TIME) };

/* The input's count on this processor. */
static struct sl_fast_count *input_count(void)
{
	static struct sl_fast_count each[PROCESSORS_MAX];
	const uint32_t at = EL_AT_INPUT;

	assert_int_equal(bpf_map_lookup_elem(counts_fd, &at, each), 0);
	return &each[sched_getcpu()];
}

static void set_input_count(struct sl_fast_count count)
{
	static struct sl_fast_count each[PROCESSORS_MAX];
	const uint32_t at = EL_AT_INPUT;

	each[sched_getcpu()] = count;
	assert_int_equal(bpf_map_update_elem(counts_fd, &at, each, BPF_ANY), 0);
}

static struct chain_rig *timed_rig(const char *text)
{
	struct chain_rig *rig = chain_rig_create(text);

	set_rule();
	clear_counts();
	set_chain(&rig->chains.chains[0], 0);
	return rig;
}

static void one_packet_of_many_is_timed_for_all_of_them(void **state)
{
	struct chain_rig *rig = timed_rig("chain c0 fast { input -> Counter -> drop; }");
	struct sl_fast_count count;

	(void)state;
	for (uint32_t i = 1; i < SL_FAST_TIMED_EVERY; i++)
		edge_check(world, &ends);
	assert_int_equal(input_count()->cpu_ns, 0);
	edge_check(world, &ends);
	count = *input_count();
	assert_int_equal(count.packets, SL_FAST_TIMED_EVERY);
	assert_int_equal(count.seen, 0);
	assert_in_range(count.cpu_ns, 1, SL_FAST_TIMED_EVERY * SL_FAST_TIMED_MAX_NS);
	assert_int_equal(count.cpu_ns % SL_FAST_TIMED_EVERY, 0);
	/* without a ceiling nothing is owed */
	assert_int_equal(count.paid_ns, 0);
	assert_int_equal(count.in_debt, 0);
	remove_chain(&rig->chains.chains[0]);
	chain_rig_destroy(rig);
}

/* Time that was not used is saved up to a bound, and what is used is paid for at the ceiling. */
static void time_is_paid_for_at_the_ceiling(void **state)
{
	const uint64_t saved_ns = SL_FAST_SAVED_MAX_NS * 100 / CEILING;
	struct chain_rig *rig = timed_rig(timed_chain);
	uint64_t from_ns = sl_now_ns(), until_ns, cost_ns;
	struct sl_fast_count count;

	(void)state;
	set_input_count((struct sl_fast_count){ .seen = SL_FAST_TIMED_EVERY - 1 });
	edge_check(world, &ends);
	until_ns = sl_now_ns();
	count = *input_count();
	cost_ns = count.cpu_ns * 100 / CEILING;
	assert_in_range(count.paid_ns, from_ns - saved_ns + cost_ns, until_ns - saved_ns + cost_ns);
	assert_int_equal(count.in_debt, 0);
	/* beyond what is saved */
	set_input_count((struct sl_fast_count){ .seen = SL_FAST_TIMED_EVERY - 1,
						.paid_ns = until_ns + 3600000000000ULL });
	edge_check(world, &ends);
	count = *input_count();
	cost_ns = count.cpu_ns * 100 / CEILING;
	assert_int_equal(count.paid_ns, until_ns + 3600000000000ULL + cost_ns);
	assert_int_equal(count.in_debt, 1);
	for (uint32_t i = 0; i < 3 * SL_FAST_TIMED_EVERY; i++)
		edge_check(world, &beyond);
	assert_int_equal(input_count()->packets, 1);
	assert_int_equal(input_count()->dropped_packets, 3 * SL_FAST_TIMED_EVERY);
	assert_int_equal(input_count()->dropped_bytes % input_count()->bytes, 0);
	assert_int_equal(input_count()->cpu_ns, count.cpu_ns);
	/* once that is paid for */
	count.paid_ns = sl_now_ns();
	set_input_count(count);
	edge_check(world, &ends);
	assert_int_equal(input_count()->in_debt, 0);
	remove_chain(&rig->chains.chains[0]);
	chain_rig_destroy(rig);
}

/* Without pauses: each packet is counted once, and their time stays below the ceiling. */
static void flood_gets_the_time_of_the_ceiling(void **state)
{
	const uint32_t packets = 1000000;
	struct chain_rig *rig = timed_rig(timed_chain);
	static uint8_t bytes[FRAME_MAX_BYTES];
	struct xdp_md ctx = { .ingress_ifindex = EDGE_PORT(1) };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = bytes, .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx), .repeat = packets);
	uint64_t from_ns = sl_now_ns(), took_ns;
	struct sl_fast_count count;

	(void)state;
	opts.data_size_in = ctx.data_end = frame_build(&ends.in, bytes);
	assert_int_equal(bpf_prog_test_run_opts(edge_program_fd(world), &opts), 0);
	took_ns = sl_now_ns() - from_ns;
	count = *input_count();
	assert_int_equal(count.packets + count.dropped_packets, packets);
	assert_true(count.packets > SL_FAST_TIMED_EVERY);
	assert_true(count.dropped_packets > 0);
	/* beyond it by the last one that was timed */
	assert_in_range(count.cpu_ns, SL_FAST_SAVED_MAX_NS,
			SL_FAST_SAVED_MAX_NS + took_ns * CEILING / 100 +
				SL_FAST_TIMED_EVERY * SL_FAST_TIMED_MAX_NS);
	remove_chain(&rig->chains.chains[0]);
	chain_rig_destroy(rig);
}

static int setup(void **state)
{
	int err = edge_enter_namespace();
	cpu_set_t one;

	edge_link(OWN_MARK_OBJECT);

	(void)state;
	if (!err)
		err = edge_world_filters(SL_ENGINE_LPM, &world);
	if (err)
		return err;
	chains_fd = edge_map_fd(world, "sl_fast_chain");
	counts_fd = edge_map_fd(world, "sl_fast_count");
	names_fd = edge_map_fd(world, "sl_rule_chain");
	/* Each processor samples by itself, and the worker is one. */
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return -errno;
	processors = libbpf_num_possible_cpus();
	return processors > 0 && processors <= PROCESSORS_MAX ? 0 : -E2BIG;
}

static int teardown(void **state)
{
	(void)state;
	edge_destroy(world);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_graphs_and_packets_are_the_same_on_both),
		cmocka_unit_test(packets_that_leave_are_routed_and_others_dropped_by_name),
		cmocka_unit_test(chain_of_the_same_id_and_another_name_is_not_run),
		cmocka_unit_test(chain_for_another_set_of_own_elements_is_not_run),
		cmocka_unit_test(one_packet_of_many_is_timed_for_all_of_them),
		cmocka_unit_test(time_is_paid_for_at_the_ceiling),
		cmocka_unit_test(flood_gets_the_time_of_the_ceiling),
	};

	if (argc > 1)
		texts = (uint32_t)strtoul(argv[1], NULL, 10);
	if (texts == 0)
		return 2;
	return cmocka_run_group_tests(tests, setup, teardown);
}
