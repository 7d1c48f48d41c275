/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What lies around a signal: the headers of IPv4 (RFC 791) or of IPv6 with hop-by-hop options
 * (RFC 8200 4.3). Pure.
 */
#ifndef EL_SIGNAL_PACKET_H
#define EL_SIGNAL_PACKET_H

#include "elements/signal/signal_message.h"

/* The most before a message: of IPv6, with the longest hop-by-hop options. */
#define EL_SIGNAL_HEADERS_MAX (40u + 8 * 256)
/* Bytes of a buffer for a packet: one more than the largest, so that a longer one is seen. */
#define EL_SIGNAL_PACKET_BYTES (EL_SIGNAL_HEADERS_MAX + EL_SIGNAL_MESSAGE_BYTES + 1)

struct el_signal_packet {
	struct el_signal_way way;
	const uint8_t *message; /* borrowed: in the packet */
	size_t n;		/* 0: it is no signal */
	bool is_fragment;	/* of IPv6: message is a part of one */
	struct {
		uint32_t offset; /* bytes of the message before it */
		bool more;	 /* others follow it */
		uint32_t id;	 /* of the message, with its way; in network order */
	} fragment;
};

/*
 * Read the headers of a packet of n bytes that was taken for its Router Alert or its protocol. What
 * follows hop-by-hop options must be of EL_SIGNAL_PROTOCOL, or a fragment (RFC 8200 4.5) of that:
 * the kernel looks at the alert alone.
 */
void el_signal_packet_read(const uint8_t *packet, size_t n, struct el_signal_packet *out);

#endif
