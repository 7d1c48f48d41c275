/* SPDX-License-Identifier: BSD-2-Clause */
/* The scheduler of processor time: single decisions by hand, then random flows against the bounds.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "elements/sched/cpu_sched.h"

#define FLOWS 8u

static struct el_flow flows[FLOWS];
static struct el_client clients[FLOWS];
static uint32_t heap[FLOWS];
static struct el_sched sched;
static uint32_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % below;
}

static void start(uint32_t batch_packets)
{
	el_sched_init(&sched, flows, clients, heap, FLOWS, batch_packets);
}

static struct el_run pick(uint32_t flow)
{
	struct el_run run = { 0 };

	assert_int_equal(el_sched_pick(&sched, &run), 0);
	assert_int_equal(run.flow, flow);
	return run;
}

static void open_refuses_what_is_out_of_range(void **state)
{
	static const struct {
		const char *name;
		uint32_t flow, weight, stages;
		int err;
	} cases[] = {
		{ "flow", FLOWS, 1, 1, -EINVAL },
		{ "weight 0", 0, 0, 1, -EINVAL },
		{ "weight above all", 0, EL_WEIGHT_MAX + 1, 1, -EINVAL },
		{ "no stage", 0, 1, 0, -EINVAL },
		{ "stages", 0, 1, EL_STAGES_MAX + 1, -EINVAL },
		{ "most of all", 0, EL_WEIGHT_MAX, EL_STAGES_MAX, 0 },
		{ "open already", 0, 1, 1, -EEXIST },
	};
	struct el_run run;

	(void)state;
	start(0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (el_sched_open(&sched, cases[i].flow, cases[i].weight, 0, cases[i].stages) !=
		    cases[i].err)
			fail_msg("%s", cases[i].name);
	assert_int_equal(el_sched_pick(&sched, &run), -EAGAIN);
}

static void preempted_packet_goes_on_at_its_next_element(void **state)
{
	struct el_run run;

	(void)state;
	start(0);
	assert_int_equal(el_sched_open(&sched, 3, 1, 5000, 2), 0);
	assert_int_equal(el_sched_open(&sched, 4, 1, 5000, 1), 0);
	assert_true(el_sched_wake(&sched, 3, 1));
	assert_false(el_sched_wake(&sched, 3, 1));
	run = pick(3);
	assert_int_equal(run.stage, 1);
	assert_false(run.resumed);
	run.packet = 77;
	run.element = 10;
	assert_int_equal(el_sched_charge(&sched, &run, 4999, EL_CHAIN_GOES_ON), EL_CONTINUE);
	assert_true(el_sched_wake(&sched, 4, 0));
	run.element = 11;
	/* The quantum is used up, and flow 4 has a lesser start tag. */
	assert_int_equal(el_sched_charge(&sched, &run, 1, EL_CHAIN_GOES_ON), EL_YIELD);
	run = pick(4);
	/* Flow 4 is at 4999 of the 5000 that flow 3 has used, and below its quantum. */
	assert_int_equal(el_sched_charge(&sched, &run, 4999, EL_CHAIN_OVER), EL_CONTINUE);
	assert_int_equal(el_sched_charge(&sched, &run, 1, EL_CHAIN_OVER), EL_YIELD);
	run = pick(3); /* equal tags: 3 waits longer */
	assert_true(run.resumed);
	assert_int_equal(run.packet, 77);
	assert_int_equal(run.element, 11);
	assert_int_equal(run.stage, 1);
	assert_int_equal(el_sched_charge(&sched, &run, 1, EL_CHAIN_OVER_LAST), EL_YIELD);
	assert_int_equal(flows[3].counters.preemptions, 1);
	assert_int_equal(flows[3].counters.sleeps, 1);
	assert_int_equal(flows[3].counters.packets, 1);
	assert_int_equal(flows[3].counters.cpu_ns, 5001);
	assert_int_equal(flows[3].counters.longest_slice_ns, 5000);
	run = pick(4);
	assert_int_equal(el_sched_charge(&sched, &run, 1, EL_CHAIN_OVER_LAST), EL_YIELD);
	assert_int_equal(el_sched_pick(&sched, &run), -EAGAIN);
}

