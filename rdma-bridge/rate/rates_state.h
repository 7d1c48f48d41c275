/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state that the two halves of the rates share: struct rb_rates, the ports of ours and of peers
 * that have a controller, and their queues and VOQs. rates.h says what runs on it.
 */
#ifndef RB_RATES_STATE_H
#define RB_RATES_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "cc/cc.h"
#include "rdma-bridge/queue/egress.h"
#include "rdma-bridge/queue/ingress.h"
#include "rdma-bridge/rate/rate_trace.h"
#include "rdma-bridge/wire/peer.h"
#include "rdma-bridge/wire/wire.h"
#include "user/config/cc_settings.h"

_Static_assert(CC_CLASSES == SL_CLASSES, "classes");

#define RB_RATES_POLICY_MIN_NS 10000000ULL
/* Intervals; below a quarter of the default stale_intervals of cc/, so that some may be lost. */
#define RB_RATES_CALM 4

/* A worker's sum of urgency over its VOQs. Written by the worker, relaxed; in a line of its own. */
struct rb_rates_urgency {
	_Alignas(64) uint64_t total;
};

/* Given by the owner, a worker; every pointer is borrowed for the life of the rates. */
struct rb_rates_config {
	uint8_t node;	     /* this one */
	uint32_t seed;	     /* of their random numbers, not 0 */
	uint64_t fabric_Bps; /* what this node can send into the fabric; 0: unknown */
	/*
	 * The sums of urgency of all workers of the node, n_workers of them; each writes its own,
	 * at `worker`, and reads the others'. NULL: there is no other worker.
	 */
	struct rb_rates_urgency *urgency;
	uint32_t worker, n_workers;
	const struct rb_peers *peers;	      /* states of the other nodes */
	const struct sl_counter *counters;    /* frame counters, by enum rb_frame_counter */
	const uint64_t *now_ns;		      /* of the worker's current round */
	struct rb_egress_port *const *egress; /* ports of ours by number; NULL: no such port */
	/*
	 * Send a peer a message of `count` records, body_bytes together. 0; -EAGAIN (no room) or
	 * what else the transport says: then the message is lost.
	 */
	int (*send)(void *context, uint8_t node, enum rb_msg_type type, uint32_t count,
		    const uint8_t *body, uint32_t body_bytes, uint64_t now_ns);
	void *context; /* of send */
};

/* Another node; or this one, if frames between its ports go through queues. */
struct rb_rates_peer {
	uint8_t node;
	struct rb_ingress *ingress; /* borrowed: our VOQs that lead to it; NULL: none */
	uint32_t message_max_bytes; /* of the path to it; 0: not introduced */
};

struct rb_rates_stats {
	uint64_t intervals;	    /* timer samples of queues */
	uint64_t asked;		    /* samples that a controller asked for */
	uint64_t feedback_sent;	    /* records */
	uint64_t feedback_refused;  /* records that the transport had no room for */
	uint64_t feedback_received; /* records that were used */
	uint64_t feedback_stale;    /* duplicates, and older than one used */
	/* records of a controller that the VOQ does not have (yet), or for no VOQ */
	uint64_t feedback_foreign;
	uint64_t policies_sent;
	uint64_t policies_received;		 /* new ones */
	uint64_t policies_refused;		 /* that the controller does not take */
	uint64_t reports_sent, reports_received; /* records */
	uint64_t late;				 /* intervals that began more than T late */
};

/* --- Egress: ports of ours --- */

/* One egress queue of ours, as its controller knows it. */
struct rb_rates_queue {
	struct cc_egress egress;
	struct rb_rates_port *port; /* borrowed: the port that holds this queue */
	uint8_t class;
	bool awake;
	bool sampled; /* by the timer, in this run: feedback is due */
	uint64_t sampled_ns;
	uint64_t active_ns;	    /* last arrival, backlog or report */
	struct sl_counter arrived;  /* of the queue, as last looked at */
	struct sl_counter express;  /* that arrived and departed past the bridge, likewise */
	uint64_t express_from[256]; /* their units by node, likewise */
	struct sl_counter departed; /* at the previous sample, with express */
	struct sl_counter dropped;  /* at the previous sample */
	uint32_t backlog_units;	    /* at the previous sample */
	uint64_t from[256];	    /* arrived_from and express_from at the previous sample */
	uint32_t waiting[256];	    /* in the VOQs of each node, as reported */
	uint32_t report_sequence[256];
	uint64_t report_ns[256]; /* when the report came; 0: none */
	uint64_t drained_ups;	 /* departures, smoothed */
	struct cc_sample sample; /* the latest */
	struct cc_source sources[256];
	uint8_t position[256];	     /* of a node among the sources, if it is one of them */
	struct cc_feedback latest;   /* last record made; all zero before */
	struct rb_rate_trace *trace; /* owned; NULL: not asked for */
};

