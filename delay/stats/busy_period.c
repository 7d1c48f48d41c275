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

static void open_period(struct sl_busy_period *p, const struct sl_passage *packet)
{
	memset(p, 0, sizeof(*p));
	p->start_ns = p->apex_ns = packet->in_ns;
	p->end_ns = packet->out_ns;
}

static void add_packet(struct sl_busy_period *p, const struct sl_passage *packet)
{
	const int64_t stay_ns = packet->out_ns - packet->in_ns;

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
}

bool sl_busy_add(struct sl_busy *busy, const struct sl_passage *packet,
		 struct sl_busy_period *closed)
{
	struct sl_busy_period *p = &busy->period;
	bool ended = false;

	if (!busy->open || packet->in_ns >= p->end_ns) {
		busy->raw++;
		if (!busy->open || packet->in_ns - p->end_ns >= (int64_t)busy->guard_ns) {
			ended = sl_busy_close(busy, closed);
			open_period(p, packet);
			busy->open = true;
		}
	}
	add_packet(p, packet);
	return ended;
}

static struct sl_busy_period *recent(struct sl_busy_leaving *busy, uint32_t i)
{
	return &busy->recent[(busy->first + i) % SL_BUSY_RECENT];
}

static const struct sl_busy_period *close_oldest(struct sl_busy_leaving *busy)
{
	const struct sl_busy_period *closed = recent(busy, 0);

	busy->closed_ns = closed->end_ns;
	busy->first = (busy->first + 1) % SL_BUSY_RECENT;
	busy->n--;
	return closed;
}

const struct sl_busy_period *sl_busy_close_before(struct sl_busy_leaving *busy, int64_t time_ns)
{
	return busy->n && recent(busy, 0)->end_ns < time_ns ? close_oldest(busy) : NULL;
}

/* `from` follows `into`, and both turned out to be one. */
static void merge(struct sl_busy_period *into, const struct sl_busy_period *from)
{
	into->end_ns = from->end_ns;
	if (from->amplitude_ns > into->amplitude_ns) {
		into->amplitude_ns = from->amplitude_ns;
		into->apex_ns = from->apex_ns;
	}
	into->packets += from->packets;
	into->bytes += from->bytes;
	into->wait_ns += from->wait_ns;
	into->delay_ns += from->delay_ns;
	for (uint32_t i = 0; i < SL_BUSY_INPUTS_MAX; i++)
		into->input_bytes[i] += from->input_bytes[i];
}

const struct sl_busy_period *sl_busy_leave(struct sl_busy_leaving *busy,
					   const struct sl_passage *packet)
{
	const struct sl_busy_period *closed = NULL;
	struct sl_busy_period *p;

	if (!busy->n || packet->in_ns >= recent(busy, busy->n - 1)->end_ns) {
		/* One place stays free, so that the new period leaves the closed one alone. */
		if (busy->n == SL_BUSY_RECENT - 1)
			closed = close_oldest(busy);
		p = recent(busy, busy->n++);
		open_period(p, packet);
	} else {
		while (busy->n > 1 && packet->in_ns < recent(busy, busy->n - 2)->end_ns) {
			merge(recent(busy, busy->n - 2), recent(busy, busy->n - 1));
			busy->n--;
		}
		p = recent(busy, busy->n - 1);
	}
	add_packet(p, packet);
	if (packet->in_ns < p->start_ns)
		p->start_ns = packet->in_ns;
	if (packet->in_ns < busy->closed_ns) {
		busy->late++;
		p->start_ns = busy->closed_ns;
	}
	return closed;
}
