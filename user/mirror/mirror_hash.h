/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A chained hash table of elements that carry their own node. It owns only its bucket array. A
 * table that cannot get memory to grow works on, only slower.
 */
#ifndef SL_MIRROR_HASH_H
#define SL_MIRROR_HASH_H

#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct sl_hnode {
	struct sl_hnode *next;
	uint32_t hash;
};

struct sl_htable {
	struct sl_hnode **bucket; /* owned */
	uint32_t mask, n;
};

#define sl_container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

static inline uint32_t sl_hash(const void *data, size_t len, uint32_t seed)
{
	const uint8_t *p = data;
	uint64_t h = seed ^ 0x9e3779b97f4a7c15ULL, word;

	for (; len >= sizeof(word); p += sizeof(word), len -= sizeof(word)) {
		memcpy(&word, p, sizeof(word));
		h = (h ^ word) * 0xff51afd7ed558ccdULL;
		h ^= h >> 32;
	}
	word = len;
	memcpy(&word, p, len);
	h = (h ^ word) * 0xff51afd7ed558ccdULL;
	return (uint32_t)(h ^ h >> 32);
}

static inline int sl_htable_init(struct sl_htable *t)
{
	enum { FIRST = 64 };

	*t = (struct sl_htable){ .bucket = calloc(FIRST, sizeof(struct sl_hnode *)),
				 .mask = FIRST - 1 };
	return t->bucket ? 0 : -ENOMEM;
}

static inline void sl_htable_fini(struct sl_htable *t)
{
	free(t->bucket);
	*t = (struct sl_htable){ 0 };
}

static inline void sl_htable_grow(struct sl_htable *t)
{
	const uint32_t mask = 2 * t->mask + 1;
	struct sl_hnode **bucket = calloc((size_t)mask + 1, sizeof(struct sl_hnode *));

	if (!bucket)
		return;
	for (uint32_t i = 0; i <= t->mask; i++) {
		struct sl_hnode *node = t->bucket[i], *next;
		for (; node; node = next) {
			next = node->next;
			node->next = bucket[node->hash & mask];
			bucket[node->hash & mask] = node;
		}
	}
	free(t->bucket);
	t->bucket = bucket;
	t->mask = mask;
}

static inline void sl_htable_add(struct sl_htable *t, struct sl_hnode *node, uint32_t hash)
{
	if (t->n++ > t->mask)
		sl_htable_grow(t);
	node->hash = hash;
	node->next = t->bucket[hash & t->mask];
	t->bucket[hash & t->mask] = node;
}

static inline void sl_htable_del(struct sl_htable *t, struct sl_hnode *node)
{
	struct sl_hnode **at = &t->bucket[node->hash & t->mask];

	while (*at != node)
		at = &(*at)->next;
	*at = node->next;
	t->n--;
}

/* The nodes that may have this hash; compare hash and key of each. */
static inline struct sl_hnode *sl_htable_chain(const struct sl_htable *t, uint32_t hash)
{
	return t->bucket[hash & t->mask];
}

/* Every node, in no order. The body may remove and free `cur`. */
#define sl_htable_for_each(t, cur, next_)                                                          \
	for (uint32_t i_##cur = 0; i_##cur <= (t)->mask; i_##cur++)                                \
		for (struct sl_hnode *cur = (t)->bucket[i_##cur], *next_ = cur ? cur->next : NULL; \
		     cur; cur = next_, next_ = cur ? cur->next : NULL)

#endif
