/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets through graphs: where they end, in which order, and that none is lost without a name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/lib/chain_rig.h"

static uint32_t random_state = 1;

static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % below;
}

static const struct el_instance *named(const struct el_graph *graph, const char *name)
{
	return &graph->instances[el_graph_find(graph, name)];
}

static void input_beyond_its_limit_is_refused(void **state)
{
	struct chain_rig *rig = chain_rig_create("chain c limit 3 { input -> output; }");
	struct el_graph *graph = &rig->chains.chains[0];

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_int_equal(chain_rig_enter(rig, 0, chain_rig_packet(rig, 60)), i < 3);
	assert_int_equal(graph->refused.packets, 2);
	assert_int_equal(graph->refused.bytes, 120);
	chain_rig_idle(rig);
	assert_int_equal(rig->sent, 3);
	assert_int_equal(graph->left.packets, 3);
	assert_int_equal(graph->left.bytes, 180);
	chain_rig_destroy(rig);
}

static void full_queue_drops_under_its_own_name(void **state)
{
	struct chain_rig *rig =
		chain_rig_create("chain c { q :: Queue(limit=2); input -> q -> output; }");
	struct el_graph *graph = &rig->chains.chains[0];
	struct el_step step;

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct el_context ctx = { .pool = &rig->pool };
		struct el_packet *packet;
		uint32_t element;

		chain_rig_enter(rig, 0, chain_rig_packet(rig, 60 + (uint32_t)i));
		packet = el_chain_begin(graph, 0, &element);
		assert_int_equal(el_chain_step(graph, &ctx, 0, packet, &element, &step),
				 EL_CHAIN_GOES_ON);
		assert_int_equal(el_chain_step(graph, &ctx, 0, packet, &element, &step),
				 EL_CHAIN_OVER_LAST);
		assert_int_equal(step.wake, i < 2 ? 1u << 1 : 0);
	}
	assert_int_equal(named(graph, "q")->in.packets, 5);
	assert_int_equal(named(graph, "q")->dropped.packets, 3);
	assert_int_equal(named(graph, "q")->dropped.bytes, 62 + 63 + 64);
	assert_int_equal(el_chain_waiting(graph), 2);
	assert_true(chain_rig_conserves(graph, 0));
	chain_rig_destroy(rig);
}

static void closing_drops_what_waits_and_what_was_preempted(void **state)
{
	struct chain_rig *rig = chain_rig_create(
		"chain a quantum 0us { input -> Counter -> Counter -> output; }\n"
		"chain b quantum 0us { input -> Counter -> Counter -> output; }\n");
	struct el_graph *graph = &rig->chains.chains[0];

	(void)state;
	for (int i = 0; i < 3; i++) {
		chain_rig_enter(rig, 0, chain_rig_packet(rig, 60));
		chain_rig_enter(rig, 1, chain_rig_packet(rig, 60));
	}
	assert_true(el_worker_turn(&rig->worker)); /* one element of a's first packet */
	assert_true(chain_rig_conserves(graph, 1));
	assert_int_equal(el_worker_close(&rig->worker, EL_FLOWS_GLOBAL), 3);
	assert_true(chain_rig_conserves(graph, 0));
	chain_rig_idle(rig);
	assert_int_equal(rig->chains.chains[1].left.packets, 3);
	assert_int_equal(el_worker_open_chain(&rig->worker, EL_FLOWS_GLOBAL, 1, graph), 0);
	chain_rig_destroy(rig);
}

