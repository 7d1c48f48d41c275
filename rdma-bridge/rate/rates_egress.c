/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/rate/rates_egress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi/arrival.h"

#define DRAIN_SHIFT  2 /* departures are smoothed by 1/4 per interval */
#define SECOND_NS    1000000000ULL
#define GROWTH_SHIFT 3 /* a class may ask for an eighth more than it drains */

static uint64_t units_of(const struct rb_rates_port *port, const struct sl_counter *counter)
{
	return port->egress->unit == SL_UNIT_BYTES ? counter->bytes : counter->packets;
}

static uint32_t to_units(uint64_t units)
{
	return units < CC_UNITS_MAX ? (uint32_t)units : CC_UNITS_MAX;
}

static uint64_t port_capacity(const struct rb_rates_port *port)
{
	uint64_t rate = port->egress->pace.rate;

	if (rate == SL_RATE_UNLIMITED || rate == 0)
		rate = port->capacity_ups;
	return rate < CC_RATE_MAX ? rate : CC_RATE_MAX;
}

/* --- Samples --- */

/*
 * What has gone past the bridge from a node out of a queue's port; NULL: nothing can. sl_edge
 * counts what comes from ports of this node, sl_fabric what comes from the others.
 */
static const struct sl_passed *passed_from(const struct rb_rates_port *port, uint32_t class,
					   uint8_t node)
{
	const struct rb_rates *r = port->rates;
	const struct rb_rates_remote *own;

	if (node != r->config.node)
		return r->taken ? &r->taken[sl_taken_key(port->number, class, node)] : NULL;
	own = r->by_node[node] ? r->by_node[node][port->number] : NULL;
	return own && own->has[class] ? &own->voq[class].voq->backlog->express : NULL;
}

/* Look at what has gone past the bridge, out of a queue's port. True if there is more. */
static bool look_at_express(struct rb_rates_port *port, uint32_t class)
{
	struct rb_rates_queue *queue = &port->queue[class];
	const struct rb_rates *r = port->rates;
	uint64_t before = queue->express.packets;

	queue->express = (struct sl_counter){ 0 };
	for (uint32_t i = 0; i < r->n_nodes; i++) {
		const struct sl_passed *from = passed_from(port, class, r->nodes[i]);
		struct sl_counter taken;

		if (!from)
			continue;
		taken = (struct sl_counter){ .packets = from->frames, .bytes = from->bytes };
		queue->express.packets += taken.packets;
		queue->express.bytes += taken.bytes;
		queue->express_from[r->nodes[i]] = units_of(port, &taken);
	}
	return queue->express.packets != before;
}

/* What has left by the port, whichever way it came. */
static struct sl_counter departed(const struct rb_rates_queue *queue)
{
	const struct sl_counter *by_bridge = &queue->port->egress->queue[queue->class].departed;

	return (struct sl_counter){ .packets = by_bridge->packets + queue->express.packets,
				    .bytes = by_bridge->bytes + queue->express.bytes };
}

/* The units that each class has sent since the previous interval. */
static void measure_drain(struct rb_rates_port *port, uint64_t now_ns)
{
	uint64_t elapsed_ns = now_ns - port->measured_ns;

	port->measured_ns = now_ns;
	for (uint32_t k = 0; k < SL_CLASSES && elapsed_ns > 0; k++) {
		struct sl_counter drained = departed(&port->queue[k]);
		uint64_t units = units_of(port, &drained) - units_of(port, &port->drained[k]);
		uint64_t ups = units * SECOND_NS / elapsed_ns, *smoothed;

		if (units > UINT64_MAX / SECOND_NS)
			ups = CC_RATE_MAX;
		smoothed = &port->queue[k].drained_ups;
		*smoothed = *smoothed - (*smoothed >> DRAIN_SHIFT) + (ups >> DRAIN_SHIFT);
		port->drained[k] = drained;
	}
}

static uint64_t class_demand(const struct rb_rates_port *port, uint32_t class)
{
	uint64_t drained_ups = port->queue[class].drained_ups;

	return drained_ups + (drained_ups >> GROWTH_SHIFT);
}

