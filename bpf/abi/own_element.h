/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Elements of an operator's own in the fast path: BPF functions that are linked with sl_edge, which
 * the verifier then checks as a whole.
 *
 * sluice-elements links the functions of all installed elements into one object, in which that of
 * an element is called by its slot, and sluiced links this object with sl_edge. A chain names the
 * set that it was made for, so that no other function is run in the place of one that it means.
 */
#ifndef SL_OWN_ELEMENT_H
#define SL_OWN_ELEMENT_H

#include <linux/types.h>

#include "bpf/abi/abi.h"

#define SL_OWN_SLOTS 8u
#define SL_OWN_WORDS 12u

/* The name of an element's function in its own object; in the linked one, X is its slot. */
#define SL_OWN_FUNCTION "sl_own_element_X"

/* What such a function may return beside 0 and 1, the outputs: the packet is dropped here. */
#define SL_OWN_DROP 2u

/* The values of an element's parameters, as its class writes them (el_class.fast). */
struct sl_own_config {
	__u32 word[SL_OWN_WORDS];
};
SL_ASSERT_SIZE(struct sl_own_config, 48);

/* The packet, whose IP header is whole and right. */
struct sl_own_packet {
	__u32 l3_offset; /* where the IP header begins: 14, and 4 for each VLAN tag */
	__u32 ip4;	 /* 1: IPv4; 0: IPv6 */
	__u32 frame_bytes;
	__u32 paint; /* 0 to 255; what the function leaves here is the packet's */
};
SL_ASSERT_SIZE(struct sl_own_packet, 16);

/* Map sl_own_trial of element_trial.bpf.o, one element: a packet of a trial. */
struct sl_own_trial {
	struct sl_own_config config;
	struct sl_own_packet packet;
	__u32 output; /* what the function has returned */
	__u32 pad;    /* 0 */
};
SL_ASSERT_SIZE(struct sl_own_trial, 72);

#endif
