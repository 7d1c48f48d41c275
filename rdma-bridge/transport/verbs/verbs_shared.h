/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Shared by the two transports on verbs: the device with its objects, pairs (queue pairs with the
 * messages under way on them), the slots that chunks are received into, and completions. Only files
 * of this folder include it.
 *
 * A pair numbers its messages. It collects them into a chain and posts the chain with one doorbell
 * and one request for a completion: a queue pair completes in order, so a message is sent when a
 * later one of its chain is.
 */
#ifndef RB_VERBS_SHARED_H
#define RB_VERBS_SHARED_H

#include "rdma-bridge/transport/verbs/verbs.h"
#include "rdma-bridge/transport/verbs/verbs_library.h"

#define RB_VERBS_CHAIN	    32	/* requests posted at once */
#define RB_VERBS_PIECES_MAX 32	/* gather entries used, if the device takes as many */
#define RB_VERBS_INLINE_MAX 256 /* bytes asked of the device for inline data */
#define RB_VERBS_PAIRS_MAX  257 /* one for each peer, and one for verbs-rc's datagrams */
#define RB_VERBS_BATCH	    64	/* completions polled at once */
#define RB_VERBS_GRH_BYTES  40	/* what a device puts before each datagram */

/* A message under way. */
struct rb_verbs_sent {
	uint64_t cookie;
	/* RB_OWNER_SEND: holds the copied message; RB_CHUNK_NONE: inline or gathered */
	uint64_t chunk;
	bool lent; /* the pieces are the caller's, who is owed a completion */
};

struct rb_verbs_pair {
	struct ibv_qp *qp; /* owned */
	uint32_t index;
	/* Tells a completion of this pair from one of an earlier pair with the same index. */
	uint16_t generation;
	bool ready;   /* the queue pair can send */
	bool broken;  /* the queue pair is in error: messages under way will not complete */
	bool closing; /* the queue pair is gone; the pair goes once all messages are reported */
	/* Free-running numbers of messages; reported <= completed <= posted <= tail. */
	uint32_t reported;		       /* messages before it are forgotten */
	uint32_t completed;		       /* messages before it are done */
	uint32_t posted;		       /* messages before it were given to the device */
	uint32_t tail;			       /* the next message */
	uint32_t mask;			       /* size of sent, less one */
	struct rb_verbs_sent *sent;	       /* owned */
	struct ibv_send_wr wr[RB_VERBS_CHAIN]; /* messages posted..tail, by their number */
	struct ibv_sge sge[RB_VERBS_CHAIN][RB_VERBS_PIECES_MAX];
	uint8_t inline_bytes[RB_VERBS_CHAIN][RB_VERBS_INLINE_MAX];
};

/* The first member of each transport on verbs. */
struct rb_verbs {
	struct rb_transport base;
	struct rb_verbs_config config;
	/* Adds to rb_verbs_info what only this kind has to tell. NULL: nothing. */
	void (*info)(const struct rb_verbs *v, struct rb_verbs_info *out);
	const struct rb_verbs_library *lib;
	struct ibv_context *context; /* owned, as all objects that follow */
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_cq *datagram_cq; /* verbs-rc: of its datagrams */
	struct ibv_srq *srq;	    /* verbs-rc */
	int epoll_fd;		    /* watches the completion channel and asynchronous events */
	bool lost;     /* the device, or what all queue pairs share, has failed for good */
	bool has_path; /* the device was in /sys when it was opened */
	uint8_t port;
	uint8_t gid_index;
	uint32_t ifindex; /* of the netdev below, 0: unknown */
	uint32_t path_mtu_bytes;
	enum ibv_mtu path_mtu;
	uint32_t inline_max_bytes;
	uint32_t lkey;
	uint64_t recoveries;
	uint64_t statuses[RB_VERBS_STATUS_COUNT];
	struct rb_transport_stats stats;

	/* Posted chunks: request i receives into slot[i]. */
	uint64_t *slot;	     /* owned */
	uint32_t *free_slot; /* owned: stack */
	uint32_t n_free_slots;

	struct ibv_wc stash[RB_VERBS_BATCH]; /* completions polled and not yet looked at */
	uint32_t stash_first, n_stash;

	uint32_t n_pairs; /* every index in use is below */
	uint32_t pair_turn;
	struct rb_verbs_pair *pair[RB_VERBS_PAIRS_MAX]; /* owned; NULL: free */
	uint16_t pair_generation;
};

