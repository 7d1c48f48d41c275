// SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause
/*
 * Sees when drivers take the frames that sl_fabric redirected, and ends their samples. It is a BPF
 * object of its own, since it needs the rights of tracing (CAP_PERFMON) and sl_fabric does not.
 *
 * It runs where the kernel hands a batch to a driver, on the CPU that redirected its frames.
 */
#include "bpf/lib/kernel_types.bpf.h"
#include "bpf/fabric/sample.bpf.h"
#include <stdbool.h>

const volatile struct sl_sent_config sent_config = {};

/* A batch was handed to a driver. Arguments: from_dev, to_dev, sent, drops, err; sent 0 if err. */
SEC("tp_btf/xdp_devmap_xmit")
int sl_fabric_sent(const __u64 *args)
{
	const struct net_device *from = (const void *)args[0], *to = (const void *)args[1];
	__u32 sent = args[2], n = sent + (__u32)args[3], ifindex = to->ifindex;
	struct sl_bulk *bulk = sl_bulk_of(ifindex);
	const struct bpf_prog *prog;
	__u64 next;
	bool room;

	if (!bulk || !bulk->frames || bulk->ifindex != ifindex)
		return 0;
	prog = sl_xdp_program(from, SL_XDP_MODE_DRV);
	if (!prog || prog->aux->id != sent_config.program)
		return 0;
	/* A frame that finds the bulk full goes into the next one. */
	room = n == SL_BULK_FRAMES && bulk->frames == SL_BULK_FRAMES + 1;
	next = room ? bulk->number[SL_BULK_FRAMES] : 0;
	if (room || n == bulk->frames)
		sl_bulk_leave(bulk, n, sent);
	else /* of some of them we have not seen what became */
		sl_bulk_leave(bulk, SL_BULK_FRAMES + 1, 0);
	bulk->frames = room;
	if (next) {
		bulk->number[0] = next;
		bulk->number[SL_BULK_FRAMES] = 0;
	}
	return 0;
}

/*
 * The redirect itself was refused: the latest frame is in no bulk. Arguments: dev, program, target,
 * err, type of the map, id of the map, ifindex.
 */
SEC("tp_btf/xdp_redirect_err")
int sl_fabric_refused(const __u64 *args)
{
	const struct bpf_prog *prog = (const void *)args[1];
	__u32 ifindex = args[6], last;
	struct sl_bulk *bulk = sl_bulk_of(ifindex);

	if ((__u32)args[4] != BPF_MAP_TYPE_UNSPEC || prog->aux->id != sent_config.program ||
	    !bulk || bulk->ifindex != ifindex)
		return 0;
	last = bulk->frames - 1;
	if (last > SL_BULK_FRAMES)
		return 0;
	sl_bulk_end(bulk, last, 0);
	bulk->frames = last;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
