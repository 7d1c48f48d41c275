/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Shared by lookup_batch.bpf.c and lookup_rig.c: a batch of addresses, which one test run looks up
 * inside the kernel.
 */
#ifndef LAB_LOOKUP_BATCH_H
#define LAB_LOOKUP_BATCH_H

#include <linux/types.h>

#define LAB_LOOKUPS_MAX 65536

enum lab_lookup_mode {
	LAB_LOOKUP_NOTHING, /* the loop alone: its cost is subtracted from the others' */
	LAB_LOOKUP_TABLE4,  /* the engine of sl_config */
	LAB_LOOKUP_TABLE6,
	LAB_LOOKUP_KERNEL4, /* bpf_fib_lookup of the network namespace of the test run */
	LAB_LOOKUP_KERNEL6,
};

/* Map `batch`, one element: what the next run does. */
struct lab_batch {
	__u32 mode; /* enum lab_lookup_mode */
	__u32 n;    /* elements of `lookups`, from the first; at most LAB_LOOKUPS_MAX */
};

/* Map `lookups`. */
struct lab_lookup {
	__u8 addr[16]; /* in: IPv4 in the first four */
	__u32 answer;  /* out: next-hop id, or what bpf_fib_lookup returned (0 is success) */
	__u32 pad;
};
_Static_assert(sizeof(struct lab_lookup) == 24, "struct lab_lookup has changed size");

#endif
