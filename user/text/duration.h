/* SPDX-License-Identifier: BSD-2-Clause */
/* Durations as people write them in arguments: "250us", "1.5s". */
#ifndef SL_DURATION_H
#define SL_DURATION_H

#include <stdint.h>

/*
 * A decimal number without sign, with up to nine digits after a point, then ns, us, ms, s, min or
 * h. What lies below a nanosecond is cut. 0; -EINVAL: it is something else; -ERANGE: beyond 1,000
 * h. On error *out_ns is untouched.
 */
int sl_duration_parse(const char *text, uint64_t *out_ns);

#define SL_DURATION_BYTES 24
/* Three significant digits and the unit that fits: "999 ns", "1.23 us", "45.6 ms", "-7.5 s".
 * Returns text. */
const char *sl_duration_ns_text(int64_t value_ns, char text[SL_DURATION_BYTES]);

#endif
