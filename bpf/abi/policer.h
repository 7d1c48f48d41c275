/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The policer of a rule, in sl_policer by the rule's number: two token buckets.
 *
 * Tokens are bytes times 10^9, so that a rate in bytes a second fills a bucket by elapsed
 * nanoseconds times the rate, without a division and without a remainder.
 */
#ifndef SL_POLICER_H
#define SL_POLICER_H

#include <linux/bpf.h>
#include <linux/types.h>

#define SL_POLICER_SCALE 1000000000ULL
/* So that a full bucket and what comes to it stay below 2^64. */
#define SL_POLICER_BURST_MAX (4ULL << 30) /* bytes */

enum sl_colour { SL_COLOUR_GREEN, SL_COLOUR_YELLOW, SL_COLOUR_RED, SL_COLOURS };

/* The committed bucket, and beside it that of the excess burst or of the peak rate. */
enum sl_bucket { SL_BUCKET_COMMITTED, SL_BUCKET_OTHER, SL_BUCKETS };

struct sl_policer {
	struct bpf_spin_lock lock; /* of the tokens and what follows */
	__u32 two_rates;	   /* RFC 2698: `other` is the peak rate's; 0: RFC 2697 */
	__u32 exceed_dscp_plus1;   /* that yellow packets get; 0: as they came */
	__u32 pad;
	__u64 rate_Bps[SL_BUCKETS]; /* of `other` only with two rates */
	__u64 burst[SL_BUCKETS];    /* size of the bucket, in tokens */
	__u64 full_ns[SL_BUCKETS];  /* from empty to full; of both together with one rate */
	__u64 tokens[SL_BUCKETS];
	__u64 filled_ns; /* CLOCK_MONOTONIC: when the buckets were filled */
	__u64 packets[SL_COLOURS], bytes[SL_COLOURS];
};
_Static_assert(sizeof(struct sl_policer) == 136, "user and BPF agree");

#endif
