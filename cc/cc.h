/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Congestion controllers: numbers in, numbers out.
 *
 * A controller has two halves. The egress half stands at one egress queue: it is shown a sample of
 * that queue and turns it into a feedback record for each source. The ingress half stands at one
 * virtual output queue (VOQ) of a source: it turns feedback, a timer and what was sent into the
 * rate and burst of that VOQ. Both halves run in the bridge and in the simulators unchanged.
 *
 *      VOQ at source s                                      egress queue
 *      cc_ingress_feedback  <------ struct cc_feedback ----- cc_egress_feedback(s)
 *      cc_ingress_sent                                       cc_egress_sample  (every T, or sooner
 *      cc_ingress_tick (every T) -> rate, burst                                 if it asks for it)
 *
 * Nothing here reads a clock, allocates, does I/O, blocks, or uses floating point. The caller owns
 * all state; it has a fixed size and may be copied. Objects are not locked: one thread per object.
 * After an object is initialised no call on it can fail.
 *
 * Units. A queue is counted in packets or in bytes, as its port says ("units"); rates are units per
 * second (`_ups`). Ratios among the parameters are parts per 10^9 (`_ppb`), so 130804447 is 0.1308.
 * Numbers with a binary point say where: `_q16` has 16 fraction bits.
 *
 * Ranges: rates up to CC_RATE_MAX, queues up to CC_UNITS_MAX, intervals 1 us to 1 s. Every function
 * is defined for any argument inside them, and clamps arguments outside.
 */
#ifndef CC_CC_H
#define CC_CC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cc/algorithms.h"

#define CC_RATE_MAX	   (UINT64_C(1) << 37) /* units/s: 137 GB/s, above 1 Tb/s */
#define CC_UNITS_MAX	   INT32_MAX	       /* units in a queue or in an interval */
#define CC_INTERVAL_MIN_NS 1000u
#define CC_INTERVAL_MAX_NS 1000000000u
#define CC_SOURCES_MAX	   256u /* sources of one egress queue; ids are below this */
#define CC_WEIGHT_MAX	   255u /* of a source */
#define CC_ONE_PPB	   INT64_C(1000000000)
#define CC_CLASSES	   4u /* queues of a port: a source has a VOQ for each */
#define CC_NO_SOURCE	   UINT16_MAX
#define CC_NAME_BYTES	   16 /* longest controller name, with its NUL */
#define CC_PARAMS_MAX	   24
#define CC_GAINS_BYTES	   192
#define CC_EGRESS_BYTES	   2304
#define CC_INGRESS_BYTES   96

enum cc_units {
	CC_PACKETS = 0,
	CC_BYTES = 1,
};

/* An egress port as both halves see it. */
struct cc_port {
	uint64_t capacity_ups; /* what its queue can drain, 1..CC_RATE_MAX */
	uint64_t line_ups;     /* most that one source can send, 1..CC_RATE_MAX */
	uint32_t interval_ns;  /* T, CC_INTERVAL_MIN_NS..CC_INTERVAL_MAX_NS */
	uint32_t frame_bytes;  /* a full-size frame, 60..65535 */
	uint8_t units;	       /* enum cc_units */
	uint8_t reserved;      /* 0 */
	uint16_t sources;      /* sources that may send at once, 1..CC_SOURCES_MAX */
	/* names the egress queue in feedback; unique among the queues that one VOQ hears from */
	uint16_t point;
	uint16_t seed; /* of the sampling jitter; any value */
};

/*
 * A controller chosen for a port, with its parameters. Shared by the halves; constant once
 * prepared.
 */
struct cc_config {
	const struct cc_ops *ops; /* static */
	struct cc_port port;
	int64_t param[CC_PARAMS_MAX]; /* by the index in ops->params */
	/* cc_config_prepare derives these from the fields above. */
	/* the least rate, units/s with 16 fraction bits: floor_ppb, or less with many sources */
	uint64_t floor_q16;
	_Alignas(8) unsigned char gains[CC_GAINS_BYTES]; /* the algorithm's own */
};

/* A tunable. */
struct cc_param {
	const char *name;
	const char *unit;
	int64_t value; /* default */
	int64_t min, max;
	const char *source; /* what the tunable does, and where its default comes from */
};

/* One source as an egress queue sees it. */
struct cc_source {
	uint16_t id;		/* 0..CC_SOURCES_MAX-1, unique in the sample */
	uint16_t weight;	/* 1..CC_WEIGHT_MAX */
	uint32_t arrived_units; /* from it since the previous sample, dropped ones included */
	uint32_t waiting_units; /* in its VOQ for this queue, as it last reported; 0 if unknown */
};

/*
 * One egress queue since its previous sample. `sources` lists every live peer, idle ones too; the
 * caller leaves out a peer that is down, which frees the peer's share.
 */
