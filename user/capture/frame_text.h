/* SPDX-License-Identifier: BSD-2-Clause */
/* A frame in words: its addresses and protocol, and what the fast path has decided. */
#ifndef SL_FRAME_TEXT_H
#define SL_FRAME_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "user/capture/sighting.h"

#define SL_FRAME_TEXT_MAX 256

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
