/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

#include "elements/classes/classes.h"
#include "elements/worker/element_views.h"
#include "elements/worker/install_commands.h"
#include "user/ipc/control_socket.h"
#include "user/lib/clock.h"

#define SECOND_NS 1000000000ULL

struct el_views {
	struct sl_ctl *ctl; /* owned */
	uint64_t tick_ns;
};

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static void set(json_t *row, const char *key, uint64_t value)
{
	json_object_set_new(row, key, number(value));
}

static void put_flow(json_t *row, const struct el_flow *flow)
{
	set(row, "cpu_ns", flow->counters.cpu_ns);
	set(row, "slices", flow->counters.slices);
	set(row, "longest_slice_ns", flow->counters.longest_slice_ns);
	set(row, "preemptions", flow->counters.preemptions);
	set(row, "sleeps", flow->counters.sleeps);
	set(row, "wakeups", flow->counters.wakeups);
}

/* --- Flows --- */

static json_t *task_row(const struct el_process *p, uint32_t flow, const char *name)
{
	json_t *row = json_pack("{s:s, s:b}", "flow", name, "global", 1);

	if (!row)
		return NULL;
	set(row, "weight", p->worker.clients[flow].weight);
	put_flow(row, &p->worker.flows[flow]);
	return row;
}

/* Packets that the elements of a chain have dropped in the fast path; its input refuses some. */
static uint64_t fast_dropped(struct el_process *p, uint32_t chain)
{
	const struct el_graph *graph = el_process_chain(p, chain);
	uint64_t n = 0;

	for (uint32_t i = EL_AT_INPUT + 1; graph->fast && i < graph->n_instances; i++)
		n += el_fast_count(&p->fast, chain, i).dropped_packets;
	return n;
}

/* The key of the chain in a place, or NULL: it is the file's. */
static const char *key_of(const struct el_process *p, uint32_t place)
{
	return place < EL_CHAINS_MAX ? NULL : p->signalled[place - EL_CHAINS_MAX].key;
}

static json_t *chain_row(struct el_process *p, uint32_t i)
{
	const struct el_graph *graph = el_process_chain(p, i);
	const struct el_flow *flow = &p->worker.flows[EL_FLOWS_GLOBAL + i];
	const struct sl_fast_count fast = el_fast_count(&p->fast, i, EL_AT_INPUT);
	json_t *row = json_pack("{s:s, s:b, s:s?}", "flow", graph->name, "global", 0, "key",
				key_of(p, i));

	if (!row)
		return NULL;
	json_object_set_new(row, "fast", json_boolean(graph->fast));
	if (graph->grant.kind == EL_GRANT_RATE)
		set(row, "rate_percent", graph->grant.value / (EL_PPB_ALL / 100));
	else
		set(row, "share", graph->grant.value);
	if (graph->ceiling_percent)
		set(row, "ceiling_percent", graph->ceiling_percent);
	set(row, "weight", p->weights[i]);
	set(row, "quantum_ns", graph->quantum_ns);
	set(row, "limit", graph->limit_packets);
	set(row, "fast_packets", fast.packets);
	set(row, "entered", graph->entered.packets + fast.packets);
	set(row, "refused", graph->refused.packets + fast.dropped_packets);
	set(row, "copied", el_chain_copied(graph).packets);
	set(row, "left", graph->left.packets + el_fast_count(&p->fast, i, EL_AT_OUTPUT).packets);
	set(row, "dropped", el_chain_dropped(graph).packets + fast_dropped(p, i));
	set(row, "waiting", el_chain_waiting(graph) + flow->saved);
	put_flow(row, flow);
	set(row, "cpu_ns", flow->counters.cpu_ns + fast.cpu_ns);
	return row;
}

static void show_flows(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	struct el_process *p = ctx;

	(void)request;
	sl_ctl_put(answer, task_row(p, EL_FLOW_INPUT, "input"));
	sl_ctl_put(answer, task_row(p, EL_FLOW_OUTPUT, "output"));
	for (uint32_t i = 0; i < EL_PLACES; i++)
		if (el_process_chain(p, i) && sl_ctl_put(answer, chain_row(p, i)))
			return;
}

