/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi/l3_port.h"
#include "user/datapath/counters.h"
#include "user/datapath/pins.h"

#define BATCH 512 /* counters that one call of the kernel reads */

static int read_map(int fd, struct sl_counter *per_cpu, int n_cpus, struct sl_counter *out,
		    uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		int err = bpf_map_lookup_elem(fd, &i, per_cpu);

		if (err && err != -ENOENT)
			return err;
		out[i] = err ? (struct sl_counter){ 0 }
			     : sl_counters_sum(per_cpu, (unsigned int)n_cpus);
	}
	return 0;
}

/* A map of a version that counted each frame under all of its names lacks the last slots. */
static int read_stats(int fd, struct sl_counter *per_cpu, int n_cpus, struct sl_counter *out)
{
	struct sl_counter slots[SL_STAT_SLOTS];
	const uint32_t last = SL_STAT_SLOTS - 1;
	int err = read_map(fd, per_cpu, n_cpus, slots, SL_STAT_SLOTS);

	if (err)
		return err;
	if (!bpf_map_lookup_elem(fd, &last, per_cpu))
		sl_stats_complete(slots);
	memcpy(out, slots, SL_STAT_COUNT * sizeof(*out));
	return 0;
}

int sl_counters_read(int stats_fd, int drops_fd, int punts_fd, struct sl_counters *out)
{
	int n_cpus = libbpf_num_possible_cpus(), err;
	struct sl_counter *per_cpu;

	if (n_cpus < 0)
		return n_cpus;
	per_cpu = calloc((size_t)n_cpus, sizeof(*per_cpu));
	if (!per_cpu)
		return -ENOMEM;
	err = read_stats(stats_fd, per_cpu, n_cpus, out->stats);
	if (!err)
		err = read_map(drops_fd, per_cpu, n_cpus, out->drops, SL_DROP_COUNT);
	if (!err)
		err = read_map(punts_fd, per_cpu, n_cpus, out->punts, SL_PUNT_COUNT);
	free(per_cpu);
	return err;
}

int sl_counter_read(int fd, uint32_t slot, struct sl_counter *out)
{
	int n_cpus = libbpf_num_possible_cpus(), err;
	struct sl_counter *per_cpu;

	if (n_cpus < 0)
		return n_cpus;
	per_cpu = calloc((size_t)n_cpus, sizeof(*per_cpu));
	if (!per_cpu)
		return -ENOMEM;
	err = bpf_map_lookup_elem(fd, &slot, per_cpu);
	if (!err)
		*out = sl_counters_sum(per_cpu, (unsigned int)n_cpus);
	free(per_cpu);
	return err;
}

int sl_counters_read_range(int fd, uint32_t first, uint32_t n, struct sl_counter *out)
{
	const int n_cpus = libbpf_num_possible_cpus();
	uint32_t keys[BATCH], before = first - 1, last, done = 0;
	struct sl_counter *per_cpu;
	int err = 0;

	if (n_cpus < 0)
		return n_cpus;
	per_cpu = calloc((size_t)n_cpus * BATCH, sizeof(*per_cpu));
	if (!per_cpu)
		return -ENOMEM;
	while (done < n && !err) {
		uint32_t count = n - done < BATCH ? n - done : BATCH;

		/* The kernel goes on behind the key that it is given; without one, it begins. */
		err = bpf_map_lookup_batch(fd, first + done ? &before : NULL, &last, keys, per_cpu,
					   &count, NULL);
		if (err == -ENOENT && done + count == n) /* nothing follows */
			err = 0;
		for (uint32_t i = 0; i < count && !err; i++)
			out[done + i] = sl_counters_sum(per_cpu + (size_t)i * (size_t)n_cpus,
							(unsigned int)n_cpus);
		done += count;
		before += count;
	}
	free(per_cpu);
	return err;
}

int sl_counters_read_pinned(const char *pin_dir, struct sl_counters *out)
{
	static const char *const names[] = { "sl_stats", "sl_drops", "sl_punts" };
	int fds[] = { -1, -1, -1 }, err = 0;

	for (size_t i = 0; i < 3 && !err; i++) {
		fds[i] = sl_pins_get(pin_dir, 0, names[i]);
		if (fds[i] < 0)
			err = fds[i];
	}
	if (!err)
		err = sl_counters_read(fds[0], fds[1], fds[2], out);
	for (size_t i = 0; i < 3; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	return err;
}

int sl_port_drops_read(int fd, uint32_t ifindex, struct sl_counter *out)
{
	return sl_counter_read(fd, ifindex & (SL_PORTS_MAX - 1), out);
}

int sl_port_drops_read_pinned(const char *pin_dir, uint32_t ifindex, struct sl_counter *out)
{
	int fd = sl_pins_get(pin_dir, 0, "sl_port_drops");
	int err = fd < 0 ? fd : sl_port_drops_read(fd, ifindex, out);

	if (fd >= 0)
		close(fd);
	return err;
}

int sl_heartbeat_read(int fd, struct sl_heartbeat *out)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info), zero = 0;
	int err = bpf_obj_get_info_by_fd(fd, &info, &len);

	if (err)
		return err;
	return info.value_size == sizeof(*out) ? bpf_map_lookup_elem(fd, &zero, out) : -EINVAL;
}

