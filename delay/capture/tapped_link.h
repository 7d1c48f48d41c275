/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A link of the router with a tap on it, as the command line describes it, and what the tap's time
 * stamps mean. A packet has entered when its last bit has come in, and left when its last bit has
 * gone out; so a stamp that was taken earlier is moved to the last bit:
 *
 *     T = t + 8 (bytes from the stamp to the last bit) / rate of the link
 */
#ifndef SL_TAPPED_LINK_H
#define SL_TAPPED_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delay/capture/identity.h"

#define SL_LINKS_MAX	 64
#define SL_LINK_NAME_MAX 64 /* with its end */

enum sl_stamp {
	SL_STAMP_END,	/* when the whole packet was in memory: software */
	SL_STAMP_START, /* at the first bit of the frame: adapters' hardware stamps */
	SL_STAMP_DEPTH, /* when `depth_bytes` of the IP packet had passed */
};

struct sl_tapped_link {
	char name[SL_LINK_NAME_MAX];
	char *path;   /* owned */
	char *filter; /* owned; pcap-filter(7), or NULL: every packet */
	bool output;
	enum sl_stamp stamp;
	uint32_t depth_bytes;
	uint64_t rate_bps; /* 0: not given */
	bool overhead_given;
	uint32_t overhead_bytes;	 /* on the wire, per packet, beyond the IP packet */
	const struct sl_link_type *type; /* of the capture, once it is open */
};

/*
 * Read `[NAME=]FILE[,rate=RATE][,overhead=BYTES][,stamp=end|start|BYTES][,filter=EXPRESSION]`. The
 * filter takes all that follows. Without a name, the link is called as the file, without directory
 * and ending.
 *
 * 0; -EINVAL: `why` says what is wrong and what would be right; -ENOMEM. *link is initialised in
 * any case: end it with sl_tapped_link_fini().
 */
int sl_tapped_link_parse(const char *text, bool output, struct sl_tapped_link *link, char *why,
			 size_t why_bytes);
void sl_tapped_link_fini(struct sl_tapped_link *link);

/*
 * What a packet takes of the link's time, in bytes: with its VLAN tags, unless the link's overhead
 * was given, which is then all that counts. The link has a type.
 */
uint32_t sl_tapped_link_wire_bytes(const struct sl_tapped_link *link, uint32_t ip_bytes,
				   uint32_t vlan_tags);

/* From the tap's stamp to the last bit of this packet, in ns. The link has a type. */
uint64_t sl_tapped_link_correction_ns(const struct sl_tapped_link *link, uint32_t ip_bytes,
				      uint32_t vlan_tags);

#endif