/*
 * The rate at which a class can drain: what the scheduler (scheduler/wfq) would give a class that
 * always has frames, with the others asking for a little more than they drain now. Levels above go
 * first. In the class's own level that is the weighted max-min share: a class that asks for less
 * than its part gets that, and the rest share by weight. A class that drains more than its part,
 * because another has not come up to its own yet, takes nothing from the other's capacity; and has
 * a smaller one itself until the other has, even where the scheduler does not decide because a
 * bridge that was late sends all that waits at once.
 */
static uint64_t class_capacity(const struct rb_rates_port *port, uint32_t class)
{
	const struct rb_wfq_queue *turn = port->egress->wfq.queue;
	uint64_t all = port_capacity(port), left = all, share;
	uint32_t weights = 0, satisfied = 1U << class; /* looked at no more, by class */

	for (uint32_t k = 0; k < SL_CLASSES; k++) {
		if (turn[k].level > turn[class].level)
			left -= port->queue[k].drained_ups < left ? port->queue[k].drained_ups
								  : left;
		if (turn[k].level == turn[class].level)
			weights += turn[k].weight;
		else
			satisfied |= 1U << k;
	}
	/* Each round satisfies one class or is the last. left is below 2^38, a weight below 2^11.
	 */
	for (uint32_t round = 0, k = 0; round < SL_CLASSES && k < SL_CLASSES; round++) {
		for (k = 0; k < SL_CLASSES; k++)
			if (!(satisfied & 1U << k) &&
			    class_demand(port, k) <= left * turn[k].weight / weights)
				break;
		if (k == SL_CLASSES)
			break;
		satisfied |= 1U << k;
		left -= class_demand(port, k);
		weights -= turn[k].weight;
	}
	share = left * turn[class].weight / weights;
	return share > all / 1000 + 1 ? share : all / 1000 + 1;
}

static uint32_t fill_sources(struct rb_rates_queue *queue, uint64_t now_ns)
{
	struct rb_rates_port *port = queue->port;
	const struct rb_rates *r = port->rates;
	const struct rb_egress_queue *q = &port->egress->queue[queue->class];
	uint64_t stale_ns = RB_RATES_REPORT_STALE * (uint64_t)port->config.port.interval_ns;
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_nodes; i++) {
		uint8_t node = r->nodes[i];
		uint64_t from = q->arrived_from[node] + queue->express_from[node];

		if (queue->waiting[node] && now_ns - queue->report_ns[node] > stale_ns)
			queue->waiting[node] = 0;
		if (rb_rates_peer_is_up(r, node)) {
			queue->position[node] = (uint8_t)n;
			queue->sources[n++] = (struct cc_source){
				.id = node,
				.weight = port->settings.node_weight[node],
				.arrived_units = to_units(from - queue->from[node]),
				.waiting_units = queue->waiting[node],
			};
		}
		queue->from[node] = from;
	}
	return n;
}

/*
 * Draw the source that stands for the time since the previous sample, each with the probability of
 * its share of the arrivals. The source of the latest arrival will not do: it would often be the
 * same one, because messages come in batches whose order the rounds of the bridges fix.
 */
static uint16_t pick_source(struct rb_rates *r, const struct rb_rates_queue *queue, uint32_t n)
{
	uint64_t total = 0, pick;

	for (uint32_t i = 0; i < n; i++)
		total += queue->sources[i].arrived_units;
	if (total == 0)
		return CC_NO_SOURCE;
	/* xorshift64 (Marsaglia 2003) */
	r->random ^= r->random << 13;
	r->random ^= r->random >> 7;
	r->random ^= r->random << 17;
	pick = r->random % total;
	for (uint32_t i = 0; i < n; i++) {
		if (pick < queue->sources[i].arrived_units)
			return queue->sources[i].id;
		pick -= queue->sources[i].arrived_units;
	}
	return CC_NO_SOURCE;
}

