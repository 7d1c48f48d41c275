/* SPDX-License-Identifier: BSD-2-Clause */
/* A scenario: all that defines one run of the model, or a sweep of runs. Read from a YAML file. */
#ifndef CC_SIM_SCENARIO_H
#define CC_SIM_SCENARIO_H

#include "cc/sim/model.h"

#define SIM_CHANGES_MAX 64u
#define SIM_AXES_MAX	2u
#define SIM_NAME_BYTES	64u

/* One axis of a sweep: `steps` values from `from` to `to`, ends included. */
struct sim_axis {
	/* a parameter of the controller, or delay, jitter, loss_ppm, seed */
	char name[SIM_NAME_BYTES];
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

/* Set a number of the scenario by the name of an axis. Returns 0, -ENOENT, -ERANGE or -EINVAL. */
int sim_scenario_set(struct sim_scenario *scenario, const char *name, double value);

/* Copy a scenario; the copy's setup points into itself. */
void sim_scenario_copy(struct sim_scenario *to, const struct sim_scenario *from);

/*
 * Read a scenario file (its keys: cc/sim/scenarios/README.md). Returns 0, or -EINVAL, -ENOMEM or
 * the error of reading, with a line in error (512 bytes, as user/text/yaml.h) that says what is
 * wrong and what would be right.
 */
int sim_scenario_load(struct sim_scenario *out, const char *path, char error[512]);

#endif