struct sl_counter sl_counters_sum(const struct sl_counter *counters, unsigned int n)
{
	struct sl_counter sum = { 0 };

	for (unsigned int i = 0; i < n; i++) {
		sum.packets += counters[i].packets;
		sum.bytes += counters[i].bytes;
	}
	return sum;
}

struct sl_counter sl_counters_dropped(const struct sl_counters *counters)
{
	struct sl_counter sum = sl_counters_sum(counters->drops, SL_DROP_COUNT);
	struct sl_counter unsent = sl_counters_unsent(counters);

	return (struct sl_counter){ sum.packets - unsent.packets, sum.bytes - unsent.bytes };
}

struct sl_counter sl_counters_punted(const struct sl_counters *counters)
{
	return sl_counters_sum(counters->punts, SL_PUNT_COUNT);
}

struct sl_counter sl_counters_unsent(const struct sl_counters *counters)
{
	const struct sl_counter unsent[] = { counters->drops[SL_DROP_TX_RING],
					     counters->drops[SL_DROP_TX_ERROR] };

	return sl_counters_sum(unsent, 2);
}

/* --- Whose the counters of rules are --- */

#define OWNERS_BYTES (SL_FILTER_COUNTERS * sizeof(struct sl_hits_owner))

uint32_t sl_map_id(int fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	return fd < 0 || bpf_obj_get_info_by_fd(fd, &info, &len) ? 0 : info.id;
}

struct sl_hits_owner *sl_hits_owners_map(int fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);
	void *memory = MAP_FAILED;

	/* Without rules, or of another version, it is smaller than what would be mapped. */
	if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) &&
	    info.type == BPF_MAP_TYPE_ARRAY && info.value_size == sizeof(struct sl_hits_owner) &&
	    info.max_entries == SL_FILTER_COUNTERS)
		memory = mmap(NULL, OWNERS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

void sl_hits_owners_unmap(struct sl_hits_owner *owners)
{
	if (owners)
		munmap(owners, OWNERS_BYTES);
}

void sl_hits_owner_set(struct sl_hits_owner *owner, uint64_t identity,
		       const struct sl_counter *before)
{
	if (owner->packets != before->packets || owner->bytes != before->bytes) {
		__atomic_store_n(&owner->identity, 0, __ATOMIC_SEQ_CST);
		__atomic_store_n(&owner->packets, before->packets, __ATOMIC_SEQ_CST);
		__atomic_store_n(&owner->bytes, before->bytes, __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&owner->identity, identity, __ATOMIC_SEQ_CST);
}

/* Of the published set; or, of a daemon that was killed before it published one, that beside it. */
static int open_earlier(const char *pin_dir, const char *name)
{
	int fd = sl_pins_get(pin_dir, 0, name);

	return fd < 0 ? sl_pins_get(pin_dir, 1, name) : fd;
}

static int by_identity(const void *a, const void *b)
{
	const struct sl_earlier_hit *x = a, *y = b;

	return x->identity < y->identity ? -1 : x->identity > y->identity;
}

int sl_earlier_hits_open(const char *pin_dir, struct sl_earlier_hits *out)
{
	int hits_fd = open_earlier(pin_dir, "sl_filter_hits");
	int fd = open_earlier(pin_dir, "sl_hits_owner");
	struct sl_hits_owner *owners = sl_hits_owners_map(fd);

	*out = (struct sl_earlier_hits){ .map_id = owners ? sl_map_id(hits_fd) : 0 };
	if (out->map_id)
		out->hit = calloc(SL_FILTER_COUNTERS, sizeof(*out->hit));
	for (uint32_t i = 0; out->hit && i < SL_FILTER_COUNTERS; i++)
		if (owners[i].identity)
			out->hit[out->n++] = (struct sl_earlier_hit){
				.identity = owners[i].identity,
				.number = i,
				.before = { owners[i].packets, owners[i].bytes },
			};
	if (out->n)
		qsort(out->hit, out->n, sizeof(*out->hit), by_identity);
	sl_hits_owners_unmap(owners);
	if (fd >= 0)
		close(fd);
	if (hits_fd >= 0)
		close(hits_fd);
	return out->map_id && !out->hit ? -ENOMEM : 0;
}

void sl_earlier_hits_close(struct sl_earlier_hits *earlier)
{
	free(earlier->hit);
	*earlier = (struct sl_earlier_hits){ 0 };
}

const struct sl_earlier_hit *sl_earlier_hits_find(const struct sl_earlier_hits *earlier,
						  uint64_t identity)
{
	const struct sl_earlier_hit key = { .identity = identity };

	return earlier->n ? bsearch(&key, earlier->hit, earlier->n, sizeof(key), by_identity)
			  : NULL;
}
