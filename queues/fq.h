/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The flow queues of one class of an egress port, and the policy that decides which frames the port
 * discards.
 *
 *                    ┌─► queue 0   reserved by a rule ─┐
 *   fq_enqueue ──────┼─► queue 1   flows by their hash ┼─ deficit round robin ──► fq_dequeue
 *   policy: arrive   └─► ...       up to 1,024         ┘          policy: depart
 *                         one buffer: while it is over its limit, policy: victim
 *
 * All queues share one buffer. A port with one queue is a FIFO, on which the classic policies
 * (tail, red, blue) were defined; any policy works with any number of queues.
 *
 * Deficit round robin (Shreedhar and Varghese, 1995): a queue sends while its head frame fits into
 * its deficit, then gets its quantum and goes to the end of the round. The quantum is the weight
 * times the bytes that the shape says; where these are those of the largest frame, each turn sends
 * a frame. A queue that runs empty loses its deficit. A policy may ask for the round of RFC 8290
 * instead (fq_ops.sparse).
 *
 * Nothing here reads a clock, allocates, does I/O, blocks, or uses floating point. The caller gives
 * the memory, whose size the configuration fixes. A call costs O(log queues) and one step for each
 * frame that it discards. Objects are not locked: one thread per port.
 *
 * Units: bytes are those of the frame as the caller counts it, times are nanoseconds of any clock
 * that does not step back, ratios among the parameters are parts per 10^9 (`_ppb`).
 */
#ifndef QUEUES_FQ_H
#define QUEUES_FQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "queues/policies.h"
#include "queues/rank.h"

#define FQ_QUEUES_MAX	   1024u
#define FQ_FRAMES_MAX	   (1u << 20) /* that wait in a port */
#define FQ_BYTES_MAX	   (1u << 30) /* that wait in a port */
#define FQ_FRAME_MAX_BYTES 65535u
#define FQ_RATE_MAX_BPS	   (UINT64_C(1) << 37)
#define FQ_WEIGHT_MAX	   1024u
#define FQ_NONE		   UINT16_MAX /* no queue */
#define FQ_WAYS		   8u	      /* queues among which fq_queue_pick chooses */
#define FQ_TURNS_MAX	   4u	      /* that the largest frame may take to be sent */
#define FQ_NAME_BYTES	   16	      /* longest name of a policy, with its NUL */
#define FQ_PARAMS_MAX	   8
#define FQ_RANKS_MAX	   2
#define FQ_GAINS	   8   /* words that a policy derives from its parameters */
#define FQ_PORT_WORDS	   8   /* state of a policy in a port */
#define FQ_STATE_BYTES_MAX 512 /* state of a policy in a queue */
#define FQ_NO_LAYER	   UINT8_MAX
#define FQ_ONE_PPB	   INT64_C(1000000000)

/* The size of a port. */
struct fq_shape {
	uint32_t queues;	  /* 1..FQ_QUEUES_MAX */
	uint32_t reserved;	  /* the first ones, to which no hash leads; 0..queues-1 */
	uint32_t limit_bytes;	  /* of the buffer, frame_max_bytes..FQ_BYTES_MAX */
	uint32_t limit_frames;	  /* of the buffer, 1..FQ_FRAMES_MAX */
	uint32_t frame_max_bytes; /* 60..FQ_FRAME_MAX_BYTES */
	/* of weight 1; frame_max_bytes / FQ_TURNS_MAX..frame_max_bytes, 0: frame_max_bytes */
	uint32_t quantum_bytes;
	uint32_t seed;	   /* of random decisions */
	uint64_t rate_Bps; /* at which the port sends, 1..FQ_RATE_MAX_BPS */
};

/* A policy chosen for a port, with its parameters; constant once prepared. */
struct fq_config {
	const struct fq_ops *ops; /* static */
	struct fq_shape shape;
	int64_t param[FQ_PARAMS_MAX]; /* by the index in ops->params */
	uint64_t gains[FQ_GAINS];     /* by fq_config_prepare: the policy's own */
};

/* A tunable. */
struct fq_param {
	const char *name;
	const char *unit;
	int64_t value; /* default */
	int64_t min, max;
	const char *source; /* what the tunable does, and where its default comes from */
};

struct fq_frame {
	uint64_t handle;     /* the caller's, returned as it was */
	uint64_t arrival_ns; /* set by fq_enqueue */
	uint32_t len_bytes;  /* 1..frame_max_bytes of the port */
	bool ect;	     /* its sender knows ECN (RFC 3168): marked where others are dropped */
	bool ce;	     /* out: the caller must set Congestion Experienced in the frame */
	uint8_t layer;	     /* by fq_ops.layer; a policy without that slot does not look at it */
};

