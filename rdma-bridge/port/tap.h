/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A remote port's netdev as the bridge has it: the other end of the TAP that sluiced made. What
 * this node's kernel sends there is read in order, told apart by DSCP, and waits as an input of the
 * remote port's VOQ of that class; carrier says if the port can be reached.
 *
 * The netdev's own queue holds what there is no room for, and no chunk, and keeps the kernel from
 * sending more. Only if a class is full and has not moved for RB_TAP_PATIENCE_NS, its frames are
 * dropped rather than keep the others waiting.
 *
 * Not thread-safe, but for rb_tap_ready: belongs to the worker.
 */
#ifndef RB_TAP_H
#define RB_TAP_H

#include <stdbool.h>

#include "rdma-bridge/queue/ingress.h"
#include "rdma-bridge/port/maps.h"

#define RB_TAP_WAITING \
	64 /* frames of a class, besides those in the netdev's queue and in the VOQ */
/*
 * A VOQ takes RB_READ_AHEAD frames at once and then none until they have left: at 320 frames/s and
 * up, it moves in this time.
 */
#define RB_TAP_PATIENCE_NS 100000000
/*
 * Free chunks that are left to hellos and to what comes from elsewhere: frames to many stopped
 * ports would take them all.
 */
#define RB_TAP_RESERVE 1024

struct rb_tap;

/*
 * Take the only queue of an existing TAP. The maps, borrowed, have the class of each DSCP. -ENODEV:
 * there is none of that name; -EBUSY: another process has it.
 */
int rb_tap_open(const char *name, const struct rb_maps *maps, struct rb_chunks *chunks,
		struct sl_counter *counters, struct rb_tap **out);
void rb_tap_close(struct rb_tap *tap); /* NULL is fine; the netdev loses its carrier */

int rb_tap_fd(const struct rb_tap *tap);
struct rb_input *rb_tap_input(struct rb_tap *tap, uint32_t class);
/* The descriptor was readable: the inputs read until it is not. */
void rb_tap_ready(struct rb_tap *tap);
/* Set the carrier; cheap if nothing changes. 0 or -errno. */
int rb_tap_carrier(struct rb_tap *tap, bool on);

#endif
