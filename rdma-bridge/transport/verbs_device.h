/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What both verbs transports have in common: the device and its objects, the receive slots, and
 * lanes, which are queue pairs with what is under way on them. For verbs_ud.c and verbs_rc.c alone.
 *
 * A lane's messages are numbered; they are collected into a chain and posted together, with one
 * doorbell and one completion for the chain, because a queue pair completes in order. So a message
 * is reported sent when a later one of its chain is.
 */
#ifndef RB_VERBS_DEVICE_H
#define RB_VERBS_DEVICE_H

#include "rdma-bridge/transport/verbs.h"
#include "rdma-bridge/transport/verbs_library.h"

#define RB_VERBS_CHAIN	    32	/* requests posted at once */
#define RB_VERBS_PIECES_MAX 32	/* gather entries used, if the device takes as many */
#define RB_VERBS_INLINE_MAX 256 /* bytes asked of the device for inline data */
#define RB_VERBS_LANES_MAX  257 /* a peer each, and the datagrams of verbs-rc */
#define RB_VERBS_BATCH	    64	/* completions polled at once */
#define RB_VERBS_GRH_BYTES  40	/* what a device puts before each datagram */
#define RB_VERBS_NOT_A_SEND UINT32_MAX

/* A message under way. */
struct rb_verbs_sent {
	uint64_t cookie;
	/* RB_OWNER_SEND, of a copied message; RB_CHUNK_NONE: inline or gathered */
	uint64_t chunk;
	bool lent; /* the caller's pieces: completion due */
};

struct rb_verbs_lane {
	struct ibv_qp *qp; /* owned */
	uint32_t index;
	uint16_t
		/* of the index: completions of a lane that was here before are ignored */
		generation;
	bool ready;   /* the queue pair can send */
	bool broken;  /* it was in error; what is under way will not complete */
	bool closing; /* it has no queue pair any more, and goes when all is reported */
	/* Free-running numbers of messages, in this order. */
	uint32_t reported;		       /* those before it are forgotten */
	uint32_t completed;		       /* those before it are done */
	uint32_t posted;		       /* those before it are with the device */
	uint32_t tail;			       /* the next one */
	uint32_t mask;			       /* size of sent, less one */
	struct rb_verbs_sent *sent;	       /* owned */
	struct ibv_send_wr wr[RB_VERBS_CHAIN]; /* messages posted..tail, by their number */
	struct ibv_sge sge[RB_VERBS_CHAIN][RB_VERBS_PIECES_MAX];
	uint8_t inline_bytes[RB_VERBS_CHAIN][RB_VERBS_INLINE_MAX];
};

struct rb_verbs {
	struct rb_transport base;
	struct rb_verbs_config config;
	const struct rb_verbs_library *lib;
	struct ibv_context *context; /* owned, as all that follows */
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_cq *control_cq; /* verbs-rc: of the datagrams */
	struct ibv_srq *srq;	   /* verbs-rc */
	int epoll_fd;		   /* of the completion channel and of asynchronous events */
	bool lost;     /* the device, or what all queue pairs share, has failed for good */
	bool has_path; /* the device was seen in /sys when it was opened */
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

	/* Chunks posted: request i receives into slot[i]. */
	uint64_t *slot;	     /* owned */
	uint32_t *free_slot; /* owned: stack */
	uint32_t n_free_slots;

	struct ibv_wc stash[RB_VERBS_BATCH]; /* polled and not looked at */
	uint32_t stash_first, n_stash;

	uint32_t n_lanes; /* indices in use are below */
	uint32_t lane_turn;
	struct rb_verbs_lane *lane[RB_VERBS_LANES_MAX]; /* owned; NULL: free */
	uint16_t lane_generation;
};

static inline struct rb_verbs *rb_verbs_of(struct rb_transport *t)
{
	return (struct rb_verbs *)t;
}

/*
 * Open the device that has the address, its memory region and completion queue of `completions`
 * entries.
 */