/* Sample a queue and show its controller the sample. */
static void sample(struct rb_rates_queue *queue, bool timer, uint64_t now_ns)
{
	struct rb_rates_port *port = queue->port;
	struct rb_egress_queue *q = &port->egress->queue[queue->class];
	uint64_t elapsed_ns = now_ns - queue->sampled_ns, left;
	struct sl_counter gone = departed(queue);

	left = units_of(port, &q->arrived) - units_of(port, &q->departed) -
	       units_of(port, &q->dropped);
	queue->sample = (struct cc_sample){
		.capacity_ups = class_capacity(port, queue->class),
		.elapsed_ns =
			elapsed_ns < CC_INTERVAL_MAX_NS ? (uint32_t)elapsed_ns : CC_INTERVAL_MAX_NS,
		.backlog_units = to_units(left),
		.departed_units =
			to_units(units_of(port, &gone) - units_of(port, &queue->departed)),
		.dropped_units =
			to_units(units_of(port, &q->dropped) - units_of(port, &queue->dropped)),
		.sources = queue->sources,
		.timer = timer,
	};
	queue->sample.change_units =
		(int32_t)queue->sample.backlog_units - (int32_t)queue->backlog_units;
	queue->sample.n_sources = (uint16_t)fill_sources(queue, now_ns);
	queue->sample.last_source = pick_source(port->rates, queue, queue->sample.n_sources);
	queue->backlog_units = queue->sample.backlog_units;
	queue->departed = gone;
	queue->dropped = q->dropped;
	queue->sampled_ns = now_ns;
	q->sample_units = cc_egress_sample(&queue->egress, &port->config, &queue->sample);
}

static void trace(const struct rb_rates_queue *queue, uint64_t now_ns)
{
	const struct cc_sample *s = &queue->sample;
	struct rb_rate_point point = {
		.end_ns = now_ns,
		.rate = s->capacity_ups,
		.elapsed_ns = s->elapsed_ns,
		.waiting = s->backlog_units,
		.departed = s->departed_units,
		.dropped = s->dropped_units,
		.signal = queue->latest.signal,
		.share = queue->latest.share,
	};
	const struct rb_rates *r = queue->port->rates;

	for (uint32_t i = 0; i < s->n_sources; i++) {
		point.arrived += s->sources[i].arrived_units;
		for (uint32_t k = 0; k < r->n_nodes && k < RB_RATE_TRACE_SOURCES; k++)
			if (r->nodes[k] == s->sources[i].id)
				point.from[k] = s->sources[i].arrived_units;
	}
	rb_rate_trace_add(queue->trace, &point);
}

/* --- Records --- */

struct batch {
	uint8_t body[RB_RATES_RECORDS_MAX * RB_FEEDBACK_BYTES];
	uint32_t n;
};

static void send_batch(struct rb_rates *r, const struct rb_rates_peer *peer, struct batch *batch)
{
	if (batch->n == 0)
		return;
	if (r->config.send(r->config.context, peer->node, RB_MSG_FEEDBACK, batch->n, batch->body,
			   batch->n * RB_FEEDBACK_BYTES, r->now_ns))
		r->stats.feedback_refused += batch->n;
	else
		r->stats.feedback_sent += batch->n;
	batch->n = 0;
}

static uint32_t records_max(const struct rb_rates_peer *peer)
{
	uint32_t bytes = peer->message_max_bytes;
	uint32_t n =
		bytes > RB_MSG_HEADER_BYTES ? (bytes - RB_MSG_HEADER_BYTES) / RB_FEEDBACK_BYTES : 0;

	return n < RB_RATES_RECORDS_MAX ? n : RB_RATES_RECORDS_MAX;
}

static const struct cc_source *find_source(const struct rb_rates_queue *queue, uint8_t node)
{
	uint32_t at = queue->position[node];

	return at < queue->sample.n_sources && queue->sources[at].id == node ? &queue->sources[at]
									     : NULL;
}

