/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/views/view_rates.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rdma-bridge/bridge/ports.h"
#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/rate/cc_overrides.h"
#include "user/lib/log.h"
#include "user/ipc/relay.h"

#define NS_PER_US 1000

/* --- cc --- */

static json_t *parameters(const struct cc_config *config)
{
	json_t *object = json_object();

	for (uint32_t i = 0; i < config->ops->n_params; i++)
		json_object_set_new(object, config->ops->params[i].name,
				    json_integer(config->param[i]));
	return object;
}

/*
 * The members that rows of queues and of VOQs share. Only price has a signal that means a number.
 */
static json_t *common_row(const char *side, uint16_t system_port, uint32_t class,
			  const struct cc_config *config, const struct cc_feedback *latest)
{
	char name[IF_NAMESIZE];
	json_t *row;

	sl_relay_tap_name(system_port, name);
	row = json_pack("{s:s, s:s, s:i, s:s, s:s, s:i, s:o}", "side", side, "port", name, "class",
			class, "controller", config->ops->name, "unit",
			config->port.units == CC_BYTES ? "bytes" : "frames", "interval_us",
			config->port.interval_ns / NS_PER_US, "parameters", parameters(config));
	if (!config->ops->needs_feedback || latest->algorithm == 0) {
		json_object_set_new(row, "signal", json_null());
		return row;
	}
	json_object_set_new(row, "signal", json_integer(latest->signal));
	json_object_set_new(row, "share", json_integer(latest->share));
	json_object_set_new(row, "sequence", json_integer(latest->seq));
	if (latest->algorithm == CC_PRICE)
		json_object_set_new(row, "price", json_real(latest->signal / 1048576.0));
	return row;
}

static int put_queue(struct sl_ctl_answer *answer, const struct rb_rates_queue *queue)
{
	const struct rb_rates_port *port = queue->port;
	json_t *row = common_row("egress", port->egress->system_port, queue->class, &port->config,
				 &queue->latest);

	json_object_update_new(
		row,
		json_pack("{s:b, s:o, s:o, s:i, s:i}", "awake", queue->awake, "rate",
			  json_integer(queue->sample.capacity_ups ? queue->sample.capacity_ups
								  : port->config.port.capacity_ups),
			  "waiting", json_integer(queue->backlog_units), "sources",
			  queue->sample.n_sources, "generation", (int)port->generation));
	return sl_ctl_put(answer, row);
}

static int put_voq(struct sl_ctl_answer *answer, const struct rb_rates_remote *remote,
		   uint32_t class)
{
	const struct rb_rates_voq *v = &remote->voq[class];
	uint64_t rate = v->voq->settings->rate;
	json_t *row =
		common_row("ingress", remote->system_port, class, &remote->config, &v->latest);

	json_object_update_new(
		row,
		json_pack("{s:b, s:o, s:i, s:i, s:o, s:o}", "awake", remote->awake, "rate",
			  rate == SL_RATE_UNLIMITED ? json_null() : json_integer(rate), "burst",
			  v->voq->settings->burst, "weight", v->ingress.weight, "age_us",
			  v->ingress.ever ? json_integer(v->ingress.age_ns / NS_PER_US)
					  : json_null(),
			  "generation", json_integer(remote->generation)));
	return sl_ctl_put(answer, row);
}

static int put_stats(struct sl_ctl_answer *answer, const struct rb_rates_stats *s)
{
	json_t *row = json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "side", "totals",
				"intervals", json_integer(s->intervals), "late",
				json_integer(s->late), "asked", json_integer(s->asked),
				"feedback_sent", json_integer(s->feedback_sent), "feedback_refused",
				json_integer(s->feedback_refused), "feedback_received",
				json_integer(s->feedback_received), "feedback_stale",
				json_integer(s->feedback_stale), "feedback_foreign",
				json_integer(s->feedback_foreign));

	json_object_update_new(row,
			       json_pack("{s:o, s:o, s:o, s:o, s:o}", "policies_sent",
					 json_integer(s->policies_sent), "policies_received",
					 json_integer(s->policies_received), "policies_refused",
					 json_integer(s->policies_refused), "reports_sent",
					 json_integer(s->reports_sent), "reports_received",
					 json_integer(s->reports_received)));
	return sl_ctl_put(answer, row);
}

