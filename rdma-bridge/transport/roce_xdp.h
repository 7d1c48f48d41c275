/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transport `roce-xdp`: RoCEv2 unreliable datagrams made in user space and carried by AF_XDP on the
 * fabric's netdev. On the wire it is RoCE (docs/PROTOCOL.md section 2); it needs no RDMA device.
 *
 * It sends copies (one pass over each message, which the ICRC needs anyway), so post_send never
 * borrows.
 *
 * Several workers may share a netdev, each with a transport of its own, which is a queue pair.
 * Worker i owns the queues i, i + workers, ...: it alone transmits on them and fills them. A queue
 * has a receive ring for each worker, and XDP sorts by queue pair; what a worker finds in a ring of
 * another's queue it copies, and hands the chunk back.
 */
#ifndef RB_ROCE_XDP_H
#define RB_ROCE_XDP_H

#include "rdma-bridge/transport/roce.h"
#include "rdma-bridge/transport/transport.h"

struct rb_roce_xdp_config {
	const char *netdev;
	uint8_t address[16]; /* ours on it; IPv6 or v4-mapped */
	/* 2..0xfffffe; of the first worker, and those of the others follow */
	uint32_t qpn;
	uint32_t qkey; /* random per session */
	struct rb_roce_config
		/* payload_max_bytes is set here, by the MTU and the chunk size */
		roce;
	struct rb_chunks *chunks; /* packet memory, of the transport's thread */
	uint64_t area_bytes;	  /* the whole area that chunks->area points to */
	uint32_t ring_size;	  /* entries of each ring of each queue, a power of two */
	uint32_t workers;	  /* 1..RB_ROCE_XDP_WORKERS_MAX; 0 is 1 */
	/*
	 * With more than one: chunks of each worker, in place of the above, and an eventfd each to
	 * end its sleep. Borrowed.
	 */
	struct rb_chunks *const *worker_chunks;
	const int *wake_fds;
};

#define RB_ROCE_XDP_WORKERS_MAX 16

/*
 * Open sockets on all receive queues of the netdev and attach the program that leads to them. out
 * has a place for each worker's transport; each is closed by itself, when no worker runs. -EINVAL,
 * -ENODEV, -EBUSY (another XDP program, or another process on the queues), -EMSGSIZE (an MTU that
 * carries nothing), -ENOSPC (fewer queues than workers), -EPERM, -ENOMEM, -ENOBUFS.
 */
int rb_roce_xdp_open(const struct rb_roce_xdp_config *config, struct rb_transport **out);

/* What only this transport has to tell. */
struct rb_roce_xdp_info {
	uint32_t queues;
	bool zero_copy;				  /* AF_XDP without a copy in the kernel */
	bool native_xdp;			  /* else generic */
	uint64_t verdicts[RB_ROCE_VERDICT_COUNT]; /* frames received, by what was found */
};
void rb_roce_xdp_info(struct rb_transport *t, struct rb_roce_xdp_info *out);

#endif
