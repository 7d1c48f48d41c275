/* SPDX-License-Identifier: BSD-2-Clause */
/* First in, first out: the packets that an element holds, linked by struct el_packet. */
#ifndef EL_PACKET_LIST_H
#define EL_PACKET_LIST_H

#include <stddef.h>

#include "elements/core/packet_pool.h"

struct el_list {
	struct el_packet *first, *last; /* owned */
	uint32_t n;
};

static inline void el_list_put(struct el_list *list, struct el_packet *packet)
{
	packet->link = NULL;
	if (list->n)
		list->last->link = packet;
	else
		list->first = packet;
	list->last = packet;
	list->n++;
}

/* NULL: the list is empty. */
static inline struct el_packet *el_list_take(struct el_list *list)
{
	struct el_packet *packet = list->n ? list->first : NULL;

	if (packet) {
		list->first = packet->link;
		list->n--;
	}
	return packet;
}

#endif
