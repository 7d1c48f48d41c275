/* SPDX-License-Identifier: BSD-2-Clause */
/* pcap-filter(7) expressions on Ethernet frames, by libpcap. */
#ifndef SL_FRAME_FILTER_H
#define SL_FRAME_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_capture_filter;
struct sl_frame_filter;

/* 0; -EINVAL: the expression is wrong, and why has libpcap's message; -ENOMEM. */
int sl_frame_filter_create(const char *expression, struct sl_frame_filter **out, char *why,
			   size_t why_bytes);
/* Whether a frame passes, of which copied_bytes are there. NULL passes all. */
bool sl_frame_filter_passes(const struct sl_frame_filter *filter, const uint8_t *bytes,
			    uint32_t copied_bytes, uint32_t frame_bytes);
/* The filter for the kernel: all frames that pass, and others. NULL, or one that is longer than
 * SL_FILTER_INSNS_MAX: all frames. */
void sl_frame_filter_for_kernel(const struct sl_frame_filter *filter,
				struct sl_capture_filter *out);
/* NULL is fine. */
void sl_frame_filter_destroy(struct sl_frame_filter *filter);

#endif
