/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "elements/signal/signal_fragments.h"

static bool is_of(const struct el_signal_part *part, const struct el_signal_packet *packet,
		  uint64_t now_ns)
{
	return part->n && part->id == packet->fragment.id &&
	       now_ns - part->since_ns <= EL_SIGNAL_PART_NS &&
	       memcmp(&part->way, &packet->way, sizeof(part->way)) == 0;
}

/* The part that the packet belongs to; else a free one, or the oldest, which *given_up tells. */
static struct el_signal_part *find(struct el_signal_fragments *f,
				   const struct el_signal_packet *packet, uint64_t now_ns,
				   bool *given_up)
{
	struct el_signal_part *best = &f->parts[0];

	for (uint32_t i = 0; i < EL_SIGNAL_PARTS; i++) {
		struct el_signal_part *part = &f->parts[i];

		if (is_of(part, packet, now_ns))
			return part;
		if (best->n && (!part->n || part->since_ns < best->since_ns))
			best = part;
	}
	*given_up = best->n;
	memset(best, 0, sizeof(*best));
	best->way = packet->way;
	best->id = packet->fragment.id;
	best->since_ns = now_ns;
	return best;
}

/* False: it does not fit to those that have come, or into a message. */
static bool add(struct el_signal_part *part, const struct el_signal_packet *packet)
{
	const uint32_t from = packet->fragment.offset, n = (uint32_t)packet->n, to = from + n;
	const bool last = !packet->fragment.more;

	if (packet->n > EL_SIGNAL_MESSAGE_BYTES || to > EL_SIGNAL_MESSAGE_BYTES || !n)
		return false;
	if (last ? part->total || part->end > to : n % 8 || (part->total && to > part->total))
		return false;
	for (uint32_t unit = from / 8; unit * 8 < to; unit++) {
		if (part->has[unit])
			return false;
		part->has[unit] = true;
	}
	memcpy(part->message + from, packet->message, n);
	part->n += n;
	part->end = to > part->end ? to : part->end;
	part->total = last ? to : part->total;
	return true;
}

enum el_signal_taken el_signal_fragments_take(struct el_signal_fragments *f,
					      struct el_signal_packet *packet, uint64_t now_ns)
{
	struct el_signal_part *part;
	bool given_up = false;

	if (!packet->is_fragment)
		return EL_SIGNAL_WHOLE;
	part = find(f, packet, now_ns, &given_up);
	if (!add(part, packet)) {
		part->n = 0;
		return EL_SIGNAL_GIVEN_UP;
	}
	if (part->n != part->total)
		return given_up ? EL_SIGNAL_GIVEN_UP : EL_SIGNAL_WAITS;
	packet->is_fragment = false;
	packet->message = part->message;
	packet->n = part->n;
	part->n = 0;
	return EL_SIGNAL_WHOLE;
}
