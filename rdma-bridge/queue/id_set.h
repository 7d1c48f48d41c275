/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set of small numbers: a bit for each, and a summary with a bit for each word that is not empty.
 * Every call costs the same whatever the set holds, so a loop over the set costs a step for each
 * member and nothing for the rest.
 *
 * Not thread-safe, except where a function says so. A set of zero bytes is empty.
 */
#ifndef RB_ID_SET_H
#define RB_ID_SET_H

#include <stdbool.h>
#include <stdint.h>

#define RB_ID_SET_MAX 4096 /* ids are below it */
#define RB_ID_NONE    UINT32_MAX

struct rb_id_set {
	uint64_t summary; /* bit i: word[i] is not 0; may be stale in a set with several writers */
	uint64_t word[RB_ID_SET_MAX / 64];
};

static inline bool rb_id_set_has(const struct rb_id_set *set, uint32_t id)
{
	return set->word[id / 64] >> id % 64 & 1;
}

static inline bool rb_id_set_is_empty(const struct rb_id_set *set)
{
	return set->summary == 0;
}

static inline void rb_id_set_add(struct rb_id_set *set, uint32_t id)
{
	set->word[id / 64] |= 1ULL << id % 64;
	set->summary |= 1ULL << id / 64;
}

/* No effect if it is not in the set. */
static inline void rb_id_set_remove(struct rb_id_set *set, uint32_t id)
{
	set->word[id / 64] &= ~(1ULL << id % 64);
	if (set->word[id / 64] == 0)
		set->summary &= ~(1ULL << id / 64);
}

/* The least id in the set that is not below `from`; RB_ID_NONE: there is none. */
static inline uint32_t rb_id_set_next(const struct rb_id_set *set, uint32_t from)
{
	uint64_t bits;
	uint32_t i = from / 64;

	if (from >= RB_ID_SET_MAX)
		return RB_ID_NONE;
	bits = set->word[i] >> from % 64;
	if (bits)
		return from + (uint32_t)__builtin_ctzll(bits);
	/* Two shifts, because one by 64 is undefined. */
	bits = set->summary >> i >> 1;
	if (!bits)
		return RB_ID_NONE;
	i += 1 + (uint32_t)__builtin_ctzll(bits);
	return i * 64 + (uint32_t)__builtin_ctzll(set->word[i]);
}

/* Add an id to a set that is otherwise touched by this call and rb_id_set_collect alone. */
static inline void rb_id_set_add_shared(struct rb_id_set *set, uint32_t id)
{
	__atomic_fetch_or(&set->word[id / 64], 1ULL << id % 64, __ATOMIC_RELEASE);
	__atomic_fetch_or(&set->summary, 1ULL << id / 64, __ATOMIC_RELEASE);
}

/*
 * Move all ids of a set that other threads add to into `to`, which is the caller's. An id that is
 * added meanwhile is moved now or by the next call.
 */
static inline void rb_id_set_collect(struct rb_id_set *shared, struct rb_id_set *to)
{
	uint64_t words;

	if (__atomic_load_n(&shared->summary, __ATOMIC_RELAXED) == 0)
		return;
	/* Summary before words: the other order would forget an id that is added in between. */
	words = __atomic_exchange_n(&shared->summary, 0, __ATOMIC_ACQ_REL);
	for (; words; words &= words - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(words);
		uint64_t bits = __atomic_exchange_n(&shared->word[i], 0, __ATOMIC_ACQUIRE);

		to->word[i] |= bits;
		if (bits)
			to->summary |= 1ULL << i;
	}
}

#endif
