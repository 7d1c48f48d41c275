/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * A packet's fields against the image of a classifier: classifier.h has the image and the idea
 * behind it. Calls nothing of the kernel, so that tests can run it in user space, too.
 *
 * `words` is the size of the image's pool in 64-bit words, a power of two. It is a constant once
 * these functions are inlined, so each access is masked by a constant and needs no other check.
 */
#ifndef SL_CLASSIFIER_WALK_BPF_H
#define SL_CLASSIFIER_WALK_BPF_H

#include "bpf/abi/classifier.h"
#include "bpf/lib/bits.bpf.h"

#ifdef __bpf__
#include <bpf/bpf_helpers.h>
#define SL_UNROLL _Pragma("unroll")
#else
#define SL_UNROLL
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#endif

/*
 * An index below `size`, a power of two, in a form that Linux 6.1 can follow: without the barrier
 * clang turns (a + b) & mask into an OR of two masked halves, at which 6.1 forgets the bounds.
 */
static __always_inline __u32 sl_class_index(__u32 i, __u32 size)
{
	asm volatile("" : "+r"(i));
	return i & (size - 1);
}

static __always_inline __u64 sl_pool64(const struct sl_classifier *c, __u32 words, __u32 i)
{
	return ((const __u64 *)(c + 1))[sl_class_index(i, words)];
}

static __always_inline __u32 sl_pool32(const struct sl_classifier *c, __u32 words, __u32 i)
{
	return ((const __u32 *)(c + 1))[sl_class_index(i, words * 2)];
}

static __always_inline __u32 sl_pool16(const struct sl_classifier *c, __u32 words, __u32 i)
{
	return ((const __u16 *)(c + 1))[sl_class_index(i, words * 4)];
}

/*
 * Read a word from the map each time: with a copy in a register the verifier would follow each of
 * the 2^10 sets of fields through the rest of the program.
 */
#define SL_REREAD(word) (*(const volatile __u32 *)&(word))

/* Multiplied by a single bit, its top six bits tell which bit it was. */
#define SL_DE_BRUIJN 0x03f79d71b4cb0a89ULL
static const __u8 sl_de_bruijn_bit[64] = {
	0,  1,	48, 2,	57, 49, 28, 3,	61, 58, 50, 42, 38, 29, 17, 4,	62, 55, 59, 36, 53, 51,
	43, 22, 45, 39, 33, 30, 24, 18, 12, 5,	63, 47, 56, 27, 60, 41, 37, 16, 54, 35, 52, 21,
	44, 32, 23, 11, 46, 26, 40, 15, 34, 20, 31, 10, 25, 14, 19, 9,	13, 8,	7,  6,
};

/* Number of the lowest bit that is set; x is not 0. BPF has no instruction for it. */
static __always_inline __u32 sl_lowest_bit(__u64 x)
{
	return sl_de_bruijn_bit[((x & -x) * SL_DE_BRUIJN) >> 58];
}

/* 1 if a <= b, else 0: the inverse of the borrow of b - a, without a branch. */
static __always_inline __u32 sl_at_most(__u64 a, __u64 b)
{
	return (((~b & a) | ((~b | a) & (b - a))) >> 63) ^ 1;
}

/* A list of bounds that is being searched for a key. */
struct sl_class_search {
	__u32 bounds; /* u64 at: bound 0 of the table */
	__u32 values; /* u32 at: what belongs to it */
	__u32 at;     /* place in both */
	__u32 step;
	__u64 key;
};

static __always_inline void sl_class_search_begin(struct sl_class_search *s, __u32 entry)
{
	__u32 log2 = entry >> SL_CLASS_LIST_SHIFT & SL_CLASS_LIST_LOG2;

	s->at = entry & SL_CLASS_LIST_PLACE;
	s->step = entry & SL_CLASS_LIST ? (1u << log2) >> 1 : 0;
}

static __always_inline void sl_class_search_step(const struct sl_classifier *c, __u32 words,
						 struct sl_class_search *s)
{
	__u64 bound = sl_pool64(c, words, s->bounds + s->at + s->step);

	s->at += s->step & -sl_at_most(bound, s->key);
	s->step >>= 1;
}

/* Replace each entry that is a list by what the search finds; both at once overlaps their loads. */
static __always_inline void sl_class_search(const struct sl_classifier *c, __u32 words,
					    struct sl_class_search *src,
					    struct sl_class_search *dst, __u32 entry[SL_SIDES])
{
	__u32 i;

	sl_class_search_begin(src, entry[SL_SIDE_SOURCE]);
	sl_class_search_begin(dst, entry[SL_SIDE_DESTINATION]);
	for (i = 0; i < SL_CLASS_LOG2_MAX; i++) {
		if (!(src->step | dst->step))
			break;
		sl_class_search_step(c, words, src);
		sl_class_search_step(c, words, dst);
	}
	if (entry[SL_SIDE_SOURCE] & SL_CLASS_LIST)
		entry[SL_SIDE_SOURCE] = sl_pool32(c, words, src->values + src->at);
	if (entry[SL_SIDE_DESTINATION] & SL_CLASS_LIST)
		entry[SL_SIDE_DESTINATION] = sl_pool32(c, words, dst->values + dst->at);
}

