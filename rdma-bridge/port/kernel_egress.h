/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What this node's kernel itself sends by a port with queues, led to the bridge by
 * bpf/kernel_egress.bpf.c: the program on the port's way out, and the TAP that it leads to.
 *
 * The TAP goes with its descriptor. The program stays when the bridge is killed, and lets the
 * kernel send again when the bridge has been silent for the time that rb_kernel_egress_alive said.
 *
 * Not thread-safe: belongs to the first lane's thread, but for what tap.h says.
 */
#ifndef RB_KERNEL_EGRESS_H
#define RB_KERNEL_EGRESS_H

#include <stdint.h>

#include "rdma-bridge/port/tap.h"

struct rb_kernel_egress;

/* Make the TAP of port `number`, and load the program. Arguments as rb_tap_open. 0 or -errno. */
int rb_kernel_egress_open(uint8_t number, const struct rb_maps *maps, struct rb_chunks *chunks,
			  struct sl_counter *counters, struct rb_kernel_egress **out);
/* Detaches the program, and frames in the TAP are lost. NULL is fine. */
void rb_kernel_egress_close(struct rb_kernel_egress *kernel);
struct rb_tap *rb_kernel_egress_tap(struct rb_kernel_egress *kernel); /* borrowed */

/*
 * Put the program on the netdev, in the place of one that another bridge left, or take it off. 0 or
 * -errno.
 */
int rb_kernel_egress_attach(struct rb_kernel_egress *kernel, uint32_t ifindex);
void rb_kernel_egress_detach(struct rb_kernel_egress *kernel);
/* Take off what a bridge left that had queues where this one has none. */
void rb_kernel_egress_forget(uint32_t ifindex);

/* The bridge will look again before this time. */
void rb_kernel_egress_alive(struct rb_kernel_egress *kernel, uint64_t until_ns);

#endif
