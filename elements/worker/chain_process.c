/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements/worker/chain_frame.h"
#include "elements/worker/chain_process.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"

#define TASK_QUANTUM_NS 5000u
#define SELF		"/proc/self/exe"
#define SERVE_NS	2000000u /* then signals and views have their turn */

/* --- What the worker asks of its owner --- */

static uint64_t now_ns(void *owner)
{
	(void)owner;
	return sl_now_ns();
}

static void burn(void *owner, uint64_t ns)
{
	const uint64_t until_ns = sl_now_ns() + ns;

	(void)owner;
	while (sl_now_ns() < until_ns)
		;
}

static void sent(void *owner, struct el_graph *graph, struct el_packet *packet)
{
	struct el_process *p = owner;

	(void)graph;
	el_port_send(p->port, packet);
	el_worker_wake(&p->worker, EL_FLOW_OUTPUT);
}

static const struct el_worker_ops ops = { .now_ns = now_ns, .burn = burn, .sent = sent };

/* --- Global flows --- */

static uint32_t find_flow(const struct el_process *p, const char *name)
{
	for (uint32_t i = 0; i < p->chains.n; i++)
		if (strcmp(p->chains.chains[i].name, name) == 0)
			return EL_FLOWS_GLOBAL + i;
	return EL_NONE;
}

static void enter(struct el_process *p, struct el_packet *packet)
{
	char name[SL_CHAIN_NAME_BYTES];
	uint32_t flow = EL_NONE;

	if (el_chain_frame_open(packet, name)) {
		p->counters.malformed++;
	} else {
		flow = find_flow(p, name);
		if (flow == EL_NONE)
			p->counters.no_chain++;
	}
	if (flow == EL_NONE || !el_worker_enter(&p->worker, flow, packet))
		el_pool_give(el_port_pool(p->port), packet);
}

static bool input_task(void *owner)
{
	struct el_packet *packets[EL_PORT_BATCH];
	struct el_process *p = owner;
	uint32_t n = el_port_receive(p->port, packets, EL_PORT_BATCH);

	for (uint32_t i = 0; i < n; i++)
		enter(p, packets[i]);
	return el_port_waits(p->port);
}

static bool output_task(void *owner)
{
	struct el_process *p = owner;

	return el_port_flush(p->port);
}

/* --- Chains --- */

static int read_text(const char *path, char **out, size_t *n)
{
	FILE *f = fopen(path, "re");
	char *text = malloc(EL_TEXT_MAX_BYTES + 1);
	int err = 0;

	*out = NULL;
	if (!f)
		err = -errno;
	else if (!text)
		err = -ENOMEM;
	if (!err) {
		*n = fread(text, 1, EL_TEXT_MAX_BYTES + 1, f);
		err = ferror(f) ? -EIO : 0;
	}
	if (f)
		fclose(f);
	if (err) {
		sl_error("cannot read \"%s\": %s", path, strerror(-err));
		free(text);
		return err;
	}
	*out = text;
	return 0;
}

static int plan(const struct el_chains *chains, uint32_t *weights)
{
	struct el_grant grants[EL_CHAINS_MAX + EL_FLOWS_GLOBAL];
	uint32_t free_ppb, n = chains->n;
	int err;

	for (uint32_t i = 0; i < n; i++)
		grants[i] = chains->chains[i].grant;
	err = n ? el_share_plan(grants, n, EL_RESERVE_PPB, weights, &free_ppb) : 0;
	if (err)
		sl_error("the rates of all chains are more than %u%% of the processor",
			 (EL_PPB_ALL - EL_RESERVE_PPB) / (EL_PPB_ALL / 100));
	return err;
}

/* What a file of chains has become. */
struct reading {
	struct el_chains chains;
	uint32_t weights[EL_CHAINS_MAX];
	char *text; /* owned */
	size_t text_bytes;
};

static int read_chains(const char *path, const struct el_class *const *more, struct reading *out)
{
	char error[EL_ERROR_BYTES];
	int err;

	*out = (struct reading){ 0 };
	err = read_text(path, &out->text, &out->text_bytes);
	if (err)
		return err;
	err = el_chains_parse(path, out->text, out->text_bytes, more, &out->chains, error);
	if (err)
		sl_error("%s", err == -ENOMEM ? strerror(ENOMEM) : error);
	if (!err && plan(&out->chains, out->weights)) {
		el_chains_free(&out->chains);
		err = -EINVAL;
	}
	if (err) {
		free(out->text);
		out->text = NULL;
	}
	return err;
}

/* Make what was read that of the process, whose former chains are gone. */
static void keep_reading(struct el_process *p, const struct reading *reading)
{
	free(p->text);
	p->text = reading->text;
	p->text_bytes = reading->text_bytes;
	p->chains = reading->chains;
	memcpy(p->weights, reading->weights, sizeof(p->weights));
}

int el_process_check(const struct el_paths *paths)
{
	struct el_installed *installed = calloc(1, sizeof(*installed));
	struct reading reading;
	int err = installed ? 0 : -ENOMEM;

	if (!err)
		err = el_installed_open(installed, paths->keys_dir, paths->store_dir, SELF);
	if (!err)
		err = read_chains(paths->chains, installed->classes, &reading);
	if (!err) {
		el_chains_free(&reading.chains);
		free(reading.text);
	}
	if (installed)
		el_installed_close(installed);
	free(installed);
	return err;
}

