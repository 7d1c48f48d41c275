/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/reserve/reserve_maps.h"

#include <errno.h>
#include <string.h>

#include <bpf/bpf.h>

#include "bpf/abi/policer.h"

#define BURST_DIVISOR	50	   /* a burst is what the rate carries in 20 ms, */
#define BURST_MIN_BYTES (4 * 1522) /* or four frames */

static void fill_policer(uint64_t rate_Bps, struct sl_policer *out)
{
	uint64_t burst_bytes = rate_Bps / BURST_DIVISOR;

	if (burst_bytes < BURST_MIN_BYTES)
		burst_bytes = BURST_MIN_BYTES;
	if (burst_bytes > SL_POLICER_BURST_MAX)
		burst_bytes = SL_POLICER_BURST_MAX;
	*out = (struct sl_policer){ .rate_Bps = { rate_Bps } };
	out->burst[SL_BUCKET_COMMITTED] = burst_bytes * SL_POLICER_SCALE;
	out->tokens[SL_BUCKET_COMMITTED] = out->burst[SL_BUCKET_COMMITTED];
	out->full_ns[SL_BUCKET_COMMITTED] = out->burst[SL_BUCKET_COMMITTED] / rate_Bps;
}

static int put(const struct sl_datapath *dp, const char *map, const void *key, const void *value,
	       uint64_t flags)
{
	return bpf_map_update_elem(sl_datapath_map_fd(dp, map), key, value, flags) ? -errno : 0;
}

int sl_reserve_maps_put(const struct sl_reservation *v, const struct sl_datapath *dp)
{
	const uint32_t number = SL_RESERVED_NUMBER(v->place);
	const struct sl_reserved entry = { .number = number,
					   .l3_ifindex = v->l3_ifindex,
					   .pinned = v->pinned };
	struct sl_policer policer;
	struct sl_rule_hop hop = { .table = 0 };
	int err;

	fill_policer(v->rate_Bps, &policer);
	memcpy(hop.address, v->hop, sizeof(hop.address));
	err = put(dp, "sl_policer", &number, &policer, BPF_NOEXIST);
	err = err == -EEXIST ? 0 : err; /* it keeps its tokens */
	if (!err && v->pinned)
		err = put(dp, "sl_rule_hop", &number, &hop, BPF_ANY);
	return err ? err : put(dp, "sl_reserved", &v->flow, &entry, BPF_ANY);
}

void sl_reserve_maps_delete(const struct sl_reservation *v, const struct sl_datapath *dp)
{
	const uint32_t number = SL_RESERVED_NUMBER(v->place);

	bpf_map_delete_elem(sl_datapath_map_fd(dp, "sl_reserved"), &v->flow);
	bpf_map_delete_elem(sl_datapath_map_fd(dp, "sl_rule_hop"), &number);
	bpf_map_delete_elem(sl_datapath_map_fd(dp, "sl_policer"), &number);
}