/* A port of ours with a controller. */
struct rb_rates_port {
	struct rb_rates *rates;	       /* borrowed: the owner of this port */
	struct rb_egress_port *egress; /* borrowed from the worker */
	uint8_t number;
	struct sl_cc_settings settings;
	struct cc_config config;
	uint64_t capacity_ups; /* of the port, if it is not shaped */
	uint64_t line_ups;     /* of a source */
	uint32_t generation;
	bool awake;
	bool calm;			       /* nothing has come by the bridge in this interval */
	bool has_express;		       /* frames went past the bridge not long ago */
	uint64_t due_ns;		       /* next interval's end, while awake */
	uint64_t measured_ns;		       /* departures were last counted */
	struct sl_counter drained[SL_CLASSES]; /* then */
	uint64_t policy_ns;		       /* when the next policy is due */
	uint64_t policy_gap_ns;		       /* from that one to the one after it */
	struct rb_rates_queue queue[SL_CLASSES];
};

/* --- Ingress: VOQs towards ports of peers --- */

struct rb_rates_voq {
	struct cc_ingress ingress;
	const struct rb_rates_remote *remote; /* borrowed: the port that holds this VOQ */
	struct rb_voq *voq;		      /* borrowed from the peer's ingress */
	uint64_t ticked_ns;
	struct sl_counter taken;     /* at the previous tick */
	struct sl_counter express;   /* frames that went past the bridge, likewise */
	struct cc_feedback latest;   /* last record used; all zero before */
	struct rb_rate_trace *trace; /* owned; NULL: not asked for */
	uint32_t report_sequence;
	bool reported; /* the last report said that something waits */
};

/* A port of a peer with a policy. */
struct rb_rates_remote {
	uint16_t system_port;
	uint32_t generation;
	bool fresh; /* the policy is of this life of the peer */
	bool awake;
	bool calm;	 /* nothing left by the bridge in the latest interval */
	uint64_t due_ns; /* while awake */
	struct cc_config config;
	bool has[SL_CLASSES]; /* a VOQ of ours leads to this class */
	struct rb_rates_voq voq[SL_CLASSES];
};

/* --- Both --- */

struct rb_rates {
	struct rb_rates_config config;
	struct rb_rates_peer peer[256]; /* by node id */
	uint8_t nodes[256];		/* the ids in use, in order of rb_rates_add_peer */
	uint32_t n_nodes;
	struct rb_rates_port *port[256]; /* owned, in order of rb_rates_set_port, n_ports of them */
	uint32_t n_ports;
	struct rb_rates_port *by_number[256]; /* the same by port number; NULL: none */
	struct rb_rates_remote **remote;      /* owned, each too, n_remotes of them */
	uint32_t n_remotes;
	/* owned: the same by node and port number; NULL: none */
	struct rb_rates_remote **by_node[256];
	uint64_t random;	       /* state, never 0 */
	const struct sl_passed *taken; /* borrowed: rb_rates_set_express */
	struct sl_counter sent;	       /* out of VOQs: what came recently weighs most */
	uint64_t now_ns;	       /* of the current call */
	uint64_t due_ns;	       /* the earliest thing to do; UINT64_MAX: nothing */
	uint64_t scan_ns;	       /* what rests is not looked at before */
	/* the worker's frame counters when it was looked at */
	uint64_t seen_ingress, seen_egress;
	struct rb_rates_stats stats;
};

/* The next end of an interval after the one due at due_ns. Missed intervals are skipped. */
static inline uint64_t rb_rates_next_ns(struct rb_rates *r, uint64_t due_ns, uint32_t interval_ns,
					uint64_t now_ns)
{
	if (now_ns < due_ns + interval_ns)
		return due_ns + interval_ns;
	r->stats.late++;
	return now_ns + interval_ns;
}

static inline uint32_t rb_rates_interval_ns(const struct cc_config *config, bool calm)
{
	return calm ? RB_RATES_CALM * config->port.interval_ns : config->port.interval_ns;
}

static inline bool rb_rates_peer_is_up(const struct rb_rates *r, uint8_t node)
{
	return node == r->config.node || r->config.peers->peer[node].state == RB_PEER_UP;
}

#endif