static void add_record(struct rb_rates_queue *queue, const struct rb_rates_peer *peer,
		       struct batch *batch)
{
	struct rb_rates_port *port = queue->port;
	const struct cc_source *source = find_source(queue, peer->node);
	struct cc_feedback fb;
	struct rb_feedback record;

	if (!source ||
	    !cc_egress_feedback(&queue->egress, &port->config, &queue->sample, source, &fb))
		return;
	queue->latest = fb;
	record = (struct rb_feedback){
		.system_port = port->egress->system_port,
		.class = queue->class,
		.controller = fb.algorithm,
		.sequence = fb.seq,
		.word = { fb.signal, fb.share, fb.addressed },
		.wide = fb.capacity_ups,
	};
	rb_feedback_encode(&record, batch->body + batch->n++ * RB_FEEDBACK_BYTES);
	if (batch->n >= records_max(peer))
		send_batch(port->rates, peer, batch);
}

/* A controller that samples by arrivals asks for a sample now. */
static void on_sample(void *context, uint32_t class)
{
	struct rb_rates_port *port = context;
	struct rb_rates *r = port->rates;
	struct rb_rates_queue *queue = &port->queue[class];
	struct batch batch;

	r->stats.asked++;
	r->now_ns = *r->config.now_ns;
	sample(queue, false, r->now_ns);
	for (uint32_t i = 0; i < queue->sample.n_sources; i++) {
		const struct rb_rates_peer *peer = &r->peer[queue->sources[i].id];

		batch.n = 0;
		add_record(queue, peer, &batch);
		send_batch(r, peer, &batch);
	}
}

static void send_records(struct rb_rates *r)
{
	struct batch batch = { .n = 0 };

	for (uint32_t i = 0; i < r->n_nodes; i++) {
		const struct rb_rates_peer *peer = &r->peer[r->nodes[i]];

		for (uint32_t p = 0; p < r->n_ports; p++) {
			struct rb_rates_port *port = r->port[p];

			for (uint32_t k = 0; k < SL_CLASSES; k++)
				if (port->queue[k].sampled)
					add_record(&port->queue[k], peer, &batch);
		}
		send_batch(r, peer, &batch);
	}
}

/* --- Policies --- */

static void send_policy(struct rb_rates_port *port, const struct rb_rates_peer *peer)
{
	struct rb_rates *r = port->rates;
	const struct cc_port *shape = &port->config.port;
	struct rb_policy policy = {
		.system_port = port->egress->system_port,
		.controller = port->config.ops->algorithm,
		.unit = (uint8_t)port->egress->unit,
		.generation = port->generation,
		.interval_ns = shape->interval_ns,
		.frame_bytes = (uint16_t)shape->frame_bytes,
		.sources = shape->sources,
		.capacity = shape->capacity_ups,
		.line = shape->line_ups,
		.n_params = port->config.ops->n_params,
	};
	uint8_t body[RB_POLICY_BYTES + 8 * RB_POLICY_PARAMS_MAX];

	for (uint32_t k = 0; k < SL_CLASSES; k++)
		policy.weight[k] = port->settings.node_weight[peer->node];
	for (uint32_t i = 0; i < policy.n_params; i++)
		policy.param[i] = (uint64_t)port->config.param[i];
	if (r->config.send(r->config.context, peer->node, RB_MSG_POLICY, 1, body,
			   rb_policy_encode(&policy, body), r->now_ns) == 0)
		r->stats.policies_sent++;
}

static void send_policies(struct rb_rates_port *port, uint64_t now_ns)
{
	const struct rb_rates *r = port->rates;

	for (uint32_t i = 0; i < r->n_nodes; i++)
		if (rb_rates_peer_is_up(r, r->nodes[i]))
			send_policy(port, &r->peer[r->nodes[i]]);
	port->policy_ns = now_ns + port->policy_gap_ns;
	port->policy_gap_ns *= 2;
	if (port->policy_gap_ns > RB_RATES_POLICY_MAX_NS)
		port->policy_gap_ns = RB_RATES_POLICY_MAX_NS;
}

/* --- Time --- */