struct cc_sample {
	uint64_t capacity_ups;		 /* what the queue can drain now */
	uint32_t elapsed_ns;		 /* since the previous sample */
	uint32_t backlog_units;		 /* waiting now */
	int32_t change_units;		 /* backlog now less backlog at the previous sample */
	uint32_t departed_units;	 /* sent out of the port */
	uint32_t dropped_units;		 /* arrived and did not fit */
	uint16_t last_source;		 /* source of the latest arrival, or one drawn by shares of
					  * the arrivals; CC_NO_SOURCE: nothing arrived */
	uint16_t n_sources;		 /* 0..CC_SOURCES_MAX */
	const struct cc_source *sources; /* borrowed during the call */
	/* true: the interval T has ended; false: cc_egress_sample had asked for this sample */
	bool timer;
};

/*
 * Feedback from an egress queue to one source: the record that crosses the fabric. The top of each
 * algorithm's file says what its signal and share mean.
 */
struct cc_feedback {
	uint64_t capacity_ups; /* of the queue */
	uint32_t signal;
	uint32_t share;
	uint32_t seq;	   /* per egress queue, increases with each sample */
	uint16_t point;	   /* struct cc_port's */
	uint8_t algorithm; /* enum cc_algorithm */
	uint8_t addressed; /* 1: this source was chosen to act; 0: only news of the queue */
};
_Static_assert(sizeof(struct cc_feedback) == 24, "feedback record");

/* A VOQ since the previous tick. */
struct cc_usage {
	uint32_t elapsed_ns; /* since the previous tick */
	uint32_t sent_units; /* that left the VOQ */
	bool backlogged;     /* the VOQ never ran empty: it sent what its rate allowed */
	/* of all VOQs of this node, from cc_ingress_urgency; 0 if unused */
	uint64_t urgency_total;
	/* what this node can send into the fabric, all VOQs together; 0: as the port's line_ups */
	uint64_t node_ups;
};

struct cc_egress {
	uint32_t seq; /* of the latest sample */
	uint32_t reserved;
	_Alignas(8) unsigned char priv[CC_EGRESS_BYTES];
};

/* The caller reads rate and burst after each call; the rest belongs to controller.c. */
struct cc_ingress {
	uint64_t rate_q16;    /* what the VOQ may send, units/s with 16 fraction bits */
	uint32_t burst_units; /* depth of the VOQ's token bucket */
	uint16_t weight;      /* of this source, 1..CC_WEIGHT_MAX */
	bool heard;	      /* a record was accepted since the previous tick */
	bool ever;	      /* a record was accepted since the start */
	uint32_t seq;	      /* of the latest record accepted */
	uint32_t point;	      /* of the latest record accepted */
	uint64_t age_ns;      /* since that record */
	_Alignas(8) unsigned char priv[CC_INGRESS_BYTES];
};

/*
 * An algorithm. cc_ops_check refuses one without a (required) slot. The priv argument is that of
 * struct cc_egress or struct cc_ingress, zeroed before the init slot runs.
 */
struct cc_ops {
	/* (required) unique, at most CC_NAME_BYTES - 1 characters */
	const char *name;
	uint8_t algorithm;	       /* (required) enum cc_algorithm */
	bool needs_feedback;	       /* without feedback the rate decays to its floor */
	bool needs_reports;	       /* its egress half looks at waiting_units */
	uint8_t n_params;	       /* CC_COMMON_PARAMS..CC_PARAMS_MAX */
	const struct cc_param *params; /* (required) begins with CC_COMMON_PARAM_TABLE */
	/* what it uses of priv: at most CC_EGRESS_BYTES and CC_INGRESS_BYTES */
	uint16_t egress_bytes, ingress_bytes;

	/*
	 * (required) Turn port and parameters into gains. 0, or -EINVAL with *why saying what is
	 * wrong.
	 */
	int (*prepare)(struct cc_config *cfg, const char **why);

	/* (required if needs_feedback) Take a sample. Returns the units that may arrive before the
	 * next one is wanted, or 0: at the end of the interval. */
	uint32_t (*egress_sample)(void *priv, const struct cc_config *cfg,
				  const struct cc_sample *s);
	/* (required if needs_feedback) Fill signal, share and addressed for one source of the
	 * sample just taken; the caller has filled the rest. Returns false if there is nothing to
	 * send. */
	bool (*egress_feedback)(void *priv, const struct cc_config *cfg, const struct cc_sample *s,
				const struct cc_source *source, struct cc_feedback *out);
	/* (optional) Start of an egress half. */
	void (*egress_init)(void *priv, const struct cc_config *cfg);

	/*
	 * (required) Choose in->rate_q16 for the start. It holds the rate of the previous
	 * controller, or C / N if there was none.
	 */
	void (*ingress_init)(struct cc_ingress *in, const struct cc_config *cfg);
	/* (required) An interval has ended: move in->rate_q16. */
	void (*ingress_tick)(struct cc_ingress *in, const struct cc_config *cfg,
			     const struct cc_usage *u);
	/* (required if needs_feedback) Take a record, newer than all before it. in->age_ns is still
	 * the age of the one before. */
	void (*ingress_feedback)(struct cc_ingress *in, const struct cc_config *cfg,
				 const struct cc_feedback *fb);
	/* (optional) Units have left the VOQ. */
	void (*ingress_sent)(struct cc_ingress *in, const struct cc_config *cfg, uint32_t units);
	/* (optional) How urgent this VOQ is beside the node's others, before they all tick. */
	uint32_t (*ingress_urgency)(const struct cc_ingress *in, const struct cc_config *cfg);
};

