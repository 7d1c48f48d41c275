/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/rate/rates_ingress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- Settings and backlogs --- */

static bool is_controlled(const struct rb_rates_remote *remote)
{
	return remote->config.ops && remote->config.ops->needs_feedback;
}

static void write_name(volatile struct sl_voq *settings, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof(settings->controller); i++) {
		char letter = i < n ? name[i] : '\0';

		if (settings->controller[i] != letter)
			settings->controller[i] = letter;
	}
}

static bool is_named(const volatile struct sl_voq *settings, const char *name)
{
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof(settings->controller); i++)
		if (settings->controller[i] != (i < n ? name[i] : '\0'))
			return false;
	return true;
}

/* Other cores read the settings with each frame: write only what changes. */
static void write_rate(const struct rb_rates_remote *remote, const struct rb_rates_voq *v)
{
	volatile struct sl_voq *settings = v->voq->settings;
	uint32_t unit = remote->config.port.units == CC_BYTES ? SL_UNIT_BYTES : SL_UNIT_FRAMES;
	uint64_t rate = cc_ingress_rate_ups(&v->ingress);

	if (settings->unit != unit)
		settings->unit = unit;
	if (settings->burst != v->ingress.burst_units)
		settings->burst = v->ingress.burst_units;
	if (settings->rate != rate)
		settings->rate = rate;
}

static uint32_t waiting_frames(const struct rb_voq *voq)
{
	uint64_t left = __atomic_load_n(&voq->backlog->dequeued.frames, __ATOMIC_RELAXED);
	int64_t waiting =
		(int64_t)(__atomic_load_n(&voq->backlog->enqueued.frames, __ATOMIC_RELAXED) - left);

	return waiting > (int64_t)voq->n_ahead ? (uint32_t)waiting : voq->n_ahead;
}

static uint32_t waiting_units(const struct rb_rates_remote *remote, const struct rb_voq *voq)
{
	uint64_t left, ahead = 0;
	int64_t waiting;

	if (remote->config.port.units == CC_PACKETS)
		return waiting_frames(voq);
	for (uint32_t i = 0; i < voq->n_ahead; i++)
		ahead += voq->ahead[voq->first + i].len_bytes;
	left = __atomic_load_n(&voq->backlog->dequeued.bytes, __ATOMIC_RELAXED);
	waiting =
		(int64_t)(__atomic_load_n(&voq->backlog->enqueued.bytes, __ATOMIC_RELAXED) - left);
	if (waiting < (int64_t)ahead)
		waiting = (int64_t)ahead;
	return waiting < CC_UNITS_MAX ? (uint32_t)waiting : CC_UNITS_MAX;
}

/* What XDP sent past the bridge. */
static struct sl_counter express(const struct rb_rates_voq *v)
{
	const struct sl_passed *passed = &v->voq->backlog->express;

	return (struct sl_counter){
		.packets = __atomic_load_n(&passed->frames, __ATOMIC_RELAXED),
		.bytes = __atomic_load_n(&passed->bytes, __ATOMIC_RELAXED),
	};
}

/* --- Policies --- */

struct rb_rates_remote *rb_rates_find_remote(const struct rb_rates *r, uint16_t system_port)
{
	struct rb_rates_remote *const *ports = r->by_node[system_port >> 8];

	return ports ? ports[system_port & 0xff] : NULL;
}

/* Note a port of a peer, with our VOQs that lead there. -ENOENT: there are none; -ENOMEM. */
static int add_remote(struct rb_rates *r, uint16_t system_port, struct rb_rates_remote **out)
{
	const struct rb_ingress *in = r->peer[system_port >> 8].ingress;
	struct rb_rates_remote *remote = calloc(1, sizeof(*remote)), **list;
	bool any = false;

	list = realloc(r->remote, (r->n_remotes + 1) * sizeof(*list));
	if (list)
		r->remote = list;
	if (!r->by_node[system_port >> 8])
		r->by_node[system_port >> 8] = calloc(256, sizeof(*list));
	if (!remote || !list || !r->by_node[system_port >> 8]) {
		free(remote);
		return -ENOMEM;
	}
	for (uint32_t i = 0; in && i < in->n_voqs; i++) {
		struct rb_voq *voq = &in->voqs[i];

		if (voq->system_port != system_port || voq->class >= SL_CLASSES)
			continue;
		remote->has[voq->class] = any = true;
		remote->voq[voq->class].voq = voq;
		remote->voq[voq->class].remote = remote;
	}
	if (!any) {
		free(remote);
		return -ENOENT;
	}
	remote->system_port = system_port;
	r->remote[r->n_remotes++] = remote;
	r->by_node[system_port >> 8][system_port & 0xff] = remote;
	*out = remote;
	return 0;
}