/* --- Elements --- */

static json_t *outputs_of(const struct el_graph *graph, const struct el_instance *at)
{
	json_t *outputs = json_array();

	for (uint32_t out = 0; out < at->class->outputs; out++)
		json_array_append_new(outputs,
				      at->to[out] == EL_NOWHERE
					      ? json_null()
					      : json_string(graph->instances[at->to[out]].name));
	return outputs;
}

static json_t *element_row(struct el_process *p, uint32_t chain, uint32_t element)
{
	const struct el_graph *graph = el_process_chain(p, chain);
	const struct el_instance *at = &graph->instances[element];
	const struct sl_fast_count fast = el_fast_count(&p->fast, chain, element);
	json_t *row = json_pack("{s:s, s:s, s:s, s:o}", "chain", graph->name, "element", at->name,
				"class", at->class->name, "outputs", outputs_of(graph, at));

	if (!row)
		return NULL;
	set(row, "packets", at->in.packets + fast.packets);
	set(row, "bytes", at->in.bytes + fast.bytes);
	set(row, "dropped",
	    at->dropped.packets + (element == EL_AT_INPUT ? 0 : fast.dropped_packets));
	json_object_set_new(row, "drop",
			    at->class->drop_name ? json_string(at->class->drop_name) : json_null());
	set(row, "copied", at->copied.packets);
	set(row, "not_copied", at->not_copied);
	set(row, "waiting", at->class->waiting ? at->class->waiting(at->state) : 0);
	return row;
}

static void show_elements(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const char *wanted = json_string_value(json_object_get(request, "chain"));
	struct el_process *p = ctx;

	if (wanted && el_process_find(p, wanted) == EL_NONE) {
		sl_ctl_fail(answer, "no chain is called \"%s\"", wanted);
		return;
	}
	for (uint32_t i = 0; i < EL_PLACES; i++) {
		const struct el_graph *graph = el_process_chain(p, i);

		if (!graph || (wanted && i != el_process_find(p, wanted)))
			continue;
		for (uint32_t j = 0; j < graph->n_instances; j++)
			if (sl_ctl_put(answer, element_row(p, i, j)))
				return;
	}
}

/* --- Classes --- */

static json_t *class_row(const struct el_process *p, const struct el_class *class)
{
	const struct el_installed_element *installed = el_installed_find(&p->installed, class);
	static const struct {
		uint32_t may;
		const char *name;
	} kinds[] = { { EL_MAY_DROP, "drop" },
		      { EL_MAY_WRITE, "write" },
		      { EL_MAY_RESIZE, "resize" },
		      { EL_MAY_COPY, "copy" },
		      { EL_MAY_HOLD, "hold" } };
	json_t *may = json_array(), *params = json_array(), *row;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (class->may & kinds[i].may)
			json_array_append_new(may, json_string(kinds[i].name));
	for (const struct el_param *param = class->params; param && param->name; param++)
		json_array_append_new(params,
				      json_pack("{s:s, s:b, s:s}", "name", param->name, "required",
						param->required, "what", param->what));
	row = json_pack("{s:s, s:i, s:s, s:i, s:o, s:o}", "class", class->name, "version",
			(int)class->version, "what", class->what, "outputs", (int)class->outputs,
			"may", may, "parameters", params);
	if (!row)
		return NULL;
	json_object_set_new(row, "fast", json_boolean(class->fast));
	json_object_set_new(row, "key", installed ? json_string(installed->key) : json_null());
	json_object_set_new(row, "fault",
			    installed && installed->fault[0] ? json_string(installed->fault)
							     : json_null());
	return row;
}

static void show_classes(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct el_process *p = ctx;

	(void)request;
	for (const struct el_class *const *class = el_classes; *class; class ++)
		if (sl_ctl_put(answer, class_row(p, *class)))
			return;
	for (const struct el_class *const *class = p->installed.classes; *class; class ++)
		if (sl_ctl_put(answer, class_row(p, *class)))
			return;
}

