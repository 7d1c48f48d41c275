/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The TCP connections over which nodes exchange their introductions. Listens on the fabric address,
 * connects to the peers that are wanted, runs exchange.h on each connection, and reports each peer
 * that has introduced itself.
 *
 * A node opens an exchange with a peer of a higher id. To a peer of a lower id it knocks, and the
 * peer calls back at once, even if that peer has not noticed yet that we restarted.
 *
 * Never blocks. Failures are counted, and logged at most once a minute per peer and reason. Not
 * thread-safe.
 */
#ifndef RB_JOIN_H
#define RB_JOIN_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/join/exchange.h"

#define RB_JOIN_PORT	    4792
#define RB_JOIN_PATIENCE_NS 1000000000ULL /* for one exchange */
#define RB_JOIN_CONNECT_NS  300000000ULL  /* for a connection to be made */
#define RB_JOIN_RETRY_NS    200000000ULL  /* between two tries with one peer, at first */
#define RB_JOIN_PAUSE_NS    5000000000ULL /* the same, with one that has long been away */
#define RB_JOIN_KNOCK_NS    20000000ULL	  /* between two calls, however much a peer knocks */
#define RB_JOIN_AWAY_NS	    20000000ULL	  /* between two calls of any peers that are away */
#define RB_JOIN_BEGIN_MAX   8		  /* calls that one poll begins at most */

struct rb_join;

/*
 * A peer has proven that it holds one of our keys, number `key`, and its address is the configured
 * one.
 */
typedef void (*rb_introduced_fn)(void *context, const struct rb_introduction *peer, uint32_t key);

struct rb_join_config {
	const char *netdev;	    /* of the fabric; connections are bound to it. NULL: any */
	uint16_t port;		    /* TCP; 0: RB_JOIN_PORT */
	const struct rb_keys *keys; /* borrowed; they may change */
	struct rb_introduction self;
	rb_introduced_fn introduced;
	void *context;
};

/* 0; -EADDRNOTAVAIL: the address is not this host's; -EADDRINUSE; else what the kernel said. */
int rb_join_open(const struct rb_join_config *config, struct rb_join **out);
void rb_join_close(struct rb_join *join); /* NULL is fine */

/* Name a peer at this address (an IPv4 one mapped). It is wanted until rb_join_want says not. */
void rb_join_add(struct rb_join *join, uint8_t node, const uint8_t address[16]);
/* It is no peer any more: calls to and from it end, and it gets no answer. */
void rb_join_remove(struct rb_join *join, uint8_t node);
/* Introduce ourselves like this from now on; node and address are as before. */
void rb_join_set_self(struct rb_join *join, const struct rb_introduction *self);
/* Is a connection to this peer wanted: is the peer not up? */
void rb_join_want(struct rb_join *join, uint8_t node, bool wanted);

/* Why the latest exchange with this peer failed, on either side; NONE: it did not. */
enum rb_refusal rb_join_refusal(const struct rb_join *join, uint8_t node);

int rb_join_fd(const struct rb_join *join); /* readable when rb_join_poll has work */
/* Do what can be done now; call it at least every 100 ms. */
void rb_join_poll(struct rb_join *join, uint64_t now_ns);

struct rb_join_stats {
	uint64_t introduced;		       /* exchanges that succeeded */
	uint64_t refused[RB_REFUSAL_COUNT];    /* by us */
	uint64_t refused_us[RB_REFUSAL_COUNT]; /* by the other side */
	uint64_t unreachable;		       /* connections that failed */
	/* connections closed because there were too many */
	uint64_t overflow;
	uint64_t knocks; /* heard from peers */
};
void rb_join_stats(const struct rb_join *join, struct rb_join_stats *out);

#endif
