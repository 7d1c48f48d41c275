/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Signals as packets of protocol EL_SIGNAL_PROTOCOL: of IPv4 with the option Router Alert
 * (RFC 2113), of IPv6 with hop-by-hop options in which is Router Alert (RFC 2711) of
 * EL_SIGNAL_ALERT6. The kernel gives them to a raw socket also on their way to somebody else, and
 * then does not forward them; it forwards all others as before. Addresses are as in a way.
 */
#ifndef EL_SIGNAL_SOCKET_H
#define EL_SIGNAL_SOCKET_H

#include "elements/signal/signal_fragments.h"

/* "IPv6 Router Alert Option Values" of IANA: 65503 to 65534 are for experiments (RFC 5350). */
#define EL_SIGNAL_ALERT6     65503
#define EL_SIGNAL_TEXT_BYTES 46 /* of an address, with its NUL */

struct el_signal_sockets;

/* Sockets that take signals that go through this host or to it. They do not block. 0 or -errno. */
int el_signal_listen(struct el_signal_sockets **out);
/* A socket that sends signals from an address, with Router Alert, and gets answers. 0 or -errno. */
int el_signal_dial(const uint8_t source[16], struct el_signal_sockets **out);
void el_signal_close(struct el_signal_sockets *sockets); /* NULL is fine */
/* Readable while a packet waits; -1 for NULL. */
int el_signal_fd(const struct el_signal_sockets *sockets);

/* The address from which this host sends to another; 0 or -errno. */
int el_signal_source(const uint8_t destination[16], uint8_t source[16]);

/* Send a message. 0 or -errno. */
int el_signal_send(const struct el_signal_sockets *sockets, const uint8_t to[16],
		   const uint8_t *message, size_t n);
/*
 * Take a packet. buffer: EL_SIGNAL_PACKET_BYTES. 0; -EAGAIN: none waits, or only fragments; or
 * another -errno. What has come with the alert but is no signal is a packet of 0 bytes, and so is
 * one whose fragments are given up. The packet is borrowed until the next call.
 */
int el_signal_receive(struct el_signal_sockets *sockets, uint8_t *buffer,
		      struct el_signal_packet *out);

/* An address of IPv4 or IPv6 from its text; 0 or -EINVAL. */
int el_signal_address_parse(const char *text, uint8_t out[16]);
/* The text of an address, in out. */
const char *el_signal_address_text(const uint8_t address[16], char out[EL_SIGNAL_TEXT_BYTES]);

#endif