/* The classes of both addresses. */
static __always_inline void sl_class_addresses(const struct sl_classifier *c, __u32 words,
					       const struct sl_flow *flow, __u32 entry[SL_SIDES])
{
	struct sl_class_search search[SL_SIDES];
	__u32 side;

	for (side = 0; side < SL_SIDES; side++) {
		const struct sl_class_address *address = &c->address[side];
		__u64 key = flow->address[side][0];

		search[side].key = key;
		search[side].bounds = address->bounds;
		search[side].values = address->entries;
		entry[side] =
			sl_pool32(c, words, address->root + (key >> (address->root_shift & 63)));
	}
	if ((entry[0] | entry[1]) & SL_CLASS_LIST)
		sl_class_search(c, words, &search[0], &search[1], entry);
	if (!((entry[0] | entry[1]) & SL_CLASS_LIST))
		return;
	for (side = 0; side < SL_SIDES; side++) {
		search[side].key = flow->address[side][1];
		search[side].bounds = c->address[side].low_bounds;
		search[side].values = c->address[side].low_classes;
	}
	sl_class_search(c, words, &search[0], &search[1], entry);
}

/* room for SL_CLASS_GROUPS; a power of two */
#define SL_CLASS_GROUPS_ROOM 16
_Static_assert(SL_CLASS_GROUPS <= SL_CLASS_GROUPS_ROOM, "room for the groups");

/* Fields whose values lie in blocks, not in one table; bit by enum sl_field. */
#define SL_CLASS_IN_BLOCKS_BIT(id, values) (__u32)((values) > SL_CLASS_BLOCK) << SL_FIELD_##id |
#define SL_CLASS_IN_BLOCKS		   (SL_FIELDS(SL_CLASS_IN_BLOCKS_BIT) 0)

/* The row of each group of joined fields. */
static __always_inline void sl_class_groups(const struct sl_classifier *c, __u32 words,
					    const struct sl_flow *flow,
					    __u32 row[SL_CLASS_GROUPS_ROOM])
{
	__u32 joined = c->zero, f;

	SL_UNROLL
	for (f = 0; f < SL_FIELD_COUNT; f++) {
		const struct sl_class_field *field = &c->field[f];
		__u32 at = flow->field[f], class;

		if (!(SL_REREAD(c->asked) & 1u << f))
			continue;
		if (SL_CLASS_IN_BLOCKS & 1u << f)
			at = (sl_pool16(c, words, field->top + (at >> 8)) << 8) + (at & 255);
		class = sl_pool16(c, words, field->values + at);
		if (SL_REREAD(c->joined) & 1u << f)
			class = sl_pool16(c, words,
					  field->product + joined * field->classes + class);
		joined = class;
		row[sl_class_index(field->group, SL_CLASS_GROUPS_ROOM)] = field->row + joined;
	}
}

/* One word of the rows of all groups, ANDed: of their sums, or of the rows themselves. */
static __always_inline __u64 sl_class_and(const struct sl_classifier *c, __u32 words, __u64 bits,
					  const __u32 row[SL_CLASS_GROUPS_ROOM], __u32 first,
					  __u32 stride)
{
	__u32 i;

	for (i = 0; i < SL_CLASS_GROUPS; i++) {
		if (i >= SL_REREAD(c->n_groups))
			break;
		bits &= sl_pool64(c, words, first + row[i] * stride);
	}
	return bits;
}

/* Fill in the answer of flow. */
static __always_inline void sl_class_walk(const struct sl_classifier *c, __u32 words,
					  struct sl_flow *flow)
{
	/* the order of the first rule that matches: SL_RULE_NONE, unknown to the verifier */
	__u32 best = ~SL_REREAD(c->zero), best_at = 0;
	__u32 class[SL_SIDES], row[SL_CLASS_GROUPS_ROOM] = {}, i;
	__u32 row_src, row_dst, first_src, first_dst;
	__u64 sum_src, sum_dst, sum;

	flow->auxiliary = 0;
	sl_class_addresses(c, words, flow, class);
	sl_class_groups(c, words, flow, row);
	row_src = c->address_rows + (c->address[SL_SIDE_SOURCE].row + class[0]) * 2;
	row_dst = c->address_rows + (c->address[SL_SIDE_DESTINATION].row + class[1]) * 2;
	sum_src = sl_pool64(c, words, row_src);
	sum_dst = sl_pool64(c, words, row_dst);
	first_src = sl_pool64(c, words, row_src + 1);
	first_dst = sl_pool64(c, words, row_dst + 1);
	sum = sl_class_and(c, words, sum_src & sum_dst, row, c->sums, 1);
	for (i = 0; i < SL_RULE_WORDS_MAX; i++) {
		__u64 below = (sum & -sum) - 1, rules;
		__u32 word, at, order;

		if (!sum)
			break;
		word = sl_lowest_bit(sum);
		sum &= sum - 1;
		/* the bits of a word are in the order of the list: is a rule found before all? */
		at = c->rules + word * 64 * 4;
		if (sl_pool32(c, words, at) > best)
			continue;
		rules = sl_pool64(c, words, first_src + sl_count_bits64(sum_src & below)) &
			sl_pool64(c, words, first_dst + sl_count_bits64(sum_dst & below));
		if (!rules)
			continue;
		rules = sl_class_and(c, words, rules, row, c->rows + word, c->words);
		if (!rules)
			continue;
		if (!word && SL_REREAD(c->auxiliary)) {
			flow->auxiliary = rules;
			continue;
		}
		at += sl_lowest_bit(rules) * 4;
		order = sl_pool32(c, words, at);
		if (order < best) {
			best = order;
			best_at = at;
		}
	}
	flow->action = c->default_action;
	flow->number = c->default_number;
	flow->sample = 0;
	if (best != SL_RULE_NONE) {
		flow->number = sl_pool32(c, words, best_at + 1);
		flow->action = sl_pool32(c, words, best_at + 2);
		flow->sample = sl_pool32(c, words, best_at + 3);
	}
}

#endif
