/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From the records of each processor to frames seen at ports, in the order of their times. What
 * became of a frame is known when its program ends; so a frame that entered waits for that record.
 */
#ifndef SL_SIGHTING_H
#define SL_SIGHTING_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/captured.h"

/* A frame at a port: as it entered, or as it leaves. */
struct sl_sighting {
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	uint64_t end_ns;  /* when the program was done with it, or 0: not known */
	/* The same where a frame enters and where it leaves, different from all others; 0: unknown.
	 */
	uint64_t id;
	uint32_t ifindex;	/* the port where it is seen */
	uint32_t other_ifindex; /* where it leaves, or entered; 0: not known, or nowhere */
	bool out;		/* it leaves here */
	bool sent;		/* by an AF_XDP socket, such as the bridge's */
	bool fabric;		/* sl_fabric has decided, not sl_edge */
	bool chosen;		/* by the filter in the kernel; false: not known */
	uint8_t outcome;	/* enum sl_capture_outcome */
	uint8_t reason;		/* as in struct sl_captured */
	uint32_t queue;		/* receive queue where it entered */
	uint32_t voq_plus1;	/* as in struct sl_captured */
	uint32_t frame_bytes;	/* of the whole frame */
	uint32_t copied_bytes;	/* in bytes[] */
	uint64_t order;		/* of arrival, among equal times */
	uint8_t bytes[];
};

struct sl_sightings;

/* 0 or -ENOMEM. */
int sl_sightings_create(struct sl_sightings **out);

/*
 * Add a record. cpu is below SL_SIGHTING_CPUS_MAX; bytes are record->copied_bytes long.
 * 0; -ENOMEM, -ERANGE: the record is left out.
 */
#define SL_SIGHTING_CPUS_MAX 4096
int sl_sightings_add(struct sl_sightings *s, int cpu, const struct sl_captured *record,
		     const uint8_t *bytes);

/*
 * Hand over, oldest first, what was seen before until_ns, each borrowed for the call. All records
 * of before then must have been added. A frame that entered SL_SIGHTING_PATIENCE_NS before until_ns
 * is handed over even if what became of it is not known. UINT64_MAX: everything.
 */
#define SL_SIGHTING_PATIENCE_NS 100000000ULL
void sl_sightings_take(struct sl_sightings *s, uint64_t until_ns,
		       void (*seen)(void *arg, const struct sl_sighting *sighting), void *arg);

/* NULL is fine. */
void sl_sightings_destroy(struct sl_sightings *s);

#endif
