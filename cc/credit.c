/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * credit: the egress grants what may be sent to it, as the fabrics of chassis with virtual output
 * queues do. Sources report what waits, the egress's scheduler answers with grants.
 *
 *      egress, every T
 *        budget   G = C T + (q0 - q) / settle, at least 0
 *        want     of source i: A_i + max(W_i - O_i, min(W_i, A_i / 2)), or what it lacks of an
 *                 unsolicited credit; O_i stays within the window
 *        grants   G shared max-min by weight among the wants; what does not divide goes by turns
 *      source
 *        balance  + grants, - units sent;  rate = balance / T
 *
 * W_i is the backlog that source i reported last, A_i what came from it in this interval, and O_i
 * its outstanding grants: granted, and not yet arrived. W_i - O_i alone would not do: what enters a
 * VOQ while a grant is under way is in no report yet, and A_i stands for it. A short VOQ that is
 * full holds less than what is under way: half as much again lets its source grow.
 *
 * What the port drains is granted, and only to sources that want it, so the queue needs no room for
 * sources that start together. The budget is an integrator of the queue with gain 1 / settle and
 * the delay of the loop: stable while that is below pi / 2 times settle intervals.
 *
 * A chassis moves a credit of a few kilobytes at a time, and its fabric loses none. Here
 *   - grants of an interval come together, and the VOQ spreads them over the next one;
 *   - records have the sum of all grants, modulo 2^32: the next one makes up for a lost one. In up
 *     to four intervals without a record a source goes on as usual, on the account of the grants
 *     that it has not heard of: balance and O_i may be negative;
 *   - a source with nothing to send may hold an unsolicited credit, so that its first frames need
 *     not wait for a report and its answer; all sources together hold unsolicited_ppb of C T;
 *   - frames that the fabric loses would stay outstanding: 1/64 of O_i is forgotten each interval,
 *     1/16 while nothing comes or waits. A source that cannot send what it is granted saves no more
 *     than an interval's grants, else it would burst when others come; the balance of an idle one
 *     expires.
 *
 * Record: signal is the sum of all grants to the source, share is O_i, 0 if it is below.
 */
#include "cc/arith.h"

enum {
	CREDIT_TARGET = CC_COMMON_PARAMS,
	CREDIT_SETTLE,
	CREDIT_WINDOW,
	CREDIT_UNSOLICITED,
	CREDIT_PARAMS
};

static const struct cc_param credit_params[CREDIT_PARAMS] = {
	CC_COMMON_PARAM_TABLE,
	[CREDIT_TARGET] = { "target_ppb", "1e-9 of capacity x T", 130804447, 1, 100 * CC_ONE_PPB,
			    "q0; ours: as the target of price, at least 4 frames" },
	[CREDIT_SETTLE] = { "settle_intervals", "T", 8, 1, 1000,
			    "settle; ours: without overshoot while the loop takes up to 3 T" },
	[CREDIT_WINDOW] = { "window_ppb", "1e-9 of capacity x T", 4 * CC_ONE_PPB, 1,
			    1000 * CC_ONE_PPB, "ours: most that a source has outstanding" },
	[CREDIT_UNSOLICITED] = { "unsolicited_ppb", "1e-9 of capacity x T", 250000000, 0,
				 CC_ONE_PPB, "ours: what all silent sources together may send" },
};

#define CREDIT_ROUNDS	   8  /* of the max-min shares: then what is left goes by turns */
#define CREDIT_LATE_MAX	   4  /* intervals that a late sample stands for at most */
#define CREDIT_ADVANCE_MAX 4  /* intervals without a record in which a source goes on */
#define CREDIT_LEAK	   64 /* one of so many outstanding units is forgotten per interval */
#define CREDIT_IDLE_LEAK   16 /* the same while nothing comes or waits */

struct credit_gains {
	uint64_t rate_q16;	   /* of a balance of one unit: 1 / T */
	int64_t target_units;	   /* q0 */
	int64_t window_units;	   /* most that a source has outstanding */
	int64_t unsolicited_units; /* that a silent source has outstanding */
	uint32_t news_units;	   /* most that a record can add: the grants of a long silence */
};

struct credit_egress {
	uint32_t turn; /* position of the source after the last turn */
	/* By id of the source: */
	uint32_t granted_units[CC_SOURCES_MAX];	   /* sum of its grants modulo 2^32 */
	int32_t outstanding_units[CC_SOURCES_MAX]; /* O_i; below 0: sent in advance of grants */
};

struct credit_ingress {
	int64_t balance_units;	/* below 0: sent in advance of grants */
	uint32_t granted_units; /* as last heard */
	uint32_t news_units;	/* granted since the previous tick */
	uint32_t usual_units;	/* granted in an interval, smoothed by a quarter */
	uint32_t missed;	/* intervals without a record, up to CREDIT_ADVANCE_MAX + 1 */
	uint32_t known;		/* a record has come since the start */
};

_Static_assert(sizeof(struct credit_gains) <= CC_GAINS_BYTES, "gains");
_Static_assert(sizeof(struct credit_egress) <= CC_EGRESS_BYTES, "egress state");
_Static_assert(sizeof(struct credit_ingress) <= CC_INGRESS_BYTES, "ingress state");

