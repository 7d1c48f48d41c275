/* SPDX-License-Identifier: BSD-2-Clause */
#include <netinet/in.h>
#include <string.h>

#include "elements/signal/signal_packet.h"

#define IPV4_MIN_BYTES 20u
#define IPV6_BYTES     40u
#define FRAGMENT_BYTES 8u

/* Bytes of the headers; 0: they are not whole. */
static size_t read4(const uint8_t *packet, size_t n, struct el_signal_way *way)
{
	const size_t header = (packet[0] & 15u) * 4;

	if (header < IPV4_MIN_BYTES || n < header)
		return 0;
	el_signal_map4(packet + 12, way->source);
	el_signal_map4(packet + 16, way->destination);
	return header;
}

/* A header of fragments; 0: it is not one of a signal. */
static size_t read_fragment(const uint8_t *header, size_t n, struct el_signal_packet *out)
{
	if (n < FRAGMENT_BYTES || header[0] != EL_SIGNAL_PROTOCOL)
		return 0;
	out->is_fragment = true;
	out->fragment.offset = (header[2] << 8 | header[3]) & ~7u;
	out->fragment.more = header[3] & 1;
	memcpy(&out->fragment.id, header + 4, sizeof(out->fragment.id));
	return FRAGMENT_BYTES;
}

/* Bytes of the headers; 0 also if something else than a signal follows. */
static size_t read6(const uint8_t *packet, size_t n, struct el_signal_packet *out)
{
	const uint8_t *options = packet + IPV6_BYTES;
	size_t header, fragment;

	if (n < IPV6_BYTES + 8 || packet[6] != IPPROTO_HOPOPTS)
		return 0;
	header = IPV6_BYTES + 8 + options[1] * 8u;
	if (n < header)
		return 0;
	memcpy(out->way.source, packet + 8, sizeof(out->way.source));
	memcpy(out->way.destination, packet + 24, sizeof(out->way.destination));
	if (options[0] == EL_SIGNAL_PROTOCOL)
		return header;
	if (options[0] != IPPROTO_FRAGMENT)
		return 0;
	fragment = read_fragment(packet + header, n - header, out);
	return fragment ? header + fragment : 0;
}

void el_signal_packet_read(const uint8_t *packet, size_t n, struct el_signal_packet *out)
{
	const uint8_t version = n ? packet[0] >> 4 : 0;
	size_t header = 0;

	*out = (struct el_signal_packet){ .message = packet };
	if (version == 4)
		header = read4(packet, n, &out->way);
	else if (version == 6)
		header = read6(packet, n, out);
	if (!header)
		return;
	out->message = packet + header;
	out->n = n - header;
}
