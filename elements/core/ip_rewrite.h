/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reading and changing IPv4 headers byte by byte, checksums by RFC 1624 equation 3 and RFC 1071.
 * Bytes are those of a frame whose headers nobody has checked.
 */
#ifndef EL_IP_REWRITE_H
#define EL_IP_REWRITE_H

#include "elements/core/packet_pool.h"

enum el_ip { EL_IP_NONE, EL_IP_4, EL_IP_6 };

#define EL_IP4_BYTES 20u
#define EL_IP6_BYTES 40u

uint16_t el_read16(const uint8_t *at); /* network order, as the rest here */
uint32_t el_read32(const uint8_t *at);
void el_write16(uint8_t *at, uint16_t value);
void el_write32(uint8_t *at, uint32_t value);

/* The internet checksum of bytes, which counts as if zeros followed an odd last one (RFC 1071). */
uint16_t el_checksum(const uint8_t *bytes, uint32_t n);
/* A checksum after a 16-bit word has changed from old to new (RFC 1624, equation 3). */
uint16_t el_checksum_replace(uint16_t checksum, uint16_t old, uint16_t new);

/*
 * The frame's IP version, if at least its fixed header is there and, for IPv4, all of what IHL and
 * total length say, for IPv6 the payload. Sets packet->l3_offset from the frame's tags.
 */
enum el_ip el_ip_parse(struct el_packet *packet);

/* Set the DSCP, leave ECN alone. The packet is el_ip_parse'd. */
void el_ip_set_dscp(struct el_packet *packet, enum el_ip version, uint8_t dscp);
uint8_t el_ip_traffic_class(const struct el_packet *packet, enum el_ip version);

/*
 * Where the transport header begins in the frame, with its protocol: IPv4 only. 0: the packet is a
 * later fragment, or less than `need` bytes of the header are in it.
 */
uint32_t el_ip4_transport(const struct el_packet *packet, uint32_t need, uint8_t *protocol);

/*
 * Replace the source or destination address of an IPv4 packet, with the checksums of IP, TCP, UDP
 * (which stays 0 where it was), UDP-Lite and DCCP that cover it.
 */
void el_ip4_set_address(struct el_packet *packet, bool source, uint32_t address);

#endif