/* Two flows through elements of the same cost: the time goes by weight, whatever their graphs. */
static void time_goes_by_weight(void **state)
{
	struct chain_rig *rig = chain_rig_create(
		"chain a { input -> Delay(time=3us) -> output; }\n"
		"chain b { input -> Delay(time=1us) -> Delay(time=1us) -> output; }\n");
	const struct el_flow *a = &rig->worker.flows[EL_FLOWS_GLOBAL], *b = a + 1;

	(void)state;
	el_sched_set_weight(&rig->worker.sched, EL_FLOWS_GLOBAL, 2);
	for (int i = 0; i < 20000; i++) {
		for (uint32_t chain = 0; chain < 2; chain++)
			if (rig->chains.chains[chain].n_waiting < 8)
				chain_rig_enter(rig, chain, chain_rig_packet(rig, 60));
		el_worker_turn(&rig->worker);
	}
	assert_true(a->counters.cpu_ns > 1000000);
	/* within 1 in 1,000 of 2 : 1 */
	assert_in_range(a->counters.cpu_ns * 1000 / b->counters.cpu_ns, 1998, 2002);
	chain_rig_destroy(rig);
}

/* Packets of different sizes, so that order and bytes show. */
static void input_moves_to_another_graph_in_order_and_is_counted_there(void **state)
{
	struct chain_rig *rig = chain_rig_create("chain a limit 4 { input -> output; }\n"
						 "chain b limit 4 { input -> output; }\n");
	struct el_graph *from = &rig->chains.chains[0], *to = &rig->chains.chains[1];
	uint32_t element;

	(void)state;
	el_chain_move_input(from, to); /* of nothing */
	assert_int_equal(el_chain_waiting(to), 0);
	for (uint32_t i = 0; i < 5; i++)
		chain_rig_enter(rig, 0, chain_rig_packet(rig, 60 + i));
	el_pool_give(&rig->pool, el_chain_begin(from, 0, &element));
	from->left.packets++;
	el_chain_move_input(from, to);
	assert_int_equal(el_chain_waiting(from), 0);
	assert_int_equal(from->entered.packets, 1);
	assert_int_equal(from->entered.bytes, 60);
	assert_int_equal(from->refused.packets, 1);
	assert_int_equal(to->entered.packets, 3);
	assert_int_equal(to->entered.bytes, 61 + 62 + 63);
	assert_true(chain_rig_conserves(from, 0));
	assert_true(chain_rig_conserves(to, 0));
	assert_true(chain_rig_enter(rig, 1, chain_rig_packet(rig, 64)));
	for (uint32_t i = 1; i < 5; i++) {
		struct el_packet *packet = el_chain_begin(to, 0, &element);

		assert_int_equal(packet->len_bytes, 60 + i);
		el_pool_give(&rig->pool, packet);
	}
	assert_null(el_chain_begin(to, 0, &element));
	to->left.packets += 4;
	chain_rig_destroy(rig);
}

static uint8_t order_next;

static void expect_next(struct chain_rig *rig, struct el_graph *graph, struct el_packet *packet)
{
	(void)rig;
	(void)graph;
	assert_int_equal(packet->data[0], order_next++);
}

/* A flow's packets keep their order on one path, whatever preempts them. */
static void path_keeps_the_order(void **state)
{
	struct chain_rig *rig = chain_rig_create(
		"chain a quantum 0us { input -> Counter -> Queue -> Counter -> Unqueue -> Queue -> output; }\n"
		"chain b quantum 0us { input -> Counter -> drop; }\n");

	(void)state;
	order_next = 0;
	rig->on_sent = expect_next;
	for (int i = 0; i < 2000; i++) {
		struct el_packet *packet = chain_rig_packet(rig, 60);

		packet->data[0] = (uint8_t)i;
		assert_true(chain_rig_enter(rig, 0, packet));
		chain_rig_enter(rig, 1, chain_rig_packet(rig, 60));
		for (uint32_t turns = draw(20); turns; turns--)
			el_worker_turn(&rig->worker);
		if (rig->chains.chains[0].n_waiting > 50)
			chain_rig_idle(rig);
	}
	chain_rig_idle(rig);
	assert_int_equal(rig->sent, 2000);
	chain_rig_destroy(rig);
}

/* --- Random graphs --- */