static int read_policy(const struct rb_policy *policy, struct cc_config *out)
{
	const struct cc_port port = {
		.capacity_ups = policy->capacity,
		.line_ups = policy->line,
		.interval_ns = policy->interval_ns,
		.frame_bytes = policy->frame_bytes,
		.units = policy->unit == SL_UNIT_BYTES ? CC_BYTES : CC_PACKETS,
		.sources = policy->sources,
		.point = policy->system_port,
		.seed = policy->system_port,
	};
	const struct cc_ops *ops = cc_lookup_number(policy->controller);

	if (!ops || ops->n_params != policy->n_params || cc_config_init(out, ops->name, &port))
		return -EINVAL;
	for (uint32_t i = 0; i < ops->n_params; i++)
		if (policy->param[i] > INT64_MAX ||
		    cc_config_set(out, ops->params[i].name, (int64_t)policy->param[i]))
			return -EINVAL;
	return cc_config_prepare(out, NULL);
}

/* A controller wants to know of each frame as it leaves. */
static void on_taken(void *context, uint32_t len_bytes)
{
	struct rb_rates_voq *v = context;
	const struct cc_config *config = &v->remote->config;

	cc_ingress_sent(&v->ingress, config, config->port.units == CC_BYTES ? len_bytes : 1);
	write_rate(v->remote, v);
}

/*
 * The seed of a VOQ's controller: VOQs that share a port would else draw the same numbers, and act
 * in step. The multiplier is Knuth's, 2^32 divided by the golden ratio.
 */
static uint16_t seed_of(const struct rb_rates *r, const struct rb_rates_voq *v)
{
	uint32_t own = r->config.seed ^ ((uint32_t)v->voq->system_port << 8 | v->voq->class);

	return (uint16_t)(own * 2654435769u >> 16);
}

/*
 * Start a VOQ's controller. The first one begins with its share of the port; a later one takes over
 * the rate in force. After `fixed` that is the rate in the map, unless the map sets no limit.
 */
static void begin(const struct rb_rates *r, struct rb_rates_remote *remote,
		  const struct cc_ops *before, struct rb_rates_voq *v, uint16_t weight)
{
	uint64_t rate = v->voq->settings->rate;
	bool was_fixed = before && !before->needs_feedback;

	remote->config.port.seed = seed_of(r, v);
	if (!before || (was_fixed && rate > remote->config.port.line_ups)) {
		cc_ingress_init(&v->ingress, &remote->config, weight);
	} else {
		if (was_fixed)
			v->ingress.rate_q16 = rate << 16;
		v->ingress.weight = weight;
		cc_ingress_switch(&v->ingress, &remote->config);
	}
	v->taken = v->voq->taken;
	v->express = express(v);
	v->voq->on_taken = remote->config.ops->ingress_sent ? on_taken : NULL;
	v->voq->taken_context = v;
	v->voq->ran_empty = true;
	v->latest = (struct cc_feedback){ 0 };
}

/*
 * `fixed` writes its rate once, if it has one, and else takes off the limit that another controller
 * left, maybe before this bridge began; a rate that another program writes then stays.
 */
static bool writes_rate(const struct rb_rates_remote *remote)
{
	struct cc_ingress probe;

	if (is_controlled(remote))
		return true;
	memset(&probe, 0, sizeof(probe));
	remote->config.ops->ingress_init(&probe, &remote->config);
	return probe.rate_q16 != 0;
}

static void apply_policy(struct rb_rates *r, struct rb_rates_remote *remote,
			 const struct cc_config *config, const struct rb_policy *policy,
			 uint64_t now_ns)
{
	const struct cc_ops *before = remote->config.ops;

	remote->config = *config;
	for (uint32_t k = 0; k < SL_CLASSES; k++) {
		struct rb_rates_voq *v = &remote->voq[k];
		uint16_t weight =
			policy->weight[k] < CC_WEIGHT_MAX ? policy->weight[k] : CC_WEIGHT_MAX;

		if (!remote->has[k])
			continue;
		if (before != config->ops || !is_controlled(remote)) {
			begin(r, remote, before, v, weight);
			v->ticked_ns = now_ns;
		}
		v->ingress.weight = weight;
		if (writes_rate(remote))
			write_rate(remote, v);
		else if (!is_named(v->voq->settings, config->ops->name))
			v->voq->settings->rate = SL_RATE_UNLIMITED;
		write_name(v->voq->settings, config->ops->name);
	}
	remote->awake = is_controlled(remote);
	remote->due_ns = now_ns + config->port.interval_ns;
	if (remote->awake && remote->due_ns < r->due_ns)
		r->due_ns = remote->due_ns;
}

