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

int el_fast_open(struct el_fast *fast, const char *pin_dir)
{
	*fast = (struct el_fast){ .pin_dir = pin_dir, .chains_fd = -1, .counts_fd = -1 };
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

static int publish(const struct el_fast *fast, const struct el_graph *graph, uint32_t place)
{
	struct sl_fast_chain chain;
	char error[EL_ERROR_BYTES];
	uint32_t line, first = place * SL_FAST_ELEMENTS_MAX;

	if (el_fast_graph(graph, first, &chain, &line, error))
		return -EINVAL;
	memset(fast->each, 0, (size_t)fast->processors * sizeof(*fast->each));
	for (uint32_t i = first; i < first + SL_FAST_ELEMENTS_MAX; i++)
		if (bpf_map_update_elem(fast->counts_fd, &i, fast->each, BPF_ANY))
			return -errno;
	return bpf_map_update_elem(fast->chains_fd, &chain.of.id, &chain, BPF_ANY) ? -errno : 0;
}

void el_fast_publish(struct el_fast *fast, const struct el_chains *chains)
{
	if (fast->chains_fd < 0)
		return;
	remove_all(fast);
	for (uint32_t i = 0; i < chains->n; i++) {
		const struct el_graph *graph = &chains->chains[i];
		int err = graph->fast ? publish(fast, graph, i) : 0;

		if (err)
			sl_warning("chain %s cannot be put into the fast path: %s", graph->name,
				   strerror(-err));
	}
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
