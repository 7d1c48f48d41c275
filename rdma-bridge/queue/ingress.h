/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ingress side: the virtual output queues (VOQs) that lead to one other node. The worker sorts
 * the frames of all rings into lists, one for each VOQ; frames of the kernel wait at the TAP. A VOQ
 * takes some of them ahead, in turn from each source that it has. Deficit round robin chooses among
 * the VOQs that their token buckets let send, and the chosen frames are packed into messages. A VOQ
 * without frames costs nothing, and the worker visits only ingress sides that wait.
 *
 * Not thread-safe except for rb_input_ask: belongs to the worker.
 */
#ifndef RB_INGRESS_H
#define RB_INGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/queue/chunk.h"
#include "rdma-bridge/scheduler/drr.h"
#include "rdma-bridge/queue/frame_counters.h"
#include "rdma-bridge/queue/frame_pool.h"
#include "rdma-bridge/queue/id_set.h"
#include "rdma-bridge/scheduler/pace.h"
#include "rdma-bridge/queue/pack.h"

struct rb_ingress;

/* A source of frames for a VOQ: its list, or a remote port's TAP. */
struct rb_input {
	/* Take up to max frames; their chunks become RB_OWNER_INGRESS. Returns how many. */
	uint32_t (*receive)(void *context, struct rb_frame *out, uint32_t max);
	void *context;
	struct rb_input *next;	    /* in the VOQ's list */
	struct rb_ingress *ingress; /* borrowed: its VOQ is number voq here; NULL: of none */
	uint32_t voq;
};

struct rb_voq {
	uint16_t system_port;
	uint8_t class;
	/* Borrowed: element of sl_voq. The rates write it; under `fixed`, the operator. */
	volatile struct sl_voq *settings;
	/* Borrowed: element of sl_backlog; the bridge writes its half. */
	struct sl_backlog *backlog;
	struct rb_pace pace;
	struct rb_input *inputs;    /* borrowed list */
	struct rb_input *turn;	    /* the next input to read */
	struct rb_input list_input; /* the input that gives what the list holds */
	struct rb_frame_list list;  /* frames from edge ports */
	struct rb_frame *ahead;	    /* borrowed from the pool while n_ahead > 0 */
	uint32_t first, n_ahead;
	bool ran_empty; /* it had no frame to send at some time since a controller cleared this */
	struct sl_counter taken; /* frames that left it, packed or dropped */
	/* Called as each frame leaves it; NULL: no call. */
	void (*on_taken)(void *context, uint32_t len_bytes);
	void *taken_context;
};

/* Which ingress sides of a worker have something to do, by node. */
struct rb_ingress_todo {
	struct rb_id_set waiting; /* frames wait in them; the worker removes what is idle */
	struct rb_id_set asked;	  /* their inputs may have frames; added to from any thread */
	struct rb_id_set busy;	  /* those that set their *busy */
};

struct rb_ingress {
	struct rb_ingress_todo *todo; /* borrowed: its number there is `node` */
	struct rb_frame_pool *pool;   /* borrowed */
	uint32_t node;
	uint32_t n_voqs;
	struct rb_voq *voqs; /* owned */
	struct rb_drr *drr;  /* owned; queue i is voqs[i] */
	/* VOQs whose inputs may have frames, as other threads say, and as the worker has heard. */
	struct rb_id_set asked, to_ask;
	/*
	 * Borrowed: set to 1 before a frame leaves a backlog; NULL: nobody asks. Who clears it
	 * knows that the frames have reached the network (bpf/abi/express.h).
	 */
	uint32_t *busy;
	struct rb_pack pack; /* the open message */
	uint64_t opened_ns;  /* when the open message got its first frame */
	uint64_t now_ns;     /* of the current call */
	bool ready;	     /* the open message takes no more frames and is to be sent */
	/* A chosen frame that did not fit; it will be the first of the next message. */
	bool held;
	struct rb_frame held_frame;
};

