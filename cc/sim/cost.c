/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cost of the controllers: processor time of one interval of one egress queue with many
 * sources. Both halves run on the same core here; in a cluster the ingress halves are spread over
 * all nodes.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cc/sim/cost.h"

#define ROUNDS	  9
#define INTERVALS 400

/* State of one queue and its sources; static, as in the bridge. */
static struct cc_config config;
static struct cc_egress egress;
static struct cc_ingress ingress[CC_SOURCES_MAX];
static struct cc_source sources[CC_SOURCES_MAX];

static double cpu_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void one_interval(uint16_t n)
{
	struct cc_sample s = {
		.capacity_ups = config.port.capacity_ups,
		.elapsed_ns = config.port.interval_ns,
		.backlog_units = 1500 + (uint32_t)random() % 900,
		.change_units = (int32_t)(random() % 200) - 100,
		.departed_units = 14880,
		.last_source = (uint16_t)(random() % n),
		.n_sources = n,
		.sources = sources,
		.timer = true,
	};
	struct cc_usage usage = { .elapsed_ns = s.elapsed_ns,
				  .sent_units = 60,
				  .backlogged = true };

	for (uint16_t i = 0; i < n; i++)
		sources[i].arrived_units = 55 + (uint32_t)random() % 10;
	cc_egress_sample(&egress, &config, &s);
	for (uint16_t i = 0; i < n; i++) {
		struct cc_feedback feedback;

		if (cc_egress_feedback(&egress, &config, &s, &sources[i], &feedback))
			cc_ingress_feedback(&ingress[i], &config, &feedback);
		cc_ingress_sent(&ingress[i], &config, usage.sent_units);
		usage.urgency_total = cc_ingress_urgency(&ingress[i], &config);
		cc_ingress_tick(&ingress[i], &config, &usage);
	}
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void sim_cost(uint16_t n)
{
	const struct cc_port port = {
		.capacity_ups = 14880000,
		.line_ups = 14880000,
		.interval_ns = 1000000,
		.frame_bytes = 64,
		.units = CC_PACKETS,
		.sources = n,
	};

	printf("%u sources, T = 1 ms, both halves: us per interval, median [least-greatest] of %d\n",
	       n, ROUNDS);
	for (const struct cc_ops *const *ops = cc_algorithms; *ops; ops++) {
		double us[ROUNDS];

		if (cc_config_init(&config, (*ops)->name, &port) ||
		    cc_config_prepare(&config, NULL))
			continue;
		cc_egress_init(&egress, &config);
		for (uint16_t i = 0; i < n; i++) {
			cc_ingress_init(&ingress[i], &config, 1);
			sources[i] =
				(struct cc_source){ .id = i, .weight = 1, .waiting_units = 100 };
		}
		for (int round = 0; round < ROUNDS; round++) {
			double start = cpu_seconds();

			for (int k = 0; k < INTERVALS; k++)
				one_interval(n);
			us[round] = (cpu_seconds() - start) / INTERVALS * 1e6;
		}
		qsort(us, ROUNDS, sizeof(us[0]), compare);
		printf("  %-8s %6.1f [%.1f-%.1f]  %.2f %% of a core;  state of a queue %u bytes, of a VOQ %u\n",
		       (*ops)->name, us[ROUNDS / 2], us[0], us[ROUNDS - 1], us[ROUNDS / 2] / 10,
		       (*ops)->egress_bytes, (*ops)->ingress_bytes);
	}
}
