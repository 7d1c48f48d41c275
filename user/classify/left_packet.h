/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which rule of a list has decided a packet that is known as it left. Rules set DSCPs and ask for
 * them, so the DSCP that it entered with may have been another one.
 */
#ifndef SL_LEFT_PACKET_H
#define SL_LEFT_PACKET_H

#include "bpf/abi/voq.h"
#include "user/classify/rule.h"

/* Those that may have, in the order of the list, with a DSCP that the packet then entered with. */
struct sl_left_packet {
	uint32_t n; /* 0: the list lets no such packet out */
	struct {
		uint32_t rule; /* its place in the list; as many as there are: the default */
		uint8_t dscp;  /* that of the packet as it left, if it may be */
	} by[SL_DSCPS];
};

/*
 * default_permits: the list lets out what no rule decides. What a chain of elements makes of a
 * DSCP is not known.
 */
void sl_left_packet_find(const struct sl_rule *rules, uint32_t n, bool default_permits,
			 uint8_t family, const struct sl_flow *flow, struct sl_left_packet *out);

#endif
