/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi/chain_header.h"
#include "elements/graph/fast_graph.h"
#include "elements/worker/fast_chains.h"
#include "user/lib/log.h"

#define LOOK_EVERY_NS 1000000000ULL

_Static_assert(EL_CHAINS_MAX <= SL_FAST_CHAINS_MAX, "each chain has a place");

static void close_maps(struct el_fast *fast)
{
	if (fast->chains_fd >= 0)
		close(fast->chains_fd);
	if (fast->counts_fd >= 0)
		close(fast->counts_fd);
	fast->chains_fd = fast->counts_fd = -1;
	fast->map_id = 0;
}

int el_fast_open(struct el_fast *fast, const char *pin_dir, const struct el_own_set *own)
{
	*fast = (struct el_fast){
		.pin_dir = pin_dir, .own = own, .chains_fd = -1, .counts_fd = -1
	};
	fast->processors = libbpf_num_possible_cpus();
	if (fast->processors <= 0)
		return fast->processors;
	fast->each = calloc((size_t)fast->processors, sizeof(*fast->each));
	return fast->each ? 0 : -ENOMEM;
}

static void remove_all(const struct el_fast *fast)
{
	uint64_t id;

	while (!bpf_map_get_next_key(fast->chains_fd, NULL, &id))
		if (bpf_map_delete_elem(fast->chains_fd, &id) && errno != ENOENT)
			return;
}

void el_fast_close(struct el_fast *fast)
{
	if (fast->each && fast->chains_fd >= 0)
		remove_all(fast);
	if (fast->each)
		close_maps(fast);
	free(fast->each);
	fast->each = NULL;
}

/* Say which programs the chain means. False: sl_edge has not all of them. */
static bool find_programs(const struct el_fast *fast, const struct el_graph *graph,
			  struct sl_fast_chain *chain)
{
	for (uint32_t i = 0; i < graph->n_instances; i++) {
		int slot;

		if (chain->element[i].kind != SL_FAST_OWN)
			continue;
		slot = el_own_set_slot(fast->own, graph->instances[i].class->name);
		if (slot < 0 || fast->linked_set != fast->own->set)
			return false;
		chain->element[i].argument = (uint8_t)slot;
		chain->own_set = fast->own->set;
	}
	return true;
}

static int clear_counts(const struct el_fast *fast, uint32_t first)
{
	memset(fast->each, 0, (size_t)fast->processors * sizeof(*fast->each));
	for (uint32_t i = first; i < first + SL_FAST_ELEMENTS_MAX; i++)
		if (bpf_map_update_elem(fast->counts_fd, &i, fast->each, BPF_ANY))
			return -errno;
	return 0;
}

static int publish(const struct el_fast *fast, const struct el_graph *graph, uint32_t place,
		   bool anew)
{
	struct sl_fast_chain chain;
	char error[EL_ERROR_BYTES];
	uint32_t line, first = place * SL_FAST_ELEMENTS_MAX;
	int err;

	if (el_fast_graph(graph, first, &chain, &line, error))
		return -EINVAL;
	err = anew ? clear_counts(fast, first) : 0;
	if (err)
		return err;
	if (!find_programs(fast, graph, &chain)) {
		bpf_map_delete_elem(fast->chains_fd, &chain.of.id);
		return 0;
	}
	return bpf_map_update_elem(fast->chains_fd, &chain.of.id, &chain, BPF_ANY) ? -errno : 0;
}

static void publish_or_warn(const struct el_fast *fast, const struct el_graph *graph,
			    uint32_t place, bool anew)
{
	int err = publish(fast, graph, place, anew);

	if (err)
		sl_warning("chain %s cannot be put into the fast path: %s", graph->name,
			   strerror(-err));
}

void el_fast_publish(struct el_fast *fast, const struct el_chains *chains)
{
	if (fast->chains_fd < 0)
		return;
	remove_all(fast);
	for (uint32_t i = 0; i < chains->n; i++)
		if (chains->chains[i].fast)
			publish_or_warn(fast, &chains->chains[i], i, true);
	fast->published_set = fast->linked_set;
}