static bool is_controlled(const struct rb_rates_port *port)
{
	return port->config.ops->needs_feedback;
}

uint64_t rb_rates_port_capacity(const struct rb_rates *r, uint8_t number)
{
	const struct rb_rates_port *port = r->by_number[number];

	return port && is_controlled(port) ? port_capacity(port) : 0;
}

static void wake(struct rb_rates_queue *queue, uint64_t now_ns)
{
	struct rb_rates_port *port = queue->port;

	queue->active_ns = now_ns;
	if (queue->awake)
		return;
	queue->awake = true;
	queue->sampled_ns = now_ns;
	if (port->awake)
		return;
	port->awake = true;
	port->calm = false;
	port->measured_ns = now_ns;
	port->due_ns = now_ns + port->config.port.interval_ns;
}

/* The bridge has frames for the port. */
static void end_calm(struct rb_rates_port *port, uint64_t now_ns)
{
	uint64_t due_ns = now_ns + port->config.port.interval_ns;

	if (port->due_ns > due_ns)
		port->due_ns = due_ns;
	port->calm = false;
}

static void wake_if_arrived(struct rb_rates_queue *queue, uint64_t now_ns)
{
	const struct rb_egress_queue *q = &queue->port->egress->queue[queue->class];

	if (q->arrived.packets != queue->arrived.packets) {
		wake(queue, now_ns);
		end_calm(queue->port, now_ns);
	}
	queue->arrived = q->arrived;
}

void rb_rates_express_arrived(struct rb_rates *r, uint8_t number, uint64_t now_ns)
{
	struct rb_rates_port *port = r->by_number[number];

	if (!port || !is_controlled(port))
		return;
	for (uint32_t k = 0; k < SL_CLASSES; k++)
		if (look_at_express(port, k)) {
			port->has_express = true;
			wake(&port->queue[k], now_ns);
		}
	if (port->awake && port->due_ns < r->due_ns)
		r->due_ns = port->due_ns;
}

void rb_rates_egress_wake(struct rb_rates *r, uint64_t now_ns)
{
	for (uint32_t p = 0; p < r->n_ports; p++) {
		struct rb_rates_port *port = r->port[p];

		for (uint32_t k = 0; is_controlled(port) && k < SL_CLASSES; k++)
			wake_if_arrived(&port->queue[k], now_ns);
	}
}

static void rest(struct rb_rates_queue *queue, uint64_t now_ns)
{
	uint64_t linger_ns = 64 * (uint64_t)queue->port->config.port.interval_ns;

	if (linger_ns < RB_RATES_LINGER_NS)
		linger_ns = RB_RATES_LINGER_NS;
	if (queue->backlog_units > 0)
		queue->active_ns = now_ns;
	if (now_ns - queue->active_ns <= linger_ns)
		return;
	queue->awake = false;
	queue->port->egress->queue[queue->class].sample_units = 0;
}

/* True if a queue was sampled. */
static bool run_port(struct rb_rates_port *port, uint64_t now_ns)
{
	bool any = false, more = false;

	for (uint32_t k = 0; port->has_express && k < SL_CLASSES; k++)
		if (look_at_express(port, k)) {
			port->queue[k].active_ns = now_ns;
			more = true;
		}
	port->has_express = more;
	measure_drain(port, now_ns);
	port->awake = false;
	for (uint32_t k = 0; k < SL_CLASSES; k++) {
		struct rb_rates_queue *queue = &port->queue[k];

		if (queue->awake)
			wake_if_arrived(queue, now_ns);
		queue->sampled = queue->awake;
		if (!queue->awake)
			continue;
		sample(queue, true, now_ns);
		port->rates->stats.intervals++;
		if (queue->trace)
			trace(queue, now_ns);
		rest(queue, now_ns);
		port->awake |= queue->awake;
		port->calm &= !queue->backlog_units;
		any = true;
	}
	port->due_ns = rb_rates_next_ns(port->rates, port->due_ns,
					rb_rates_interval_ns(&port->config, port->calm), now_ns);
	port->calm = port->rates->taken;
	return any;
}

