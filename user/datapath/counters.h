/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of XDP: the maps sl_stats, sl_drops and sl_punts, summed over CPUs. */
#ifndef SL_COUNTERS_H
#define SL_COUNTERS_H

#include <stdint.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/reasons.h"

struct sl_counters {
	struct sl_counter stats[SL_STAT_COUNT];
	struct sl_counter drops[SL_DROP_COUNT];
	struct sl_counter punts[SL_PUNT_COUNT];
};

/* Read the three maps. A slot that a map of another version lacks reads as 0. 0 or -errno. */
int sl_counters_read(int stats_fd, int drops_fd, int punts_fd, struct sl_counters *out);
/* The same from the pins, for when no daemon runs. -ENOENT: nothing is pinned there. */
int sl_counters_read_pinned(const char *pin_dir, struct sl_counters *out);
/* One slot of any map of counters. 0 or -errno. */
int sl_counter_read(int fd, uint32_t slot, struct sl_counter *out);
/* n of them, which the map has, from `first` on, in few calls. 0 or -errno. */
int sl_counters_read_range(int fd, uint32_t first, uint32_t n, struct sl_counter *out);

/* Read the map sl_heartbeat. 0; -EINVAL: it is that of another version; else -errno. */
int sl_heartbeat_read(int fd, struct sl_heartbeat *out);

struct sl_counter sl_counters_sum(const struct sl_counter *counters, unsigned int n);
/*
 * Every packet that entered was forwarded, redirected into a virtual output queue, dropped or
 * punted, so rx = forward + voq + dropped + punted. Of the forwarded packets, the egress driver
 * then refused those that sl_counters_unsent counts (bpf/abi/reasons.h).
 */
struct sl_counter sl_counters_dropped(const struct sl_counters *counters);
struct sl_counter sl_counters_punted(const struct sl_counters *counters);
struct sl_counter sl_counters_unsent(const struct sl_counters *counters);

#endif
