/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transport `roce-xdp`: RoCEv2 unreliable datagrams, made in user space and carried by AF_XDP on
 * the fabric's netdev. On the wire it is RoCE (docs/PROTOCOL.md section 2). It needs no RDMA
 * device.
 *
 * It copies messages to send them: the ICRC needs a pass over each message anyway. So post_send
 * never borrows.
 *
 * Several workers may share a netdev, each with a transport, and so a queue pair, of its own.
 * Worker i owns the queues i, i + workers, ... and alone fills their rings and transmits on them. A
 * queue has a receive ring for each worker, and XDP chooses the ring by the queue pair. A worker
 * copies the frames that it finds in its ring of another worker's queue, and hands the chunks back.
 */
#ifndef RB_ROCE_XDP_H
#define RB_ROCE_XDP_H

#include "bpf/abi/arrival.h"
#include "rdma-bridge/transport/roce.h"
#include "rdma-bridge/transport/transport.h"

struct rb_roce_xdp_config {
	const char *netdev;
	uint8_t address[16]; /* our address on it, IPv6 or v4-mapped */
	uint32_t qpn;	     /* of the first worker, 2..0xfffffe; those of the others follow */
	uint32_t qkey;	     /* random per session */
	/* rb_roce_xdp_open sets payload_max_bytes by the MTU and the chunk size. */
	struct rb_roce_config roce;
	struct rb_chunks *chunks; /* packet memory, of the transport's thread */
	uint64_t area_bytes;	  /* the whole area that chunks->area points to */
	uint32_t ring_size;	  /* entries of each ring of each queue, a power of two */
	uint32_t workers;	  /* 1..RB_ROCE_XDP_WORKERS_MAX; 0 is 1 */
	/*
	 * With more than one worker: the chunks of each, in place of the above, and for each an
	 * eventfd that ends its sleep. Borrowed until close.
	 */
	struct rb_chunks *const *worker_chunks;
	const int *wake_fds;
	/*
	 * Take express messages apart in XDP (bpf/abi/arrival.h); node: our id. Chunks are tagged
	 * by the transport then.
	 */
	bool express;
	uint8_t node;
	uint32_t sample; /* record one of so many frames that XDP takes out of them; 0: none */
	const char *pin; /* where the link of the XDP program is pinned; NULL: nowhere */
};

#define RB_ROCE_XDP_WORKERS_MAX 16

/*
 * Open sockets on all receive queues of the netdev, and attach the program that redirects frames to
 * them. out has a place for each worker's transport. Close each by itself, while no worker runs. 0,
 * -EINVAL, -ENODEV, -EBUSY (another XDP program, or another process on the queues), -EMSGSIZE (an
 * MTU too small for any message), -ENOSPC (fewer queues than workers), -EPERM, -ENOMEM, -ENOBUFS.
 */
int rb_roce_xdp_open(const struct rb_roce_xdp_config *config, struct rb_transport **out);

/* Facts that only this transport has. */
struct rb_roce_xdp_info {
	uint32_t queues;
	bool zero_copy;	 /* AF_XDP without a copy in the kernel */
	bool native_xdp; /* else generic */
	int pin_err;	 /* 0; else why the program will not outlive us: -errno */
	bool samples;	 /* XDP records the delay of frames that it redirects */
	int sent_err;	 /* 0; else why that ends with the redirect, not at the driver: -errno */
	uint64_t verdicts[RB_ROCE_VERDICT_COUNT]; /* frames received, by verdict */
};
void rb_roce_xdp_info(struct rb_transport *t, struct rb_roce_xdp_info *out);

/* Express; only for transports that were opened with it. */

/*
 * Fill in the headers of a path, what else depends on them, and the largest frame. The caller opens
 * the path by until_ns. `epoch` is that of our life, `node` the receiver's.
 */
void rb_roce_xdp_express_path(struct rb_transport *t, const struct rb_path *path, uint32_t epoch,
			      uint8_t node, enum sl_express_check check,
			      struct sl_express_path *out);
/* Are messages of this path on their way to the network? */
bool rb_roce_xdp_is_under_way(struct rb_transport *t, const struct rb_path *path);
/*
 * The sender `remote` of a node begins a life: its express messages have this epoch and check. The
 * numbers of its streams begin anew.
 */
void rb_roce_xdp_expect_express(struct rb_transport *t, uint8_t node,
				const struct rb_endpoint *remote, uint32_t epoch,
				enum sl_express_check check);
/* What came from a node. */
const struct sl_arrivals *rb_roce_xdp_arrivals(struct rb_transport *t, uint8_t node);
/* Edge ports by number. The caller writes what the bridge writes there. */
struct sl_arrival_port *rb_roce_xdp_ports(struct rb_transport *t);
/* Frames that XDP redirected to ports of ours, by sl_taken_key. */
const struct sl_passed *rb_roce_xdp_taken(struct rb_transport *t);
/* A sample of them, of the ports of this transport's worker; NULL: none. The caller writes `read`.
 */
struct sl_samples *rb_roce_xdp_samples(struct rb_transport *t);

#endif
