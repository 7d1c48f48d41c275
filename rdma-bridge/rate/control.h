/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The controllers of cc/ at work: a free-running timer of T for each egress port of this node and
 * for each port of other nodes that this one feeds.
 *
 *   port of ours     every T, and sooner if the controller asks: sample its queues, send each live
 *                    peer its records, all in one
 *                    message. control_egress.c
 *   port of a peer   every T: let each VOQ's half of the controller move its rate, and write that
 *                    into the VOQ's settings (the
 *                    map sl_voq), which XDP's admission and the pacing obey. control_ingress.c
 *
 * Which controller a port has is for its owner to say: it tells the others by policy messages. A
 * port without a policy, or with `fixed`, is left as whoever writes sl_voq has it.
 *
 * Rest. A queue at which nothing has arrived or waited for RB_CONTROL_LINGER_NS is not sampled; a
 * VOQ that had nothing to send and heard nothing in an interval stands still, its age with it. When
 * all do, the timer stops but for policies, and the next frame or record starts it again. A VOQ of
 * a peer that is not up stands still, too.
 *
 * Time is an argument. Late is late: an interval that took longer is sampled once, with the time
 * that it took.
 */
#ifndef RB_CONTROL_H
#define RB_CONTROL_H

#include <stdbool.h>
#include <stdint.h>

#include "cc/cc.h"
#include "rdma-bridge/queue/egress.h"
#include "rdma-bridge/queue/ingress.h"
#include "rdma-bridge/wire/wire.h"
#include "user/config/cc_settings.h"

#define RB_CONTROL_LINGER_NS	 1000000000ULL
#define RB_CONTROL_LOOK_NS	 100000ULL /* how often what stands still is looked at */
#define RB_CONTROL_POLICY_MIN_NS 10000000ULL
#define RB_CONTROL_POLICY_MAX_NS 1000000000ULL
#define RB_CONTROL_REPORT_STALE	 16  /* intervals after which a report counts as nothing */
#define RB_CONTROL_RECORDS_MAX	 127 /* of one message: 4,096 bytes */
#define RB_CONTROL_SPEED_DEFAULT 1250000000ULL /* bytes/s of a port that does not say */

struct rb_worker;
struct rb_worker_peer;

/* One interval of a queue of ours, or of a VOQ, for whoever draws pictures. */
#define RB_CONTROL_TRACE_POINTS	 4096
#define RB_CONTROL_TRACE_SOURCES 8
struct rb_control_point {
	uint64_t end_ns; /* CLOCK_MONOTONIC; 0: none */
	uint64_t rate;	 /* VOQ: its rate from now on; queue: its capacity */
	uint32_t elapsed_ns, waiting;
	uint32_t arrived, departed, dropped; /* VOQ: departed alone */
	uint32_t signal, share;		     /* of the latest record */
	uint32_t from
		/* queue: arrivals by source, in the order of the worker's nodes */
		[RB_CONTROL_TRACE_SOURCES];
};
struct rb_control_trace {
	uint64_t n; /* points so far; the last RB_CONTROL_TRACE_POINTS are kept */
	struct rb_control_point point[RB_CONTROL_TRACE_POINTS];
};

struct rb_control_stats {
	uint64_t intervals;	    /* timer samples of queues */
	uint64_t asked;		    /* samples that a controller asked for */
	uint64_t feedback_sent;	    /* records */
	uint64_t feedback_refused;  /* records that the transport had no room for */
	uint64_t feedback_received; /* records that were used */
	uint64_t feedback_stale;    /* duplicates, and older than one used */
	uint64_t
		/* of a controller that the VOQ does not have (yet), or for no VOQ */
		feedback_foreign;
	uint64_t policies_sent;
	uint64_t policies_received;		 /* new ones */
	uint64_t policies_refused;		 /* that the controller does not take */
	uint64_t reports_sent, reports_received; /* records */
	uint64_t late;				 /* intervals that began more than T late */
};

/* --- Egress ---------------------------------------------------------------------------------- */

/* One egress queue of ours, as its controller knows it. */
struct rb_control_queue {
	struct cc_egress egress;
	struct rb_control_port *port; /* borrowed: it is part of it */
	uint8_t class;
	bool awake;
	bool sampled; /* by the timer, in this run: feedback is due */
	uint64_t sampled_ns;
	uint64_t active_ns;	    /* last arrival, backlog or report */
	struct sl_counter arrived;  /* of the queue, as last looked at */
	struct sl_counter departed; /* at the previous sample */
	struct sl_counter dropped;  /* at the previous sample */
	uint32_t backlog_units;	    /* at the previous sample */
	uint64_t from[256];	    /* arrived_from at the previous sample */
	uint32_t waiting[256];	    /* in the VOQs of each node, as reported */
	uint32_t report_sequence[256];
	uint64_t report_ns[256]; /* when the report came; 0: none */
	uint64_t drained_ups;	 /* departures, smoothed */
	struct cc_sample sample; /* the latest */
	struct cc_source sources[256];
	uint8_t position[256];		/* of a node among the sources, if it is one of them */
	struct cc_feedback latest;	/* last record made; all zero before */
	struct rb_control_trace *trace; /* owned; NULL: not asked for */
};