/* Why a frame was discarded. */
enum fq_reason {
	FQ_EARLY,    /* on arrival, by the policy's decision */
	FQ_FULL,     /* on arrival: the buffer was full */
	FQ_PUSHED,   /* had been waiting: the buffer was full, and its queue the victim */
	FQ_LATE,     /* about to leave, by the policy's decision */
	FQ_FLUSHED,  /* by fq_flush */
	FQ_BAD_SIZE, /* its len_bytes is 0, or above the port's largest frame */
	FQ_N_REASONS
};

/* Takes back a discarded frame; called from within fq_enqueue, fq_dequeue and fq_flush. */
typedef void (*fq_drop_fn)(void *context, const struct fq_frame *frame, uint32_t queue,
			   enum fq_reason reason);

/* A decision about one frame. */
enum fq_verdict {
	FQ_PASS,
	FQ_MARK, /* only for a frame with ect */
	FQ_DROP,
};

/* A frame that waits. */
struct fq_entry {
	struct fq_frame frame;
	uint32_t next; /* entry behind it in its queue, or in the list of free entries */
};

enum fq_round {
	FQ_IDLE, /* in no round */
	FQ_OLD,	 /* in the round */
	FQ_NEW,	 /* RFC 8290: in the round that goes first */
};

struct fq_queue {
	uint32_t first, last; /* entries; valid while n_frames > 0 */
	uint32_t n_frames, n_bytes;
	int32_t deficit_bytes;
	uint16_t weight;     /* 1..FQ_WEIGHT_MAX */
	uint16_t prev, next; /* in its round; FQ_NONE at the ends */
	uint8_t round;	     /* enum fq_round */
	bool is_shared;	     /* fq_queue_pick gave it to further flows; valid while n_frames > 0 */
	uint32_t tag;	     /* of the flow that fq_queue_pick gave it to; valid likewise */
};
_Static_assert(sizeof(struct fq_queue) == 32, "two to a cache line");

struct fq_list {
	uint16_t head, tail; /* FQ_NONE: empty */
};

/* Policies read all of it, and write priv, ranks, random and their state of queues. */
struct fq_port {
	struct fq_config config;
	fq_drop_fn drop;
	void *drop_context; /* borrowed for the port's life */
	uint32_t n_frames, n_bytes;
	uint32_t active_weight;	 /* sum over the queues that are in a round */
	uint64_t rate_Bps;	 /* at which the port sends now */
	uint64_t empty_since_ns; /* when the last frame left; valid while n_frames is 0 */
	struct fq_list round[3]; /* by enum fq_round */
	uint32_t free_entry;	 /* first of the free entries */
	uint32_t random;	 /* state of cc_random, never 0 */
	struct fq_queue *queue;	 /* in the port's memory: shape.queues of them */
	struct fq_entry *entry;	 /* in the port's memory: limit_frames + 1 */
	unsigned char *state;	 /* in the port's memory: ops->state_bytes for each queue */
	struct fq_rank rank[FQ_RANKS_MAX];
	uint64_t priv[FQ_PORT_WORDS];
};

/* What to discard while the buffer is over its limit. */
struct fq_victim {
	uint32_t queue;	 /* that has frames */
	uint32_t frames; /* to discard from its head, 1..; ends early when it has no more */
};

struct fq_flow;

/* A policy. fq_ops_check refuses one without a (required) slot. priv and states are 0 at first. */
struct fq_ops {
	/* (required) unique, at most FQ_NAME_BYTES - 1 characters */
	const char *name;
	uint8_t policy; /* enum fq_policy */
	/* The round of RFC 8290: queues that were idle go before others for one quantum, a queue
	 * sends while its deficit is positive, and an empty queue stays until its turn. */
	bool sparse;
	bool asks_share; /* it calls fq_share_Bps(): the port's rate must be kept right */
	uint8_t n_ranks; /* 0..FQ_RANKS_MAX */
	uint8_t n_params;
	uint16_t state_bytes;	       /* in each queue, 0..FQ_STATE_BYTES_MAX, a multiple of 8 */
	const struct fq_param *params; /* (required if n_params > 0) */

