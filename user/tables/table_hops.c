/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/abi/classifier.h"
#include "bpf/abi/forwarding.h"
#include "user/tables/table_hops.h"

#define UNUSED_NS (60 * 1000000000ULL)

struct entry {
	struct sl_table_hop_key key;
	struct sl_hop *hop; /* holds a reference; NULL: the entry is free */
	uint64_t used_ns;   /* CLOCK_MONOTONIC; or, of one that has left the map, when it did */
	bool gone;	    /* it has left the map; a packet in work may still have its id */
};

struct sl_table_hops {
	int map_fd;	     /* borrowed */
	struct sl_mirror *m; /* borrowed */
	uint32_t n;	     /* entries in use, below SL_TABLE_HOPS_MAX */
	struct entry entry[SL_TABLE_HOPS_MAX];
};

int sl_table_hops_create(int map_fd, struct sl_mirror *m, struct sl_table_hops **out)
{
	struct sl_table_hops *hops = calloc(1, sizeof(*hops));

	*out = hops;
	if (!hops)
		return -ENOMEM;
	hops->map_fd = map_fd;
	hops->m = m;
	return 0;
}

void sl_table_hops_destroy(struct sl_table_hops *hops)
{
	free(hops);
}

/* The entry of a hop in the map; NULL: there is none. */
static struct entry *find(struct sl_table_hops *hops, const struct sl_table_hop_key *key)
{
	for (uint32_t i = 0; i < hops->n; i++)
		if (!hops->entry[i].gone && !memcmp(&hops->entry[i].key, key, sizeof(*key)))
			return &hops->entry[i];
	return NULL;
}

/* Without memory or a free entry, the next second tries again. */
static void make(struct sl_table_hops *hops, const struct sl_table_hop_key *key, uint64_t now_ns)
{
	struct entry *entry = &hops->entry[hops->n];
	struct sl_table_hop value = { .used = 1 };

	if (hops->n == SL_TABLE_HOPS_MAX)
		return;
	entry->hop =
		sl_mirror_hop_hold(hops->m, key->ifindex, (uint8_t)key->mtu_family,
				   (uint8_t)key->family, (const uint8_t *)key->address, &value.id);
	if (!entry->hop)
		return;
	entry->key = *key;
	entry->used_ns = now_ns;
	entry->gone = false;
	hops->n++;
	bpf_map_update_elem(hops->map_fd, key, &value, BPF_EXIST);
}

static void look(struct sl_table_hops *hops, const struct sl_table_hop_key *key, uint64_t now_ns)
{
	struct entry *entry = find(hops, key);
	struct sl_table_hop value;

	if (bpf_map_lookup_elem(hops->map_fd, key, &value))
		return;
	if (!entry) {
		make(hops, key, now_ns);
	} else if (value.used) {
		entry->used_ns = now_ns;
		value.used = 0;
		bpf_map_update_elem(hops->map_fd, key, &value, BPF_EXIST);
	}
}

/* A packet in work that has read the id of a hop has ended once SL_GRACE_NS are over. */
static void end_unused(struct sl_table_hops *hops, uint64_t now_ns)
{
	for (uint32_t i = 0; i < hops->n;) {
		struct entry *entry = &hops->entry[i];
		const uint64_t limit_ns = entry->gone ? SL_GRACE_NS : UNUSED_NS;

		if (now_ns - entry->used_ns <= limit_ns) {
			i++;
		} else if (!entry->gone) {
			bpf_map_delete_elem(hops->map_fd, &entry->key);
			entry->gone = true;
			entry->used_ns = now_ns;
			i++;
		} else {
			sl_mirror_hop_release(hops->m, entry->hop);
			*entry = hops->entry[--hops->n];
		}
	}
}

void sl_table_hops_tick(struct sl_table_hops *hops, uint64_t now_ns)
{
	struct sl_table_hop_key key, next;
	bool any = !bpf_map_get_next_key(hops->map_fd, NULL, &key);

	/* XDP may put more meanwhile: a second has its bound. */
	for (uint32_t i = 0; any && i < SL_TABLE_HOPS_MAX; i++) {
		any = !bpf_map_get_next_key(hops->map_fd, &key, &next);
		look(hops, &key, now_ns);
		key = next;
	}
	end_unused(hops, now_ns);
}
