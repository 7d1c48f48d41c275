/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How an egress port gives its frames to a netdev: one table of operations, so that the egress
 * queues need not know what sends. rdma-bridge/port has the back ends.
 *
 * Frames lie in packet memory. A back end borrows each frame from put until reap returns the
 * frame's offset, which it does exactly once.
 *
 * Not thread-safe: a back end belongs to the worker of its port.
 */
#ifndef RB_TX_H
#define RB_TX_H

#include <stdint.h>

#include "rdma-bridge/wire/descriptor.h"

struct rb_tx;

struct rb_tx_ops {
	const char *name;
	void (*close)(struct rb_tx *tx);
	/* How many frames put would take now. */
	uint32_t (*room)(struct rb_tx *tx);
	/* Take frames for the next flush. Returns how many it took, the first ones. */
	uint32_t (*put)(struct rb_tx *tx, const struct rb_frame *frames, uint32_t n);
	/*
	 * Send what was put. Returns 0, -EAGAIN if some of it waits for the next flush, or another
	 * -errno if the device refuses.
	 */
	int (*flush)(struct rb_tx *tx);
	/* Give back frames that were sent or refused: at most max offsets. Returns how many. */
	uint32_t (*reap)(struct rb_tx *tx, uint64_t *offsets, uint32_t max);
};

/* The first member of each back end. */
struct rb_tx {
	const struct rb_tx_ops *ops;
	/* Frames that put took and the driver then refused, as far as the back end learns of it. */
	uint64_t refused;
};

#endif
