/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fabric's device: the transports on it, and whether it is there. A bridge is nothing without
 * it: its owner closes a bridge that lost it, and opens another when it is there again.
 */
#ifndef RB_FABRIC_H
#define RB_FABRIC_H

#include "rdma-bridge/bridge/bridge.h"

/*
 * Open the transport of every lane on the fabric's device, and draw the numbers of this life:
 * epoch, queue pairs, Q_Key. 0 or -errno, logged.
 */
int rb_fabric_open(struct rb_bridge *bridge);

/*
 * Bytes a second that this node can send into the fabric: as the configuration says, else as the
 * netdev's driver does, else those of 10 Gb/s Ethernet.
 */
uint64_t rb_fabric_speed_Bps(const struct rb_bridge *bridge);

/* Set bridge->lost, and log it, if the device is gone or is not the one that was opened. */
void rb_fabric_check(struct rb_bridge *bridge);
/*
 * Can a bridge be opened: is the fabric's netdev up, the node's address on this host, and on an
 * RDMA device if one is wanted?
 */
bool rb_fabric_is_there(const struct sl_settings *settings);

/* The message that a full frame of any of our ports needs, as large as their MTUs are now. */
uint32_t rb_fabric_message_needed_bytes(const struct rb_bridge *bridge);
/* The largest IP packet whose frame fits a message of this size and a chunk with its headroom. */
uint32_t rb_fabric_mtu_for(uint32_t message_bytes, uint32_t chunk_bytes);
/* The largest IP packet that a message to a peer that is up carries. */
uint32_t rb_fabric_mtu_to(const struct rb_bridge *bridge, uint8_t node);
/* An address as text to a GID: an IPv6 address, or an IPv4 one mapped. 0 or -EINVAL. */
int rb_fabric_gid(const char *address, uint8_t gid[16]);

#endif