/* A port of ours with a controller. */
struct rb_control_port {
	struct rb_control *control;    /* borrowed */
	struct rb_egress_port *egress; /* borrowed */
	uint8_t number;
	struct sl_cc_settings settings;
	struct cc_config config;
	uint64_t capacity_ups, line_ups; /* of the port, if it is not shaped; of a source */
	uint32_t generation;
	bool awake;
	uint64_t due_ns;		       /* next interval's end, while awake */
	uint64_t measured_ns;		       /* departures were last counted */
	struct sl_counter drained[SL_CLASSES]; /* then */
	uint64_t policy_ns,
		policy_gap_ns; /* next policy, and how long after it the one after that */
	struct rb_control_queue queue[SL_CLASSES];
};

/* --- Ingress --------------------------------------------------------------------------------- */

struct rb_control_voq {
	struct cc_ingress ingress;
	struct rb_voq *voq; /* borrowed */
	uint64_t ticked_ns;
	struct sl_counter taken;	/* at the previous tick */
	struct cc_feedback latest;	/* last record used; all zero before */
	struct rb_control_trace *trace; /* owned; NULL: not asked for */
	uint32_t report_sequence;
	bool reported; /* that something waits */
};

/* A port of a peer with a policy. */
struct rb_control_remote {
	uint16_t system_port;
	uint32_t generation;
	bool fresh; /* the policy is of this life of the peer */
	bool awake;
	uint64_t due_ns; /* while awake */
	struct cc_config config;
	bool has[SL_CLASSES];
	struct rb_control_voq voq[SL_CLASSES];
};

struct rb_control {
	struct rb_worker *worker;	   /* borrowed */
	struct rb_control_port *port[256]; /* owned, by port number */
	uint32_t n_ports;
	struct rb_control_remote **remote; /* owned, each too, n_remotes of them */
	uint32_t n_remotes;
	struct rb_control_remote *
		*by_node[256]; /* owned: the same by node and port number; NULL: none */
	uint64_t random;       /* state, never 0 */
	uint64_t now_ns;       /* of the current call */
	uint64_t due_ns;       /* the earliest thing to do; UINT64_MAX: nothing */
	uint64_t look_ns;      /* what stands still is not looked at before */
	/* the worker's frame counters when it was looked at */
	uint64_t seen_ingress, seen_egress;
	struct rb_control_stats stats;
};

int rb_control_create(struct rb_worker *worker, struct rb_control **out);
void rb_control_destroy(struct rb_control *control); /* NULL is fine */

/*
 * Give a port of ours a controller, or another one, or other parameters; queues, rates and (with
 * the same controller) state stay. capacity_ups counts where the port is not shaped; line_ups is
 * the most that one source can send. 0; -ENOENT: no such port; -EINVAL and *why (static text, may
 * be NULL); -ENOMEM.
 */
int rb_control_set_port(struct rb_control *control, uint8_t number,
			const struct sl_cc_settings *settings, uint64_t capacity_ups,
			uint64_t line_ups, uint64_t now_ns, const char **why);

/* What is due, if anything is; before data is sent. */
void rb_control_round(struct rb_control *control, uint64_t now_ns);
/* When rb_control_round wants to be called although nothing happens; UINT64_MAX: not at all. */
uint64_t rb_control_due_ns(const struct rb_control *control);

/* From the worker: a peer changed its state, or came with a new life; good messages of a peer. */
void rb_control_peer(struct rb_control *control, uint8_t node, uint64_t now_ns);
void rb_control_new_life(struct rb_control *control, uint8_t node);
void rb_control_feedback(struct rb_control *control, const struct rb_feedback *records, uint32_t n,
			 uint64_t now_ns);
void rb_control_policy(struct rb_control *control, const struct rb_policy *policy, uint64_t now_ns);
void rb_control_reports(struct rb_control *control, uint8_t node, const struct rb_report *records,
			uint32_t n, uint64_t now_ns);

/* The VOQs point at other settings now: write the rates in force. */
void rb_control_rewrite(struct rb_control *control);

/* Keep points from now on in *trace, if it does not already. 0 or -ENOMEM. */
int rb_control_trace_begin(struct rb_control_trace **trace);
/* The port of a peer, if it has a policy, or NULL. */
struct rb_control_remote *rb_control_find_remote(const struct rb_control *control,
						 uint16_t system_port);

/* --- For the files of the control itself --- */

void rb_control_trace_add(struct rb_control_trace *trace, const struct rb_control_point *point);

void rb_control_egress_run(struct rb_control *control, uint64_t now_ns);
void rb_control_egress_look(struct rb_control *control, uint64_t now_ns);
uint64_t rb_control_egress_due(const struct rb_control *control);
void rb_control_ingress_run(struct rb_control *control, uint64_t now_ns);
void rb_control_ingress_look(struct rb_control *control, uint64_t now_ns);
uint64_t rb_control_ingress_due(const struct rb_control *control);
/* The next end of an interval after one was due at due_ns: no interval is made up for. */
uint64_t rb_control_next_ns(struct rb_control *control, uint64_t due_ns, uint32_t interval_ns,
			    uint64_t now_ns);

#endif
