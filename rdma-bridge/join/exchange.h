/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The start-up exchange: two nodes prove to each other that they hold the cluster's key, and tell
 * each other how to reach them. It is four messages over TCP (docs/PROTOCOL.md section 3). An
 * HMAC-SHA256 binds each side to both nonces, so that nobody can use a former exchange again.
 *
 * This is its state machine without the socket: bytes in, bytes out. The node with the lower id
 * opens; the other one may knock, which asks the first to open. Not thread-safe.
 */
#ifndef RB_EXCHANGE_H
#define RB_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/express.h"

/*
 * The versions that this release speaks: its own, one more with each change of what nodes send each
 * other, and that of the release before, so that nodes can be upgraded one by one. Two nodes use
 * the newest one that both speak. A node that has none in common is refused by name.
 */
#ifndef RB_EXCHANGE_NEWEST
#define RB_EXCHANGE_OLDEST 4
#define RB_EXCHANGE_NEWEST 5
#endif
#define RB_NONCE_BYTES	      32
#define RB_MAC_BYTES	      32
#define RB_TABLE_HASH_BYTES   32
#define RB_KEY_MIN_BYTES      16
#define RB_KEY_MAX_BYTES      1024
#define RB_KEY_NAME_BYTES     4
#define RB_EXCHANGE_MAX_BYTES 256 /* the longest message */
#define RB_LIVENESS_MAX_MS    60000

struct rb_key {
	uint8_t bytes[RB_KEY_MAX_BYTES];
	uint32_t n_bytes;
};

/*
 * The keys of a node. It proves itself as a responder by the first; of a peer it takes any of them.
 * While the cluster's key changes there are two.
 */
#define RB_KEYS_MAX 2
struct rb_keys {
	uint32_t n; /* at least 1 */
	struct rb_key key[RB_KEYS_MAX];
};

/* Both in 1..255, and oldest <= newest. */
struct rb_versions {
	uint8_t oldest, newest;
};
extern const struct rb_versions rb_exchange_versions; /* of this release */

/*
 * Read the cluster's key: the file's bytes without one newline at the end; and, if the file `also`
 * is there, the key that is taken, too. -EACCES if others than its owner may read one, -EINVAL if
 * it is shorter than RB_KEY_MIN_BYTES or longer than RB_KEY_MAX_BYTES, else as open(2). On error
 * *out is as it was.
 */
int rb_keys_read(const char *path, const char *also, struct rb_keys *out);

/* By what people tell keys apart: the first bytes of an HMAC-SHA256 with the key. */
void rb_key_name(const struct rb_key *key, uint8_t name[RB_KEY_NAME_BYTES]);

enum rb_exchange_transport { RB_TRANSPORT_UD = 1, RB_TRANSPORT_RC = 2 };

/* The introduction: what a node tells of itself. */
struct rb_introduction {
	uint8_t node;
	uint8_t transport; /* enum rb_exchange_transport; both sides must have the same */
	uint16_t pkey;	   /* of its partition */
	uint32_t epoch;	   /* not 0 */
	uint8_t gid[16];   /* with qpn and qkey: where its queue pair is */
	uint32_t qpn, qkey;
	uint32_t message_max_bytes;
	/* Queue pairs after qpn, one for each further worker; both sides must have as many. */
	uint32_t further_qps;
	/* SHA-256 of the table of system ports that it knows of. Others may know of other ones. */
	uint8_t table_hash[RB_TABLE_HASH_BYTES];
	/* Silence after which it takes a peer for dead; the larger one of both sides counts. */
	uint32_t liveness_ms;  /* 1..RB_LIVENESS_MAX_MS */
	uint8_t express_sends; /* enum sl_express_check of its express messages */
	uint8_t express_takes; /* bit n: it takes express messages with check n */
	uint8_t hop_limit;     /* of what it sends; 0: its adapter chooses */
	/* That it speaks. Of a peer, the oldest is the one that both have agreed on. */
	struct rb_versions versions;
};