/* A number of units that may be negative. */
static int64_t credit_bound(int64_t units)
{
	return units > CC_UNITS_MAX ? CC_UNITS_MAX : units < -CC_UNITS_MAX ? -CC_UNITS_MAX : units;
}

static uint32_t credit_weight(const struct cc_source *source)
{
	return (uint32_t)cc_clamp(source->weight, 1, CC_WEIGHT_MAX);
}

static int credit_prepare(struct cc_config *cfg, const char **why)
{
	struct credit_gains *g = (void *)cfg->gains;
	const struct cc_port *port = &cfg->port;
	uint64_t drain = cc_units_in(port->capacity_ups, port->interval_ns);
	uint64_t frame = cc_frame_units(port);
	uint64_t target = cc_max(cc_ppb(drain, cfg->param[CREDIT_TARGET]), 4 * frame);
	uint64_t window = cc_max(cc_ppb(drain, cfg->param[CREDIT_WINDOW]), 4 * frame);
	uint64_t silence = drain * (uint64_t)cfg->param[CC_STALE_INTERVALS];

	(void)why;
	g->rate_q16 = (UINT64_C(1000000000) << 16) / port->interval_ns;
	g->target_units = (int64_t)cc_min(target, CC_UNITS_MAX);
	g->window_units = (int64_t)cc_min(window, CC_UNITS_MAX);
	g->unsolicited_units = (int64_t)cc_min(
		cc_ppb(drain, cfg->param[CREDIT_UNSOLICITED]) / port->sources, CC_UNITS_MAX);
	g->news_units = (uint32_t)cc_min(window + 2 * silence, CC_UNITS_MAX);
	return 0;
}

/* Take what has arrived off the outstanding grants, and forget what will not come. */
static int32_t credit_settle(int64_t outstanding, const struct cc_source *source)
{
	bool idle = source->arrived_units == 0 && source->waiting_units == 0;

	outstanding = credit_bound(outstanding - source->arrived_units);
	return (int32_t)(outstanding - outstanding / (idle ? CREDIT_IDLE_LEAK : CREDIT_LEAK));
}

static uint32_t credit_want(const struct credit_gains *g, const struct cc_source *source,
			    int64_t outstanding)
{
	int64_t want = source->waiting_units - outstanding;
	int64_t more = (int64_t)cc_min(source->waiting_units, source->arrived_units / 2);
	int64_t silent = g->unsolicited_units - outstanding;
	int64_t room = g->window_units - outstanding;

	want = (want > more ? want : more) + source->arrived_units;
	if (want < silent)
		want = silent;
	if (want > room)
		want = room;
	return want > 0 ? (uint32_t)credit_bound(want) : 0;
}

static uint64_t credit_budget(const struct cc_config *cfg, const struct cc_sample *s)
{
	const struct credit_gains *g = (const void *)cfg->gains;
	uint64_t late_ns = (uint64_t)cfg->port.interval_ns * CREDIT_LATE_MAX;
	uint32_t elapsed_ns = (uint32_t)cc_min(s->elapsed_ns, late_ns);
	int64_t budget = cc_units_in(cc_clamp(s->capacity_ups, 1, CC_RATE_MAX), elapsed_ns);

	budget += (g->target_units - (int64_t)s->backlog_units) / cfg->param[CREDIT_SETTLE];
	return budget > 0 ? (uint64_t)budget : 0;
}

/*
 * Share the budget max-min by weight. want has what each source of the sample may get, and is left
 * with what it did not get; grant has the grants.
 */
static void credit_share(struct credit_egress *e, const struct cc_sample *s, uint64_t budget,
			 uint32_t *want, uint32_t *grant)
{
	bool capped = true;

	/* A source that wants no more than its part gets all; the rest makes larger parts. */
	for (int round = 0; round < CREDIT_ROUNDS && capped && budget > 0; round++) {
		uint64_t weights = 0, part;

		for (uint32_t i = 0; i < s->n_sources; i++)
			weights += want[i] ? credit_weight(&s->sources[i]) : 0;
		part = weights ? budget / weights : 0;
		capped = false;
		for (uint32_t i = 0; i < s->n_sources && part > 0; i++) {
			uint32_t units =
				(uint32_t)cc_min(want[i], part * credit_weight(&s->sources[i]));

			grant[i] += units;
			want[i] -= units;
			budget -= units;
			capped |= units > 0 && want[i] == 0;
		}
	}
	/* Twice, as some want less than their weight. */
	for (uint32_t i = 0; i < 2u * s->n_sources && budget > 0; i++) {
		uint32_t at = e->turn++ % s->n_sources;
		uint64_t units = cc_min(want[at], credit_weight(&s->sources[at]));

		units = cc_min(units, budget);
		grant[at] += (uint32_t)units;
		budget -= units;
	}
}