int rb_verbs_device_open(struct rb_verbs *v, const struct rb_verbs_config *config,
			 uint32_t completions);
void rb_verbs_device_close(struct rb_verbs *v); /* and every lane */

/*
 * A datagram queue pair from whatever state to sending and receiving; it forgets what was under
 * way. 0 or -errno.
 */
int rb_verbs_datagram_up(struct rb_verbs *v, struct ibv_qp *qp);

/* Address of a remote queue pair in the form that verbs wants. */
void rb_verbs_address(const struct rb_verbs *v, const uint8_t gid[16], struct ibv_ah_attr *out);

/* Who sent a datagram, by the route header before it. */
void rb_verbs_source(const struct rb_verbs *v, const uint8_t *grh, uint8_t gid[16]);

/* Can there be a queue pair of datagrams like this for us? */
bool rb_verbs_is_reachable(const struct rb_verbs *v, const struct rb_endpoint *remote);

/* A lane around a new queue pair, which it takes over even on failure. -ENOSPC, -ENOMEM. */
int rb_verbs_lane_create(struct rb_verbs *v, struct ibv_qp *qp, struct rb_verbs_lane **out);
/* What was under way is reported no more. */
void rb_verbs_lane_destroy(struct rb_verbs *v, struct rb_verbs_lane *lane);
/*
 * The queue pair goes now, the lane when all that was under way has been reported; that counts as
 * failed.
 */
void rb_verbs_lane_close(struct rb_verbs *v, struct rb_verbs_lane *lane);
/* The queue pair was reset: all that was under way is over, and counts as failed. */
void rb_verbs_lane_fail(struct rb_verbs *v, struct rb_verbs_lane *lane);

/*
 * Add a message to the lane's chain, as post_send does; *wr is its request for the caller to
 * complete. The result is that of post_send.
 */
int rb_verbs_lane_put(struct rb_verbs *v, struct rb_verbs_lane *lane, const struct rb_piece *pieces,
		      uint32_t n, uint32_t len_bytes, uint64_t cookie, struct ibv_send_wr **wr);
/* Post at most `max` messages of the chain. 0; -EIO: the lane is broken now. */
int rb_verbs_lane_submit(struct rb_verbs_lane *lane, uint32_t max);
/* Completions for the caller, of all lanes. */
uint32_t rb_verbs_report(struct rb_verbs *v, struct rb_completion *out, uint32_t max);

/* Receive into chunks: by the shared receive queue, or by that of `qp`. */
uint32_t rb_verbs_receive(struct rb_verbs *v, struct ibv_qp *qp, const uint64_t *offsets,
			  uint32_t n);
/* After a reset of the queue pair: post every slot in use again. */
int rb_verbs_receive_again(struct rb_verbs *v, struct ibv_qp *qp);
/* A receive from the shared queue failed: post its slot again. */
void rb_verbs_repost(struct rb_verbs *v, const struct ibv_wc *wc);

/* The next completion of the device; NULL: none now. Counts its status. */
const struct ibv_wc *rb_verbs_next(struct rb_verbs *v);
/*
 * A send completion: mark its lane. A receive: its slot, freed if it succeeded, *offset being the
 * chunk.
 */
bool rb_verbs_is_send(const struct ibv_wc *wc);
struct rb_verbs_lane *rb_verbs_sent(struct rb_verbs *v, const struct ibv_wc *wc);
bool rb_verbs_received(struct rb_verbs *v, const struct ibv_wc *wc, uint64_t *offset);

int rb_verbs_wait_fd(struct rb_transport *t);
bool rb_verbs_arm(struct rb_transport *t);

/* verbs_ud.c, verbs_rc.c */
int rb_verbs_ud_open(const struct rb_verbs_config *config, struct rb_transport **out);
int rb_verbs_rc_open(const struct rb_verbs_config *config, struct rb_transport **out);
void rb_verbs_rc_info(const struct rb_verbs *v, struct rb_verbs_info *out);

#endif
