/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "delay/stats/busy_period.h"

bool sl_busy_close(struct sl_busy *busy, struct sl_busy_period *closed)
{
	if (!busy->open)
		return false;
	*closed = busy->period;
	busy->open = false;
	return true;
}

bool sl_busy_add(struct sl_busy *busy, const struct sl_passage *packet,
		 struct sl_busy_period *closed)
{
	struct sl_busy_period *p = &busy->period;
	const int64_t stay_ns = packet->out_ns - packet->in_ns;
	bool ended = false;

	if (!busy->open || packet->in_ns >= p->end_ns) {
		busy->raw++;
		if (!busy->open || packet->in_ns - p->end_ns >= (int64_t)busy->guard_ns) {
			ended = sl_busy_close(busy, closed);
			memset(p, 0, sizeof(*p));
			p->start_ns = p->apex_ns = packet->in_ns;
			p->end_ns = packet->out_ns;
			busy->open = true;
		}
	}
	if (packet->out_ns > p->end_ns)
		p->end_ns = packet->out_ns;
	if (stay_ns > (int64_t)p->amplitude_ns) {
		p->amplitude_ns = (uint64_t)stay_ns;
		p->apex_ns = packet->in_ns;
	}
	p->packets++;
	p->bytes += packet->bytes;
	p->wait_ns += packet->wait_ns;
	p->delay_ns += packet->delay_ns;
	p->input_bytes[packet->input] += packet->bytes;
	return ended;
}
