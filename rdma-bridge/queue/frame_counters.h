/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters of what became of each frame that a worker handled; never reset. The worker's thread
 * writes them. At any time
 *
 *   frames that XDP redirected + frames read from remote ports
 *           = ingress + drop-voq-ring + drop-no-meta + drop-not-unicast + drop-kernel-full
 *             + frames waiting in the rings
 *   ingress = sent + local + drop-peer-down + drop-too-big
 *             + frames that VOQs have read ahead + frames in open messages
 *   egress  = transmitted + drop-queue-full + drop-queue-policy + drop-port-down + drop-transmit
 *             + frames waiting in egress queues
 *
 * and over all nodes, sent = egress - local + frames that the fabric lost. The sequence numbers of
 * messages tell how many messages were lost.
 */
#ifndef RB_FRAME_COUNTERS_H
#define RB_FRAME_COUNTERS_H

#include <stdint.h>

#include "bpf/abi/reasons.h"

#define RB_FRAME_COUNTERS(X)                                                                     \
	X(INGRESS, "ingress", "frames taken out of VOQ rings and remote ports")                  \
	X(SENT, "sent", "frames given to the fabric")                                            \
	X(LOCAL, "local", "frames given to queues of ports of this node")                        \
	X(DROP_PEER_DOWN, "drop-peer-down", "frames for a node that is not up")                  \
	X(DROP_TOO_BIG, "drop-too-big", "frames larger than the fabric carries")                 \
	X(DROP_VOQ_RING, "drop-voq-ring",                                                        \
	  "frames that XDP admitted and the kernel had no room for")                             \
	X(DROP_NO_META, "drop-no-meta",                                                          \
	  "frames in a VOQ's ring that our XDP program did not put there")                       \
	X(DROP_NOT_UNICAST, "drop-not-unicast",                                                  \
	  "frames of the kernel for a remote port that are no unicast IPv4 or IPv6")             \
	X(DROP_KERNEL_FULL, "drop-kernel-full",                                                  \
	  "frames of the kernel for a remote port and class that has too many waiting")          \
	X(EGRESS, "egress", "frames given to queues of ports, out of good messages or local")    \
	X(TRANSMITTED, "transmitted", "frames given to an edge port")                            \
	X(DROP_QUEUE_FULL, "drop-queue-full", "frames for which their egress queue was full")    \
	X(DROP_QUEUE_POLICY, "drop-queue-policy",                                                \
	  "frames that the discard policy of their egress queue chose early")                    \
	X(DROP_PORT_DOWN, "drop-port-down", "frames for an edge port that is not open, or gone") \
	X(DROP_TRANSMIT, "drop-transmit", "frames that the edge port's driver did not take")
#define RB_ENUM_COUNTER(id, name, text) RB_COUNT_##id,
enum rb_frame_counter { RB_FRAME_COUNTERS(RB_ENUM_COUNTER) RB_COUNT_COUNT };

static inline const char *rb_frame_counter_name(enum rb_frame_counter counter)
{
#define RB_NAME_COUNTER(id, name, text) name,
	static const char *const names[] = { RB_FRAME_COUNTERS(RB_NAME_COUNTER) };

	return names[counter];
}

static inline void rb_count(struct sl_counter *counters, enum rb_frame_counter which,
			    uint64_t frames, uint64_t bytes)
{
	counters[which].packets += frames;
	counters[which].bytes += bytes;
}

#endif
