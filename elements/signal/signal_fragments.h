/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals that come in fragments of IPv6 (RFC 8200 4.5): a router that takes them by Router Alert
 * gets them as they are. Fragments that overlap, too, end their message (RFC 5722); and so do 16
 * messages that begin after it, or 5 s. Pure.
 */
#ifndef EL_SIGNAL_FRAGMENTS_H
#define EL_SIGNAL_FRAGMENTS_H

#include "elements/signal/signal_packet.h"

#define EL_SIGNAL_PARTS	  16u
#define EL_SIGNAL_PART_NS 5000000000ULL
#define EL_SIGNAL_UNITS	  (EL_SIGNAL_MESSAGE_BYTES / 8 + 1) /* of 8 bytes, in which offsets are */

/* A message of which some fragments have come. */
struct el_signal_part {
	struct el_signal_way way;
	uint32_t id;
	uint64_t since_ns; /* its first fragment came; of a free one, any time */
	uint32_t n;	   /* bytes that have come; 0: it is free */
	uint32_t end;	   /* behind the furthest of them */
	uint32_t total;	   /* bytes of the message; 0: not known yet */
	bool has[EL_SIGNAL_UNITS];
	uint8_t message[EL_SIGNAL_UNITS * 8];
};

struct el_signal_fragments {
	struct el_signal_part parts[EL_SIGNAL_PARTS]; /* zero at first */
};

enum el_signal_taken {
	EL_SIGNAL_WHOLE,    /* the packet has the whole message now, borrowed until the next one */
	EL_SIGNAL_WAITS,    /* for other fragments */
	EL_SIGNAL_GIVEN_UP, /* a message will not become whole: this one, or an older one */
};

/* A packet has come at now_ns, of the monotonic clock. One that is no fragment is whole. */
enum el_signal_taken el_signal_fragments_take(struct el_signal_fragments *fragments,
					      struct el_signal_packet *packet, uint64_t now_ns);

#endif
