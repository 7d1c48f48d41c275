/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/datapath/exact_flows.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#define SECOND_NS 1000000000ULL

static bool is_of_this_version(int fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &len) && info.type == BPF_MAP_TYPE_HASH &&
	       info.key_size == sizeof(struct sl_flow_key) &&
	       info.value_size == sizeof(struct sl_exact_flow);
}

int sl_exact_flows_next(int fd, struct sl_exact_flow_place *place, struct sl_exact_flow_batch *out)
{
	int err;

	if (!place->is_inside && !is_of_this_version(fd))
		return -EPROTO;
	out->n = SL_EXACT_FLOWS_BATCH;
	err = bpf_map_lookup_batch(fd, place->is_inside ? &place->next : NULL, &place->next,
				   out->key, out->flow, &out->n, NULL);
	place->is_inside = !err;
	if (err && err != -ENOENT)
		out->n = 0;
	return err == -ENOENT ? 0 : err;
}

int sl_exact_puts_open(int fd, uint64_t **out)
{
	void *memory = mmap(NULL, sizeof(**out), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	*out = memory == MAP_FAILED ? NULL : memory;
	return *out ? 0 : -errno;
}

void sl_exact_puts_close(uint64_t *puts)
{
	if (puts)
		munmap(puts, sizeof(*puts));
}

void sl_exact_puts_note(uint64_t *puts)
{
	__atomic_fetch_add(puts, 1, __ATOMIC_SEQ_CST); /* with the sweep of sluiced */
}

/* For each flow. 0, or the first error, of this or of each(). */
static int for_each(int fd, int (*each)(void *arg, const struct sl_exact_flow_batch *batch),
		    void *arg)
{
	struct sl_exact_flow_batch *batch = malloc(sizeof(*batch));
	struct sl_exact_flow_place place = { 0 };
	int err = batch ? 0 : -ENOMEM;

	do {
		if (!err)
			err = sl_exact_flows_next(fd, &place, batch);
		if (!err)
			err = each(arg, batch);
	} while (!err && place.is_inside);
	free(batch);
	return err;
}

static int add_up(void *arg, const struct sl_exact_flow_batch *batch)
{
	*(uint32_t *)arg += batch->n;
	return 0;
}

int sl_exact_flows_count(int fd, uint32_t *n)
{
	*n = 0;
	return for_each(fd, add_up, n);
}

static int put_new(void *arg, const struct sl_exact_flow_batch *batch)
{
	const int fd = *(const int *)arg;

	for (uint32_t i = 0; i < batch->n; i++)
		if (bpf_map_update_elem(fd, &batch->key[i], &batch->flow[i], BPF_NOEXIST) &&
		    errno != EEXIST)
			return -errno;
	return 0;
}

int sl_exact_flows_copy(int from_fd, int to_fd)
{
	const int err = for_each(from_fd, put_new, &to_fd);

	return err == -EPROTO ? 0 : err; /* of an earlier version */
}

/* The time of the last packet is known to one unit of `used`; so nothing ends too early. */
static bool is_over(const struct sl_exact_flow *flow, uint64_t now_ns)
{
	const uint64_t used_ns = (uint64_t)flow->used << SL_EXACT_FLOW_USED_SHIFT;

	return flow->idle_s && now_ns > used_ns &&
	       now_ns - used_ns >= flow->idle_s * SECOND_NS + (1ULL << SL_EXACT_FLOW_USED_SHIFT);
}

/* Look again, since a packet may have come, or somebody has put the flow anew. */
static bool end_if_over(int fd, const struct sl_flow_key *key, uint64_t now_ns)
{
	struct sl_exact_flow flow;

	return !bpf_map_lookup_elem(fd, key, &flow) && is_over(&flow, now_ns) &&
	       !bpf_map_delete_elem(fd, key);
}

/*
 * A round has come to its end. If it found none, and nobody has put any since it began, there are
 * none: who put some before has been found. Flows whose program did not say so are in force now.
 */
static void end_round(struct sl_exact_flow_sweep *sweep, uint64_t *puts)
{
	uint64_t expected = sweep->so_far ? 0 : sweep->puts;

	__atomic_compare_exchange_n(puts, &expected, sweep->so_far ? 1 : 0, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	sweep->flows = sweep->so_far;
	sweep->so_far = 0;
}

int sl_exact_flows_sweep(int fd, uint64_t *puts, uint64_t now_ns, struct sl_exact_flow_sweep *sweep)
{
	struct sl_exact_flow_batch *batch = malloc(sizeof(*batch));
	int err = batch ? 0 : -ENOMEM;
	uint32_t seen = 0;

	while (!err && seen < SL_EXACT_FLOWS_A_SWEEP) {
		if (!sweep->place.is_inside)
			sweep->puts = __atomic_load_n(puts, __ATOMIC_SEQ_CST);
		err = sl_exact_flows_next(fd, &sweep->place, batch);
		for (uint32_t i = 0; !err && i < batch->n; i++)
			sweep->so_far += !(is_over(&batch->flow[i], now_ns) &&
					   end_if_over(fd, &batch->key[i], now_ns));
		seen += batch->n;
		if (!err && !sweep->place.is_inside) {
			end_round(sweep, puts);
			break;
		}
	}
	if (err)
		*sweep = (struct sl_exact_flow_sweep){ .flows = sweep->flows };
	free(batch);
	return err;
}
