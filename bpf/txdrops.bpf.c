// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Counts, in sl_drops, the frames that the egress driver did not take after sl_edge had answered
 * XDP_REDIRECT. It is a BPF object of its own, since it needs the rights of tracing (CAP_PERFMON)
 * and the fast path does not; without it only the drivers know of these losses.
 *
 * It runs once for each batch flushed to a driver, and once for each frame whose redirect was
 * refused before that.
 */
#include "bpf/lib/kernel_types.bpf.h"
#include "bpf/lib/mapdef.bpf.h"
#include <stdbool.h>

SL_COUNTERS(sl_drops, SL_DROP_COUNT);

const volatile struct sl_txdrops_config sl_txdrops_config = {};

static __always_inline bool sl_named_edge(const struct bpf_prog *prog)
{
	static const char name[] = "sl_edge"; /* and sl_edge_frags */
	__u32 i;

	for (i = 0; i < sizeof(name) - 1; i++)
		if (prog->aux->name[i] != name[i])
			return false;
	return true;
}

/* Did the frame enter in our network namespace, by a port that runs our program? */
static __always_inline bool sl_is_ours(const struct net_device *from)
{
	const struct bpf_prog *native = from->xdp_state[SL_XDP_MODE_DRV].prog;
	const struct bpf_prog *generic = from->xdp_state[SL_XDP_MODE_SKB].prog;

	if (from->nd_net.net->net_cookie != sl_txdrops_config.netns_cookie)
		return false;
	return (native && sl_named_edge(native)) || (generic && sl_named_edge(generic));
}

static __always_inline void sl_count_tx_drops(__u32 reason, __u32 packets)
{
	struct sl_counter *counter = bpf_map_lookup_elem(&sl_drops, &reason);

	if (counter)
		counter->packets += packets;
}

/*
 * A batch was handed to a driver. Arguments: from_dev, to_dev, sent, drops, err. err < 0: it took
 * none of them; else it did not take the last `drops`.
 */
SEC("tp_btf/xdp_devmap_xmit")
int sl_tx_batch(const __u64 *args)
{
	const struct net_device *from = (const void *)args[0];
	int drops = args[3], err = args[4];

	if (drops > 0 && sl_is_ours(from))
		sl_count_tx_drops(err < 0 ? SL_DROP_TX_ERROR : SL_DROP_TX_RING, drops);
	return 0;
}

/*
 * The redirect itself was refused: the egress device is down, gone, or takes no redirected frames.
 * Arguments: dev (where the frame came in), program, target, err, type of the map, ... The bridge
 * counts the frames that a VOQ's ring did not take: its socket tells it how many (sl_backlog).
 */
SEC("tp_btf/xdp_redirect_err")
int sl_tx_refused(const __u64 *args)
{
	const struct net_device *from = (const void *)args[0];
	__u32 map_type = args[4];

	if (map_type != BPF_MAP_TYPE_XSKMAP && sl_is_ours(from))
		sl_count_tx_drops(SL_DROP_TX_ERROR, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