static void close_chains(struct el_process *p)
{
	for (uint32_t i = 0; i < p->chains.n; i++) {
		p->counters.refused += p->chains.chains[i].refused.packets;
		p->counters.closed += el_worker_close(&p->worker, EL_FLOWS_GLOBAL + i);
	}
	el_chains_free(&p->chains);
}

static void open_chains(struct el_process *p)
{
	for (uint32_t i = 0; i < p->chains.n; i++)
		el_worker_open_chain(&p->worker, EL_FLOWS_GLOBAL + i, p->weights[i],
				     &p->chains.chains[i]);
}

int el_process_reload(struct el_process *p)
{
	struct reading reading;
	int err = read_chains(p->paths.chains, p->installed.classes, &reading);

	if (err)
		return err;
	close_chains(p);
	keep_reading(p, &reading);
	open_chains(p);
	el_fast_publish(&p->fast, &p->chains);
	sl_info("%u chains of %s", p->chains.n, p->paths.chains);
	return 0;
}

/* --- Other classes for the chains in force --- */

static bool has_class(const struct el_graph *graph, const char *name)
{
	for (uint32_t i = EL_AT_FIRST; i < graph->n_instances; i++)
		if (strcmp(graph->instances[i].class->name, name) == 0)
			return true;
	return false;
}

static int prepare(void *owner, const struct el_class *const *classes, const char *changed,
		   char why[EL_WHY_BYTES])
{
	struct el_process *p = owner;
	char error[EL_ERROR_BYTES];
	int err =
		el_chains_parse(p->paths.chains, p->text, p->text_bytes, classes, &p->next, error);

	if (err)
		snprintf(why, EL_WHY_BYTES, "%s", err == -ENOMEM ? "not enough memory" : error);
	p->changed = changed;
	return err;
}

/* Put a graph of the same text in the place of one that serves, with what waits at its input. */
static void replace_chain(struct el_process *p, uint32_t i, struct el_graph *next)
{
	struct el_graph *graph = &p->chains.chains[i], former;
	const uint32_t flow = EL_FLOWS_GLOBAL + i;

	el_chain_move_input(graph, next);
	p->counters.refused += graph->refused.packets;
	p->counters.closed += el_worker_close(&p->worker, flow);
	former = *graph;
	*graph = *next;
	*next = former;
	el_worker_open_chain(&p->worker, flow, p->weights[i], graph);
	if (graph->n_waiting)
		el_worker_wake(&p->worker, flow);
}

static void commit(void *owner, bool now)
{
	struct el_process *p = owner;

	/* The text is the same, so chains have the same places. */
	for (uint32_t i = 0; now && i < p->next.n; i++)
		if (has_class(&p->next.chains[i], p->changed))
			replace_chain(p, i, &p->next.chains[i]);
	el_chains_free(&p->next);
}

static const struct el_installed_ops installed_ops = { prepare, commit };

/* --- Life --- */

int el_process_open(const struct el_paths *paths, struct el_process **out)
{
	struct el_process *p = calloc(1, sizeof(*p));
	struct reading reading;
	int err;

	*out = NULL;
	if (!p)
		return -ENOMEM;
	p->paths = *paths;
	p->started_ns = sl_now_ns();
	err = el_installed_open(&p->installed, paths->keys_dir, paths->store_dir, SELF);
	p->installed.ops = &installed_ops;
	p->installed.owner = p;
	/* The text before the netdevs, which are of no use if it is wrong. */
	if (!err)
		err = read_chains(paths->chains, p->installed.classes, &reading);
	if (!err) {
		keep_reading(p, &reading);
		err = el_chain_netdevs_open(&p->netdevs);
	}
	if (!err)
		err = el_port_open(&p->netdevs, &p->port);
	if (!err)
		err = el_fast_open(&p->fast, paths->pin_dir);
	if (err) {
		el_process_close(p);
		return err;
	}
	el_worker_init(&p->worker, el_port_pool(p->port), &ops, p, 0);
	/* Input and output get half of what the chains have together, each. */
	el_worker_open_task(&p->worker, EL_FLOW_INPUT, EL_PPB_ALL / 2, TASK_QUANTUM_NS, input_task);
	el_worker_open_task(&p->worker, EL_FLOW_OUTPUT, EL_PPB_ALL / 2, TASK_QUANTUM_NS,
			    output_task);
	open_chains(p);
	sl_info("%u chains of %s", p->chains.n, paths->chains);
	*out = p;
	return 0;
}

void el_process_close(struct el_process *p)
{
	if (!p)
		return;
	el_fast_close(&p->fast);
	if (p->port)
		close_chains(p);
	el_chains_free(&p->chains);
	el_installed_close(&p->installed);
	free(p->text);
	el_port_close(p->port);
	el_chain_netdevs_delete(&p->netdevs);
	free(p);
}

bool el_process_serve(struct el_process *p)
{
	const uint64_t until_ns = sl_now_ns() + SERVE_NS;

	el_fast_follow(&p->fast, &p->chains, sl_now_ns());
	for (;;) {
		if (el_port_waits(p->port))
			el_worker_wake(&p->worker, EL_FLOW_INPUT);
		if (el_port_is_sending(p->port))
			el_worker_wake(&p->worker, EL_FLOW_OUTPUT);
		if (!el_worker_turn(&p->worker))
			return false;
		if (sl_now_ns() >= until_ns)
			return true;
	}
}
