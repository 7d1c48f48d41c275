/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * The colour of a packet by the two token buckets of a policer, in colour-blind mode: RFC 2697
 * (one rate; what overflows the committed bucket fills that of the excess burst) or RFC 2698 (two
 * rates). Calls nothing of the kernel, so that tests can run it in user space, too.
 */
#ifndef SL_POLICER_COLOUR_BPF_H
#define SL_POLICER_COLOUR_BPF_H

#include "bpf/abi/policer.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

static __always_inline void sl_bucket_add(struct sl_policer *p, enum sl_bucket i, __u64 tokens)
{
	p->tokens[i] += tokens;
	if (p->tokens[i] > p->burst[i])
		p->tokens[i] = p->burst[i];
}

/* RFC 2698: each bucket fills by its own rate. */
static __always_inline void sl_bucket_fill(struct sl_policer *p, enum sl_bucket i, __u64 elapsed_ns)
{
	sl_bucket_add(p, i, elapsed_ns < p->full_ns[i] ? elapsed_ns * p->rate_Bps[i] : p->burst[i]);
}

/* RFC 2697 3: tokens go to the committed bucket, and once it is full to the other. */
static __always_inline void sl_buckets_share(struct sl_policer *p, __u64 elapsed_ns)
{
	__u64 tokens = p->burst[SL_BUCKET_COMMITTED] + p->burst[SL_BUCKET_OTHER], room;

	if (elapsed_ns < p->full_ns[SL_BUCKET_COMMITTED])
		tokens = elapsed_ns * p->rate_Bps[SL_BUCKET_COMMITTED];
	room = p->burst[SL_BUCKET_COMMITTED] - p->tokens[SL_BUCKET_COMMITTED];
	sl_bucket_add(p, SL_BUCKET_COMMITTED, tokens);
	if (tokens > room)
		sl_bucket_add(p, SL_BUCKET_OTHER, tokens - room);
}

/*
 * Fill the buckets, take the packet's tokens and count it. The caller holds the lock. Processors'
 * clocks may differ a little: time that has been filled in is not filled in again.
 */
static __always_inline enum sl_colour sl_policer_colour(struct sl_policer *p, __u64 now_ns,
							__u32 bytes)
{
	__u64 need = bytes * SL_POLICER_SCALE;
	enum sl_colour colour = SL_COLOUR_RED;

	if (now_ns > p->filled_ns) {
		__u64 elapsed_ns = now_ns - p->filled_ns;

		p->filled_ns = now_ns;
		if (p->two_rates) {
			sl_bucket_fill(p, SL_BUCKET_COMMITTED, elapsed_ns);
			sl_bucket_fill(p, SL_BUCKET_OTHER, elapsed_ns);
		} else {
			sl_buckets_share(p, elapsed_ns);
		}
	}
	if (p->two_rates) {
		if (p->tokens[SL_BUCKET_OTHER] >= need) {
			p->tokens[SL_BUCKET_OTHER] -= need;
			colour = SL_COLOUR_YELLOW;
			if (p->tokens[SL_BUCKET_COMMITTED] >= need) {
				p->tokens[SL_BUCKET_COMMITTED] -= need;
				colour = SL_COLOUR_GREEN;
			}
		}
	} else if (p->tokens[SL_BUCKET_COMMITTED] >= need) {
		p->tokens[SL_BUCKET_COMMITTED] -= need;
		colour = SL_COLOUR_GREEN;
	} else if (p->tokens[SL_BUCKET_OTHER] >= need) {
		p->tokens[SL_BUCKET_OTHER] -= need;
		colour = SL_COLOUR_YELLOW;
	}
	p->packets[colour]++;
	p->bytes[colour] += bytes;
	return colour;
}

#endif
