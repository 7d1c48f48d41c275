/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What sluiced and sluice-bridge of one node say to each other, over a UNIX socket of type
 * SOCK_SEQPACKET that the bridge offers (`cluster.socket` of sluice.yaml(5)). One datagram is one
 * message; to the bridge, announcements are opaque. Pure: this is the codec; both ends are in one
 * host, so integers are in host order.
 *
 *   sluiced -> bridge   SEND      carry this part of an announcement to a node, or to all that are
 *                       up
 *                       PORT      the state that the owner of a remote port announces
 *   bridge -> sluiced   PEER      a peer is up, with its epoch, or down
 *                       RECEIVED  a part of an announcement from a node that has proven who it is
 *
 * The bridge serves one client; when another connects, the new one is served and the old connection
 * closed (a daemon that restarts must not wait for its former life). To a client that connects it
 * sends PEER for every peer of the configuration, then each change. It never waits for a client: a
 * message that does not fit the client's socket buffer is dropped if it is RECEIVED (announcements
 * are repeated) and closes the connection if it is PEER. A client does likewise.
 *
 * Remote ports. sluiced makes their TAPs persistent and owns MAC, MTU, addresses and routes; the
 * bridge opens their only queue. On PORT the bridge opens the TAP of that system port if it has not
 * (sl_relay_tap_name; sluiced made it before), and sets its carrier (TUNSETCARRIER) to `up` and
 * "the peer is up". It takes the carrier away by itself when the peer falls silent, and gives it
 * back when the peer is up again; it keeps what PORT said when sluiced goes, and a TAP without a
 * bridge has none. So a remote port has carrier only while owner, fabric and both bridges say so.
 * On PORT with `gone` the bridge closes the TAP; the netdev vanishes then. Of what the kernel sends
 * into a TAP, the bridge carries unicast IPv4 and IPv6 frames only: neighbours are resolved by the
 * daemons, and nothing else crosses the fabric.
 */
#ifndef SL_RELAY_H
#define SL_RELAY_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/ipc/announce.h"

#define SL_RELAY_VERSION      1
#define SL_RELAY_HEADER_BYTES 4
#define SL_RELAY_MAX_BYTES    (SL_RELAY_HEADER_BYTES + SL_ANNOUNCE_PART_BYTES)

enum sl_relay_kind {
	SL_RELAY_SEND = 1,
	SL_RELAY_PORT = 2,
	SL_RELAY_PEER = 3,
	SL_RELAY_RECEIVED = 4,
};

/* One message. What its kind does not use is 0. */
struct sl_relay_message {
	uint8_t kind; /* enum sl_relay_kind */
	/* SEND: destination, 0: all that are up; PEER, RECEIVED: the peer */
	uint8_t node;
	bool up;	      /* PORT, PEER */
	bool gone;	      /* PORT: no longer configured */
	uint16_t system_port; /* PORT */
	uint32_t epoch;	      /* PEER: of its bridge's life if up, not 0; else 0 */
	/* SEND, RECEIVED: borrowed from the caller or from the bytes parsed */
	const uint8_t *part;
	size_t part_bytes; /* 1..SL_ANNOUNCE_PART_BYTES */
};

/*
 * Write a message; its length, at most SL_RELAY_MAX_BYTES, or 0 if it cannot be written (see the
 * ranges above).
 */
size_t sl_relay_encode(const struct sl_relay_message *message, uint8_t bytes[SL_RELAY_MAX_BYTES]);

/*
 * Read one datagram. 0; -EPROTO: version or kind; -EMSGSIZE: not its kind's length; -EINVAL: a
 * value out of range.
 */
int sl_relay_parse(const uint8_t *bytes, size_t len_bytes, struct sl_relay_message *message);

/* "n2p1" of system port 0x0201: the remote port's netdev. */
void sl_relay_tap_name(uint16_t system_port, char name[IF_NAMESIZE]);

#endif
