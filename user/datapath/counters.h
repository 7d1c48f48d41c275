/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The counters of XDP: the maps sl_stats, sl_drops, sl_punts and sl_port_drops, summed over CPUs.
 * And whose the counters of rules are: sl_hits_owner.
 */
#ifndef SL_COUNTERS_H
#define SL_COUNTERS_H

#include <stdint.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/classifier.h"
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
/*
 * What the map sl_port_drops has of the netdev: frames that entered by it and that sl_edge dropped.
 * 0 or -errno.
 */
int sl_port_drops_read(int fd, uint32_t ifindex, struct sl_counter *out);
/* The same from the pin. -ENOENT: nothing is pinned there, or it is of an earlier version. */
int sl_port_drops_read_pinned(const char *pin_dir, uint32_t ifindex, struct sl_counter *out);
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

/* --- Whose the counters of rules are --- */

/* As an earlier daemon has left them. */
struct sl_earlier_hits {
	uint32_t map_id; /* of its sl_filter_hits */
	uint32_t n;
	struct sl_earlier_hit { /* owned; by rising identity */
		uint64_t identity;
		uint32_t number;
		struct sl_counter before;
	} * hit;
};

/*
 * From the pins; n is 0 if there are none, of this version. 0 or -ENOMEM. Close it in any case;
 * a zeroed one may be closed, too.
 */
int sl_earlier_hits_open(const char *pin_dir, struct sl_earlier_hits *out);
void sl_earlier_hits_close(struct sl_earlier_hits *earlier);
/* The counter of a rule, or NULL. */
const struct sl_earlier_hit *sl_earlier_hits_find(const struct sl_earlier_hits *earlier,
						  uint64_t identity);

/*
 * Map sl_hits_owner for writing: SL_FILTER_COUNTERS elements. NULL: it cannot be mapped, or there
 * are no rules.
 */
struct sl_hits_owner *sl_hits_owners_map(int fd);
void sl_hits_owners_unmap(struct sl_hits_owner *owners); /* NULL is fine */
/* A process that is killed meanwhile leaves the counter to the former owner, the new one, or none.
 */
void sl_hits_owner_set(struct sl_hits_owner *owner, uint64_t identity,
		       const struct sl_counter *before);
uint32_t sl_map_id(int fd); /* of a BPF map; 0: it is none */

#endif