void rb_rates_egress_run(struct rb_rates *r, uint64_t now_ns)
{
	bool any = false;

	for (uint32_t p = 0; p < r->n_ports; p++) {
		struct rb_rates_port *port = r->port[p];

		if (now_ns >= port->policy_ns)
			send_policies(port, now_ns);
		if (port->awake && now_ns >= port->due_ns)
			any |= run_port(port, now_ns);
	}
	if (!any)
		return;
	send_records(r);
	for (uint32_t p = 0; p < r->n_ports; p++)
		for (uint32_t k = 0; k < SL_CLASSES; k++)
			r->port[p]->queue[k].sampled = false;
}

uint64_t rb_rates_egress_due_ns(const struct rb_rates *r)
{
	uint64_t due_ns = UINT64_MAX;

	for (uint32_t p = 0; p < r->n_ports; p++) {
		const struct rb_rates_port *port = r->port[p];

		if (port->policy_ns < due_ns)
			due_ns = port->policy_ns;
		if (port->awake && port->due_ns < due_ns)
			due_ns = port->due_ns;
	}
	return due_ns;
}

void rb_rates_reports(struct rb_rates *r, uint8_t node, const struct rb_report *records, uint32_t n,
		      uint64_t now_ns)
{
	for (uint32_t i = 0; i < n; i++) {
		struct rb_rates_port *port = r->by_number[records[i].system_port & 0xff];
		struct rb_rates_queue *queue;

		if (!port || !is_controlled(port))
			continue;
		queue = &port->queue[records[i].class];
		/* Sequence numbers wrap: one half of them counts as older. */
		if (queue->report_ns[node] &&
		    records[i].sequence - queue->report_sequence[node] - 1 >= UINT32_MAX / 2)
			continue;
		queue->report_sequence[node] = records[i].sequence;
		queue->report_ns[node] = now_ns;
		queue->waiting[node] = to_units(records[i].waiting);
		r->stats.reports_received++;
		if (records[i].waiting) {
			wake(queue, now_ns);
			end_calm(port, now_ns);
		}
		if (port->due_ns < r->due_ns && port->awake)
			r->due_ns = port->due_ns;
	}
}

void rb_rates_egress_forget(struct rb_rates *r, uint8_t node)
{
	for (uint32_t p = 0; p < r->n_ports; p++)
		for (uint32_t k = 0; k < SL_CLASSES; k++) {
			r->port[p]->queue[k].report_ns[node] = 0;
			r->port[p]->queue[k].waiting[node] = 0;
		}
}

/* --- Setting up --- */

/* Start a controller, with all counters of one moment as its first sample's reference. */
static void begin_queue(struct rb_rates_queue *queue)
{
	const struct rb_egress_queue *q = &queue->port->egress->queue[queue->class];
	uint32_t seq = queue->egress.seq;

	cc_egress_init(&queue->egress, &queue->port->config);
	/* Count on, so that a VOQ that missed the switch takes the next record for newer. */
	queue->egress.seq = seq;
	queue->latest = (struct cc_feedback){ 0 };
	look_at_express(queue->port, queue->class);
	queue->arrived = q->arrived;
	queue->departed = departed(queue);
	queue->port->drained[queue->class] = queue->departed;
	queue->dropped = q->dropped;
	queue->backlog_units = rb_egress_backlog(queue->port->egress, queue->class);
	if (queue->port->egress->unit == SL_UNIT_BYTES)
		queue->backlog_units =
			to_units(q->arrived.bytes - q->departed.bytes - q->dropped.bytes);
	for (uint32_t i = 0; i < 256; i++)
		queue->from[i] = q->arrived_from[i] + queue->express_from[i];
}

static int add_port(struct rb_rates *r, uint8_t number)
{
	struct rb_rates_port *port = calloc(1, sizeof(*port));

	if (!port)
		return -ENOMEM;
	port->rates = r;
	port->number = number;
	port->egress = r->config.egress[number];
	for (uint8_t k = 0; k < SL_CLASSES; k++) {
		port->queue[k].port = port;
		port->queue[k].class = k;
	}
	r->by_number[number] = port;
	r->port[r->n_ports++] = port;
	return 0;
}

