/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Address -> next-hop id, by the tables of the engine that was chosen at load time.
 *
 * fast, IPv4: DIR-24-8. The first 24 bits choose a slot of sl_dir24 (16 the block, 8 the slot); a
 * slot is a next hop, or a block of sl_tbl8 that the last 8 bits index. fast, IPv6: the first 16
 * bits choose a slot of the root (blocks 0 to 255 of sl_tbl6), then each block takes 8 bits more.
 */
#ifndef SL_FIB_BPF_H
#define SL_FIB_BPF_H

#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/packet.bpf.h"

static __always_inline __u32 sl_slot_read(void *map, __u32 block, __u8 slot)
{
	struct sl_block *slots = bpf_map_lookup_elem(map, &block);

	/* The writer stores a slot as one word: read it as one. */
	return slots ? *(volatile __u32 *)&slots->slot[slot] : 0;
}

static __always_inline __u32 sl_fib4_fast(__be32 addr)
{
	__u32 host = sl_ntohl(addr);
	__u32 slot = sl_slot_read(&sl_dir24, host >> 16, host >> 8);

	if (slot & SL_SLOT_BLOCK)
		slot = sl_slot_read(&sl_tbl8, slot & SL_SLOT_INDEX_MASK, host);
	return slot & SL_SLOT_INDEX_MASK;
}

static __always_inline __u32 sl_fib6_fast(const struct in6_addr *addr)
{
	__u32 slot = sl_slot_read(&sl_tbl6, addr->s6_addr[0], addr->s6_addr[1]);
	__u32 i;

	for (i = 2; i < sizeof(*addr); i++) {
		if (!(slot & SL_SLOT_BLOCK))
			break;
		slot = sl_slot_read(&sl_tbl6, slot & SL_SLOT_INDEX_MASK, addr->s6_addr[i]);
	}
	return slot & SL_SLOT_INDEX_MASK;
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
