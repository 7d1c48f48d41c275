/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Discrete-time model of VOQs, a perfect fabric and egress queues around the controllers of cc/.
 *
 * One step is one interval T of fluid: every VOQ takes what its flow offers and sends as much as
 * its rate allows, every egress queue takes what is sent and drains its capacity, its controller
 * takes a sample, the records that are due arrive, and every VOQ's controller ticks. The model has
 * no packets: it carries fractions of a unit over to the next interval, and a controller sees whole
 * units.
 *
 * A record made in interval k is used by the tick of interval k + delay + extra, extra uniform in
 * 0..jitter: with jitter, records overtake each other. delay 1 is the thesis's equation 6.7 as
 * printed (the rate of k+1 uses the price made from the rates of k-1).
 */
#ifndef CC_SIM_MODEL_H
#define CC_SIM_MODEL_H

#include "cc/cc.h"

#define SIM_SOURCES_MAX 256u
#define SIM_OUTPUTS_MAX 16u
#define SIM_FLOWS_MAX	4096u
#define SIM_DELAY_MAX	64u /* delay + jitter + extra_delay, intervals */

/*
 * Traffic of one source to one output: an offer from interval `from` up to and without `to`, or, if
 * size_units is not 0, so many units that are there at `from`. What the egress drops of these is
 * sent again. One source has either kind to an output, and the second in order of `from`.
 */
struct sim_flow {
	uint16_t source; /* 0..SIM_SOURCES_MAX-1 */
	uint16_t output; /* 0..SIM_OUTPUTS_MAX-1 */
	uint16_t weight; /* 1..CC_WEIGHT_MAX */
	double offered_ups;
	uint32_t from, to;
	double size_units;
	uint16_t extra_delay; /* of feedback to this source about this output, intervals */
};

/* A change of an output's capacity at the start of an interval. */
struct sim_change {
	uint32_t at;
	uint16_t output;
	double capacity_ups;
};

struct sim_setup {
	struct cc_config config; /* prepared; the same for every output */
	uint32_t n_sources, n_outputs;
	double queue_limit_units; /* of an egress queue */
	double voq_limit_units;
	double start_ups;	      /* first rate of a VOQ; negative: the controller's choice */
	uint32_t delay, jitter;	      /* of feedback, intervals */
	uint32_t loss_ppm;	      /* of feedback, random */
	uint32_t seed;		      /* of losses and extra delay; never 0 */
	const struct sim_flow *flows; /* borrowed */
	uint32_t n_flows;
	const struct sim_change *changes; /* borrowed, ordered by at */
	uint32_t n_changes;
};

/* One VOQ: source s, output o. */
struct sim_voq {
	struct cc_ingress ingress;
	bool used;  /* some flow goes this way */
	bool sized; /* these flows have a size: nothing is dropped here, and losses are sent again
		     */
	uint16_t extra_delay;
	uint16_t weight;
	double offered_ups; /* in this interval */
	double waiting_units;
	double sent_units;	/* in this interval */
	double owed_units;	/* sent, but not yet shown to the ingress half: below 1 */
	uint32_t shown_units;	/* sent in this interval, as the ingress half has seen it */
	double arrived_part;	/* arrived, but not yet shown to the egress half: below 1 */
	double dropped_units;	/* since the start */
	double delivered_units; /* into the egress queue, since the start */
};

struct sim_output {
	struct cc_egress egress;
	double capacity_ups;
	double backlog_units;
	/* in this interval */
	double arrived_units, departed_units, dropped_units;
	double total_departed_units, total_dropped_units, total_drain_units; /* since the start */
	uint32_t shown_backlog;	   /* backlog in the controller's latest sample */
	double shown_dropped;	   /* dropped, but not yet shown to the controller: below 1 */
	struct cc_feedback latest; /* the record made last for any source */
};

struct sim {
	const struct sim_setup *setup; /* borrowed until sim_destroy */
	uint32_t interval;	       /* steps taken */
	uint32_t random;
	struct sim_output *outputs; /* owned: n_outputs */
	struct sim_voq *voqs;	    /* owned: n_sources x n_outputs, source first */
	struct sim_record *line;    /* owned: records on their way */
	uint32_t max_delay;	    /* of a record, intervals */
	/* owned: of each flow with a size, the units of its VOQ up to its end, and the seconds that
	 * it took until its last unit left the port; NAN until then */
	double *flow_end_units, *flow_seconds;
};

/* Start a model. Returns 0, -ENOMEM, or -EINVAL if a number of *setup is out of its range. */
int sim_create(struct sim **out, const struct sim_setup *setup);
void sim_destroy(struct sim *sim);

/* One interval. */
void sim_step(struct sim *sim);

struct sim_voq *sim_voq(struct sim *sim, uint32_t source, uint32_t output);

/* Rate in force for a VOQ, units/s. */
double sim_rate_ups(const struct sim_voq *voq);

/*
 * Weighted max-min shares of a capacity (the oracle): each source gets as much as it offers, or
 * else its part of what the others leave. shares_ups has n entries.
 */
void sim_maxmin(double capacity_ups, const double *offered_ups, const uint16_t *weights, uint32_t n,
		double *shares_ups);

/* Jain's fairness index of n values: 1 if all are equal; 1 for no values. */
double sim_jain(const double *values, uint32_t n);

#endif
