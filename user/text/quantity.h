/* SPDX-License-Identifier: BSD-2-Clause */
/* Quantities for people: numbers of three significant digits, and durations. */
#ifndef SL_QUANTITY_H
#define SL_QUANTITY_H

#include <stdint.h>

#define SL_QUANTITY_BYTES 24

/*
 * A value with a decimal prefix, to be followed by its unit: "0 ", "999 ", "1.23 k", "45.6 M", "789
 * G". Rounded to three digits, half up. Returns text.
 */
const char *sl_quantity(uint64_t value, char text[SL_QUANTITY_BYTES]);

/*
 * "7 ms", "12.3 s", "2:05 min", "1:02:03 h", "3 d 4 h". Cut, not rounded, below a minute. Returns
 * text.
 */
const char *sl_duration(uint64_t ms, char text[SL_QUANTITY_BYTES]);

#endif
