/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Announcements: what the daemons of a cluster tell each other through the fabric. They carry the
 * state of the edge ports, the addresses on them, the neighbours resolved there, and requests to
 * resolve more. Pure: bytes to structs, and back. docs/PROTOCOL.md, "Announcements", has the bytes;
 * the bridge carries them unread.
 *
 * A node's whole state is one generation of records, cut into parts that each fit one fabric
 * message. The node sends it every second, and at once after a change. A receiver that has every
 * part of a generation forgets what the generation does not name.
 */
#ifndef SL_ANNOUNCE_H
#define SL_ANNOUNCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SL_ANNOUNCE_VERSION 1
/* The largest part; it fits the smallest fabric message, that of path MTU 1024. */
#define SL_ANNOUNCE_PART_BYTES 960
/* Parts of one generation; they hold over 100,000 neighbours. */
#define SL_ANNOUNCE_PARTS_MAX 4096

enum sl_announce_kind {
	SL_ANNOUNCE_STATE = 1,	 /* ports, addresses, neighbours */
	SL_ANNOUNCE_RESOLVE = 2, /* addresses that the sender wants resolved by the receiver */
};

enum sl_announce_type {
	SL_ANNOUNCE_PORT = 1,
	SL_ANNOUNCE_ADDRESS = 2,
	SL_ANNOUNCE_NEIGHBOUR = 3,
	SL_ANNOUNCE_WANTED = 4, /* the only type in a RESOLVE part, and in no other part */
};

struct sl_announce_header {
	uint8_t kind; /* enum sl_announce_kind */
	/* of STATE: rises by one with every change, and wraps; of RESOLVE: 0 */
	uint32_t generation;
	uint16_t part;	/* 0..parts - 1 */
	uint16_t parts; /* 1..SL_ANNOUNCE_PARTS_MAX; of RESOLVE: 1 */
};

/* One record. Its type says which fields have a meaning; the others are zero. */
struct sl_announce_record {
	uint8_t type;	      /* enum sl_announce_type */
	uint16_t system_port; /* (node id << 8) | port number, neither 0 */
	/* PORT */
	bool up;	    /* carrier and administratively up */
	uint32_t mtu_bytes; /* largest IP packet, from 68 (RFC 791) */
	uint64_t rate_bps;  /* bits a second; 0: not known */
	/* PORT: of the port itself; NEIGHBOUR: the neighbour's */
	uint8_t mac[6];
	/* ADDRESS, NEIGHBOUR, WANTED */
	uint8_t family;	    /* AF_INET or AF_INET6 */
	uint8_t prefix_len; /* ADDRESS: of the connected prefix */
	bool is_peer;	    /* ADDRESS: the prefix alone; the port has no address in it */
	uint8_t addr[16];   /* in network order; the bytes beyond the address are zero */
	/* NEIGHBOUR of this node: an operator made it, so it is never resolved. Not on the wire */
	bool is_fixed;
};

/* One part while it is built, in the caller's memory; sl_announce_begin sets it up. */
struct sl_announce_part {
	uint8_t bytes[SL_ANNOUNCE_PART_BYTES];
	size_t len_bytes;
	uint16_t records;
};

void sl_announce_begin(struct sl_announce_part *part, const struct sl_announce_header *header);
/* Add a record. False: it does not fit; begin another part. */
bool sl_announce_add(struct sl_announce_part *part, const struct sl_announce_record *record);
/* Set the number of parts, which is known only when all of them are made. */
void sl_announce_set_parts(struct sl_announce_part *part, uint16_t parts);

/*
 * Check a received part as a whole, then deliver its records.
 *
 * source_node  the node that the part came from, by the fabric: STATE may name its ports only
 * self_node    the receiving node: RESOLVE may name its ports only
 * each         called for every record, in order, after all of them have been checked
 *
 * Returns 0. On an error it has delivered nothing: -EPROTO (version, kind, or a type that the kind
 * does not have), -EMSGSIZE (truncated, too long, or its records do not fill it exactly), -EINVAL
 * (a value out of range).
 */
int sl_announce_parse(const uint8_t *bytes, size_t len_bytes, uint8_t source_node,
		      uint8_t self_node, struct sl_announce_header *header,
		      void (*each)(void *ctx, const struct sl_announce_record *record), void *ctx);

#endif
