/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where waiting comes from: the same packets once more through the queue of an output, with one
 * cause taken away each time (the paper's semi-experiments; causes of Papagiannaki, Veitch and
 * Hohn, "Origins of Microcongestion in an Access Router", 2004).
 *
 *     bandwidth     each input passes a queue of the output's rate first, so that none is faster
 *                   than the output; what waits behind it counts
 *     multiplexing  each input has the output for itself
 *     burstiness    each packet arrives at any time of its second
 *
 * A cause's share is 1 - wait without it / wait with it. Shares overlap, and need not add to 1.
 * Memory: what waits in the queues, and 16 bytes for each packet of a second.
 */
#ifndef SL_SEMI_EXPERIMENTS_H
#define SL_SEMI_EXPERIMENTS_H

#include <stdint.h>

#include "delay/stats/busy_period.h"

struct sl_semi;

/* Sums over all packets; a mean wait is a sum by `packets`. */
struct sl_semi_result {
	uint64_t packets;
	uint64_t wait_ns;	 /* as it was */
	uint64_t slow_inputs_ns; /* without inputs faster than the output */
	uint64_t alone_ns;	 /* each input alone; of all inputs, and of each: */
	uint64_t input_packets[SL_BUSY_INPUTS_MAX], input_alone_ns[SL_BUSY_INPUTS_MAX];
	uint64_t smooth_ns; /* without bursts */
};

/* For an output of `rate_bps`, not 0. 0 or -ENOMEM. */
int sl_semi_create(uint64_t rate_bps, struct sl_semi **out);
void sl_semi_destroy(struct sl_semi *semi);
/*
 * A packet reaches the queue; packets come in the order of arrival_ns.
 *
 * input       0..SL_BUSY_INPUTS_MAX - 1
 * wire_bytes  what it takes of the output, at most 1 MB
 * wait_ns     how long it waits, as it was
 *
 * 0 or -ENOMEM.
 */
int sl_semi_add(struct sl_semi *semi, int64_t arrival_ns, uint32_t input, uint32_t wire_bytes,
		uint64_t wait_ns);
/* After the last packet: serve what waits. The result is then complete. */
void sl_semi_finish(struct sl_semi *semi);
const struct sl_semi_result *sl_semi_result(const struct sl_semi *semi);
/*
 * The longest stay of a packet in the queue since the last call, if each input were alone: what of
 * a busy period's amplitude one input explains by itself.
 */
uint64_t sl_semi_take_amplitude_ns(struct sl_semi *semi);

#endif