static void add_stats(struct rb_rates_stats *sum, const struct rb_rates_stats *s)
{
	sum->intervals += s->intervals;
	sum->asked += s->asked;
	sum->feedback_sent += s->feedback_sent;
	sum->feedback_refused += s->feedback_refused;
	sum->feedback_received += s->feedback_received;
	sum->feedback_stale += s->feedback_stale;
	sum->feedback_foreign += s->feedback_foreign;
	sum->policies_sent += s->policies_sent;
	sum->policies_received += s->policies_received;
	sum->policies_refused += s->policies_refused;
	sum->reports_sent += s->reports_sent;
	sum->reports_received += s->reports_received;
	sum->late += s->late;
}

static int put_queues(struct sl_ctl_answer *answer, const struct rb_rates *r)
{
	int err = 0;

	for (uint32_t p = 0; p < r->n_ports; p++) {
		const struct rb_rates_port *port = r->port[p];

		for (uint32_t k = 0; k < SL_CLASSES && !err; k++)
			if (k == 0 || port->queue[k].egress.seq > 0)
				err = put_queue(answer, &port->queue[k]);
	}
	return err;
}

static int put_voqs(struct sl_ctl_answer *answer, const struct rb_rates *r)
{
	int err = 0;

	for (uint32_t i = 0; i < r->n_remotes; i++)
		for (uint32_t k = 0; k < SL_CLASSES && !err; k++)
			if (r->remote[i]->has[k] && (k == 0 || r->remote[i]->voq[k].ingress.ever))
				err = put_voq(answer, r->remote[i], k);
	return err;
}

/* Rows of class 0, and of the other classes that were ever active. */
void rb_view_cc(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;
	struct rb_rates_stats sum = { 0 };

	(void)request;
	for (uint32_t i = 0; i < b->n_lanes; i++)
		if (put_queues(answer, b->lanes[i].worker->rates))
			return;
	for (uint32_t i = 0; i < b->n_lanes; i++) {
		if (put_voqs(answer, b->lanes[i].worker->rates))
			return;
		add_stats(&sum, &b->lanes[i].worker->rates->stats);
	}
	put_stats(answer, &sum);
}

/* --- cc-set --- */

/* The system port that "n2p1", or the netdev of a port of ours, names; 0: none. */
static uint16_t find_port(const struct rb_bridge *b, const char *text)
{
	unsigned int node, number;
	char rest;

	for (uint32_t i = 0; i < b->n_ports; i++)
		if (strcmp(b->ports[i].settings->name, text) == 0)
			return b->ports[i].system_port;
	if (sscanf(text, "n%3up%3u%c", &node, &number, &rest) != 2 || node == 0 || node > 255 ||
	    number == 0 || number > 255)
		return 0;
	return SL_SYSTEM_PORT(node, number);
}

static int read_words(struct sl_cc_settings *settings, const json_t *words, char *why)
{
	const json_t *word;
	size_t i;

	json_array_foreach(words, i, word) {
		int err = sl_cc_settings_set(
			settings, json_is_string(word) ? json_string_value(word) : "", why);

		if (err)
			return err;
	}
	return sl_cc_settings_check(settings, why);
}

/* The configuration of a controlled port of ours. */
static const struct sl_cc_settings *configured(const struct rb_bridge *b, uint16_t system_port)
{
	uint32_t i = 0;

	while (b->ports[i].system_port != system_port)
		i++;
	return &b->ports[i].settings->control;
}

