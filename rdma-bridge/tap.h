/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A remote port's netdev as the bridge has it: the other end of the TAP that sluiced made. What this node's kernel sends
 * there is an input of the remote port's VOQ of class 0; carrier says if the port can be reached.
 *
 * Not thread-safe: belongs to the worker.
 */
#ifndef RB_TAP_H
#define RB_TAP_H

#include <stdbool.h>

#include "rdma-bridge/ingress.h"

struct rb_tap;

/* Take the only queue of an existing TAP. -ENODEV: there is none of that name; -EBUSY: another process has it. */
int rb_tap_open(const char *name, struct rb_chunks *chunks, struct sl_counter *counters,
		struct rb_tap **out);
void rb_tap_close(struct rb_tap *tap); /* NULL is fine; the netdev loses its carrier */

int rb_tap_fd(const struct rb_tap *tap);
struct rb_input *rb_tap_input(struct rb_tap *tap);
/* The descriptor was readable: the input reads until it is not. */
void rb_tap_ready(struct rb_tap *tap);
/* Set the carrier; cheap if nothing changes. 0 or -errno. */
int rb_tap_carrier(struct rb_tap *tap, bool on);

#endif
