/* SPDX-License-Identifier: BSD-2-Clause */
/* Fixed-point helpers of the controllers. No library call: products are 128 bits, quotients 64. */
#ifndef CC_ARITH_H
#define CC_ARITH_H

#include <stdint.h>

#include "cc/cc.h"

__extension__ typedef unsigned __int128 cc_u128;
__extension__ typedef __int128 cc_i128;

#define CC_RATE_MAX_Q16 (CC_RATE_MAX << 16) /* 2^53 */

static inline uint64_t cc_min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t cc_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static inline uint64_t cc_clamp(uint64_t v, uint64_t lo, uint64_t hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/*
 * a * b / c, rounded down; UINT64_MAX if it does not fit or c is 0. A division of 128 bits would be
 * a call into the compiler's library, so a product beyond 64 bits is divided bit by bit (about 100
 * ns): use it once per interval and queue, not once per source.
 */
static inline uint64_t cc_mul_div(uint64_t a, uint64_t b, uint64_t c)
{
	cc_u128 product = (cc_u128)a * b;
	uint64_t rest = (uint64_t)(product >> 64), low = (uint64_t)product, quotient = 0;

	if (rest == 0 && c != 0)
		return low / c;
	if (rest >= c)
		return UINT64_MAX;
	for (int bit = 63; bit >= 0; bit--) {
		uint64_t carry = rest >> 63;

		rest = rest << 1 | (low >> bit & 1);
		if (carry || rest >= c) {
			rest -= c;
			quotient |= UINT64_C(1) << bit;
		}
	}
	return quotient;
}

/* value * ppb / 10^9 for value up to 2^53 and ppb up to 2^40. */
static inline uint64_t cc_ppb(uint64_t value, int64_t ppb)
{
	return cc_mul_div(value, (uint64_t)ppb, CC_ONE_PPB);
}

/* A ratio in 10^-9 as a number with `bits` fraction bits, rounded to nearest. */
static inline uint64_t cc_ppb_to_q(int64_t ppb, unsigned int bits)
{
	return (cc_mul_div((uint64_t)ppb * 2, UINT64_C(1) << bits, CC_ONE_PPB) + 1) / 2;
}

/* Units that a rate moves in a time: rate_ups up to CC_RATE_MAX, at most CC_UNITS_MAX returned. */
static inline uint32_t cc_units_in(uint64_t rate_ups, uint32_t elapsed_ns)
{
	return (uint32_t)cc_min(cc_mul_div(rate_ups, elapsed_ns, 1000000000u), CC_UNITS_MAX);
}

/* The rate at which a VOQ sends: its limit while it is backlogged, else the measured rate. */
static inline uint64_t cc_current_rate_q16(uint64_t rate_q16, const struct cc_usage *u)
{
	uint64_t measured_ups;

	if (u->backlogged || u->elapsed_ns == 0)
		return rate_q16;
	measured_ups = (uint64_t)u->sent_units * 1000000000u / u->elapsed_ns;
	return cc_min(cc_min(measured_ups, CC_RATE_MAX) << 16, rate_q16);
}

/* xorshift32 (Marsaglia 2003); *state is never 0. */
static inline uint32_t cc_random(uint32_t *state)
{
	uint32_t x = *state;

	x ^= x << 13;
	x ^= x >> 17;
	x ^= x << 5;
	return *state = x;
}

/* mean times a uniform factor in 0.85..1.15: the sampling jitter of 802.1Qau. */
static inline uint32_t cc_jitter(uint32_t *state, uint32_t mean)
{
	uint64_t factor_q16 = 55705 + (uint64_t)(cc_random(state) >> 16) * 19661 / 65536;

	return (uint32_t)cc_clamp(mean * factor_q16 >> 16, 1, CC_UNITS_MAX);
}

#endif