void rb_rates_policy(struct rb_rates *r, const struct rb_policy *policy, uint64_t now_ns)
{
	struct rb_rates_remote *remote = rb_rates_find_remote(r, policy->system_port);
	struct cc_config config;

	if (remote && remote->fresh && (int32_t)(policy->generation - remote->generation) <= 0)
		return;
	if (read_policy(policy, &config) ||
	    (!remote && add_remote(r, policy->system_port, &remote))) {
		r->stats.policies_refused++;
		return;
	}
	r->stats.policies_received++;
	remote->generation = policy->generation;
	remote->fresh = true;
	apply_policy(r, remote, &config, policy, now_ns);
}

void rb_rates_ingress_forget(struct rb_rates *r, uint8_t node)
{
	for (uint32_t i = 0; i < r->n_remotes; i++) {
		struct rb_rates_remote *remote = r->remote[i];

		if (remote->system_port >> 8 != node)
			continue;
		remote->fresh = false;
		for (uint32_t k = 0; k < SL_CLASSES; k++)
			cc_ingress_forget(&remote->voq[k].ingress);
	}
}

void rb_rates_rewrite(struct rb_rates *r)
{
	for (uint32_t i = 0; i < r->n_remotes; i++) {
		struct rb_rates_remote *remote = r->remote[i];

		for (uint32_t k = 0; k < SL_CLASSES; k++) {
			if (!remote->has[k])
				continue;
			write_name(remote->voq[k].voq->settings, remote->config.ops->name);
			if (writes_rate(remote))
				write_rate(remote, &remote->voq[k]);
		}
	}
}

/* --- Records --- */

static void wake(struct rb_rates *r, struct rb_rates_remote *remote, uint64_t now_ns)
{
	if (remote->awake)
		return;
	remote->awake = true;
	remote->calm = false;
	remote->due_ns = now_ns + remote->config.port.interval_ns;
	for (uint32_t k = 0; k < SL_CLASSES; k++)
		remote->voq[k].ticked_ns = now_ns;
	if (remote->due_ns < r->due_ns)
		r->due_ns = remote->due_ns;
}

/* The bridge has frames for the port. */
static void end_calm(struct rb_rates *r, struct rb_rates_remote *remote, uint64_t now_ns)
{
	uint64_t due_ns = now_ns + remote->config.port.interval_ns;

	remote->calm = false;
	if (remote->due_ns > due_ns)
		remote->due_ns = due_ns;
	if (remote->due_ns < r->due_ns)
		r->due_ns = remote->due_ns;
}

static void take_record(struct rb_rates *r, const struct rb_feedback *record, uint64_t now_ns)
{
	struct rb_rates_remote *remote = rb_rates_find_remote(r, record->system_port);
	const struct cc_feedback fb = {
		.capacity_ups = record->wide,
		.signal = record->word[0],
		.share = record->word[1],
		.seq = record->sequence,
		.point = record->system_port,
		.algorithm = record->controller,
		.addressed = record->word[2] == 1,
	};
	struct rb_rates_voq *v;
	int err;

	if (!remote || !remote->has[record->class] || !is_controlled(remote)) {
		r->stats.feedback_foreign++;
		return;
	}
	v = &remote->voq[record->class];
	err = cc_ingress_feedback(&v->ingress, &remote->config, &fb);
	r->stats.feedback_received += err == 0;
	r->stats.feedback_stale += err == -ESTALE;
	r->stats.feedback_foreign += err == -EPROTO;
	if (err)
		return;
	v->latest = fb;
	wake(r, remote, now_ns);
	write_rate(remote, v);
}

void rb_rates_feedback(struct rb_rates *r, const struct rb_feedback *records, uint32_t n,
		       uint64_t now_ns)
{
	for (uint32_t i = 0; i < n; i++)
		take_record(r, &records[i], now_ns);
}

/* --- Time --- */

/* Has the bridge sent anything of the VOQ since the last tick, or does it hold anything? */
static bool is_active(const struct rb_rates_voq *v)
{
	return v->voq->taken.packets != v->taken.packets || waiting_frames(v->voq) > 0;
}

