/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Meeting the other nodes: the sockets of the start-up exchange. Listens on the fabric address,
 * connects to the peers that are wanted, drives the machines of exchange.h, and reports whom it
 * met. To a peer with a higher id a connection is the exchange; to one with a lower id it is a
 * knock, and the peer calls back at once, even if it has not noticed yet that we are new. Never
 * blocks. What goes wrong is counted, and logged at most once a minute per peer and reason.
 *
 * Not thread-safe.
 */
#ifndef RB_MEET_H
#define RB_MEET_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/join/exchange.h"

#define RB_MEET_PORT	    4792
#define RB_MEET_PATIENCE_NS 1000000000ULL /* for one exchange */
#define RB_MEET_CONNECT_NS  300000000ULL  /* for a connection to be made */
#define RB_MEET_RETRY_NS    200000000ULL  /* between two tries with one peer */
#define RB_MEET_KNOCK_NS    20000000ULL	  /* between two calls, however much a peer knocks */

struct rb_meet;

/*
 * A peer has proven itself, and its address is the configured one. The callee may refuse it by
 * logging.
 */
typedef void (*rb_met_fn)(void *context, const struct rb_introduction *peer);

struct rb_meet_config {
	const char *netdev;	  /* of the fabric; connections are bound to it. NULL: any */
	uint16_t port;		  /* TCP; 0: RB_MEET_PORT */
	const struct rb_key *key; /* borrowed */
	struct rb_introduction self;
	rb_met_fn met;
	void *context;
};

/* 0; -EADDRNOTAVAIL: the address is not this host's; -EADDRINUSE; else what the kernel said. */
int rb_meet_open(const struct rb_meet_config *config, struct rb_meet **out);
void rb_meet_close(struct rb_meet *meet); /* NULL is fine */

/* A peer at this address. It is wanted until rb_meet_want says otherwise. */
void rb_meet_add(struct rb_meet *meet, uint8_t node, const uint8_t address[16]);
/* Does it matter to meet this peer: is it not up? */
void rb_meet_want(struct rb_meet *meet, uint8_t node, bool wanted);

int rb_meet_fd(const struct rb_meet *meet); /* readable when rb_meet_poll has work */
/* Do what can be done now; call it at least every 100 ms. */
void rb_meet_poll(struct rb_meet *meet, uint64_t now_ns);

struct rb_meet_stats {
	uint64_t met;			       /* exchanges that succeeded */
	uint64_t refused[RB_REFUSAL_COUNT];    /* by us */
	uint64_t refused_us[RB_REFUSAL_COUNT]; /* by the other side */
	uint64_t unreachable;		       /* connections that failed */
	/* connections closed because there were too many */
	uint64_t overflow;
	uint64_t knocks; /* of peers, that were heard */
};
void rb_meet_stats(const struct rb_meet *meet, struct rb_meet_stats *out);

#endif
