/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Linear probing, at most 3/4 full, doubled when fuller. Deleting moves later entries of the same
 * run back over the hole, so there are no tombstones and a table that churns for months stays as
 * quick as a new one.
 */
#include "user/fib/fib_store.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>

#include "user/text/prefix.h"

#define CAPACITY_MIN 1024

/* Entries that sl_store_cover fetches at once, since each is a miss of the cache. */
#define COVER_AHEAD 8

static uint64_t mix(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ULL;
	return x ^ x >> 32;
}

static uint32_t hash(const struct sl_store *store, const uint32_t *key, unsigned int len)
{
	uint64_t h = store->seed + len;
	uint64_t part;

	if (store->key_words == 1)
		return (uint32_t)mix(h ^ (uint64_t)key[0] << 8);
	memcpy(&part, key, 8);
	h = mix(h ^ part);
	memcpy(&part, key + 2, 8);
	return (uint32_t)mix(h ^ part);
}

static uint32_t *entry(const struct sl_store *store, uint32_t i)
{
	return store->entries + (size_t)i * (store->key_words + 1);
}

static uint32_t *word_of(const struct sl_store *store, uint32_t i)
{
	return entry(store, i) + store->key_words;
}

static bool key_equal(const struct sl_store *store, const uint32_t *a, const uint32_t *b)
{
	return a[0] == b[0] && (store->key_words == 1 || memcmp(a + 1, b + 1, 12) == 0);
}

int sl_store_init(struct sl_store *store, uint8_t family)
{
	*store = (struct sl_store){ .key_words = family == AF_INET ? 1 : 4,
				    .capacity = CAPACITY_MIN };
	if (getrandom(&store->seed, sizeof(store->seed), GRND_NONBLOCK) < 0)
		store->seed = (uintptr_t)store; /* early in boot; a weaker seed still works */
	store->entries = calloc(store->capacity, sizeof(uint32_t) * (store->key_words + 1));
	return store->entries ? 0 : -ENOMEM;
}

void sl_store_fini(struct sl_store *store)
{
	free(store->entries);
	*store = (struct sl_store){ 0 };
}

static uint32_t home_of(const struct sl_store *store, const uint32_t *key, unsigned int len)
{
	return hash(store, key, len) & (store->capacity - 1);
}

static uint32_t *find(const struct sl_store *store, const uint32_t *key, unsigned int len,
		      uint32_t home)
{
	uint32_t mask = store->capacity - 1;

	for (uint32_t i = home;; i = (i + 1) & mask) {
		uint32_t *word = word_of(store, i);

		if (*word == 0)
			return NULL;
		if (sl_word_len(*word) == len && key_equal(store, entry(store, i), key))
			return word;
	}
}

uint32_t *sl_store_find(const struct sl_store *store, const uint8_t *addr, unsigned int len)
{
	uint32_t key[4];

	memcpy(key, addr, store->key_words * 4);
	return find(store, key, len, home_of(store, key, len));
}

static void place(struct sl_store *store, const uint32_t *key, uint32_t word)
{
	uint32_t mask = store->capacity - 1;
	uint32_t i = home_of(store, key, sl_word_len(word));

	while (*word_of(store, i))
		i = (i + 1) & mask;
	memcpy(entry(store, i), key, store->key_words * 4);
	*word_of(store, i) = word;
}

static int grow(struct sl_store *store)
{
	struct sl_store old = *store;

	store->capacity *= 2;
	store->entries = calloc(store->capacity, sizeof(uint32_t) * (store->key_words + 1));
	if (!store->entries) {
		*store = old;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < old.capacity; i++)
		if (*word_of(&old, i))
			place(store, entry(&old, i), *word_of(&old, i));
	free(old.entries);
	return 0;
}

int sl_store_insert(struct sl_store *store, const uint8_t *addr, uint32_t word)
{
	uint32_t key[4];

	if (store->count >= store->capacity / 4 * 3) {
		int rc = grow(store);

		if (rc)
			return rc;
	}
	memcpy(key, addr, store->key_words * 4);
	place(store, key, word);
	store->count++;
	store->n_by_len[sl_word_len(word)]++;
	return 0;
}

void sl_store_delete(struct sl_store *store, uint32_t *word)
{
	uint32_t mask = store->capacity - 1;
	uint32_t hole = (uint32_t)((word - store->entries) / (store->key_words + 1));

	store->count--;
	store->n_by_len[sl_word_len(*word)]--;
	for (uint32_t i = (hole + 1) & mask; *word_of(store, i); i = (i + 1) & mask) {
		uint32_t home = home_of(store, entry(store, i), sl_word_len(*word_of(store, i)));

		/* An entry may move to the hole only if its home is not after the hole. */
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		memcpy(entry(store, hole), entry(store, i), (store->key_words + 1) * 4);
		hole = i;
	}
	*word_of(store, hole) = 0;
}

uint32_t *sl_store_cover(const struct sl_store *store, const uint8_t *addr, int max_len)
{
	struct {
		uint32_t key[4], home;
		unsigned int len;
	} ahead[COVER_AHEAD];
	uint8_t masked[16] = { 0 };
	int n;

	memcpy(masked, addr, store->key_words * 4);
	for (int len = max_len; len >= 0;) {
		for (n = 0; len >= 0 && n < COVER_AHEAD; len--) {
			if (!store->n_by_len[len])
				continue;
			sl_addr_mask(masked, (unsigned int)len);
			memcpy(ahead[n].key, masked, sizeof(masked));
			ahead[n].len = (unsigned int)len;
			ahead[n].home = home_of(store, ahead[n].key, ahead[n].len);
			__builtin_prefetch(entry(store, ahead[n++].home));
		}
		for (int i = 0; i < n; i++) {
			uint32_t *word = find(store, ahead[i].key, ahead[i].len, ahead[i].home);

			if (word)
				return word;
		}
	}
	return NULL;
}

size_t sl_store_bytes(const struct sl_store *store)
{
	return (size_t)store->capacity * (store->key_words + 1) * 4;
}