static void flow_alone_runs_on_and_is_charged_by_quanta(void **state)
{
	struct el_run run;

	(void)state;
	start(0);
	assert_int_equal(el_sched_open(&sched, 0, 1, 100, 1), 0);
	assert_int_equal(el_sched_open(&sched, 1, 1, 100, 1), 0);
	el_sched_wake(&sched, 0, 0);
	run = pick(0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(el_sched_charge(&sched, &run, 60, EL_CHAIN_OVER), EL_CONTINUE);
	assert_int_equal(flows[0].counters.slices, 50);
	assert_int_equal(flows[0].counters.longest_slice_ns, 120);
	assert_int_equal(flows[0].counters.preemptions, 0);
	el_sched_wake(&sched, 1, 0); /* it begins at v, and not at the time when flow 0 began */
	assert_int_equal(el_sched_charge(&sched, &run, 120, EL_CHAIN_OVER), EL_YIELD);
	run = pick(1);
	/* Flow 0 is 120 ahead: the quantum is used up, but a new slice begins. */
	assert_int_equal(el_sched_charge(&sched, &run, 119, EL_CHAIN_OVER), EL_CONTINUE);
	assert_int_equal(el_sched_charge(&sched, &run, 99, EL_CHAIN_OVER), EL_CONTINUE);
	assert_int_equal(el_sched_charge(&sched, &run, 1, EL_CHAIN_OVER), EL_YIELD);
	pick(0);
}

static void wake_up_during_the_last_packet_is_not_lost(void **state)
{
	struct el_run run;

	(void)state;
	start(0);
	assert_int_equal(el_sched_open(&sched, 0, 1, 0, 2), 0);
	el_sched_wake(&sched, 0, 0);
	run = pick(0);
	assert_false(
		el_sched_wake(&sched, 0, 0)); /* its element queues a packet to its own stage */
	assert_int_equal(el_sched_charge(&sched, &run, 5, EL_CHAIN_OVER_LAST), EL_CONTINUE);
	assert_int_equal(run.stage, 0);
	assert_false(el_sched_wake(&sched, 0, 1)); /* now to another stage of the flow */
	assert_int_equal(el_sched_charge(&sched, &run, 5, EL_CHAIN_OVER_LAST), EL_CONTINUE);
	assert_int_equal(run.stage, 1);
	assert_int_equal(el_sched_charge(&sched, &run, 5, EL_CHAIN_OVER_LAST), EL_YIELD);
	assert_int_equal(el_sched_pick(&sched, &run), -EAGAIN);
	assert_int_equal(flows[0].counters.wakeups, 1);
	assert_int_equal(flows[0].counters.sleeps, 1);
}

static void stages_divide_the_time_of_their_flow(void **state)
{
	uint64_t used[2] = { 0 };
	struct el_run run;

	(void)state;
	start(0);
	assert_int_equal(el_sched_open(&sched, 0, 1, 500, 2), 0);
	assert_int_equal(el_sched_open(&sched, 1, 1, 500, 1), 0);
	el_sched_set_stage_weight(&sched, 0, 0, 3);
	el_sched_wake(&sched, 0, 0);
	el_sched_wake(&sched, 0, 1);
	el_sched_wake(&sched, 1, 0);
	for (int i = 0; i < 4000; i++) {
		assert_int_equal(el_sched_pick(&sched, &run), 0);
		do {
			if (run.flow == 0)
				used[run.stage] += 100 + run.stage * 37;
		} while (el_sched_charge(&sched, &run, 100 + run.stage * 37, EL_CHAIN_OVER) ==
			 EL_CONTINUE);
	}
	assert_true(fabs((double)used[0] / (double)used[1] - 3) < 0.01);
	/* The other flow gets its half, however many stages the first one has. */
	assert_true(fabs((double)flows[0].counters.cpu_ns / (double)flows[1].counters.cpu_ns - 1) <
		    0.01);
}

static void batch_is_served_whole(void **state)
{
	struct el_run run;

	(void)state;
	start(3);
	assert_int_equal(el_sched_open(&sched, 0, 1, 0, 1), 0);
	assert_int_equal(el_sched_open(&sched, 1, 1, 0, 1), 0);
	el_sched_wake(&sched, 0, 0);
	el_sched_wake(&sched, 1, 0);
	run = pick(0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(el_sched_charge(&sched, &run, 1000000, EL_CHAIN_GOES_ON),
				 EL_CONTINUE);
		assert_int_equal(el_sched_charge(&sched, &run, 1000000, EL_CHAIN_OVER),
				 EL_CONTINUE);
	}
	assert_int_equal(el_sched_charge(&sched, &run, 1000000, EL_CHAIN_OVER), EL_YIELD);
	run = pick(1);
	assert_int_equal(el_sched_charge(&sched, &run, 10, EL_CHAIN_OVER_LAST), EL_YIELD);
	pick(0);
}

static void closed_flow_hands_back_its_packet(void **state)
{
	struct el_run run;

	(void)state;
	start(0);
	assert_int_equal(el_sched_open(&sched, 0, 1, 0, 1), 0);
	assert_int_equal(el_sched_open(&sched, 1, 1, 0, 1), 0);
	el_sched_wake(&sched, 0, 0);
	el_sched_wake(&sched, 1, 0);
	run = pick(0);
	run.packet = 5;
	assert_int_equal(el_sched_charge(&sched, &run, 10, EL_CHAIN_GOES_ON), EL_YIELD);
	memset(&run, 0, sizeof(run));
	assert_true(el_sched_close(&sched, 0, &run));
	assert_int_equal(run.packet, 5);
	assert_false(el_sched_close(&sched, 1, &run));
	assert_int_equal(el_sched_pick(&sched, &run), -EAGAIN);
	assert_int_equal(el_sched_open(&sched, 0, 1, 0, 1), 0);
	assert_int_equal(el_sched_pick(&sched, &run), -EAGAIN); /* it opens asleep */
}

/* A packet of the random runs: what its chain costs, and when it would be served at its rate. */
struct packet {
	uint32_t cost_ns[4], n, done;
	double expected_ns; /* arrival at its turn at the guaranteed rate */
	uint64_t slice;	    /* in which its service began, counted by its flow */
};

struct source {
	struct packet waiting[32]; /* a ring */
	uint32_t head, n;
	double weight, next_expected_ns;
	uint64_t longest_element_ns, arrived_ns, served_ns;
	uint64_t woken_at; /* 0: not waiting for its first service */
	bool least;	   /* nobody had a lesser start tag when it woke */
};

static struct source sources[FLOWS];

static void arrive(uint32_t f, uint64_t now, uint32_t max_ns)
{
	struct source *s = &sources[f];
	struct packet *p = &s->waiting[(s->head + s->n) % 32];
	double sum = 0;

	if (s->n == 32)
		return;
	*p = (struct packet){ .n = 1 + draw(4) };
	for (uint32_t e = 0; e < p->n; e++) {
		p->cost_ns[e] = 1 + draw(max_ns);
		sum += p->cost_ns[e];
	}
	p->expected_ns = fmax((double)now, s->next_expected_ns);
	s->next_expected_ns = p->expected_ns + sum / s->weight;
	s->arrived_ns += (uint64_t)sum;
	s->n++;
	if (el_sched_wake(&sched, f, 0)) {
		s->woken_at = now + 1;
		s->least = clients[f].start <= sched.turns.v;
		for (uint32_t g = 0; g < FLOWS; g++)
			if (g != f && g != sched.turns.served && flows[g].open &&
			    clients[g].place != EL_ASLEEP && clients[g].start <= clients[f].start)
				s->least = false;
	}
}

/* A random run: weights that add up to the processor, any quantum, packets of 1 to 4 elements. */
static void random_run(uint32_t seed, uint64_t *waits, uint64_t *delays)
{
	uint64_t now = 0, idle = 0, longest_ns[FLOWS];
	uint32_t max_ns[FLOWS], weight_sum = 0, left = EL_WEIGHT_MAX, quantum, running = EL_NONE;

	random_state = seed;
	start(0);
	memset(sources, 0, sizeof(sources));
	quantum = draw(3) ? draw(8000) : 0;
	for (uint32_t f = 0; f < FLOWS; f++) {
		uint32_t weight = f == FLOWS - 1 ? left : 1000000 + draw(left / 2 - 1000000);

		left -= weight;
		weight_sum += weight;
		max_ns[f] = 100 + draw(3000);
		sources[f].weight = weight / (double)EL_WEIGHT_MAX;
		assert_int_equal(el_sched_open(&sched, f, weight, quantum, 1), 0);
		longest_ns[f] = quantum + max_ns[f];
	}
	assert_int_equal(weight_sum, EL_WEIGHT_MAX);
	for (int step = 0; step < 3000; step++) {
		enum el_verdict verdict = EL_CONTINUE;
		struct el_run run;

		if (el_sched_pick(&sched, &run) == -EAGAIN) {
			for (uint32_t f = 0; f < FLOWS; f++)
				assert_int_equal(sources[f].n, 0); /* work conserving */
			idle += 500;
			now += 500;
			uint32_t f = draw(FLOWS);

			arrive(f, now, max_ns[f]);
			continue;
		}
		running = run.flow;
		if (sources[running].woken_at) {
			uint64_t worst = 0;

			for (uint32_t g = 0; g < FLOWS; g++)
				if (g != running && longest_ns[g] > worst)
					worst = longest_ns[g];
			if (sources[running].least) {
				++*waits;
				if (now + 1 - sources[running].woken_at > worst)
					fail_msg(
						"seed %u: flow %u waited %llu ns, quantum and element are %llu",
						seed, running,
						(unsigned long long)(now + 1 -
								     sources[running].woken_at),
						(unsigned long long)worst);
			}
			sources[running].woken_at = 0;
		}
		while (verdict == EL_CONTINUE) {
			struct source *s = &sources[running];
			struct packet *p = &s->waiting[s->head];
			uint32_t cost = p->cost_ns[p->done];
			enum el_boundary boundary = EL_CHAIN_GOES_ON;

			assert_int_equal(run.flow, running);
			assert_int_equal(run.resumed, p->done > 0);
			if (p->done == 0)
				p->slice = flows[running].counters.slices;
			now += cost;
			s->served_ns += cost;
			for (uint32_t n = draw(3); n > 0; n--) {
				uint32_t f = draw(FLOWS);

				if (draw(seed % 4 + 1) == 0)
					arrive(f, now, max_ns[f]);
			}
			run.element = ++p->done;
			if (p->done == p->n) {
				double own = 0, others = 0;

				for (uint32_t e = 0; e < p->n; e++)
					own += p->cost_ns[e];
				for (uint32_t g = 0; g < FLOWS; g++)
					others += g == running ? 0 : (double)longest_ns[g];
				/* What is served in several slices pays for them at its rate. */
				if (p->slice != flows[running].counters.slices)
					own /= s->weight;
				++*delays;
				if ((double)now > p->expected_ns + others + own + 1)
					fail_msg(
						"seed %u: a packet of flow %u left %g ns after its bound",
						seed, running,
						(double)now - p->expected_ns - others - own);
				s->head = (s->head + 1) % 32;
				s->n--;
				boundary = s->n ? EL_CHAIN_OVER : EL_CHAIN_OVER_LAST;
			}
			verdict = el_sched_charge(&sched, &run, cost, boundary);
		}
		assert_true(flows[running].counters.longest_slice_ns <= longest_ns[running]);
	}
	for (uint32_t f = 0; f < FLOWS; f++) {
		assert_int_equal(flows[f].counters.cpu_ns, sources[f].served_ns);
		idle += flows[f].counters.cpu_ns;
		assert_int_equal(flows[f].counters.wakeups - flows[f].counters.sleeps,
				 sources[f].n > 0 ? 1 : 0);
	}
	assert_int_equal(idle, now); /* each nanosecond is some flow's, or idle */
}

static void random_flows_keep_the_bounds(void **state)
{
	uint64_t waits = 0, delays = 0;

	(void)state;
	for (uint32_t seed = 1; seed <= 200; seed++)
		random_run(seed * 2654435761u, &waits, &delays);
	assert_true(waits > 10000 && delays > 100000);
}

static void flood_of_one_flow_leaves_the_global_flows_their_share(void **state)
{
	struct el_run run;

	(void)state;
	start(0);
	for (uint32_t f = 0; f <= EL_FLOWS_GLOBAL; f++) {
		assert_int_equal(el_sched_open(&sched, f, f < EL_FLOWS_GLOBAL ? 2 : 1, 5000, 1), 0);
		el_sched_wake(&sched, f, 0);
	}
	for (int i = 0; i < 7000; i++) {
		assert_int_equal(el_sched_pick(&sched, &run), 0);
		/* An element of the flood takes 100 times as long. */
		while (el_sched_charge(&sched, &run, run.flow == EL_FLOWS_GLOBAL ? 20000 : 200,
				       EL_CHAIN_OVER) == EL_CONTINUE)
			;
	}
	for (uint32_t f = 0; f < EL_FLOWS_GLOBAL; f++)
		assert_true(fabs((double)flows[f].counters.cpu_ns /
					 (double)flows[EL_FLOWS_GLOBAL].counters.cpu_ns -
				 2) < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(open_refuses_what_is_out_of_range),
		cmocka_unit_test(preempted_packet_goes_on_at_its_next_element),
		cmocka_unit_test(flow_alone_runs_on_and_is_charged_by_quanta),
		cmocka_unit_test(wake_up_during_the_last_packet_is_not_lost),
		cmocka_unit_test(stages_divide_the_time_of_their_flow),
		cmocka_unit_test(batch_is_served_whole),
		cmocka_unit_test(closed_flow_hands_back_its_packet),
		cmocka_unit_test(random_flows_keep_the_bounds),
		cmocka_unit_test(flood_of_one_flow_leaves_the_global_flows_their_share),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