/*
 * The ingress side of `node` in `todo`; its frames wait in `pool`, both are borrowed. n_voqs in
 * 1..RB_ID_SET_MAX; message limit and degree as in rb_pack_init. 0, -EINVAL, -ENOMEM.
 */
int rb_ingress_open(struct rb_ingress_todo *todo, struct rb_frame_pool *pool, uint32_t node,
		    uint32_t n_voqs, uint32_t frame_max_bytes, uint32_t message_max_bytes,
		    uint32_t degree, struct rb_ingress **out);
/* Drops the frames that it holds as peer-down. NULL is fine. */
void rb_ingress_close(struct rb_ingress *in, struct rb_chunks *chunks, struct sl_counter *counters);

/*
 * Put a frame at the end of VOQ i's list; its chunk is RB_OWNER_INGRESS of the pool's chunks. The
 * VOQ has been set up.
 */
void rb_ingress_put(struct rb_ingress *in, uint32_t i, const struct rb_frame *frame);

/* Set up VOQ i. It obeys the rate in its settings from now on. */
void rb_ingress_set_voq(struct rb_ingress *in, uint32_t i, uint16_t system_port, uint8_t class,
			volatile struct sl_voq *settings, struct sl_backlog *backlog,
			uint64_t now_ns);
void rb_ingress_add_input(struct rb_ingress *in, uint32_t i, struct rb_input *input);
/* Frames that were read from the input stay. No effect if it is no input of VOQ i. */
void rb_ingress_remove_input(struct rb_ingress *in, uint32_t i, struct rb_input *input);
/*
 * The input may have frames. The VOQ reads it in the next round, and from then on until it is
 * empty. From any thread.
 */
void rb_input_ask(const struct rb_input *input);
/* Change message size and degree. -EBUSY while a message is open; else as rb_pack_init. */
int rb_ingress_set_limits(struct rb_ingress *in, uint32_t message_max_bytes, uint32_t degree);
/* Change the degree, 1..RB_RECORDS_MAX. An open message that has more frames is full. */
void rb_ingress_set_degree(struct rb_ingress *in, uint32_t degree);

/*
 * Put frames into the open message until it is full, no frame waits, or no VOQ may send. Drops
 * frames that fit no message. Returns true if the message is to be sent: it is full, or has been
 * open for delay_ns.
 */
bool rb_ingress_fill(struct rb_ingress *in, uint64_t delay_ns, uint64_t now_ns,
		     struct rb_chunks *chunks, struct sl_counter *counters);
/*
 * The message has left: count its frames and begin the next message. The caller now owns the chunks
 * of the frames.
 */
void rb_ingress_sent(struct rb_ingress *in, struct sl_counter *counters);
/* The same, but the frames are for this node: they have left without a message. */
void rb_ingress_delivered(struct rb_ingress *in);
/*
 * The node is not up: drop the open message, and frames that wait: at most `budget` times the VOQs
 * that have any, whose turns are as in rb_ingress_fill. Returns how many frames it dropped.
 */
uint32_t rb_ingress_discard(struct rb_ingress *in, uint32_t budget, struct rb_chunks *chunks,
			    struct sl_counter *counters);
/* Drop what waits in VOQ i, whatever its rate, as peer-down; what has been chosen is sent. */
void rb_ingress_discard_voq(struct rb_ingress *in, uint32_t i, struct rb_chunks *chunks,
			    struct sl_counter *counters);
/*
 * After rb_ingress_fill: when the next frame that waits here may leave. now_ns: it may leave now
 * but found no room; UINT64_MAX: no frame waits, or only frames of VOQs with rate 0.
 */
uint64_t rb_ingress_ready_at(const struct rb_ingress *in, uint64_t delay_ns, uint64_t now_ns);
/* Are frames out of the backlogs, and not sent yet? */
bool rb_ingress_holds(const struct rb_ingress *in);
/* Are frames read ahead or packed? */
bool rb_ingress_is_waiting(const struct rb_ingress *in);

#endif