static const char *const push_elements[] = {
	"Counter",
	"Paint(colour=1)",
	"Dscp(dscp=ef)",
	"Delay(time=2us)",
	"Sample(one_in=3)",
	"Police(rate=1mbit, burst=2k)",
	"Classifier(paint=1)",
	"Mirror(limit=3)",
	"Nat44(side=source, from=10.0.0.0/8, to=11.0.0.0/8)",
	"Tunnel(mode=gre, local=1.1.1.1, remote=2.2.2.2)",
	"Queue(limit=2) -> Unqueue",
	"LayeredVideo(limit=3) -> Counter -> Unqueue",
};
#define N_PUSH (sizeof(push_elements) / sizeof(push_elements[0]))

/* Elements in a row; second outputs lead to a later element, to an end, or nowhere. */
static void write_graph(char *text, size_t size, uint32_t n)
{
	size_t at = (size_t)snprintf(text, size, "chain c quantum %uus limit %u {\n", draw(4),
				     1 + draw(8));
	uint32_t kind[16];

	for (uint32_t i = 0; i < n; i++) {
		kind[i] = draw(N_PUSH);
		if (kind[i] < 10)
			at += (size_t)snprintf(text + at, size - at, "e%u :: %s;\n", i,
					       push_elements[kind[i]]);
		else
			at += (size_t)snprintf(text + at, size - at, "e%u :: Counter;\n", i);
	}
	at += (size_t)snprintf(text + at, size - at, "input -> e0;\n");
	for (uint32_t i = 0; i < n; i++) {
		char next[16] = "output";

		if (i + 1 < n)
			snprintf(next, sizeof(next), "e%u", i + 1);
		at += (size_t)snprintf(text + at, size - at, "e%u -> %s%s%s;\n", i,
				       kind[i] < 10 ? "" : push_elements[kind[i]],
				       kind[i] < 10 ? "" : " -> ", next);
		if (kind[i] < 4 || kind[i] > 7 || (kind[i] != 7 && draw(2)))
			continue;
		snprintf(next, sizeof(next), "%s", draw(2) ? "output" : "drop");
		if (i + 2 < n && draw(2))
			snprintf(next, sizeof(next), "e%u", i + 2 + draw(n - i - 2));
		at += (size_t)snprintf(text + at, size - at, "e%u[1] -> %s;\n", i, next);
	}
	snprintf(text + at, size - at, "}\n");
}

static uint32_t at_hand(const struct chain_rig *rig)
{
	return rig->worker.flows[EL_FLOWS_GLOBAL].saved;
}

static void random_graphs_lose_no_packet_without_a_name(void **state)
{
	static char text[4096];

	(void)state;
	for (int run = 0; run < 2000; run++) {
		struct chain_rig *rig;
		struct el_graph *graph;

		write_graph(text, sizeof(text), 1 + draw(8));
		rig = chain_rig_create(text);
		graph = &rig->chains.chains[0];
		for (int i = 0; i < 50; i++) {
			struct el_packet *packet = draw(2) ? chain_rig_udp(rig, (uint8_t)draw(4))
							   : chain_rig_packet(rig, 14 + draw(1000));

			if (packet)
				chain_rig_enter(rig, 0, packet);
			for (uint32_t turns = draw(4); turns; turns--)
				el_worker_turn(&rig->worker);
			if (!chain_rig_conserves(graph, at_hand(rig)))
				fail_msg("%s", text);
		}
		chain_rig_idle(rig);
		assert_int_equal(el_chain_waiting(graph), 0);
		assert_int_equal(at_hand(rig), 0);
		assert_true(chain_rig_conserves(graph, 0));
		assert_int_equal(rig->sent, graph->left.packets);
		chain_rig_destroy(rig);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(input_beyond_its_limit_is_refused),
		cmocka_unit_test(full_queue_drops_under_its_own_name),
		cmocka_unit_test(closing_drops_what_waits_and_what_was_preempted),
		cmocka_unit_test(input_moves_to_another_graph_in_order_and_is_counted_there),
		cmocka_unit_test(time_goes_by_weight),
		cmocka_unit_test(path_keeps_the_order),
		cmocka_unit_test(random_graphs_lose_no_packet_without_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
