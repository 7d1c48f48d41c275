/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TAP of a remote port. sluiced made it; the bridge has its queue and its carrier, which is on
 * while the remote port can be reached. The bridge reads in order what this node's kernel sends to
 * the remote port, sorts it by DSCP into classes, and feeds the remote port's VOQ of each class.
 *
 * If there is no chunk, or no room in the class of the next frame, frames stay in the TAP's own
 * queue, which then keeps the kernel from sending more. But if a class is full and has not moved
 * for RB_TAP_PATIENCE_NS, its frames are dropped, so that they do not hold up the other classes.
 *
 * Not thread-safe except for rb_tap_ready: belongs to the worker.
 */
#ifndef RB_TAP_H
#define RB_TAP_H

#include <stdbool.h>

#include "rdma-bridge/queue/ingress.h"
#include "rdma-bridge/port/maps.h"

/* Most frames of a class that wait here, between the TAP's own queue and the VOQ. */
#define RB_TAP_WAITING 64
/*
 * A VOQ takes RB_READ_AHEAD frames at once and then none until those have left. So a VOQ with a
 * rate of at least 320 frames/s moves within this time.
 */
#define RB_TAP_PATIENCE_NS 100000000
/*
 * Free chunks that TAPs leave to hellos and to other frames. Without this, frames of the kernel to
 * many stopped ports could take every chunk.
 */
#define RB_TAP_RESERVE 1024

struct rb_tap;

/*
 * Take the only queue of an existing TAP, with its carrier off. Borrows the maps, which have the
 * class of each DSCP, and chunks and counters. 0, -ENODEV: no netdev has this name, -EBUSY: another
 * process has the queue; else -errno.
 */
int rb_tap_open(const char *name, const struct rb_maps *maps, struct rb_chunks *chunks,
		struct sl_counter *counters, struct rb_tap **out);
/*
 * Make a TAP that goes with its descriptor, up and with carrier, to which the kernel sends nothing
 * of its own: frames come to it by redirects. They may have VLAN tags. Arguments and errors as
 * above; -EBUSY: there is a netdev of this name.
 */
int rb_tap_create(const char *name, const struct rb_maps *maps, struct rb_chunks *chunks,
		  struct sl_counter *counters, struct rb_tap **out);
void rb_tap_close(struct rb_tap *tap); /* NULL is fine; the TAP loses its carrier */

int rb_tap_fd(const struct rb_tap *tap);
/* An input asks to be read (rb_input_ask) whenever it may have frames. */
struct rb_input *rb_tap_input(struct rb_tap *tap, uint32_t class);
/* The descriptor was readable: the inputs read it from now on, until it is empty. */
void rb_tap_ready(struct rb_tap *tap);
/* Set the carrier; cheap if nothing changes. 0 or -errno. */
int rb_tap_carrier(struct rb_tap *tap, bool on);

#endif
