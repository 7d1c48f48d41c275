/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a node knows of each other node: which life of it introduced itself (epoch), which messages
 * of it have arrived (sequence numbers), and whether both directions work (liveness). No clock and
 * no I/O: time is an argument, in ns of any monotonic clock.
 *
 * A peer is UP when it was heard within dead_after_ns and has said within dead_after_ns that it
 * hears us; hearing alone is ONE_WAY, so a path that works in one direction only carries no
 * traffic. Silence is measured in the time that we ourselves ran: who got no processor for a while
 * has heard nobody in it, and knows nothing of the others.
 *
 * Threads: a peer's liveness belongs to one thread. Each sequence tracker belongs to the one thread
 * that receives its stream.
 */
#ifndef RB_PEER_H
#define RB_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/wire/wire.h"

/* --- Sequence numbers of one stream ------------------------------------------------------- */

#define RB_SEQ_WINDOW 1024 /* how far back a late message is told from a duplicate */

/*
 * received + lost is the count of sequence numbers from the first one seen to the newest. A message
 * that was taken for lost and comes late is taken off `lost` and counts in `received` and `late`.
 */
struct rb_seq {
	uint64_t received;  /* delivered, late ones included */
	uint64_t lost;	    /* skipped and not seen since */
	uint64_t late;	    /* delivered after a younger one */
	uint64_t duplicate; /* dropped: seen before */
	uint64_t stale;	    /* dropped: older than the window or than the first one seen */
	uint32_t next;	    /* the sequence number expected */
	uint32_t span;	    /* numbers below next that `seen` knows, 0..RB_SEQ_WINDOW */
	uint64_t seen[RB_SEQ_WINDOW / 64];
};

/* Start anew, as for a new epoch; counters stay. The next message sets the first number. */
void rb_seq_restart(struct rb_seq *seq);
/* Judge a sequence number and remember it. OK, DUPLICATE or STALE. */
enum rb_verdict rb_seq_judge(struct rb_seq *seq, uint32_t sequence);

/* --- Peers -------------------------------------------------------------------------------- */

enum rb_peer_state {
	RB_PEER_DOWN = 0,    /* not introduced, or silent */
	RB_PEER_ONE_WAY = 1, /* heard, but it does not hear us */
	RB_PEER_UP = 2,
};
const char *rb_peer_state_name(enum rb_peer_state state);

struct rb_peer {
	bool configured; /* named in the configuration */
	bool introduced; /* the exchange has told its epoch */
	uint32_t epoch;	 /* valid while introduced */
	enum rb_peer_state state;
	uint64_t heard_ns;    /* last message of it; 0: none in this epoch */
	uint64_t hears_us_ns; /* last time it said that it hears us; 0: never in this epoch */
	uint64_t ups;	      /* times it came UP; never reset, nor are the next ones */
	uint64_t downs;	      /* times it left UP */
	struct rb_seq seq[RB_STREAMS_MAX];
};

struct rb_peers {
	uint8_t self;		/* own node id */
	uint32_t self_epoch;	/* own life, not 0 */
	uint64_t dead_after_ns; /* silence that means death */
	uint64_t ran_ns;	/* last call of rb_peers_run; 0: none yet */
	/* times that we did not run for longer than RB_PEERS_STALL of it */
	uint64_t stalls;
	uint64_t back_ns;	  /* when the last of them was over; 0: none yet */
	struct rb_peer peer[256]; /* by node id */
};

/* Zero all, set the three values. -EINVAL if one of them is 0. */
int rb_peers_init(struct rb_peers *peers, uint8_t self, uint32_t self_epoch,
		  uint64_t dead_after_ns);
/* Name a peer. -EINVAL for 0 or ourselves, -EEXIST if it is named already. */
int rb_peers_add(struct rb_peers *peers, uint8_t node);

/*
 * The exchange has met this life of the peer. A new epoch forgets everything of the former one and
 * the peer is DOWN until it is heard; the same epoch again changes nothing. -ENOENT: not
 * configured; -EINVAL: epoch 0.
 */
int rb_peers_introduce(struct rb_peers *peers, uint8_t node, uint32_t epoch);

/*
 * Judge a decoded header by its sender: OK, UNKNOWN_NODE, EPOCH, DUPLICATE or STALE. OK marks the
 * peer as heard at now_ns. Call it once per message, after everything else of the message has been
 * found good: a bad message must neither keep a peer alive nor use up a sequence number.
 */
enum rb_verdict rb_peers_judge(struct rb_peers *peers, const struct rb_msg_header *header,
			       uint64_t now_ns);
/* A hello of this peer, after rb_peers_judge. */
void rb_peers_hello(struct rb_peers *peers, uint8_t node, const struct rb_hello *hello,
		    uint64_t now_ns);
/* What our next hello to this peer says of hearing it: its epoch, or 0. */
uint32_t rb_peers_heard_epoch(const struct rb_peers *peers, uint8_t node, uint64_t now_ns);

#define RB_PEERS_STALL 4 /* a pause of more than dead_after_ns / 4 was a stall of ours */

/*
 * We run: call it before anything is judged at this time, as often as possible. What passed since
 * the last call beyond dead_after_ns / RB_PEERS_STALL is nobody's silence; and that peers have not
 * heard us in it is old news, which is not believed for dead_after_ns.
 */
void rb_peers_run(struct rb_peers *peers, uint64_t now_ns);

/*
 * Let time pass for one peer. True if its state changed; call it at least every dead_after_ns / 4.
 */
bool rb_peers_tick(struct rb_peers *peers, uint8_t node, uint64_t now_ns);

#endif