static inline struct rb_verbs *rb_verbs_of(struct rb_transport *t)
{
	return (struct rb_verbs *)t;
}

/* --- The device (verbs_device.c) --- */

/*
 * Open the device that has the address, register packet memory with it and create a completion
 * queue of `completions` entries. Errors as rb_verbs_open; the caller then closes v.
 */
int rb_verbs_device_open(struct rb_verbs *v, const struct rb_verbs_config *config,
			 uint32_t completions);
void rb_verbs_device_close(struct rb_verbs *v); /* and every pair */

/*
 * Bring a datagram queue pair from any state to sending and receiving. It forgets what was under
 * way. 0 or -errno.
 */
int rb_verbs_datagram_up(struct rb_verbs *v, struct ibv_qp *qp);

/* The address of a remote queue pair in the form that verbs wants. */
void rb_verbs_address(const struct rb_verbs *v, const uint8_t gid[16], struct ibv_ah_attr *out);

/* The sender of a datagram, by the route header before it. */
void rb_verbs_source(const struct rb_verbs *v, const uint8_t *grh, uint8_t gid[16]);

/* Can this endpoint be a datagram queue pair that we reach? */
bool rb_verbs_is_reachable(const struct rb_verbs *v, const struct rb_endpoint *remote);

/* --- Sending (verbs_pair.c) --- */

/* Make a pair of a new queue pair, which it owns even on failure. 0, -ENOSPC, -ENOMEM. */
int rb_verbs_pair_create(struct rb_verbs *v, struct ibv_qp *qp, struct rb_verbs_pair **out);
/* Messages under way are not reported any more. NULL is fine. */
void rb_verbs_pair_destroy(struct rb_verbs *v, struct rb_verbs_pair *pair);
/*
 * Destroy the queue pair now, and the pair as soon as all messages under way, which count as
 * failed, have been reported.
 */
void rb_verbs_pair_close(struct rb_verbs *v, struct rb_verbs_pair *pair);
/* The queue pair was reset: all messages under way are done, and count as failed. */
void rb_verbs_pair_fail(struct rb_verbs *v, struct rb_verbs_pair *pair);

/*
 * Add a message to the pair's chain. *wr is its request, which the caller completes. Returns what
 * post_send returns.
 */
int rb_verbs_pair_put(struct rb_verbs *v, struct rb_verbs_pair *pair, const struct rb_piece *pieces,
		      uint32_t n, uint32_t len_bytes, uint64_t cookie, struct ibv_send_wr **wr);
/* Post at most `max` messages of the chain. 0, or -EIO: the pair cannot send. */
int rb_verbs_pair_submit(struct rb_verbs_pair *pair, uint32_t max);
/* Was this a send? */
bool rb_verbs_is_send(const struct ibv_wc *wc);
/* Note the completion of a send. Returns its pair, or NULL if that is gone. */
struct rb_verbs_pair *rb_verbs_sent(struct rb_verbs *v, const struct ibv_wc *wc);
/* Write completions of all pairs for the caller, at most max. Returns how many. */
uint32_t rb_verbs_report(struct rb_verbs *v, struct rb_completion *out, uint32_t max);

/* --- Receiving (verbs_receive.c) --- */

/* Post chunks to the shared receive queue, or to that of `qp`. Returns how many were taken. */
uint32_t rb_verbs_receive(struct rb_verbs *v, struct ibv_qp *qp, const uint64_t *offsets,
			  uint32_t n);
/* After a reset of the queue pair: post every slot in use again. 0 or -EIO. */
int rb_verbs_receive_again(struct rb_verbs *v, struct ibv_qp *qp);
/* A receive from the shared queue failed: post its slot again. */
void rb_verbs_repost(struct rb_verbs *v, const struct ibv_wc *wc);
/* Note the completion of a receive. True if it succeeded: *offset is the chunk, its slot free. */
bool rb_verbs_received(struct rb_verbs *v, const struct ibv_wc *wc, uint64_t *offset);

/* The next completion, counted by its status; NULL: none now. */
const struct ibv_wc *rb_verbs_next(struct rb_verbs *v);
/* Take the events that the device reported, and mark what they say has failed. */
void rb_verbs_take_events(struct rb_verbs *v);
int rb_verbs_wait_fd(struct rb_transport *t); /* wait_fd and arm of both transports */
bool rb_verbs_arm(struct rb_transport *t);

#endif