/* Parameters that every controller has, first in its table. */
enum {
	CC_FLOOR_PPB,	    /* least rate, share of the capacity */
	CC_STALE_INTERVALS, /* intervals without feedback after which the rate decays */
	CC_BURST_FRAMES,    /* least token bucket */
	CC_COMMON_PARAMS
};
#define CC_COMMON_PARAM_TABLE                                                                    \
	{ "floor_ppb", "1e-9 of capacity",                                                       \
	  1000000,     1,                                                                        \
	  CC_ONE_PPB,  "ours; less if all VOQs at the floor would use a quarter of the port" },  \
		{ "stale_intervals",                                                             \
		  "T",                                                                           \
		  16,                                                                            \
		  1,                                                                             \
		  100000,                                                                        \
		  "ours: at 50 % loss, 16 losses in a row come once in 65536 intervals" },       \
	{                                                                                        \
		"burst_frames", "frames", 2, 1, 65535, "ours: one frame waits while one is sent" \
	}

/* The algorithms in the order of cc/algorithms.h, then NULL. Each passes cc_ops_check. */
extern const struct cc_ops *const cc_algorithms[];

/* Returns 0 if every required slot of ops is present and its table is in range, or -EINVAL. */
int cc_ops_check(const struct cc_ops *ops);

/* Returns the algorithm of that name, or NULL. */
const struct cc_ops *cc_lookup(const char *name);

/* Returns the algorithm of that number, an enum cc_algorithm, or NULL. */
const struct cc_ops *cc_lookup_number(unsigned int algorithm);

/*
 * Choose an algorithm for a port, with every parameter at its default.
 * Returns 0; -ENOENT: no algorithm of that name; -EINVAL: a field of *port is out of its range.
 * cc_config_prepare must follow before the configuration is used.
 */
int cc_config_init(struct cc_config *cfg, const char *name, const struct cc_port *port);

/*
 * Set a parameter. Returns 0; -ENOENT: the algorithm has none of that name; -ERANGE: not in
 * min..max.
 */
int cc_config_set(struct cc_config *cfg, const char *param, int64_t value);

/*
 * Check the parameters together and derive the gains. To change a parameter while traffic flows,
 * prepare a copy and pass the copy to the halves from their next call on: their state stays valid.
 * Returns 0, or -EINVAL with *why (static text, may be NULL) saying what is wrong.
 */
int cc_config_prepare(struct cc_config *cfg, const char **why);

/* Units of a full-size frame: 1, or its bytes. */
uint32_t cc_frame_units(const struct cc_port *port);

/* Start an egress half. */
void cc_egress_init(struct cc_egress *e, const struct cc_config *cfg);

/*
 * Show the egress half its queue: at the end of every interval T, from a free-running timer, and
 * also as soon as the units returned by the previous call have arrived (0: only the timer). A
 * caller that can sample only by the timer may; QCN and ASM then act once per T.
 */
uint32_t cc_egress_sample(struct cc_egress *e, const struct cc_config *cfg,
			  const struct cc_sample *s);

/*
 * The feedback for one source of the sample just taken, for each of s->sources in turn.
 * Returns true and fills *out, or false: nothing is to be sent to it.
 */
bool cc_egress_feedback(struct cc_egress *e, const struct cc_config *cfg, const struct cc_sample *s,
			const struct cc_source *source, struct cc_feedback *out);

/* Start an ingress half; weight is clamped to 1..CC_WEIGHT_MAX. */
void cc_ingress_init(struct cc_ingress *in, const struct cc_config *cfg, uint16_t weight);

/* Change the controller under a VOQ and keep its rate, so that the change itself drops nothing. */
void cc_ingress_switch(struct cc_ingress *in, const struct cc_config *cfg);

/* The egress node has restarted, so its sequence numbers start again: accept any next one. */
void cc_ingress_forget(struct cc_ingress *in);

/*
 * Take a feedback record.
 * Returns 0; -ESTALE: a duplicate, or older than one already taken; -EPROTO: from another
 * algorithm (the controller is being switched). On error nothing changes. After a silence of
 * stale_intervals any sequence number is new.
 */
int cc_ingress_feedback(struct cc_ingress *in, const struct cc_config *cfg,
			const struct cc_feedback *fb);

/*
 * Units have left the VOQ since the previous call; each unit is also in the next tick's sent_units.
 */
void cc_ingress_sent(struct cc_ingress *in, const struct cc_config *cfg, uint32_t units);

/* This VOQ's part of cc_usage.urgency_total: sum over the node's VOQs first, then tick them. */
uint32_t cc_ingress_urgency(const struct cc_ingress *in, const struct cc_config *cfg);

/* An interval has ended. in->rate_q16 and in->burst_units hold the new limits. */
void cc_ingress_tick(struct cc_ingress *in, const struct cc_config *cfg, const struct cc_usage *u);

/* The limit in whole units/s, at least 1. */
uint64_t cc_ingress_rate_ups(const struct cc_ingress *in);

#endif
