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

/* What a netdev is to us, by the program that it runs. */
enum sl_netdev_kind {
	SL_NETDEV_OTHER,
	SL_NETDEV_EDGE,	  /* sl_edge, sl_edge_frags, sl_edge_bound */
	SL_NETDEV_FABRIC, /* sl_fabric */
};

static __always_inline enum sl_netdev_kind sl_kind_by_program(const struct bpf_prog *prog)
{
	static const char edge[] = "sl_edge", fabric[] = "sl_fabric";
	bool is_edge = true, is_fabric = true;
	__u32 i;

	for (i = 0; i < sizeof(fabric) - 1; i++) {
		char letter = prog->aux->name[i];

		if (i < sizeof(edge) - 1 && letter != edge[i])
			is_edge = false;
		if (letter != fabric[i])
			is_fabric = false;
	}
	return is_edge ? SL_NETDEV_EDGE : is_fabric ? SL_NETDEV_FABRIC : SL_NETDEV_OTHER;
}

/* OTHER for a netdev of another network namespace. */
static __always_inline enum sl_netdev_kind sl_kind(const struct net_device *dev)
{
	const struct bpf_prog *native = sl_xdp_program(dev, SL_XDP_MODE_DRV);
	const struct bpf_prog *generic = sl_xdp_program(dev, SL_XDP_MODE_SKB);

	if (dev->nd_net.net->net_cookie != sl_txdrops_config.netns_cookie)
		return SL_NETDEV_OTHER;
	return native	 ? sl_kind_by_program(native)
	       : generic ? sl_kind_by_program(generic)
			 : SL_NETDEV_OTHER;
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
	const struct net_device *from = (const void *)args[0], *to = (const void *)args[1];
	int drops = args[3], err = args[4];
	enum sl_netdev_kind kind;

	if (drops <= 0)
		return 0;
	kind = sl_kind(from);
	if (kind == SL_NETDEV_EDGE && sl_kind(to) == SL_NETDEV_FABRIC)
		sl_count_tx_drops(SL_DROP_EXPRESS_TX, drops);
	else if (kind != SL_NETDEV_OTHER)
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
	enum sl_netdev_kind kind;

	if (map_type == BPF_MAP_TYPE_XSKMAP)
		return 0;
	kind = sl_kind(from);
	/* Only express frames leave an edge port without a map. */
	if (kind == SL_NETDEV_EDGE && map_type == BPF_MAP_TYPE_UNSPEC)
		sl_count_tx_drops(SL_DROP_EXPRESS_TX, 1);
	else if (kind != SL_NETDEV_OTHER)
		sl_count_tx_drops(SL_DROP_TX_ERROR, 1);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