static uint32_t credit_egress_sample(void *priv, const struct cc_config *cfg,
				     const struct cc_sample *s)
{
	const struct credit_gains *g = (const void *)cfg->gains;
	struct credit_egress *e = priv;
	uint32_t want[CC_SOURCES_MAX] = { 0 }, grant[CC_SOURCES_MAX] = { 0 };

	if (!s->timer)
		return 0;
	for (uint32_t i = 0; i < s->n_sources; i++) {
		const struct cc_source *source = &s->sources[i];
		int32_t *outstanding;

		if (source->id >= CC_SOURCES_MAX)
			continue;
		outstanding = &e->outstanding_units[source->id];
		*outstanding = credit_settle(*outstanding, source);
		want[i] = credit_want(g, source, *outstanding);
	}
	credit_share(e, s, credit_budget(cfg, s), want, grant);
	for (uint32_t i = 0; i < s->n_sources; i++) {
		uint16_t id = s->sources[i].id;

		if (id >= CC_SOURCES_MAX)
			continue;
		e->granted_units[id] += grant[i];
		e->outstanding_units[id] =
			(int32_t)credit_bound((int64_t)e->outstanding_units[id] + grant[i]);
	}
	return 0;
}

static bool credit_egress_feedback(void *priv, const struct cc_config *cfg,
				   const struct cc_sample *s, const struct cc_source *source,
				   struct cc_feedback *out)
{
	const struct credit_egress *e = priv;
	int32_t outstanding = e->outstanding_units[source->id];

	(void)cfg;
	out->signal = e->granted_units[source->id];
	out->share = outstanding > 0 ? (uint32_t)outstanding : 0;
	out->addressed = 1;
	return s->timer;
}

static void credit_ingress_init(struct cc_ingress *in, const struct cc_config *cfg)
{
	(void)in;
	(void)cfg;
}

/* What the VOQ may send until the next tick, as a rate. */
static void credit_spread(struct cc_ingress *in, const struct cc_config *cfg)
{
	const struct credit_gains *g = (const void *)cfg->gains;
	const struct credit_ingress *c = (const void *)in->priv;
	uint64_t units = c->balance_units > 0 ? (uint64_t)c->balance_units : 0;
	cc_u128 rate_q16;

	if (c->missed > 0 && c->missed <= CREDIT_ADVANCE_MAX)
		units = cc_max(units, c->usual_units);
	rate_q16 = (cc_u128)g->rate_q16 * units;
	in->rate_q16 = rate_q16 < CC_RATE_MAX_Q16 ? (uint64_t)rate_q16 : CC_RATE_MAX_Q16;
}

/*
 * Sums of grants that do not go together are from two lives of the egress: then what it takes for
 * outstanding is all there is.
 */
static void credit_ingress_feedback(struct cc_ingress *in, const struct cc_config *cfg,
				    const struct cc_feedback *fb)
{
	const struct credit_gains *g = (const void *)cfg->gains;
	struct credit_ingress *c = (void *)in->priv;
	uint32_t news = fb->signal - c->granted_units;

	if (!c->known || news > g->news_units) {
		c->balance_units = 0;
		news = (uint32_t)cc_min(fb->share, g->news_units);
	}
	if (c->balance_units > c->usual_units)
		c->balance_units = c->usual_units;
	c->balance_units = credit_bound(c->balance_units + news);
	c->news_units = (uint32_t)cc_min((uint64_t)c->news_units + news, CC_UNITS_MAX);
	c->granted_units = fb->signal;
	c->known = 1;
	credit_spread(in, cfg);
}

static void credit_ingress_sent(struct cc_ingress *in, const struct cc_config *cfg, uint32_t units)
{
	struct credit_ingress *c = (void *)in->priv;

	(void)cfg;
	if (c->known)
		c->balance_units = credit_bound(c->balance_units - units);
}

static void credit_ingress_tick(struct cc_ingress *in, const struct cc_config *cfg,
				const struct cc_usage *u)
{
	struct credit_ingress *c = (void *)in->priv;

	if (!c->known)
		return;
	if (in->heard) {
		/* What comes after missing records is of several intervals. */
		c->usual_units -= c->usual_units / 4;
		c->usual_units += c->news_units / (c->missed + 1) / 4;
		c->news_units = 0;
		c->missed = 0;
	} else if (c->missed <= CREDIT_ADVANCE_MAX) {
		c->missed++;
	}
	if (!u->backlogged && u->sent_units == 0)
		c->balance_units -= c->balance_units / CREDIT_IDLE_LEAK;
	/* A record has spread the balance over the interval that began with it. */
	if (!in->heard)
		credit_spread(in, cfg);
}

const struct cc_ops cc_credit_ops = {
	.name = "credit",
	.algorithm = CC_CREDIT,
	.needs_feedback = true,
	.needs_reports = true,
	.n_params = CREDIT_PARAMS,
	.params = credit_params,
	.egress_bytes = sizeof(struct credit_egress),
	.ingress_bytes = sizeof(struct credit_ingress),
	.prepare = credit_prepare,
	.egress_sample = credit_egress_sample,
	.egress_feedback = credit_egress_feedback,
	.ingress_init = credit_ingress_init,
	.ingress_tick = credit_ingress_tick,
	.ingress_feedback = credit_ingress_feedback,
	.ingress_sent = credit_ingress_sent,
};
