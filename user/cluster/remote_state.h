/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The announcements of one peer: parts make up a generation, and a generation becomes the entries
 * that the kernel gets. Pure.
 */
#ifndef SL_REMOTE_STATE_H
#define SL_REMOTE_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/ipc/announce.h"
#include "user/text/prefix.h"

/* Zeroed is empty. */
struct sl_assembly {
	bool complete;		 /* `generation` has come whole */
	uint32_t generation;	 /* the newest of which a part has come */
	bool any;		 /* generation has a meaning */
	uint16_t parts, missing; /* of that generation */
	uint8_t seen[SL_ANNOUNCE_PARTS_MAX / 8];
	/* owned; of that generation, in the order of arrival */
	struct sl_announce_record *records;
	uint32_t n, room;
};

/*
 * Take one part of STATE. Parts of an older generation, parts seen before, and repetitions of a
 * complete generation change nothing; a part of a newer generation begins that one. 1: this part
 * completes the generation, whose records are in a->records until the next call; 0: it is not
 * complete, or nothing is new; -ENOMEM; else as sl_announce_parse, and nothing has changed.
 * -EPROTO, too: parts of one generation disagree on how many there are.
 */
int sl_assembly_input(struct sl_assembly *a, const uint8_t *bytes, size_t len_bytes,
		      uint8_t source_node, uint8_t self_node);
/* Release everything, and take the next part as the first: the sender may have restarted. */
void sl_assembly_reset(struct sl_assembly *a);

enum sl_remote_kind {
	SL_REMOTE_PREFIX = 1, /* connected prefix: a route on the remote port */
	/* an address of the port itself: a route to its node over the fabric */
	SL_REMOTE_HOST = 2,
	SL_REMOTE_NEIGHBOUR = 3, /* a neighbour that the owner has resolved */
};

/*
 * One entry of the kernel. Entries are compared byte by byte: padding is zero, and the key comes
 * first.
 */
struct sl_remote_entry {
	uint8_t kind; /* enum sl_remote_kind */
	uint8_t family;
	uint8_t len;  /* PREFIX, HOST: prefix length */
	uint8_t pad0; /* 0 */
	uint8_t addr[16];
	uint16_t system_port;
	/* The value */
	uint8_t mac[6];	    /* NEIGHBOUR */
	uint8_t source[16]; /* PREFIX: preferred source address, zero: none */
};
#define SL_REMOTE_KEY_BYTES offsetof(struct sl_remote_entry, mac)

/* Preferred sources of PREFIX entries, for IPv4 and IPv6; zero: none. */
struct sl_remote_sources {
	uint8_t addr4[16], addr6[16];
};

struct sl_prefix_list {
	struct sl_prefix *prefix; /* owned */
	size_t n, room;
};

/* What this node has itself, and no announcement may take from it. Zeroed is empty. */
struct sl_remote_here {
	struct sl_remote_sources sources;
	struct sl_prefix_list own;    /* prefixes of its addresses, on any netdev */
	struct sl_prefix_list fabric; /* of those, the fabric's, and every node's address there */
	bool has_len[2][129];	      /* is there an own IPv4 or IPv6 prefix of that length? */
};
/* 0 or -ENOMEM. When all are added, sort them: only then sl_remote_entries can use them. */
int sl_remote_here_add(struct sl_remote_here *here, const struct sl_prefix *prefix, bool fabric);
void sl_remote_here_sort(struct sl_remote_here *here);
bool sl_remote_here_same(const struct sl_remote_here *a, const struct sl_remote_here *b);
void sl_remote_here_free(struct sl_remote_here *here);

/* Why the kernel does not get an entry. */
#define SL_REMOTE_REFUSALS(X)                                               \
	X(SHORT, "prefix-short", "is shorter than /8 (IPv4) or /16 (IPv6)") \
	X(RESERVED, "not-unicast", "has no unicast addresses")              \
	X(FABRIC, "fabric", "overlaps the fabric")                          \
	X(OWN, "own-prefix", "lies in a prefix of this node")               \
	X(MANY, "too-many", "is one of more than a port may announce")
#define SL_ENUM_REMOTE_REFUSAL(id, name, text) SL_REMOTE_REFUSAL_##id,
enum sl_remote_refusal { SL_REMOTE_REFUSALS(SL_ENUM_REMOTE_REFUSAL) SL_REMOTE_REFUSAL_COUNT };
const char *sl_remote_refusal_name(enum sl_remote_refusal refusal);
const char *sl_remote_refusal_text(enum sl_remote_refusal refusal);

#define SL_REMOTE_LEN4_MIN	 8
#define SL_REMOTE_LEN6_MIN	 16
#define SL_REMOTE_ROUTES_MAX	 8192  /* PREFIX and HOST entries of one port */
#define SL_REMOTE_NEIGHBOURS_MAX 65536 /* of one port */

/*
 * Make the entries of a generation of one node, ascending, none twice. out has room for 2 n of
 * them; returns how many there are. A link-local IPv6 address gives no entry: no other node can use
 * its prefix. refuse: called for each entry that the kernel must not get, which is not in out.
 */
size_t sl_remote_entries(const struct sl_announce_record *records, size_t n,
			 const struct sl_remote_here *here, struct sl_remote_entry *out,
			 void (*refuse)(void *ctx, const struct sl_remote_entry *entry,
					enum sl_remote_refusal why),
			 void *ctx);

enum sl_remote_change { SL_REMOTE_ADD, SL_REMOTE_REPLACE, SL_REMOTE_REMOVE };
/* How far a diff has come: the entries before these are done. Zeroed: it has not begun. */
struct sl_remote_cursor {
	size_t old, new;
};
/*
 * Report the next changes, at most `max`, that lead from old to new, both as sl_remote_entries
 * makes them. `was` is NULL for ADD, `now` for REMOVE. True: there are more. Until there are none,
 * what is there is new[0..new) and then old[old..n_old), which is ascending, too.
 */
bool sl_remote_diff(const struct sl_remote_entry *old, size_t n_old,
		    const struct sl_remote_entry *new, size_t n_new, struct sl_remote_cursor *at,
		    size_t max,
		    void (*each)(void *ctx, enum sl_remote_change change,
				 const struct sl_remote_entry *was,
				 const struct sl_remote_entry *now),
		    void *ctx);

#endif
