/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies of the frames that XDP programs of sluice's take in and send out: capture.bpf.o around the
 * programs of the ports, its rings, and the ports' changes. sluiced is not asked.
 */
#ifndef SL_XDP_CAPTURE_H
#define SL_XDP_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/captured.h"
#include "user/capture/capture_port.h"
#include "user/capture/frame_filter.h"

struct sl_xdp_capture;

/* Why it failed, for a person; "" if it did not. */
struct sl_capture_error {
	char text[512];
};

/*
 * object_path   capture.bpf.o
 * ports, n      names of netdevs, borrowed until close; n = 0: all that run a program of sluice's
 * snap_bytes    to copy of each frame, 1..SL_CAPTURE_SNAP_MAX
 * sampling      0: all frames that enter and leave; else one in so many of those that enter at
 *               edge ports, at random, up to SL_CAPTURE_SAMPLING_MAX. Then ports may come later.
 * filter        what is copied, or NULL: all; borrowed for the call
 * ring_bytes    of each processor's ring; rounded up to a power of two of pages
 *
 * Returns 0, or -errno with the reason in *error. The capture runs when this returns.
 */
int sl_xdp_capture_open(const char *object_path, const char *const *ports, uint32_t n,
			uint32_t snap_bytes, uint32_t sampling,
			const struct sl_frame_filter *filter, uint32_t ring_bytes,
			struct sl_xdp_capture **out, struct sl_capture_error *error);

/*
 * Wait for records, at most timeout_ms, and hand over all that are in the rings: of each processor
 * in their order. bytes are record->copied_bytes long and borrowed for the call. 0 or -errno.
 */
typedef void (*sl_capture_on_record)(void *arg, int cpu, const struct sl_captured *record,
				     const uint8_t *bytes);
int sl_xdp_capture_poll(struct sl_xdp_capture *c, int timeout_ms, sl_capture_on_record on_record,
			void *arg);

/*
 * Follow what has changed: another program on a port, since sluiced or the bridge was started
 * again; ports that came, or came back. For once a second. False: a program could not be traced,
 * and *error says why.
 */
bool sl_xdp_capture_follow(struct sl_xdp_capture *c, struct sl_capture_error *error);

/* Copy no more frames. What is in the rings stays there for sl_xdp_capture_poll(). */
void sl_xdp_capture_stop(struct sl_xdp_capture *c);

/* The ports captured, by slot; they only grow in number. Borrowed until the next call of follow. */
const struct sl_capture_port *sl_xdp_capture_ports(const struct sl_xdp_capture *c, uint32_t *n);
/* The counts of a slot and direction (0 in, 1 out), processors added up. */
void sl_xdp_capture_counts(const struct sl_xdp_capture *c, uint32_t slot, uint32_t direction,
			   struct sl_capture_count *out);
/* Whether frames that AF_XDP sockets send are seen: NULL, or why not. */
const char *sl_xdp_capture_blind(const struct sl_xdp_capture *c);

/* NULL is fine. */
void sl_xdp_capture_close(struct sl_xdp_capture *c);

#endif