void rb_rates_ingress_wake(struct rb_rates *r, uint64_t now_ns)
{
	for (uint32_t i = 0; i < r->n_remotes; i++) {
		struct rb_rates_remote *remote = r->remote[i];

		if ((remote->awake && !remote->calm) || !is_controlled(remote))
			continue;
		for (uint32_t k = 0; k < SL_CLASSES; k++)
			if (remote->has[k] && is_active(&remote->voq[k])) {
				wake(r, remote, now_ns);
				end_calm(r, remote, now_ns);
			}
	}
}

void rb_rates_express_sent(struct rb_rates *r, uint8_t node, uint64_t now_ns)
{
	for (uint32_t i = 0; r->by_node[node] && i < 256; i++) {
		struct rb_rates_remote *remote = r->by_node[node][i];

		if (!remote || remote->awake || !is_controlled(remote))
			continue;
		for (uint32_t k = 0; k < SL_CLASSES; k++)
			if (remote->has[k] &&
			    express(&remote->voq[k]).packets != remote->voq[k].express.packets)
				wake(r, remote, now_ns);
	}
}

static bool is_up(const struct rb_rates *r, const struct rb_rates_remote *remote)
{
	return rb_rates_peer_is_up(r, (uint8_t)(remote->system_port >> 8));
}

/* Frames between ports of this node take nothing of its way into the fabric. */
static bool is_own(const struct rb_rates *r, const struct rb_rates_remote *remote)
{
	return remote->system_port >> 8 == r->config.node;
}

/* True for dq alone. */
static bool has_urgency(const struct rb_rates_remote *remote)
{
	return remote->config.ops->ingress_urgency;
}

/* The sum over all VOQs of the node, which share its way into the fabric by urgency. */
static uint64_t urgency_total(const struct rb_rates *r)
{
	const struct rb_rates_config *config = &r->config;
	uint64_t total = 0;

	for (uint32_t i = 0; i < r->n_remotes; i++) {
		const struct rb_rates_remote *remote = r->remote[i];

		if (!has_urgency(remote) || !is_up(r, remote) || is_own(r, remote))
			continue;
		for (uint32_t k = 0; k < SL_CLASSES; k++)
			if (remote->has[k])
				total += cc_ingress_urgency(&remote->voq[k].ingress,
							    &remote->config);
	}
	if (config->urgency)
		__atomic_store_n(&config->urgency[config->worker].total, total, __ATOMIC_RELAXED);
	for (uint32_t i = 0; config->urgency && i < config->n_workers; i++)
		if (i != config->worker)
			total += __atomic_load_n(&config->urgency[i].total, __ATOMIC_RELAXED);
	return total;
}

/* Note what left a VOQ; half is forgotten every 65,536 frames. */
static void count_sent(struct rb_rates *r, uint64_t packets, uint64_t bytes)
{
	r->sent.packets += packets;
	r->sent.bytes += bytes;
	if (r->sent.packets <= UINT16_MAX)
		return;
	r->sent.packets /= 2;
	r->sent.bytes /= 2;
}

/* What the node can send into the fabric in the port's units, by the mean length of its frames. */
static uint64_t node_ups(const struct rb_rates *r, const struct rb_rates_remote *remote)
{
	uint64_t frame_bytes = remote->config.port.frame_bytes;

	if (remote->config.port.units == CC_BYTES)
		return r->config.fabric_Bps;
	if (r->sent.bytes > 0)
		frame_bytes = r->sent.bytes / r->sent.packets;
	return r->config.fabric_Bps / frame_bytes;
}

static void trace(const struct rb_rates_remote *remote, const struct rb_rates_voq *v,
		  const struct cc_usage *usage, uint64_t now_ns)
{
	const struct rb_rate_point point = {
		.end_ns = now_ns,
		.rate = cc_ingress_rate_ups(&v->ingress),
		.elapsed_ns = usage->elapsed_ns,
		.waiting = waiting_units(remote, v->voq),
		.departed = usage->sent_units,
		.signal = v->latest.signal,
		.share = v->latest.share,
	};

	rb_rate_trace_add(v->trace, &point);
}

/* What has gone past the bridge since the last tick; the controller wants to know, too. */
static struct sl_counter take_express(const struct rb_rates_remote *remote, struct rb_rates_voq *v)
{
	struct sl_counter now = express(v), more = {
		.packets = now.packets - v->express.packets,
		.bytes = now.bytes - v->express.bytes,
	};
	uint64_t units = remote->config.port.units == CC_BYTES ? more.bytes : more.packets;

