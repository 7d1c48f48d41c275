/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A frame in packet memory, and what the bridge knows of it: one descriptor from the ring of the
 * port where it enters, through VOQ, message and egress queue, to the port where it leaves. Each
 * stage adds what it learns; the fabric carries all but `offset` and `voq`, which are of one node.
 */
#ifndef RB_DESCRIPTOR_H
#define RB_DESCRIPTOR_H

#include <stdint.h>

/* Frame flags. */
#define RB_FRAME_FROM_KERNEL (1u << 0) /* the kernel of its node of entry sent it */
#define RB_FRAME_FLAGS	     RB_FRAME_FROM_KERNEL

struct rb_frame {
	uint64_t offset; /* of its first byte, the Ethernet header, in packet memory */
	/*
	 * When it entered, by this node's clock. Clocks of nodes differ, so at its node of exit
	 * that is now less how long it waited before and how long the message was under way. A
	 * round reads its clock when it begins, so this may be later.
	 */
	uint64_t arrival_ns;
	uint32_t len_bytes;    /* without FCS */
	uint32_t waited_ns;    /* at its node of exit: until its message was made */
	uint32_t message_ns;   /* at its node of exit: from then until it came, see transit.h */
	uint16_t system_port;  /* where it leaves: (node id << 8) | port number */
	uint16_t ingress_port; /* where it entered, a system port; 0: a kernel */
	uint16_t voq;	       /* id of its metadata; once sorted, number at its ingress side */
	uint16_t error_us;     /* of message_ns, at most, see rb_transit_error_us() */
	uint8_t class;	       /* below SL_CLASSES */
	uint8_t flags;	       /* RB_FRAME_* */
	uint8_t source;	       /* at its node of exit: node of entry */
};

#endif
