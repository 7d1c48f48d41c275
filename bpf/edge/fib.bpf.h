/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Address -> next-hop id, by the tables of the engine that was chosen at load time.
 *
 * fast: the first 16 bits choose a word of the root; while a word leads to a record, 8 bits more
 * are looked up in it. The verifier knows where a record lies in its page, but not how many runs
 * start in it: so each value's offset is masked.
 */
#ifndef SL_FIB_BPF_H
#define SL_FIB_BPF_H

#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"
#include "bpf/lib/bits.bpf.h"

/* The writer stores words and values as one: read them as one. */
static __always_inline __u32 sl_root_read(void *root, __u8 first, __u8 second)
{
	__u32 key = first;
	struct sl_block *block = bpf_map_lookup_elem(root, &key);

	return block ? *(volatile __u32 *)&block->word[second] : 0;
}

/* What the record that `word` leads to says of a slot. */
static __always_inline __u32 sl_record_read(void *runs, __u32 word, __u8 slot)
{
	const __u64 values = __builtin_offsetof(struct sl_record, value),
		    page_bytes = sizeof(struct sl_page);
	__u32 unit = word & SL_WORD_UNIT_MASK, number = unit / SL_PAGE_UNITS;
	void *page = bpf_map_lookup_elem(runs, &number);
	const struct sl_record *record;
	__u64 at, run;

	if (!page)
		return 0;
	at = (__u64)(unit % SL_PAGE_UNITS) * sizeof(*record);
	record = page + at;
	run = record->before[slot / 32] - 1 +
	      sl_count_bits32(record->starts[slot / 32] & ((2u << slot % 32) - 1));
	at += values;
	if (word & SL_WORD_WIDE)
		return *(volatile __u32 *)(page + ((at + run * 4) & (page_bytes - 4)));
	return *(volatile __u16 *)(page + ((at + run * 2) & (page_bytes - 2)));
}

static __always_inline __u32 sl_fib4_fast(__be32 addr)
{
	__u32 host = sl_ntohl(addr);
	__u32 word = sl_root_read(&sl_root4, host >> 24, host >> 16);

	if (word & SL_WORD_RECORD)
		word = sl_record_read(&sl_runs4, word, host >> 8);
	if (word & SL_WORD_RECORD)
		word = sl_record_read(&sl_runs4, word, host);
	return word & SL_WORD_INDEX_MASK;
}

static __always_inline __u32 sl_fib6_fast(const struct in6_addr *addr)
{
	__u32 word = sl_root_read(&sl_root6, addr->s6_addr[0], addr->s6_addr[1]);
	__u32 i;

	for (i = 2; i < sizeof(*addr); i++) {
		if (!(word & SL_WORD_RECORD))
			break;
		word = sl_record_read(&sl_runs6, word, addr->s6_addr[i]);
	}
	return word & SL_WORD_INDEX_MASK;
}

static __always_inline __u32 sl_fib4_lpm(__be32 addr)
{
	struct sl_key4 key = { .prefix_len = 32 };
	__u32 *nexthop;

	__builtin_memcpy(key.addr, &addr, sizeof(key.addr));
	nexthop = bpf_map_lookup_elem(&sl_fib4, &key);
	return nexthop ? *nexthop : 0;
}

static __always_inline __u32 sl_fib6_lpm(const struct in6_addr *addr)
{
	struct sl_key6 key = { .prefix_len = 128 };
	__u32 *nexthop;

	__builtin_memcpy(key.addr, addr, sizeof(key.addr));
	nexthop = bpf_map_lookup_elem(&sl_fib6, &key);
	return nexthop ? *nexthop : 0;
}

/* 0: no route */
static __always_inline __u32 sl_fib4_lookup(__be32 addr)
{
	return sl_config.engine == SL_ENGINE_FAST ? sl_fib4_fast(addr) : sl_fib4_lpm(addr);
}

static __always_inline __u32 sl_fib6_lookup(const struct in6_addr *addr)
{
	return sl_config.engine == SL_ENGINE_FAST ? sl_fib6_fast(addr) : sl_fib6_lpm(addr);
}

#endif
