/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Engine lpm: the kernel's own longest-prefix-match trie, prefix by prefix through the bpf system
 * call. The reference.
 *
 * When the map is full, the prefix that XDP finds instead of a missing one is its nearest cover in
 * the map. That cover's value then becomes SL_NEXTHOP_OVERFLOW, until no missing prefix is left
 * under it.
 *
 * One entry of the map stays free: before Linux 6.13 a full map refuses to replace a value too.
 */
#include "user/fib/fib_state.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

struct lpm {
	int map_fd;
	uint32_t n_max; /* entries that we may use */
	uint32_t n;	/* entries in the map */
	uint8_t family;
};

union key {
	struct sl_key4 ip4;
	struct sl_key6 ip6;
};

static void make_key(const struct lpm *lpm, const uint8_t *addr, unsigned int len, union key *key)
{
	memset(key, 0, sizeof(*key));
	key->ip6.prefix_len = len;
	memcpy(key->ip6.addr, addr, sl_addr_bits(lpm->family) / 8);
}

static int set(const struct lpm *lpm, const struct sl_prefix *prefix, uint32_t nexthop_id)
{
	union key key;

	make_key(lpm, prefix->addr, prefix->len, &key);
	return bpf_map_update_elem(lpm->map_fd, &key, &nexthop_id, BPF_ANY);
}

static void clear(struct lpm *lpm, const struct sl_prefix *prefix)
{
	union key key;

	make_key(lpm, prefix->addr, prefix->len, &key);
	if (bpf_map_delete_elem(lpm->map_fd, &key) == 0)
		lpm->n--;
}

/* The value that a prefix in the map should have there. */
static uint32_t value_of(const struct sl_fib_family *family, const struct sl_prefix *prefix,
			 uint32_t nexthop_id)
{
	return sl_overflow_any_under(&family->overflow, prefix) ? SL_NEXTHOP_OVERFLOW : nexthop_id;
}

/* The nearest prefix over *prefix that is in the map; *prefix becomes that. NULL: none. */
static uint32_t *next_cover(const struct sl_fib_family *family, struct sl_prefix *prefix)
{
	uint32_t *word;

	do {
		word = sl_store_cover(&family->store, prefix->addr, (int)prefix->len - 1);
		if (!word)
			return NULL;
		prefix->len = (uint8_t)sl_word_len(*word);
		sl_addr_mask(prefix->addr, prefix->len);
	} while (*word & SL_STORE_OVERFLOW);
	return word;
}

static int lpm_insert(struct sl_fib *fib, struct sl_fib_family *family,
		      const struct sl_prefix *prefix, uint32_t nexthop_id, bool is_new)
{
	struct lpm *lpm = family->engine_state;

	(void)fib;
	if (is_new && lpm->n >= lpm->n_max)
		return -ENOSPC;
	if (set(lpm, prefix, value_of(family, prefix, nexthop_id)))
		return -ENOSPC; /* ENOMEM, or another process has put entries in */
	lpm->n += is_new;
	return 0;
}

/*
 * The addresses of a prefix that is not in the map reach its cover: make the cover punt. If the
 * kernel has no memory even for that, the cover leaves the map as well, and the next cover punts.
 */
static void punt_cover(struct lpm *lpm, struct sl_fib_family *family,
		       const struct sl_prefix *prefix)
{
	struct sl_prefix above = *prefix;
	uint32_t *word;

	while ((word = next_cover(family, &above)) && set(lpm, &above, SL_NEXTHOP_OVERFLOW)) {
		*word |= SL_STORE_OVERFLOW;
		sl_overflow_add(&family->overflow, &above);
		clear(lpm, &above);
	}
}

/* A prefix is no longer missing: covers without another missing one below them route again. */
static void restore_covers(const struct lpm *lpm, const struct sl_fib_family *family,
			   const struct sl_prefix *prefix)
{
	struct sl_prefix above = *prefix;
	const uint32_t *word;

	while ((word = next_cover(family, &above)))
		set(lpm, &above, value_of(family, &above, sl_word_id(*word)));
}

