/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

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
