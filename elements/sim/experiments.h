/* SPDX-License-Identifier: BSD-2-Clause */
/* The paper's experiments, as far as they can be simulated: its figure beside ours. */
#ifndef EL_SIM_EXPERIMENTS_H
#define EL_SIM_EXPERIMENTS_H

#include <stdbool.h>
#include <stdint.h>

struct el_finding {
	const char *what;
	const char *paper; /* what the paper reports */
	char ours[192];
	const char *accepted; /* what ours must look like */
	bool holds;
};

struct el_experiment {
	const char *name; /* as on the command line */
	/* Run it. Returns 0 and fills *out, or -errno. */
	int (*run)(struct el_finding *out);
};

/* Ends with a name of NULL. */
extern const struct el_experiment el_experiments[];

#endif
