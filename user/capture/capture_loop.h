/* SPDX-License-Identifier: BSD-2-Clause */
/* The loop of a capture: from its first frame until a signal or its user ends it. */
#ifndef SL_CAPTURE_LOOP_H
#define SL_CAPTURE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "user/capture/frame_filter.h"
#include "user/capture/sighting.h"
#include "user/capture/xdp_capture.h"

struct sl_capture_loop {
	/* Set by the user. */
	const char *command;	  /* before messages: "capture" */
	const char *const *ports; /* as sl_xdp_capture_open() */
	uint32_t n_ports;
	uint32_t snap_bytes, sampling, ring_bytes;
	uint32_t round_ms; /* between two looks at the rings; 0: 20 */
	/* Which frames are copied, borrowed; NULL: all. A frame that passes as it enters is also
	 * copied where it leaves, and one that the kernel cannot judge is copied, too. */
	const struct sl_frame_filter *filter;
	/* A frame that was copied, oldest first: ask sl_capture_passes(). */
	void (*seen)(struct sl_capture_loop *loop, const struct sl_sighting *sighting);
	/* The capture has begun; a round is over, and what was seen should be shown; or NULL. */
	void (*begun)(struct sl_capture_loop *loop);
	void (*shown)(struct sl_capture_loop *loop);
	void *user;
	bool stop; /* set it to end */

	/* For the user to read. */
	struct sl_xdp_capture
		*capture;	 /* until sl_capture_loop_run() returns, NULL before and after */
	uint64_t real_offset_ns; /* add it to a sighting's times: since 1970 */
	uint64_t n_left;	 /* frames that the kernel left out by the filter */
	uint64_t n_lost;	 /* that did not fit the rings, or memory */
};

/* Whether the frame passes the loop's filter. */
bool sl_capture_passes(const struct sl_capture_loop *loop, const struct sl_sighting *sighting);

/*
 * Run until SIGINT, SIGTERM or loop->stop; then call `ended`, unless it is NULL, while the capture
 * can still be asked. 0, or -errno after a message on standard error.
 */
int sl_capture_loop_run(struct sl_capture_loop *loop, void (*ended)(struct sl_capture_loop *loop));

#endif