	v->express = now;
	if (more.packets && remote->config.ops->ingress_sent)
		cc_ingress_sent(&v->ingress, &remote->config,
				units < CC_UNITS_MAX ? (uint32_t)units : CC_UNITS_MAX);
	return more;
}

/* End an interval of a VOQ. True if the VOQ is not at rest. */
static bool tick(struct rb_rates *r, struct rb_rates_remote *remote, struct rb_rates_voq *v,
		 uint64_t urgency, uint64_t now_ns)
{
	bool by_bridge = is_active(v);
	struct sl_counter past = take_express(remote, v);
	uint64_t packets = v->voq->taken.packets - v->taken.packets + past.packets;
	uint64_t bytes = v->voq->taken.bytes - v->taken.bytes + past.bytes;
	uint64_t sent = remote->config.port.units == CC_BYTES ? bytes : packets;
	uint64_t elapsed_ns = now_ns - v->ticked_ns;
	struct cc_usage usage = { .backlogged = !v->voq->ran_empty, .urgency_total = urgency };
	bool active = by_bridge || past.packets || v->ingress.heard;

	remote->calm &= !by_bridge;
	count_sent(r, packets, bytes);
	v->taken = v->voq->taken;
	v->voq->ran_empty = v->voq->n_ahead == 0 && waiting_frames(v->voq) == 0;
	v->ticked_ns = now_ns;
	if (!active)
		return false;
	if (is_own(r, remote))
		usage.urgency_total = 0;
	else
		usage.node_ups = node_ups(r, remote);
	usage.sent_units = sent < CC_UNITS_MAX ? (uint32_t)sent : CC_UNITS_MAX;
	usage.elapsed_ns =
		elapsed_ns < CC_INTERVAL_MAX_NS ? (uint32_t)elapsed_ns : CC_INTERVAL_MAX_NS;
	cc_ingress_tick(&v->ingress, &remote->config, &usage);
	write_rate(remote, v);
	if (v->trace)
		trace(remote, v, &usage, now_ns);
	return true;
}

/* Tell the port's owner how much waits for it. True if anything does. */
static bool report(struct rb_rates *r, struct rb_rates_remote *remote)
{
	uint8_t node = (uint8_t)(remote->system_port >> 8);
	uint8_t body[SL_CLASSES * RB_REPORT_BYTES];
	uint32_t n = 0;
	bool any = false;

	if (!remote->config.ops->needs_reports)
		return false;
	for (uint32_t k = 0; k < SL_CLASSES; k++) {
		struct rb_rates_voq *v = &remote->voq[k];
		struct rb_report record = { .system_port = remote->system_port,
					    .class = (uint8_t)k };

		if (!remote->has[k])
			continue;
		record.waiting = waiting_units(remote, v->voq);
		if (!record.waiting && !v->reported)
			continue;
		record.sequence = ++v->report_sequence;
		v->reported = record.waiting > 0;
		any |= v->reported;
		rb_report_encode(&record, body + n++ * RB_REPORT_BYTES);
	}
	if (n && r->config.send(r->config.context, node, RB_MSG_REPORT, n, body,
				n * RB_REPORT_BYTES, r->now_ns) == 0)
		r->stats.reports_sent += n;
	return any;
}

void rb_rates_ingress_run(struct rb_rates *r, uint64_t now_ns)
{
	uint64_t urgency = urgency_total(r);

	for (uint32_t i = 0; i < r->n_remotes; i++) {
		struct rb_rates_remote *remote = r->remote[i];
		bool awake = false;

		if (!remote->awake || now_ns < remote->due_ns || !is_up(r, remote))
			continue;
		remote->calm = r->taken;
		for (uint32_t k = 0; k < SL_CLASSES; k++)
			if (remote->has[k])
				awake |= tick(r, remote, &remote->voq[k], urgency, now_ns);
		awake |= report(r, remote);
		remote->awake = awake;
		remote->due_ns = rb_rates_next_ns(
			r, remote->due_ns, rb_rates_interval_ns(&remote->config, remote->calm),
			now_ns);
	}
}

uint64_t rb_rates_ingress_due_ns(const struct rb_rates *r)
{
	uint64_t due_ns = UINT64_MAX;

	for (uint32_t i = 0; i < r->n_remotes; i++) {
		const struct rb_rates_remote *remote = r->remote[i];

		if (remote->awake && remote->due_ns < due_ns && is_up(r, remote))
			due_ns = remote->due_ns;
	}
	return due_ns;
}
