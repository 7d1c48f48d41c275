/* SPDX-License-Identifier: BSD-2-Clause */
/* A worker's way in: judge messages, queue their frames at ports, pass their records on. */
#ifndef RB_WORKER_RECEIVE_H
#define RB_WORKER_RECEIVE_H

#include "rdma-bridge/worker/worker_state.h"

#define RB_RECEIVE_FRAMES  256 /* a round takes no further batch after so many frames, */
#define RB_RECEIVE_BATCHES 64  /* or after so many batches */

/* Take in completions: received messages, and sent ones. True if frames came. */
bool rb_worker_receive(struct rb_worker *worker, uint64_t now_ns);
/* Post chunks to the transport until config.receive_target are posted. */
void rb_worker_post_receives(struct rb_worker *worker);

#endif
