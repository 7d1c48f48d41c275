/* SPDX-License-Identifier: BSD-2-Clause */
/* The map of exact flows that sluiced has pinned, for the command, which changes it itself. */
#ifndef SL_PINNED_FLOWS_H
#define SL_PINNED_FLOWS_H

#include <stdint.h>

#include "user/flows/flow_line.h"

#define SL_PINNED_WHY_BYTES 256

struct sl_pinned_flows {
	int fd;		/* owned */
	int rules_fd;	/* owned; sl_flow_rule */
	uint64_t *puts; /* owned; sl_exact_puts (user/datapath/exact_flows.h) */
	uint32_t id;
	uint32_t limit; /* flows that fit */
};

/*
 * Open it. 0; -ENOENT: nothing is pinned; -EOPNOTSUPP: the configuration has no room for flows, or
 * another version runs; or -errno; with the reason in why.
 */
int sl_pinned_flows_open(const char *pin_dir, struct sl_pinned_flows *out,
			 char why[SL_PINNED_WHY_BYTES]);
/* Is there the rule that the flow names, for its IP version? 0, or -EINVAL with the reason in why.
 */
int sl_pinned_flows_check(const struct sl_pinned_flows *flows, const struct sl_flow_line *line,
			  char why[SL_FLOW_WHY_BYTES]);
/* Write the name of the flow's rule into line->as, if there is such a rule. */
void sl_pinned_flows_name(const struct sl_pinned_flows *flows, struct sl_flow_line *line);

void sl_pinned_flows_close(struct sl_pinned_flows *flows);

#endif
