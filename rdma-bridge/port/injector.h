/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The second back end of transmission, for veth and for drivers without zero-copy. In copy mode
 * AF_XDP makes a socket buffer of each frame and sends each by itself. The injector makes the
 * kernel build XDP frames and redirect them in batches (BPF_PROG_TEST_RUN with live frames). A test
 * run costs some ten microseconds before its first frame, so AF_XDP still sends a few frames. Both
 * have sent a frame when they return, so the order stays.
 *
 * Each test run leaves a pool of pages behind until the receiver has consumed the last frame. A
 * receiver that lags, such as one with threaded NAPI, makes the number of pools grow. When the
 * kernel has no pool left (ENOSPC), AF_XDP sends everything for a second.
 *
 * Not thread-safe: an injector and its ports belong to one worker.
 */
#ifndef RB_INJECT_H
#define RB_INJECT_H

#include "rdma-bridge/queue/chunk.h"
#include "rdma-bridge/queue/egress.h"

#define RB_INJECT_FEW 64 /* AF_XDP sends if there are fewer frames than this */

struct rb_injector; /* the program, and the slots that it sends from */
struct rb_inject;   /* a port that an injector sends on */

/*
 * 0, or -errno; -EPERM without CAP_BPF or CAP_NET_ADMIN. Without CAP_PERFMON an injector sends but
 * cannot count the frames that a driver refuses.
 */
int rb_injector_open(struct rb_injector **out);
void rb_injector_close(struct rb_injector *injector); /* after its ports; NULL is fine */
/* Does it count the frames that drivers refuse? */
bool rb_injector_counts(const struct rb_injector *injector);

/*
 * Make a tx that sends on the netdev, a few frames through `few`. Borrows injector, few, and chunks
 * (which hold the frames) until it is closed. 0, -ENOMEM.
 */
int rb_inject_open(struct rb_injector *injector, uint32_t ifindex, struct rb_tx *few,
		   const struct rb_chunks *chunks, struct rb_inject **out);
void rb_inject_close(struct rb_inject *inject); /* NULL is fine */
/* The netdev is gone: reap gives back every frame that was put, sent or not. NULL is fine. */
void rb_inject_shut(struct rb_inject *inject);
struct rb_tx *rb_inject_tx(struct rb_inject *inject);

#endif
