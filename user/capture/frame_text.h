/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame in words: its addresses and protocol, and what the fast path has decided. */
#ifndef SL_FRAME_TEXT_H
#define SL_FRAME_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/capture/sighting.h"

#define SL_FRAME_TEXT_MAX 256

/* An IP packet by the fields that rules ask for, but its length. What it does not have is 0. */
struct sl_frame_flow {
	int family; /* AF_INET, AF_INET6; 0: no IP packet, and nothing else is set */
	char source[46], destination[46];
	uint8_t protocol;
	bool has_ports, has_icmp;
	uint16_t source_port, destination_port;
	uint8_t tcp_flags, icmp_type, icmp_code;
	uint8_t dscp;
	uint8_t fragment; /* enum sl_fragment */
	uint32_t flow_label;
};
/* Of the first n bytes of an Ethernet frame, however few. */
void sl_frame_flow(const uint8_t *bytes, uint32_t n, struct sl_frame_flow *flow);

/*
 * "10.0.1.2.5000 > 10.0.2.2.53 UDP", of the first n bytes of an Ethernet frame, however few. text
 * has at least SL_FRAME_TEXT_MAX bytes.
 */
void sl_frame_text(const uint8_t *bytes, uint32_t n, char *text);

/* A word for the outcome: forward, queue, drop, kernel, bridge or unknown. */
const char *sl_outcome_word(const struct sl_sighting *s);
/* The name of the reason, or NULL; and its explanation. */
const char *sl_outcome_reason(const struct sl_sighting *s, const char **explanation);

/*
 * What the fast path decided, as of a frame that entered: "forward: leaves by eth2", "drop:
 * ip4-checksum: header checksum is wrong"; or that left: "forward: entered by eth1". text has at
 * least SL_FRAME_TEXT_MAX bytes.
 */
void sl_outcome_text(const struct sl_sighting *s, char *text);

#endif