	/* (optional) Turn shape and parameters into gains. 0, or -EINVAL with *why saying what is
	 * wrong. */
	int (*prepare)(struct fq_config *cfg, const char **why);
	/* (optional) Start of a port. */
	void (*init)(struct fq_port *port);
	/* (optional) What the policy must know of the bytes of a frame, for fq_frame.layer. `frame`
	 * has `bytes` from its MAC header on, and is of `flow`. */
	uint8_t (*layer)(const struct fq_config *cfg, const uint8_t *frame, uint32_t bytes,
			 const struct fq_flow *flow);
	/* (optional) A frame has come and is not queued yet. */
	enum fq_verdict (*arrive)(struct fq_port *port, uint32_t queue,
				  const struct fq_frame *frame, uint64_t now_ns);
	/* (optional) The buffer is over its limit: choose whom to discard from. Without this slot,
	 * an arrival that does not fit is discarded. */
	struct fq_victim (*victim)(struct fq_port *port);
	/* (optional) An arrival did not fit and was discarded. */
	void (*full)(struct fq_port *port, uint64_t now_ns);
	/* (optional) A frame has been taken from its queue to be sent. */
	enum fq_verdict (*depart)(struct fq_port *port, uint32_t queue,
				  const struct fq_frame *frame, uint64_t now_ns);
	/* (optional) A frame is sent. */
	void (*sent)(struct fq_port *port, uint32_t queue, uint32_t len_bytes, uint64_t now_ns);
	/* (required if n_ranks > 0) A queue has another length: set its keys in the ranks. */
	void (*changed)(struct fq_port *port, uint32_t queue);
};

/* The policies in the order of queues/policies.h, then NULL. Each passes fq_ops_check. */
extern const struct fq_ops *const fq_policies[];

/* Returns 0 if every required slot of ops is present and its table is in range, or -EINVAL. */
int fq_ops_check(const struct fq_ops *ops);

/* Returns the policy of that name, or NULL. */
const struct fq_ops *fq_lookup(const char *name);

/*
 * Choose a policy for a port, with every parameter at its default.
 * Returns 0; -ENOENT: no policy of that name; -EINVAL: a field of *shape is out of its range.
 * fq_config_prepare must follow before the configuration is used.
 */
int fq_config_init(struct fq_config *cfg, const char *name, const struct fq_shape *shape);

/*
 * Set a parameter. Returns 0; -ENOENT: the policy has none of that name; -ERANGE: not in min..max.
 */
int fq_config_set(struct fq_config *cfg, const char *param, int64_t value);

/*
 * Check the parameters together and derive the gains.
 * Returns 0, or -EINVAL with *why (static text, may be NULL) saying what is wrong.
 */
int fq_config_prepare(struct fq_config *cfg, const char **why);

/* Bytes of memory that a port of this configuration needs. */
size_t fq_port_size(const struct fq_config *cfg);

/*
 * Make a port in `memory`: fq_port_size(cfg) bytes, aligned to 8, borrowed for the port's
 * life; there is nothing to undo. cfg is prepared and is copied. drop takes back every frame that
 * the port discards. All queues are empty and have weight 1.
 */
struct fq_port *fq_port_init(void *memory, const struct fq_config *cfg, fq_drop_fn drop,
			     void *drop_context);

/* The queue of a flow, by a hash of 64 random bits: one that is not reserved. */
uint32_t fq_queue_of(const struct fq_port *port, uint64_t hash);

/*
 * The same, but flows that the hash would put into one queue get queues of their own where it can
 * be: of FQ_WAYS queues next to that queue, the one that has frames of this flow, or else one that
 * is empty. If there is none, flows share the queue of the hash. The frames of a flow never wait in
 * two queues, if each is enqueued where the call for it said.
 */
uint32_t fq_queue_pick(struct fq_port *port, uint64_t hash);

/* Set a queue's share from its next quantum on. 0; -EINVAL: no such queue or weight. */
int fq_set_weight(struct fq_port *port, uint32_t queue, uint32_t weight);

/* The port sends at another rate from now on, which is brought into 1..FQ_RATE_MAX_BPS. */
void fq_set_rate(struct fq_port *port, uint64_t rate_Bps);

/*
 * The rate that the round grants a queue now, at least 1: its part, by weight, of the port's rate
 * among the queues that have frames, and it itself.
 */
uint64_t fq_share_Bps(const struct fq_port *port, uint32_t queue);

/* The policy's state in a queue. */
static inline void *fq_state(const struct fq_port *port, uint32_t queue)
{
	return port->state + (size_t)queue * port->config.ops->state_bytes;
}

/*
 * Take a frame into a queue below shape.queues. The port discards this or other frames if the
 * policy or the buffer's limit says so; drop tells of each.
 */
void fq_enqueue(struct fq_port *port, uint32_t queue, const struct fq_frame *frame,
		uint64_t now_ns);

/*
 * The frame that leaves now. Returns its queue, or FQ_NONE: no frame waits. The policy may discard
 * frames before this one.
 */
uint32_t fq_dequeue(struct fq_port *port, uint64_t now_ns, struct fq_frame *out);

/* Discard every frame that waits. */
void fq_flush(struct fq_port *port);

#endif
