/* SPDX-License-Identifier: BSD-2-Clause */
/* Rates as text: "10gbit" (bits a second, as tc(8) writes them) or "2mpps" (frames a second). */
#ifndef SL_RATE_H
#define SL_RATE_H

#include <stdbool.h>
#include <stdint.h>

struct sl_rate {
	uint64_t per_s; /* bytes or frames a second, not 0 */
	bool frames;
};

/*
 * A decimal number without sign or fraction, then bit, kbit, mbit, gbit, pps, kpps or mpps; k is
 * 1,000. 0; -EINVAL: it is something else; -ERANGE: below 8 bit, or beyond 1,000,000 gbit or mpps.
 * On error *out is untouched.
 */
int sl_rate_parse(const char *text, struct sl_rate *out);

#endif
