/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A fast path for lookups alone: the maps as the daemon loads them, a sl_fib that writes them, and
 * batches of addresses that BPF looks up in them. Tests compare its answers; the benchmark measures
 * its time.
 */
#ifndef LAB_LOOKUP_RIG_H
#define LAB_LOOKUP_RIG_H

#include <stdint.h>

#include "netns-lab/lookup/lookup_batch.h"
#include "user/fib/fib.h"

#define LAB_LOOKUP_OBJECT "build/lab/lookup_batch.bpf.o"
#define LAB_NEXTHOPS	  64

struct lookup_rig {
	struct sl_datapath *datapath;	   /* owned */
	struct sl_fib *fib;		   /* owned; writes its tables */
	uint32_t nexthop_id[LAB_NEXTHOPS]; /* distinct, for routes to name */
	struct lab_lookup *lookups;	   /* owned; mapped, LAB_LOOKUPS_MAX elements */
	int prog_fd, batch_fd;		   /* borrowed from datapath */
};

/* Tables of the default size. 0 or -errno; errors are logged. */
int lookup_rig_open(const char *object_path, enum sl_engine engine, struct lookup_rig **out);
void lookup_rig_close(struct lookup_rig *rig); /* NULL is fine */

/* Route a prefix to the next hop of that number, 0..LAB_NEXTHOPS-1. As sl_fib_insert. */
int lookup_rig_insert(struct lookup_rig *rig, const struct sl_prefix *prefix, uint32_t nexthop);

/*
 * Look up the first n addresses of rig->lookups `repeat` times. *run_ns, if not NULL, is the time
 * of one pass over all n, the mean of `repeat`. 0 or -errno.
 */
int lookup_rig_run(struct lookup_rig *rig, enum lab_lookup_mode mode, uint32_t n, uint32_t repeat,
		   uint32_t *run_ns);

#endif