/* Why an exchange failed, as users see it. */
#define RB_REFUSALS(X)                                                            \
	X(NONE, "none", "no refusal")                                             \
	X(MALFORMED, "malformed", "not the bytes of this protocol")               \
	X(VERSION, "version", "no version of the protocol in common")             \
	X(NODE_UNKNOWN, "node-unknown", "a node that is no peer of ours")         \
	X(NODE_SAME, "node-same", "two nodes have the same id")                   \
	X(NODE_OTHER, "node-other", "another node than the one at this address")  \
	X(ROLE, "role", "the lower id opens and the higher one knocks")           \
	X(KEY, "key", "the cluster keys differ")                                  \
	X(INTRODUCTION, "introduction",                                           \
	  "an impossible value: epoch, queue pair, address, size or liveness")    \
	X(TRANSPORT, "transport", "another transport")                            \
	/* Only a node of an earlier release says so. */                          \
	X(PORT_TABLE, "port-table", "another table of system ports")              \
	X(CLOSED, "closed", "the other side closed, or was silent too long")      \
	X(ADDRESS, "address", "a node that has another address by configuration") \
	X(WORKERS, "workers", "another number of workers")
#define RB_ENUM_REFUSAL(id, name, text) RB_REFUSAL_##id,
enum rb_refusal { RB_REFUSALS(RB_ENUM_REFUSAL) RB_REFUSAL_COUNT };
const char *rb_refusal_name(enum rb_refusal refusal);
const char *rb_refusal_text(enum rb_refusal refusal);

enum rb_exchange_state {
	RB_EXCHANGE_RUNNING,
	RB_EXCHANGE_DONE,    /* the peer has proven itself; `peer` is valid */
	RB_EXCHANGE_REFUSED, /* for `refusal`, by the peer or by us: by_peer */
	RB_EXCHANGE_KNOCKED, /* peer_node asks for a call; it has proven nothing */
};

/* How a responder sees a node id on a connection from one address. */
enum rb_standing {
	RB_STANDING_NONE = 0,	   /* no peer of ours */
	RB_STANDING_PEER = 1,	   /* a peer, and this is its address */
	RB_STANDING_ELSEWHERE = 2, /* a peer that has another address */
};

struct rb_exchange {
	enum rb_exchange_state state;
	enum rb_refusal refusal;
	bool by_peer; /* the peer refused; unproven, unless it had proven itself before */
	struct rb_introduction peer; /* valid when DONE, or REFUSED for TRANSPORT or WORKERS */
	uint8_t peer_node;	     /* as it claims in its first message; 0 before */
	struct rb_versions speaks;   /* the peer, as it claims in its latest message; 0 before */
	uint32_t key;		     /* when DONE: which of our keys the peer has proven */

	/* The rest is for exchange.c alone. */
	const struct rb_keys *keys; /* borrowed; they may change while it runs */
	struct rb_introduction self;
	const uint8_t *peers; /* borrowed: 256 times enum rb_standing, by node id */
	uint8_t version;      /* that both use; 0: not agreed yet */
	uint8_t expected;     /* opener: the node that should answer; 0: responder */
	uint8_t step;
	uint8_t nonce[2][RB_NONCE_BYTES]; /* opener's, responder's */
	uint8_t node[2];		  /* the same order */
	uint8_t in[RB_EXCHANGE_MAX_BYTES];
	uint32_t n_in;
	uint8_t out[RB_EXCHANGE_MAX_BYTES];
	uint32_t n_out;
};

/*
 * Begin. nonce: RB_NONCE_BYTES of randomness never used before.
 *
 *   open     for the node with the lower id; `peer` is the node it connects to
 *   answer   for an incoming connection; `peers` says by node id (enum rb_standing) which nodes may
 *            call from its address: a lower id to open, a higher one to knock
 *   knock    for the node with the higher id. The other side calls back on a connection of its own,
 *            or refuses; if it only closes, the refusal CLOSED means nothing.
 */
void rb_exchange_open(struct rb_exchange *x, const struct rb_keys *keys,
		      const struct rb_introduction *self, uint8_t peer, const uint8_t *nonce);
void rb_exchange_answer(struct rb_exchange *x, const struct rb_keys *keys,
			const struct rb_introduction *self, const uint8_t *peers,
			const uint8_t *nonce);
void rb_exchange_knock(struct rb_exchange *x, const struct rb_introduction *self);

/* Feed received bytes, in any pieces. The new state; bytes after the end are ignored. */
enum rb_exchange_state rb_exchange_input(struct rb_exchange *x, const uint8_t *bytes, size_t n);
/* The connection has ended, or taken too long. The new state: REFUSED unless it was DONE. */
enum rb_exchange_state rb_exchange_closed(struct rb_exchange *x);

/*
 * The caller has sent n of the x->n_out bytes at x->out. It sends all of them, also when the state
 * is REFUSED.
 */
void rb_exchange_sent(struct rb_exchange *x, uint32_t n);

#endif