/* --- Signals --- */

/* key NULL: of no key that is known. */
static int put_signals(struct sl_ctl_answer *answer, const char *key, const char *outcome,
		       uint64_t signals)
{
	json_t *row = json_pack("{s:s?, s:s}", "key", key, "outcome", outcome);

	if (row)
		set(row, "signals", signals);
	return sl_ctl_put(answer, row);
}

static void show_signals(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	static const uint8_t outcomes[] = { EL_SIGNAL_DONE, EL_SIGNAL_REFUSED, EL_SIGNAL_STALE,
					    EL_SIGNAL_BUSY };
	const struct el_signals *signals = ((const struct el_process *)ctx)->signals;

	(void)request;
	if (!signals)
		return;
	for (uint32_t i = 0; i < signals->keys.n; i++) {
		const struct el_signal_sender *sender = &signals->senders[i];

		for (size_t j = 0; j < sizeof(outcomes); j++)
			if (put_signals(answer, sender->name, el_signal_outcome_name(outcomes[j]),
					sender->outcomes[outcomes[j]]))
				return;
		if (put_signals(answer, sender->name, "unanswered", sender->unanswered))
			return;
	}
	put_signals(answer, NULL, el_signal_outcome_name(EL_SIGNAL_UNAUTHENTIC),
		    signals->unauthentic);
	put_signals(answer, NULL, el_signal_outcome_name(EL_SIGNAL_MALFORMED), signals->malformed);
	put_signals(answer, NULL, "unanswered", signals->unanswered);
	put_signals(answer, NULL, "ignored", signals->ignored);
}

/* --- The process --- */

static uint32_t count_chains(struct el_process *p)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < EL_PLACES; i++)
		n += el_process_chain(p, i) != NULL;
	return n;
}

static void show_status(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	struct el_process *p = ctx;
	const struct el_port_counters *port = el_port_counters(p->port);
	json_t *row = json_object();

	(void)request;
	set(row, "chains", count_chains(p));
	set(row, "up_ns", sl_now_ns() - p->started_ns);
	set(row, "idle_ns", p->idle_ns);
	set(row, "received", port->received);
	set(row, "sent", port->sent);
	set(row, "drop_ring", el_port_refused(p->port));
	set(row, "drop_malformed", p->counters.malformed);
	set(row, "drop_no_chain", p->counters.no_chain);
	set(row, "drop_output_full", port->output_full);
	set(row, "drop_closed", p->counters.closed);
	sl_ctl_put(answer, row);
}

static const struct sl_ctl_command commands[] = {
	{ "status", false, show_status },
	{ "flows", false, show_flows },
	{ "elements", false, show_elements },
	{ "classes", false, show_classes },
	{ "signals", false, show_signals },
	{ "install", false, el_install_command },
	{ "installation", false, el_installation_command },
	{ "remove", false, el_remove_command },
	{ NULL, false, NULL },
};

int el_views_open(const char *path, struct el_views **out)
{
	struct el_views *views = calloc(1, sizeof(*views));
	int err;

	*out = NULL;
	if (!views)
		return -ENOMEM;
	err = sl_ctl_open(path, 0660, NULL, commands, &views->ctl);
	if (err)
		el_views_close(views);
	else
		sl_ctl_allow_requests(views->ctl, EL_INSTALL_REQUEST_BYTES);
	if (!err)
		*out = views;
	return err;
}

void el_views_close(struct el_views *views)
{
	if (!views)
		return;
	sl_ctl_close(views->ctl);
	free(views);
}

int el_views_fd(const struct el_views *views)
{
	return sl_ctl_fd(views->ctl);
}

void el_views_poll(struct el_views *views, struct el_process *process, uint64_t now_ns)
{
	sl_ctl_poll(views->ctl, process);
	if (now_ns < views->tick_ns)
		return;
	views->tick_ns = now_ns + SECOND_NS;
	sl_ctl_tick(views->ctl);
}
