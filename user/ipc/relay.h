/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The relay: messages between sluiced and sluice-bridge of one node, over a UNIX socket of type
 * SOCK_SEQPACKET that the bridge offers (`cluster.socket` of sluice.yaml(5)). One datagram is one
 * message. The bridge does not read the announcements that it carries. Pure: this is the codec.
 * Both ends are in one host, so integers are in host order.
 *
 *   sluiced -> bridge   SEND      carry this part of an announcement to a node, or to all that are
 *                       up
 *                       PORT      the state that the owner of a remote port announces
 *                       FLOW      a flow has a queue of its own at a port of this node
 *   bridge -> sluiced   PEER      a peer is up, with its epoch and MTU, or down
 *                       RECEIVED  a part of an announcement from a node that has proven who it is
 *
 * The bridge serves one client. When another one connects, the bridge closes the old connection, so
 * that a daemon that restarts need not wait for the connection of its former life to end. The
 * bridge sends a new client PEER for every peer of the configuration, and from then on each change.
 * It never waits for a client: if a message does not fit the client's socket buffer, the bridge
 * drops a RECEIVED, because announcements are repeated, and for a PEER it closes the connection. A
 * client does likewise.
 *
 * Remote ports. sluiced makes their TAPs persistent and owns MAC, MTU, addresses and routes; the
 * bridge opens their only queue. On PORT the bridge opens the TAP of that system port, unless it is
 * open already (sl_relay_tap_name; sluiced made the TAP before). The bridge then gives it carrier
 * (TUNSETCARRIER) if `up` is set and the peer is up. It takes the carrier away when the peer falls
 * silent, and gives it back when the peer is up again. It keeps what PORT said when sluiced ends;
 * without a bridge, a TAP has no carrier. So a remote port has carrier only while its owner, the
 * fabric and both bridges say so. On PORT with `gone` the bridge closes the TAP; the netdev is
 * removed. Of the frames that the kernel sends into a TAP, the bridge carries unicast IPv4 and IPv6
 * only: the daemons resolve neighbours, and nothing else crosses the fabric.
 *
 * Reserved flows. FLOW gives a flow one of the reserved queues of the class SL_RESERVED_CLASS at a
 * port of this node, with a weight, or, with `gone`, takes it away. The bridge forgets all of them
 * when a client connects, which tells it of those that it knows.
 */
#ifndef SL_RELAY_H
#define SL_RELAY_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/reserved.h"
#include "user/ipc/announce.h"

#define SL_RELAY_VERSION      2
#define SL_RELAY_HEADER_BYTES 4
#define SL_RELAY_MAX_BYTES    (SL_RELAY_HEADER_BYTES + SL_ANNOUNCE_PART_BYTES)

enum sl_relay_kind {
	SL_RELAY_SEND = 1,
	SL_RELAY_PORT = 2,
	SL_RELAY_PEER = 3,
	SL_RELAY_RECEIVED = 4,
	SL_RELAY_FLOW = 5,
};

/* One message. The fields that its kind does not use are 0. */
struct sl_relay_message {
	uint8_t kind; /* enum sl_relay_kind */
	/* SEND: destination, 0: all that are up; PEER, RECEIVED: the peer */
	uint8_t node;
	bool up;		 /* PORT, PEER */
	bool gone;		 /* PORT: no longer configured; FLOW: no longer reserved */
	uint16_t system_port;	 /* PORT, FLOW */
	uint16_t weight;	 /* FLOW: of its queue, 1..1024; 0 if gone */
	struct sl_flow_key flow; /* FLOW */
	uint32_t epoch;		 /* PEER: the epoch of its bridge if up, not 0; else 0 */
	/* PEER: the largest IP packet that the fabric carries to it if up, from 68; else 0 */
	uint32_t mtu_bytes;
	/* SEND, RECEIVED: borrowed from the caller or from the bytes parsed */
	const uint8_t *part;
	size_t part_bytes; /* 1..SL_ANNOUNCE_PART_BYTES */
};

/*
 * Write a message. Returns its length, at most SL_RELAY_MAX_BYTES, or 0: a field is out of its
 * range.
 */
size_t sl_relay_encode(const struct sl_relay_message *message, uint8_t bytes[SL_RELAY_MAX_BYTES]);

/*
 * Read one datagram. 0; -EPROTO: unknown version or kind; -EMSGSIZE: its kind has another length;
 * -EINVAL: a value out of range.
 */
int sl_relay_parse(const uint8_t *bytes, size_t len_bytes, struct sl_relay_message *message);

/* The netdev of a remote port: "n2p1" of system port 0x0201. */
void sl_relay_tap_name(uint16_t system_port, char name[IF_NAMESIZE]);

#endif
