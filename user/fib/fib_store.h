/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Every prefix of one family with its next hop, compactly: a hash table with open addressing of 8
 * bytes (IPv4) or 20 bytes (IPv6) an entry. The tables that XDP reads cannot say which prefix lies
 * under another; this can.
 */
#ifndef SL_FIB_STORE_H
#define SL_FIB_STORE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/forwarding.h"

/*
 * An entry is the address and one word, made as a table slot is: bits 22..0 next-hop id (never 0),
 * bits 30..23 length, and bit 31 set for a prefix that is not in the tables because they are full.
 */
#define SL_STORE_OVERFLOW 0x80000000u

static inline uint32_t sl_word(unsigned int len, uint32_t nexthop_id)
{
	return len << SL_WORD_DEPTH_SHIFT | nexthop_id;
}

static inline unsigned int sl_word_len(uint32_t word)
{
	return word >> SL_WORD_DEPTH_SHIFT & SL_WORD_DEPTH_MASK;
}

static inline uint32_t sl_word_id(uint32_t word)
{
	return word & SL_WORD_INDEX_MASK;
}

struct sl_store {
	uint32_t *entries;	/* owned; capacity entries of key_words + 1 words */
	uint32_t capacity;	/* a power of two */
	uint32_t count;		/* entries in use */
	uint32_t key_words;	/* 1 or 4 */
	uint64_t seed;		/* of the hash; random, since peers choose the prefixes */
	uint32_t n_by_len[129]; /* entries of each length, so that absent lengths cost nothing */
};

int sl_store_init(struct sl_store *store, uint8_t family); /* 0 or -ENOMEM */
void sl_store_fini(struct sl_store *store);

/*
 * addr is 4 or 16 bytes with no bit set beyond len. A pointer to a word is borrowed until the next
 * insert or delete; its id and overflow bit may be written, its length may not.
 */
uint32_t *sl_store_find(const struct sl_store *store, const uint8_t *addr, unsigned int len);
/* The entry must not exist yet. 0 or -ENOMEM. */
int sl_store_insert(struct sl_store *store, const uint8_t *addr, uint32_t word);
void sl_store_delete(struct sl_store *store, uint32_t *word);

/* The longest entry of at most max_len bits that covers addr (host bits are ignored), or NULL. */
uint32_t *sl_store_cover(const struct sl_store *store, const uint8_t *addr, int max_len);

size_t sl_store_bytes(const struct sl_store *store);

#endif