static int get(const struct el_fast *fast, const char *name)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/%s", fast->pin_dir, name);
	return bpf_obj_get(path);
}

/* A map that was made for other sizes is that of another version of sluiced. */
static bool map_is(int fd, uint32_t value_bytes, uint32_t *id)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	if (fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) || info.value_size != value_bytes)
		return false;
	*id = info.id;
	return true;
}

/* Which programs sl_edge has. */
static uint32_t linked_set(const struct el_fast *fast)
{
	struct sl_meta meta = { 0 };
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info), zero = 0;
	int fd = get(fast, "sl_meta");

	if (fd < 0)
		return 0;
	if (bpf_obj_get_info_by_fd(fd, &info, &len) || info.value_size != sizeof(meta) ||
	    bpf_map_lookup_elem(fd, &zero, &meta) || meta.abi_version != SL_ABI_VERSION)
		meta.own_set = 0;
	close(fd);
	return meta.own_set;
}

static bool has_program(const struct el_graph *graph)
{
	for (uint32_t i = 0; i < graph->n_instances; i++) {
		const struct el_instance *at = &graph->instances[i];
		struct sl_fast_element element = { 0 };

		if (at->class->fast && at->class->fast(at->values, &element) &&
		    element.kind == SL_FAST_OWN)
			return true;
	}
	return false;
}

static bool has_class(const struct el_graph *graph, const char *name)
{
	for (uint32_t i = 0; i < graph->n_instances; i++)
		if (strcmp(graph->instances[i].class->name, name) == 0)
			return true;
	return false;
}

void el_fast_change(struct el_fast *fast, const struct el_chains *chains, const char *changed)
{
	if (fast->chains_fd < 0)
		return;
	fast->linked_set = linked_set(fast);
	for (uint32_t i = 0; i < chains->n; i++) {
		const struct el_graph *graph = &chains->chains[i];
		bool anew = changed && has_class(graph, changed);

		if (graph->fast && (anew || has_program(graph)))
			publish_or_warn(fast, graph, i, anew);
	}
	fast->published_set = fast->linked_set;
}

void el_fast_follow(struct el_fast *fast, const struct el_chains *chains, uint64_t now_ns)
{
	uint32_t id, counts_id;
	int fd;

	if (now_ns < fast->look_ns)
		return;
	fast->look_ns = now_ns + LOOK_EVERY_NS;
	fd = get(fast, "sl_fast_chain");
	if (map_is(fd, sizeof(struct sl_fast_chain), &id) && id == fast->map_id) {
		close(fd);
		if (linked_set(fast) != fast->published_set)
			el_fast_change(fast, chains, NULL);
		return;
	}
	close_maps(fast);
	fast->chains_fd = fd;
	fast->counts_fd = get(fast, "sl_fast_count");
	if (!map_is(fast->chains_fd, sizeof(struct sl_fast_chain), &id) ||
	    !map_is(fast->counts_fd, sizeof(struct sl_fast_count), &counts_id)) {
		close_maps(fast);
		return;
	}
	fast->map_id = id;
	fast->linked_set = linked_set(fast);
	el_fast_publish(fast, chains);
}

struct sl_fast_count el_fast_count(const struct el_fast *fast, uint32_t chain, uint32_t element)
{
	const uint32_t at = chain * SL_FAST_ELEMENTS_MAX + element;
	struct sl_fast_count sum = { 0 };

	if (fast->counts_fd < 0 || chain >= EL_CHAINS_MAX || element >= SL_FAST_ELEMENTS_MAX ||
	    bpf_map_lookup_elem(fast->counts_fd, &at, fast->each))
		return sum;
	for (int i = 0; i < fast->processors; i++) {
		sum.packets += fast->each[i].packets;
		sum.bytes += fast->each[i].bytes;
		sum.dropped_packets += fast->each[i].dropped_packets;
		sum.dropped_bytes += fast->each[i].dropped_bytes;
		sum.cpu_ns += fast->each[i].cpu_ns;
	}
	return sum;
}