static int config_of(const struct rb_rates *r, const struct rb_egress_port *egress,
		     const struct sl_cc_settings *settings, uint64_t capacity_ups,
		     uint64_t line_ups, struct cc_config *out, const char **why)
{
	uint64_t rate = egress->pace.rate == SL_RATE_UNLIMITED || egress->pace.rate == 0
				? capacity_ups
				: egress->pace.rate;
	struct cc_port shape = {
		.capacity_ups = rate < CC_RATE_MAX ? rate : CC_RATE_MAX,
		.line_ups = line_ups > rate ? line_ups : rate,
		.interval_ns = settings->interval_us * 1000,
		.frame_bytes = settings->frame_bytes,
		.units = egress->unit == SL_UNIT_BYTES ? CC_BYTES : CC_PACKETS,
		.sources = (uint16_t)(r->n_nodes ? r->n_nodes : 1),
		.point = egress->system_port,
		.seed = egress->system_port,
	};
	const char *unused;

	if (shape.line_ups > CC_RATE_MAX)
		shape.line_ups = CC_RATE_MAX;
	return sl_cc_settings_config(settings, &shape, out, why ? why : &unused);
}

int rb_rates_check_port(const struct rb_rates *r, const struct rb_egress_port *egress,
			const struct sl_cc_settings *settings, uint64_t capacity_ups,
			uint64_t line_ups, const char **why)
{
	struct cc_config unused;

	return config_of(r, egress, settings, capacity_ups, line_ups, &unused, why);
}

int rb_rates_set_port(struct rb_rates *r, uint8_t number, const struct sl_cc_settings *settings,
		      uint64_t capacity_ups, uint64_t line_ups, uint64_t now_ns, const char **why)
{
	struct rb_egress_port *egress = r->config.egress[number];
	struct rb_rates_port *port;
	struct cc_config config;
	bool anew;
	int err;

	if (!egress)
		return -ENOENT;
	err = config_of(r, egress, settings, capacity_ups, line_ups, &config, why);
	if (!err && !r->by_number[number])
		err = add_port(r, number);
	if (err)
		return err;
	port = r->by_number[number];
	/* What has been counted in another unit is no reference. */
	anew = port->config.ops != config.ops || port->config.port.units != config.port.units;
	port->settings = *settings;
	port->config = config;
	port->capacity_ups = capacity_ups;
	port->line_ups = line_ups;
	port->generation++;
	port->policy_ns = now_ns;
	port->policy_gap_ns = RB_RATES_POLICY_MIN_NS;
	if (anew) {
		port->awake = false;
		for (uint32_t k = 0; k < SL_CLASSES; k++) {
			egress->queue[k].sample_units = 0;
			port->queue[k].awake = false;
			begin_queue(&port->queue[k]);
			/* No arrival will wake a queue for the frames that wait already. */
			if (config.ops->needs_feedback && port->queue[k].backlog_units)
				wake(&port->queue[k], now_ns);
		}
	} else if (port->due_ns > now_ns + config.port.interval_ns) {
		port->due_ns = now_ns + config.port.interval_ns;
	}
	egress->on_sample = on_sample;
	egress->sample_context = port;
	if (r->due_ns > now_ns)
		r->due_ns = now_ns;
	return 0;
}

void rb_rates_remove_port(struct rb_rates *r, uint8_t number)
{
	struct rb_rates_port *port = r->by_number[number];

	if (!port)
		return;
	r->by_number[number] = NULL;
	for (uint32_t p = 0; p < r->n_ports; p++)
		if (r->port[p] == port)
			r->port[p] = r->port[--r->n_ports];
	for (uint32_t k = 0; k < SL_CLASSES; k++)
		free(port->queue[k].trace);
	port->egress->on_sample = NULL;
	free(port);
}
