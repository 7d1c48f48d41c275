/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that have given fields, to send rule lists' packets through whole routers. */
#ifndef LAB_FLOW_FRAME_H
#define LAB_FLOW_FRAME_H

#include <stdbool.h>

#include "user/classify/rule.h"

#define LAB_FLOW_FRAME_MAX 1514

/*
 * Write a frame of the family with the fields of flow, as far as a valid packet of 48 (IPv6: 84) to
 * 1,500 bytes can have them: a field that the protocol lacks is not there. Some packets get IPv4
 * options or IPv6 extension headers (not AH, which is a protocol of its own to nftables). The
 * packet ends in `id`. macs: destination and source. Returns the frame's length.
 */
uint32_t lab_flow_frame(const struct sl_flow *flow, uint8_t family, const uint8_t macs[12],
			uint32_t id, uint64_t *random, uint8_t frame[LAB_FLOW_FRAME_MAX]);
/* The id of a frame made by lab_flow_frame, whatever a router did to its headers. */
bool lab_flow_frame_id(const uint8_t *frame, uint32_t len, uint32_t *id);

#endif
