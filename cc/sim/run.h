/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs of the discrete-time model: one scenario, or a grid of them, with what came of each. */
#ifndef CC_SIM_RUN_H
#define CC_SIM_RUN_H

#include <stdio.h>

#include "cc/sim/model.h"

#define SIM_CHANGES_MAX 64u
#define SIM_AXES_MAX	2u
#define SIM_NAME_BYTES	64u

/* One axis of a sweep: `steps` values from `from` to `to`, ends included. */
struct sim_axis {
	char name
		/* a parameter of the controller, or delay, jitter, loss_ppm, seed */
		[SIM_NAME_BYTES];
	double from, to;
	uint32_t steps; /* 1.. */
};

struct sim_scenario {
	char name[SIM_NAME_BYTES];
	struct sim_setup setup; /* its flows and changes point to the arrays below */
	struct sim_flow flows[SIM_FLOWS_MAX];
	struct sim_change changes[SIM_CHANGES_MAX];
	uint32_t intervals;
	uint32_t measure_from; /* first interval that the summary looks at */
	struct sim_axis axes[SIM_AXES_MAX];
	uint32_t n_axes;
};

/* What a run came to, over intervals measure_from and later; shares are those of the oracle. */
struct sim_summary {
	uint32_t settle_5, settle_1, settle_01; /* intervals from measure_from until every source
		stays within 5, 1, 0.1 % of its share; intervals - measure_from: never */
	double error;		 /* largest |rate - share| / share in the last tenth */
	double utilisation;	 /* departures over what the outputs could drain */
	double jain;		 /* of rate / share in the last half, rates averaged over it */
	double queue_mean_units; /* over outputs and intervals */
	double queue_p99_units;
	double queue_max_units;
	double egress_drop_share;	   /* of arrivals */
	double rate_ups[SIM_SOURCES_MAX];  /* mean of the last half, to output 0 */
	double share_ups[SIM_SOURCES_MAX]; /* at the end, of output 0 */
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

/* Set a number of the scenario by the name of an axis. Returns 0, -ENOENT, -ERANGE or -EINVAL. */
int sim_scenario_set(struct sim_scenario *scenario, const char *name, double value);

/* Copy a scenario; the copy's setup points into itself. */
void sim_scenario_copy(struct sim_scenario *to, const struct sim_scenario *from);

/*
 * Read a scenario file (YAML, see cc/sim/README.md). Returns 0, or -EINVAL, -ENOMEM or the error of
 * reading, with a line in error (512 bytes, as user/text/yaml.h) that says what is wrong and would
 * be right.
 */
int sim_scenario_load(struct sim_scenario *out, const char *path, char error[512]);

#endif
