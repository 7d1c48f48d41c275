/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of sluice-elements of the veth: frames into packets, packets into frames, by AF_XDP.
 * Packet memory is the UMEM of its socket; a chunk is free, in the fill ring, a packet, or being
 * sent.
 */
#ifndef EL_CHAIN_PORT_H
#define EL_CHAIN_PORT_H

#include "elements/core/packet_pool.h"
#include "elements/worker/chain_netdevs.h"

#define EL_PORT_BATCH 32u

/* Frames and what became of them, since the port was opened. */
struct el_port_counters {
	uint64_t received, sent;
	uint64_t output_full; /* not sent: the transmit ring had no room for that long */
};

struct el_port;

/* 0 or -errno; logged. Borrows netdevs. */
int el_port_open(const struct el_chain_netdevs *netdevs, struct el_port **out);
void el_port_close(struct el_port *port); /* NULL is fine */

struct el_pool *el_port_pool(struct el_port *port);
int el_port_fd(const struct el_port *port); /* readable when frames wait */
const struct el_port_counters *el_port_counters(const struct el_port *port);
/* Frames that the kernel dropped, because no chunk was free or the ring was full. */
uint64_t el_port_refused(const struct el_port *port);

bool el_port_waits(struct el_port *port);
/* Take packets, at most max. Returns how many. */
uint32_t el_port_receive(struct el_port *port, struct el_packet **out, uint32_t max);
/* Keep a packet for el_port_flush; one for which there is no room is counted, and is free again. */
void el_port_send(struct el_port *port, struct el_packet *packet);
/* Does a packet wait to be sent, or is one being sent? */
bool el_port_is_sending(const struct el_port *port);
/* Send what was kept, and take back the chunks of what was sent. True: packets still wait. */
bool el_port_flush(struct el_port *port);

#endif
