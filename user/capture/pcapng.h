/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes pcapng (draft-ietf-opsawg-pcapng): Ethernet frames with times of a nanosecond, in the byte
 * order of this machine. The caller asks the stream whether all was written.
 */
#ifndef SL_PCAPNG_H
#define SL_PCAPNG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Section header: first in the file. application: who writes it. */
void sl_pcapng_section(FILE *out, const char *application);

/* An interface; they are numbered from 0 in the order of these calls. filter: NULL, or an
 * expression */
void sl_pcapng_interface(FILE *out, const char *name, const char *description, uint32_t snap_bytes,
			 const char *filter);

struct sl_pcapng_frame {
	uint32_t interface;
	uint64_t time_ns; /* since 1970 */
	const uint8_t *bytes;
	uint32_t copied_bytes, frame_bytes;
	bool outbound;
	uint64_t id;	     /* equal where one frame is seen at several interfaces; 0: none */
	const char *comment; /* or NULL */
	int xdp_action;	     /* enum xdp_action, or -1: not known */
	int64_t queue;	     /* or -1 */
};
void sl_pcapng_frame(FILE *out, const struct sl_pcapng_frame *frame);

/* Statistics of an interface: frames seen, and those of them that could not be copied. */
void sl_pcapng_statistics(FILE *out, uint32_t interface, uint64_t time_ns, uint64_t seen,
			  uint64_t lost);

#endif
