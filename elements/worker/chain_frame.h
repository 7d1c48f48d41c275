/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames as they come from sl_edge for a chain (bpf/abi/chain_header.h), and as they go back to it.
 */
#ifndef EL_CHAIN_FRAME_H
#define EL_CHAIN_FRAME_H

#include "bpf/abi/chain_header.h"
#include "elements/core/packet_pool.h"

/*
 * Take the header off the frame, and the VLAN tags, which the way back does not have; complete the
 * checksum that its sender left to its device. name receives the chain's name. 0; -EPROTO: it is
 * not such a frame.
 */
int el_chain_frame_open(struct el_packet *packet, char name[SL_CHAIN_NAME_BYTES]);

/* Write both MAC addresses. The frame has at least an Ethernet header. */
void el_chain_frame_address(struct el_packet *packet, const uint8_t to[6], const uint8_t from[6]);

#endif
