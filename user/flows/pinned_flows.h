/* SPDX-License-Identifier: BSD-2-Clause */
/* The map of exact flows that sluiced has pinned, for the command, which changes it itself. */
#ifndef SL_PINNED_FLOWS_H
#define SL_PINNED_FLOWS_H

#include <stdint.h>

#define SL_PINNED_WHY_BYTES 256

struct sl_pinned_flows {
	int fd;		/* owned */
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
void sl_pinned_flows_close(struct sl_pinned_flows *flows);

#endif
