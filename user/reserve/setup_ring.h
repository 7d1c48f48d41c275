/* SPDX-License-Identifier: BSD-2-Clause */
/* The flows that XDP tells of, since a rule reserves for them (bpf/abi/reserved.h). */
#ifndef SL_SETUP_RING_H
#define SL_SETUP_RING_H

#include <stdint.h>

#include "bpf/abi/reserved.h"
#include "user/datapath/datapath.h"

struct sl_setup_ring;

/*
 * Read the ring of dp, which is borrowed until close. The caller polls sl_setup_ring_fd for input.
 * 0 or -errno.
 */
int sl_setup_ring_open(const struct sl_datapath *dp,
		       void (*on_setup)(void *ctx, const struct sl_flow_setup *setup), void *ctx,
		       struct sl_setup_ring **out);
void sl_setup_ring_close(struct sl_setup_ring *ring); /* NULL is fine */
int sl_setup_ring_fd(const struct sl_setup_ring *ring);
/* Call on_setup for each flow that is in the ring. */
void sl_setup_ring_poll(struct sl_setup_ring *ring);
/* Once a second: let XDP tell again of flows that it told of before SL_SETUP_TOLD_NS. */
void sl_setup_ring_tick(const struct sl_setup_ring *ring);
/* Packets of flows that XDP could not tell of. */
uint64_t sl_setup_ring_missed(const struct sl_setup_ring *ring);

#endif
