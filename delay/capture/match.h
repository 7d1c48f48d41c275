/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which packet on an output is which packet on an input. All packets come in one stream, in the
 * order of their times; a window says how long a packet may stay in the router. Within it,
 *
 * - packets of one identity on one link are duplicates of the link layer: all of them are set
 * aside;
 * - an output's packet is matched with the one input packet of its identity that is not matched
 * yet; with none it came from the router itself (or the input's tap lost it), with several it is
 *   ambiguous, and all of them are set aside;
 * - an input's packet without a match was dropped, or was for the router itself.
 *
 * A duplicate may undo a match for a window's length. So the fate of each packet is told two
 * windows after its time, when nothing can change it any more, and in the order of times. Memory is
 * two windows of packets, 48 bytes each.
 */
#ifndef SL_MATCH_H
#define SL_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delay/capture/identity.h"

/* More packets in two windows are refused: 48 bytes each make 1.6 GB. */
#define SL_MATCH_PACKETS_MAX (1u << 25)

enum sl_fate { SL_FATE_UNMATCHED, SL_FATE_MATCHED, SL_FATE_DUPLICATE, SL_FATE_AMBIGUOUS };
#define SL_FATES 4

/* A packet whose fate is sealed */
struct sl_matched {
	int64_t time_ns;
	int64_t other_ns; /* matched: its time on the other link */
	uint16_t ip_bytes;
	uint8_t link, other_link;
	uint8_t fate;	  /* enum sl_fate */
	uint8_t out_tags; /* VLAN tags on the output; those on the input if there is no match */
	bool output;
	bool slow; /* has IP options */
};

struct sl_match_settings {
	uint64_t window_ns;
	/* Takes each packet. Not 0 ends the work, and is returned by what called. */
	int (*sealed)(void *context, const struct sl_matched *packet);
	void *context; /* borrowed until destroyed */
};

struct sl_match;

/* 0 or -ENOMEM. */
int sl_match_create(const struct sl_match_settings *settings, struct sl_match **out);
void sl_match_destroy(struct sl_match *match);
/*
 * The next packet. 0; -ENOMEM; -E2BIG: two windows hold more than SL_MATCH_PACKETS_MAX packets; or
 * what sealed() returned.
 */
int sl_match_add(struct sl_match *match, int64_t time_ns, uint8_t link, bool output,
		 const struct sl_identity *packet);
/* Tell the fates of all packets left. 0, or what sealed() returned. */
int sl_match_finish(struct sl_match *match);

#endif