static void lpm_remove(struct sl_fib *fib, struct sl_fib_family *family,
		       const struct sl_prefix *prefix)
{
	struct lpm *lpm = family->engine_state;

	(void)fib;
	if (sl_overflow_any_under(&family->overflow, prefix))
		punt_cover(lpm, family, prefix);
	clear(lpm, prefix);
}

static void lpm_overflow(struct sl_fib *fib, struct sl_fib_family *family,
			 const struct sl_prefix *prefix)
{
	(void)fib;
	punt_cover(family->engine_state, family, prefix);
}

static void lpm_forget(struct sl_fib *fib, struct sl_fib_family *family,
		       const struct sl_prefix *prefix)
{
	(void)fib;
	restore_covers(family->engine_state, family, prefix);
}

static void lpm_heal(struct sl_fib *fib, struct sl_fib_family *family)
{
	struct lpm *lpm = family->engine_state;

	while (family->overflow.count && lpm->n < lpm->n_max) {
		struct sl_overflow_item *item = sl_overflow_take(&family->overflow);
		const struct sl_prefix *prefix = &item->prefix;
		uint32_t *word = sl_store_find(&family->store, prefix->addr, prefix->len);

		if (lpm_insert(fib, family, prefix, sl_word_id(*word), true)) {
			sl_overflow_put(&family->overflow, item);
			return;
		}
		*word &= ~SL_STORE_OVERFLOW;
		restore_covers(lpm, family, prefix);
		free(item);
	}
}

static uint32_t lpm_lookup(const struct sl_fib *fib, const struct sl_fib_family *family,
			   const uint8_t *addr)
{
	const struct lpm *lpm = family->engine_state;
	uint32_t nexthop_id = SL_NEXTHOP_NONE;
	union key key;

	(void)fib;
	make_key(lpm, addr, sl_addr_bits(lpm->family), &key);
	bpf_map_lookup_elem(lpm->map_fd, &key, &nexthop_id);
	return nexthop_id;
}

/* Memory of the map as the kernel counts it: of the entries in use. */
static size_t map_bytes(int map_fd)
{
	char path[64], line[128];
	size_t bytes = 0;
	FILE *info;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", map_fd);
	info = fopen(path, "re");
	if (!info)
		return 0;
	while (fgets(line, sizeof(line), info))
		if (sscanf(line, "memlock: %zu", &bytes) == 1)
			break;
	fclose(info);
	return bytes;
}

static void lpm_usage(const struct sl_fib_family *family, size_t *table_bytes,
		      size_t *process_bytes, uint32_t *pages)
{
	const struct lpm *lpm = family->engine_state;

	*table_bytes = map_bytes(lpm->map_fd);
	*process_bytes = sizeof(*lpm);
	*pages = 0;
}

static void lpm_close(struct sl_fib_family *family)
{
	free(family->engine_state);
	family->engine_state = NULL;
}

static int lpm_open(struct sl_fib *fib, struct sl_fib_family *family)
{
	bool ip4 = sl_fib_is_ip4(fib, family);
	uint32_t n_entries = ip4 ? fib->tables.n_fib4 : fib->tables.n_fib6;
	struct lpm *lpm;

	if (n_entries < 1)
		return -EINVAL;
	lpm = calloc(1, sizeof(*lpm));
	if (!lpm)
		return -ENOMEM;
	lpm->map_fd = ip4 ? fib->tables.fib4_fd : fib->tables.fib6_fd;
	lpm->n_max = n_entries - 1;
	lpm->family = ip4 ? AF_INET : AF_INET6;
	family->engine_state = lpm;
	return 0;
}

const struct sl_fib_engine sl_fib_engine_lpm = {
	.open = lpm_open,
	.close = lpm_close,
	.insert = lpm_insert,
	.remove = lpm_remove,
	.overflow = lpm_overflow,
	.forget = lpm_forget,
	.heal = lpm_heal,
	.lookup = lpm_lookup,
	.usage = lpm_usage,
};
