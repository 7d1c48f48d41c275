/* SPDX-License-Identifier: BSD-2-Clause */
/* Run the model: one scenario, or each point of its sweep, with a summary of each run. */
#ifndef CC_SIM_RUN_H
#define CC_SIM_RUN_H

#include <stdio.h>

#include "cc/sim/scenario.h"

/* Results of a run, over intervals measure_from and later; shares are those of the oracle. */
struct sim_summary {
	uint32_t settle_5, settle_1, settle_01; /* intervals from measure_from until every source
		stays within 5, 1, 0.1 % of its share; intervals - measure_from: never */
	double error;	    /* largest |rate - share| / share in the last tenth */
	double utilisation; /* departures over what the outputs could drain */
	double busy_use;    /* the same, while something left or waited at a source */
	double jain;	    /* of rate / share to output 0, both averaged over the last half */
	/* the worst of each whole second: that index, and the least rate / share; NAN: no second */
	double second_jain, second_least;
	double queue_mean_units; /* over outputs and intervals */
	double queue_p99_units;
	double queue_max_units;
	double least; /* of rate / share to output 0, both averaged over the last half */
	/* of flows with a size: how many, how many came to their end, and the seconds that took:
	 * median, 99 and 99.9 %; INFINITY if so many did not */
	uint32_t flows, flows_done;
	double flow_p50_s, flow_p99_s, flow_p999_s;
	double egress_drop_share;	   /* of arrivals */
	double rate_ups[SIM_SOURCES_MAX];  /* mean of the last half, to output 0 */
	double share_ups[SIM_SOURCES_MAX]; /* mean of the last half, of output 0 */
};

/*
 * Run a scenario. trace: NULL, or gets a CSV row per interval and output. Returns 0, -ENOMEM or
 * -EINVAL (a number out of range).
 */
int sim_run(const struct sim_scenario *scenario, FILE *trace, struct sim_summary *out);

/*
 * Run the grid of the scenario's axes on `threads` threads, a CSV row per point into csv in grid
 * order. progress: called from one thread at a time with runs done and runs in all; may be NULL.
 * Returns 0, -ENOMEM, -EAGAIN (no thread), or the error of the first point that failed.
 */
int sim_sweep(const struct sim_scenario *scenario, uint32_t threads, FILE *csv,
	      void (*progress)(uint32_t done, uint32_t total));

#endif
