/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A node's knowledge of each other node: which life of the peer introduced itself (epoch), which of
 * its messages have arrived (sequence numbers), and whether both directions work (liveness). Pure:
 * time is an argument, in ns of any monotonic clock.
 *
 * A peer is UP if we heard it within dead_after_ns, and it said within dead_after_ns that it hears
 * us. A peer that we only hear is ONE_WAY, so a path that works in one direction carries no
 * traffic. Silence counts only while we ourselves ran: a thread that got no processor heard nobody,
 * and learns nothing about its peers from that.
 *
 * Not thread-safe: each worker has peers of its own.
 */
#ifndef RB_PEER_H
#define RB_PEER_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/wire/wire.h"

/* --- Sequence numbers --- */

#define RB_SEQ_WINDOW 1024 /* how far back a late message is told from a duplicate */
/*
 * More than a path can lose while its peer counts as alive. A single message that skips so many
 * numbers is stale: nothing proves who sent it, and to believe it would make all that follow stale.
 * With a second one right after it, the numbers begin anew, and none counts as lost.
 */
#define RB_SEQ_JUMP (1u << 24)

/*
 * The sequence numbers of one stream of a peer. received + lost is the count of numbers from the
 * first one seen to the newest, summed over the times that the numbers began anew. A message that
 * arrives after it was counted as lost is taken off `lost` and counts in `received` and `late`.
 */
struct rb_seq {
	uint64_t received;  /* delivered, late ones included */
	uint64_t lost;	    /* skipped and not seen since */
	uint64_t late;	    /* delivered after a younger one */
	uint64_t duplicate; /* dropped: seen before */
	/* dropped: older than the window or than the first one seen, or a jump by itself */
	uint64_t stale;
	uint32_t next; /* the sequence number expected */
	uint32_t jump; /* the number after that of the latest jump */
	/* Numbers that the newest message skipped: if the numbers begin anew, none was lost. */
	uint32_t skipped;
	uint32_t span; /* numbers below next that `seen` knows, 0..RB_SEQ_WINDOW */
	/*
	 * The peer fell silent: if its next number is not one that may follow, a forged one has led
	 * us astray, and it counts as the first.
	 */
	bool doubtful;
	uint64_t seen[RB_SEQ_WINDOW / 64];
};

/* Forget the numbers, as for a new epoch; counters stay. The next message is the first seen. */
void rb_seq_restart(struct rb_seq *seq);
/* Judge a sequence number and remember it. Returns OK, DUPLICATE or STALE. */
enum rb_verdict rb_seq_judge(struct rb_seq *seq, uint32_t sequence);

/* --- Peers --- */

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
	/* Silence that means death: the larger one of what we and the peer ask for. */
	uint64_t dead_after_ns;
	/* enum rb_peer_state; its worker writes it, others read it with rb_peer_state_now */
	uint8_t state;
	uint64_t heard_ns;    /* when its last message came; 0: none in this epoch */
	uint64_t hears_us_ns; /* when it last said that it hears us; 0: never in this epoch */
	uint64_t ups;	      /* times it came UP; never reset */
	uint64_t downs;	      /* times it left UP; never reset */
	struct rb_seq seq[RB_STREAMS_MAX];
};

/* The state, from any thread. */
static inline enum rb_peer_state rb_peer_state_now(const struct rb_peer *peer)
{
	return __atomic_load_n(&peer->state, __ATOMIC_RELAXED);
}

struct rb_peers {
	uint8_t self;		  /* own node id */
	uint32_t self_epoch;	  /* of our own life, not 0 */
	uint64_t dead_after_ns;	  /* silence that means death, as we ask for */
	uint64_t ran_ns;	  /* time of the last rb_peers_run; 0: none yet */
	uint64_t stalls;	  /* pauses of ours longer than dead_after_ns / RB_PEERS_STALL */
	uint64_t back_ns;	  /* when the last stall ended; 0: none yet */
	struct rb_peer peer[256]; /* by node id */
};

/* Begin without peers. 0, or -EINVAL if one of the values is 0. */
int rb_peers_init(struct rb_peers *peers, uint8_t self, uint32_t self_epoch,
		  uint64_t dead_after_ns);
/* Add a peer of the configuration. 0, -EINVAL for node 0 or ourselves, -EEXIST. */
int rb_peers_add(struct rb_peers *peers, uint8_t node);

/* Forget a peer, with its counters; not configured any more. */
void rb_peers_remove(struct rb_peers *peers, uint8_t node);

/*
 * A life of the peer introduced itself in the start-up exchange. For a new epoch, forget the
 * sequence numbers and liveness of the former one: the peer is DOWN until we hear it. The same
 * epoch again changes nothing. 0, -ENOENT: not configured, -EINVAL: epoch 0.
 */
int rb_peers_introduce(struct rb_peers *peers, uint8_t node, uint32_t epoch);

/*
 * The peer asks for this dead_after_ns: it says hello as seldom as that allows, and we take it for
 * dead no sooner. Call it when the peer introduces itself.
 */
void rb_peers_set_liveness(struct rb_peers *peers, uint8_t node, uint64_t dead_after_ns);

/*
 * Judge a decoded header by its sender. Returns OK, UNKNOWN_NODE, EPOCH, DUPLICATE or STALE. With
 * OK the peer was heard at now_ns. Call it once per message, after every other check of the
 * message: a bad message must neither keep a peer alive nor use up a sequence number.
 */
enum rb_verdict rb_peers_judge(struct rb_peers *peers, const struct rb_msg_header *header,
			       uint64_t now_ns);
/* The same for a message whose sequence number the transport has judged. */
enum rb_verdict rb_peers_judge_numbered(struct rb_peers *peers, const struct rb_msg_header *header,
					uint64_t now_ns);
/* Note a hello of this peer, after rb_peers_judge found it OK. */
void rb_peers_hello(struct rb_peers *peers, uint8_t node, const struct rb_hello *hello,
		    uint64_t now_ns);
/* The heard_epoch of our next hello to this peer: its epoch if we hear it, else 0. */
uint32_t rb_peers_heard_epoch(const struct rb_peers *peers, uint8_t node, uint64_t now_ns);

#define RB_PEERS_STALL 4 /* a pause longer than dead_after_ns / 4 is a stall of ours */

/*
 * A peer took us for dead during a stall. Before its hello says that it hears us again, our hello
 * goes out, the peer looks at the time, and its hello comes back: four ticks of dead_after_ns / 4,
 * and each of them may be late by as much before it counts as a stall.
 */
#define RB_PEERS_EXCUSE 2 /* times dead_after_ns */

/*
 * Say that we run now. Call it as often as possible, and before judging messages of this time.
 * After a stall, the pause beyond dead_after_ns / RB_PEERS_STALL does not count as silence of
 * peers. Hellos that say a peer does not hear us are ignored for RB_PEERS_EXCUSE * dead_after_ns:
 * they speak of the stall.
 */
void rb_peers_run(struct rb_peers *peers, uint64_t now_ns);

/*
 * Let time pass for one peer. Returns true if its state changed. Call it at least every
 * dead_after_ns / 4. A peer that goes DOWN may begin again with any sequence numbers: whatever made
 * its messages stale, a forged one for instance, lasts no longer than that.
 */
bool rb_peers_tick(struct rb_peers *peers, uint8_t node, uint64_t now_ns);

#endif
