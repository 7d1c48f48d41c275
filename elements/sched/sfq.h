/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Start-time fair queueing: who uses the processor next, in proportion to weights.
 *
 * A client has a start tag S and a finish tag F, in virtual time v. After a service of e ns,
 * F = S + e / weight; the client with the least start tag is next. Only the time really used
 * enters, and only after it was used, so no cost need be known beforehand.
 *
 *      wake             S = max(v, F)
 *      pick             the least S; v = S
 *      charge(e)        F = S + e / weight; still eligible: S = F
 *      nobody is left   v = the greatest F so far
 *
 * With l the longest service of a client: while f and g are both eligible, |W_f / w_f - W_g / w_g|
 * stays within l_f / w_f + l_g / w_g. Source: Goyal, Vin, Cheng, "Start-time Fair Queueing" and
 * Goyal, Guo, Vin, "A Hierarchical CPU Scheduler", OSDI 1996.
 *
 * Differences: clients of one start tag come in the order in which they became eligible, so that
 * one that has just been served stands behind the others. The remainder of e / weight is kept for
 * the next charge: tags do not drift. Tags have 128 bits and never wrap.
 *
 * The client in service keeps its place at the root of a binary heap, since nobody's start tag is
 * less than v: a turn is one descent from there.
 *
 * Pure: no clock, no allocation, no I/O. One thread per object.
 */
#ifndef EL_SCHED_SFQ_H
#define EL_SCHED_SFQ_H

#include <stdbool.h>
#include <stdint.h>

#define EL_NONE	      UINT32_MAX
#define EL_WEIGHT_MAX 1000000000u	  /* so a weight can be a part of the processor in 10^-9 */
#define EL_CHARGE_MAX (UINT64_C(1) << 33) /* ns of one charge; more counts as this much */
#define EL_TAG_PER_NS (UINT64_C(1) << 30) /* of virtual time, at weight 1 */
#define EL_ASLEEP     UINT32_MAX

__extension__ typedef unsigned __int128 el_tag;

struct el_client {
	el_tag start;	 /* S; valid while eligible */
	el_tag finish;	 /* F */
	uint64_t order;	 /* among clients of one start tag: when it became eligible */
	uint32_t weight; /* 1..EL_WEIGHT_MAX */
	uint32_t rest;	 /* remainder of the latest division, below weight */
	uint32_t place;	 /* in the heap, or EL_ASLEEP */
	uint32_t reserved;
};

struct el_sfq {
	struct el_client *clients; /* borrowed from el_sfq_init on: n_clients */
	uint32_t *heap;		   /* borrowed likewise: the eligible clients, least first */
	uint32_t n_clients;
	uint32_t n_eligible;
	uint32_t served; /* the client in service, which stays the heap's root; or EL_NONE */
	uint32_t reserved;
	el_tag v;	   /* virtual time */
	el_tag finish_max; /* the greatest F so far */
	uint64_t order;	   /* of the next client that becomes eligible */
};

/* Start with n clients, all asleep and of weight 1; both arrays have n entries. */
void el_sfq_init(struct el_sfq *q, struct el_client *clients, uint32_t *heap, uint32_t n);

/* Change a weight, which is clamped to 1..EL_WEIGHT_MAX. Time used from now on counts by it. */
void el_sfq_set_weight(struct el_sfq *q, uint32_t id, uint32_t weight);

/* A client has something to do. Returns false if it waited already or is in service. */
bool el_sfq_wake(struct el_sfq *q, uint32_t id);

/* Take a client that waits out, before it was served. Returns false if it did not wait. */
bool el_sfq_forget(struct el_sfq *q, uint32_t id);

/*
 * Begin the next service. Returns the client, or EL_NONE: nobody waits. No service may be going on.
 */
uint32_t el_sfq_pick(struct el_sfq *q);

/*
 * Would the client in service, were it charged with used_ns now, give way? True if another one
 * waits whose start tag is less or equal: equal priority preempts.
 */
bool el_sfq_due(const struct el_sfq *q, uint64_t used_ns);

/* End the service, which took used_ns. eligible: the client has more to do and waits again. */
void el_sfq_charge(struct el_sfq *q, uint64_t used_ns, bool eligible);

#endif
