/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The second back end of transmission, for veth and for drivers without zero-copy. In copy mode
 * AF_XDP makes a socket buffer of each frame and sends it by itself; the injector lets the kernel
 * make XDP frames of them, and redirects those in batches (BPF_PROG_TEST_RUN with live frames). A
 * test run costs some ten microseconds before its first frame, so a few frames are still sent by
 * AF_XDP: both have sent a frame when they return, so the order stays.
 *
 * Each test run leaves a pool of pages behind until its last frame is consumed, and a receiver that
 * lags behind, such as one with threaded NAPI, makes their number grow. When the kernel has no more
 * of them (ENOSPC), AF_XDP sends for a second.
 *
 * Not thread-safe: an injector and its ports belong to one worker.
 */
#ifndef RB_INJECT_H
#define RB_INJECT_H

#include "rdma-bridge/queue/chunk.h"
#include "rdma-bridge/queue/egress.h"

#define RB_INJECT_FEW 64 /* fewer frames than that go by AF_XDP */

struct rb_injector; /* a program and the slots it sends from */
struct rb_inject;   /* a port that uses it */

/*
 * 0, or -errno; -EPERM without CAP_BPF or CAP_NET_ADMIN. Without CAP_PERFMON it works, but frames
 * that a driver refused are then not counted.
 */
int rb_injector_open(struct rb_injector **out);
void rb_injector_close(struct rb_injector *injector); /* after its ports; NULL is fine */
bool rb_injector_counts(const struct rb_injector *injector);

/*
 * A tx that sends on the netdev, few frames through `few`. Both are borrowed until it is closed;
 * the frames of put lie in `chunks`. 0, -ENOMEM.
 */
int rb_inject_open(struct rb_injector *injector, uint32_t ifindex, struct rb_tx *few,
		   const struct rb_chunks *chunks, struct rb_inject **out);
void rb_inject_close(struct rb_inject *inject); /* NULL is fine */
/* The netdev is gone: what was put comes out of reap, sent or not. */
void rb_inject_shut(struct rb_inject *inject);
struct rb_tx *rb_inject_tx(struct rb_inject *inject);

#endif
