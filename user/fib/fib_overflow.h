/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The prefixes of one family that did not fit the tables, in order, so that "is there one under
 * this prefix?" takes logarithmic time however many there are. Empty in ordinary life.
 */
#ifndef SL_FIB_OVERFLOW_H
#define SL_FIB_OVERFLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/text/prefix.h"

struct sl_overflow_item {
	struct sl_prefix prefix;
	uint32_t priority; /* higher than any in its subtrees */
	struct sl_overflow_item *left, *right;
};

/* All zero is an empty set. */
struct sl_overflow {
	struct sl_overflow_item *root; /* owned */
	uint64_t count;
	uint32_t random; /* state of the generator of priorities */
};

void sl_overflow_fini(struct sl_overflow *set);

/* The prefix must not be in the set. 0 or -ENOMEM. */
int sl_overflow_add(struct sl_overflow *set, const struct sl_prefix *prefix);
/*
 * Give back an item that was taken from a set. Needs no memory. The set owns it again. Which one is
 * at hand next is drawn anew.
 */
void sl_overflow_put(struct sl_overflow *set, struct sl_overflow_item *item);
void sl_overflow_delete(struct sl_overflow *set, const struct sl_prefix *prefix);

/* Is there one that is under `prefix` and longer? */
bool sl_overflow_any_under(const struct sl_overflow *set, const struct sl_prefix *prefix);
/*
 * Is there one that begins at an address first..last and, if it begins at `first`, has at least
 * min_len bits? Both are 16 bytes.
 */
bool sl_overflow_any_between(const struct sl_overflow *set, const uint8_t *first,
			     unsigned int min_len, const uint8_t *last);
/* Take one, whichever is at hand; NULL if the set is empty. The caller owns it. */
struct sl_overflow_item *sl_overflow_take(struct sl_overflow *set);

size_t sl_overflow_bytes(const struct sl_overflow *set);

#endif