void rb_view_cc_set(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	struct rb_bridge *b = ctx;
	const char *name = json_string_value(json_object_get(request, "port"));
	const char *controller = json_string_value(json_object_get(request, "controller"));
	uint16_t system_port = name ? find_port(b, name) : 0;
	const struct rb_rates_port *port;
	struct sl_cc_settings settings;
	char why[SL_CC_WHY_BYTES];
	const char *text = NULL;
	int err;

	if (system_port == 0) {
		sl_ctl_fail(answer,
			    "\"%s\" is no port of this cluster: write a netdev of this node that "
			    "is a port, or a system port such as n%up1",
			    name ? name : "", b->settings->cluster.node);
		return;
	}
	if (system_port >> 8 != b->settings->cluster.node) {
		sl_ctl_fail(answer,
			    "%s is a port of node %u, which alone sets its controller: run this "
			    "command there",
			    name, system_port >> 8);
		return;
	}
	port = rb_bridge_lane(b, system_port)->worker->rates->by_number[system_port & 0xff];
	if (!port) {
		sl_ctl_fail(answer, "\"%s\" is no port of this node", name);
		return;
	}
	settings = port->settings;
	if (!controller || sl_cc_settings_switch(&settings, controller)) {
		sl_ctl_fail(answer, "\"%s\" is not a controller: write one of %s",
			    controller ? controller : "", sl_cc_names());
		return;
	}
	if (read_words(&settings, json_object_get(request, "words"), why)) {
		sl_ctl_fail(answer, "%s", why);
		return;
	}
	if (rb_bridge_set_controller(b, port->number, &settings, b->lanes[0].worker->now_ns,
				     &text)) {
		sl_ctl_fail(answer, "%s: %s", controller, text ? text : "out of memory");
		return;
	}
	sl_event("controller", SL_LOG_FIELDS({ "port", name, 0 }, { "controller", controller, 0 }),
		 "port %s: controller %s from now on", name, controller);
	err = rb_cc_overrides_put(b->cc_overrides_path, system_port, configured(b, system_port),
				  &settings);
	if (err)
		sl_warning("port %s: controller %s only until the bridge restarts: %s: %s", name,
			   controller, b->cc_overrides_path, strerror(-err));
}

/* --- cc-trace --- */

static json_t *point_row(const struct rb_rate_point *point)
{
	json_t *from = json_array();

	for (uint32_t i = 0; i < RB_RATE_TRACE_SOURCES; i++)
		json_array_append_new(from, json_integer(point->from[i]));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "end_ns",
			 json_integer(point->end_ns), "elapsed_ns", json_integer(point->elapsed_ns),
			 "rate", json_integer(point->rate), "waiting", json_integer(point->waiting),
			 "arrived", json_integer(point->arrived), "departed",
			 json_integer(point->departed), "dropped", json_integer(point->dropped),
			 "signal", json_integer(point->signal), "share", json_integer(point->share),
			 "from", from);
}

static struct rb_rate_trace **find_trace(const struct rb_bridge *b, uint16_t system_port,
					 uint32_t class)
{
	struct rb_rates *r = rb_bridge_lane(b, system_port)->worker->rates;
	struct rb_rates_remote *remote = rb_rates_find_remote(r, system_port);

	if (system_port >> 8 == b->settings->cluster.node && r->by_number[system_port & 0xff])
		return &r->by_number[system_port & 0xff]->queue[class].trace;
	return remote && remote->has[class] ? &remote->voq[class].trace : NULL;
}

void rb_view_cc_trace(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;
	const char *name = json_string_value(json_object_get(request, "port"));
	json_int_t class = json_integer_value(json_object_get(request, "class"));
	json_int_t after_ns = json_integer_value(json_object_get(request, "after_ns"));
	json_int_t left = json_integer_value(json_object_get(request, "max"));
	uint16_t system_port = name ? find_port(b, name) : 0;
	struct rb_rate_trace **trace = NULL;

	if (left <= 0)
		left = RB_RATE_TRACE_POINTS;

	if (system_port != 0 && class >= 0 && class < SL_CLASSES)
		trace = find_trace(b, system_port, (uint32_t) class);
	if (!trace) {
		sl_ctl_fail(answer, "there is no controlled queue \"%s\", class %lld",
			    name ? name : "", (long long)class);
		return;
	}
	if (rb_rate_trace_begin(trace)) {
		sl_ctl_fail(answer, "out of memory");
		return;
	}
	for (uint64_t i = 0; i < RB_RATE_TRACE_POINTS && left > 0; i++) {
		uint64_t at = (*trace)->n + i;
		const struct rb_rate_point *point = &(*trace)->point[at % RB_RATE_TRACE_POINTS];

		if (point->end_ns == 0 || point->end_ns <= (uint64_t)after_ns)
			continue;
		if (sl_ctl_put(answer, point_row(point)))
			return;
		left--;
	}
}
