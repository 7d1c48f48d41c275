/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The busy periods of an edge port, by the frames that the bridge sends: the spans of time in which
 * a frame for the port was always in the router, from where it entered until the port got it.
 *
 * An episode is a period with a long wait: of the last hour, the periods of largest amplitude are
 * kept, with the share of each port where their frames entered.
 *
 * Not thread-safe: belongs to the worker of the port.
 */
#ifndef RB_PORT_BUSY_H
#define RB_PORT_BUSY_H

#include <stdint.h>

#include "delay/stats/busy_period.h"
#include "delay/stats/triangle.h"
#include "rdma-bridge/wire/descriptor.h"

#define RB_EPISODES	16
#define RB_BUSY_SETTLED 1000000000ULL /* no frame is expected that came so long ago, in ns */

/* The last input stands for all ports that came after the others. */
#define RB_BUSY_OTHERS (SL_BUSY_INPUTS_MAX - 1)

struct rb_port_busy {
	struct sl_busy_leaving periods;
	struct sl_triangle triangle; /* of periods that are over */
	uint32_t n_inputs;	     /* ports where frames entered so far, at most RB_BUSY_OTHERS */
	uint32_t latest_input;
	uint16_t input[RB_BUSY_OTHERS]; /* they, as system ports; 0: a kernel */
	uint32_t n_episodes;
	struct sl_busy_period episode[RB_EPISODES]; /* in no order */
};

int rb_port_busy_create(struct rb_port_busy **out);   /* 0, -ENOMEM */
void rb_port_busy_destroy(struct rb_port_busy *busy); /* NULL is fine */

/* A frame leaves now. */
void rb_port_busy_leave(struct rb_port_busy *busy, const struct rb_frame *frame, uint64_t now_ns);
/* No frame waits for the port: end the periods that have been over for RB_BUSY_SETTLED. */
void rb_port_busy_settle(struct rb_port_busy *busy, uint64_t now_ns);

#endif
