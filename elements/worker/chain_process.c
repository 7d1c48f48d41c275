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

struct el_graph *el_process_chain(struct el_process *p, uint32_t place)
{
	if (place < EL_CHAINS_MAX)
		return place < p->chains.n ? &p->chains.chains[place] : NULL;
	return p->signalled[place - EL_CHAINS_MAX].chains.chains;
}

uint32_t el_process_find(struct el_process *p, const char *name)
{
	for (uint32_t i = 0; i < EL_PLACES; i++) {
		const struct el_graph *graph = el_process_chain(p, i);

		if (graph && strcmp(graph->name, name) == 0)
			return i;
	}
	return EL_NONE;
}

static void enter(struct el_process *p, struct el_packet *packet)
{
	char name[SL_CHAIN_NAME_BYTES];
	uint32_t place = EL_NONE;

	if (el_chain_frame_open(packet, name)) {
		p->counters.malformed++;
	} else {
		place = el_process_find(p, name);
		if (place == EL_NONE)
			p->counters.no_chain++;
	}
	if (place == EL_NONE || !el_worker_enter(&p->worker, EL_FLOWS_GLOBAL + place, packet))
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

int el_process_plan(const struct el_chains *chains, const struct el_graph *const *signalled,
		    uint32_t weights[EL_PLACES])
{
	uint32_t places[EL_PLACES], packed[EL_PLACES], free_ppb, n = 0;
	struct el_grant grants[EL_PLACES];
	int err;

	for (uint32_t i = 0; i < EL_PLACES; i++) {
		const struct el_graph *graph = NULL;

		if (i < chains->n)
			graph = &chains->chains[i];
		else if (i >= EL_CHAINS_MAX && signalled)
			graph = signalled[i - EL_CHAINS_MAX];
		if (!graph)
			continue;
		grants[n] = graph->grant;
		places[n++] = i;
	}
	err = n ? el_share_plan(grants, n, EL_RESERVE_PPB, packed, &free_ppb) : 0;
	if (err)
		return err;
	memset(weights, 0, EL_PLACES * sizeof(weights[0]));
	for (uint32_t i = 0; i < n; i++)
		weights[places[i]] = packed[i];
	return 0;
}

static int plan(const struct el_chains *chains, const struct el_graph *const *signalled,
		uint32_t weights[EL_PLACES])
{
	int err = el_process_plan(chains, signalled, weights);

	if (err)
		sl_error("the rates of all chains are more than %u%% of the processor",
			 EL_RATES_PERCENT);
	return err;
}

/* What a file of chains has become. */
struct reading {
	struct el_chains chains;
	uint32_t weights[EL_PLACES];
	char *text; /* owned */
	size_t text_bytes;
};

static void drop_reading(struct reading *reading)
{
	el_chains_free(&reading->chains);
	free(reading->text);
	*reading = (struct reading){ 0 };
}

static int read_chains(const char *path, const struct el_class *const *more, struct reading *out)
{
	char error[EL_ERROR_BYTES];
	int err;

	*out = (struct reading){ 0 };
	err = read_text(path, &out->text, &out->text_bytes);
	if (err)
		return err;
	err = el_chains_parse(path, out->text, out->text_bytes, more, &out->chains, error);
	if (err) {
		sl_error("%s", err == -ENOMEM ? strerror(ENOMEM) : error);
		drop_reading(out);
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
}

int el_process_check(const struct el_paths *paths)
{
	struct el_installed *installed = calloc(1, sizeof(*installed));
	struct reading reading = { 0 };
	int err = installed ? 0 : -ENOMEM;

	if (!err)
		err = el_installed_open(installed, paths->keys_dir, paths->store_dir, SELF);
	if (!err)
		err = read_chains(paths->chains, installed->classes, &reading);
	if (!err && plan(&reading.chains, NULL, reading.weights))
		err = -EINVAL;
	drop_reading(&reading);
	if (installed)
		el_installed_close(installed);
	free(installed);
	return err;
}

void el_process_end(struct el_process *p, uint32_t place)
{
	p->counters.refused += el_process_chain(p, place)->refused.packets;
	p->counters.closed += el_worker_close(&p->worker, EL_FLOWS_GLOBAL + place);
}

void el_process_begin(struct el_process *p, uint32_t place)
{
	el_worker_open_chain(&p->worker, EL_FLOWS_GLOBAL + place, p->weights[place],
			     el_process_chain(p, place));
}

void el_process_weigh(struct el_process *p, const uint32_t weights[EL_PLACES])
{
	memcpy(p->weights, weights, sizeof(p->weights));
	for (uint32_t i = 0; i < EL_PLACES; i++)
		if (p->worker.graphs[EL_FLOWS_GLOBAL + i])
			el_sched_set_weight(&p->worker.sched, EL_FLOWS_GLOBAL + i, weights[i]);
}

void el_process_remove(struct el_process *p, uint32_t place)
{
	struct el_signalled *chain = &p->signalled[place - EL_CHAINS_MAX];

	el_process_end(p, place);
	el_chains_free(&chain->chains);
	free(chain->text);
	*chain = (struct el_signalled){ 0 };
}

/* The chains of signals that stay beside those of a file, which may take their names. */
static void choose_signalled(const struct el_process *p, const bool *allowed,
			     const struct el_chains *file,
			     const struct el_graph *kept[EL_SIGNALLED_MAX])
{
	for (uint32_t i = 0; i < EL_SIGNALLED_MAX; i++) {
		const struct el_graph *graph = p->signalled[i].chains.chains;

		kept[i] = graph && allowed[i] && !el_chains_find(file, graph->name) ? graph : NULL;
	}
}

static void keep_signalled(struct el_process *p, const struct el_graph *const *kept)
{
	for (uint32_t i = 0; i < EL_SIGNALLED_MAX; i++) {
		if (!p->signalled[i].chains.n || kept[i])
			continue;
		sl_warning("chain %s of key %s ends: the files do not allow it any more",
			   p->signalled[i].chains.chains->name, p->signalled[i].key);
		el_process_remove(p, EL_CHAINS_MAX + i);
	}
}

static void close_chains(struct el_process *p)
{
	for (uint32_t i = 0; i < p->chains.n; i++)
		el_process_end(p, i);
	el_chains_free(&p->chains);
}

int el_process_reload(struct el_process *p, const bool *allowed)
{
	const struct el_graph *kept[EL_SIGNALLED_MAX];
	struct reading reading;
	int err = read_chains(p->paths.chains, p->installed.classes, &reading);

	if (err)
		return err;
	choose_signalled(p, allowed, &reading.chains, kept);
	err = plan(&reading.chains, kept, reading.weights);
	if (err) {
		drop_reading(&reading);
		return err;
	}
	close_chains(p);
	keep_signalled(p, kept);
	keep_reading(p, &reading);
	el_process_weigh(p, reading.weights);
	for (uint32_t i = 0; i < p->chains.n; i++)
		el_process_begin(p, i);
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

static void forget_next(struct el_process *p)
{
	el_chains_free(&p->next);
	for (uint32_t i = 0; i < EL_SIGNALLED_MAX; i++)
		el_chains_free(&p->signalled[i].next);
}

static int prepare(void *owner, const struct el_class *const *classes, const char *changed,
		   char why[EL_WHY_BYTES])
{
	struct el_process *p = owner;
	char error[EL_ERROR_BYTES];
	int err =
		el_chains_parse(p->paths.chains, p->text, p->text_bytes, classes, &p->next, error);

	for (uint32_t i = 0; i < EL_SIGNALLED_MAX && !err; i++) {
		struct el_signalled *chain = &p->signalled[i];

		if (chain->chains.n)
			err = el_chains_parse(chain->key, chain->text, chain->text_bytes, classes,
					      &chain->next, error);
	}
	if (err) {
		forget_next(p);
		snprintf(why, EL_WHY_BYTES, "%s", err == -ENOMEM ? "not enough memory" : error);
	}
	p->changed = changed;
	return err;
}

void el_process_replace(struct el_process *p, uint32_t place, struct el_graph *next)
{
	struct el_graph *graph = el_process_chain(p, place), former;

	el_chain_move_input(graph, next);
	el_process_end(p, place);
	former = *graph;
	*graph = *next;
	*next = former;
	el_process_begin(p, place);
	if (graph->n_waiting)
		el_worker_wake(&p->worker, EL_FLOWS_GLOBAL + place);
}

static void commit(void *owner, bool now)
{
	struct el_process *p = owner;

	/* The texts are the same, so chains have the same places. */
	for (uint32_t i = 0; now && i < EL_PLACES; i++) {
		struct el_graph *next = i < EL_CHAINS_MAX
						? i < p->next.n ? &p->next.chains[i] : NULL
						: p->signalled[i - EL_CHAINS_MAX].next.chains;

		if (next && has_class(next, p->changed))
			el_process_replace(p, i, next);
	}
	if (now)
		el_fast_change(&p->fast, &p->chains, p->changed);
	forget_next(p);
}

static const struct el_installed_ops installed_ops = { prepare, commit };

/* --- Life --- */

int el_process_open(const struct el_paths *paths, struct el_process **out)
{
	struct el_process *p = calloc(1, sizeof(*p));
	struct reading reading = { 0 };
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
	keep_reading(p, &reading);
	if (!err && plan(&p->chains, NULL, p->weights))
		err = -EINVAL;
	if (!err)
		err = el_chain_netdevs_open(&p->netdevs);
	if (!err)
		err = el_port_open(&p->netdevs, &p->port);
	if (!err)
		err = el_fast_open(&p->fast, paths->pin_dir, &p->installed.own);
	if (!err)
		el_installed_leave(&p->installed, paths->sluiced);
	if (err) {
		el_process_close(p);
		return err;
	}
	el_worker_init(&p->worker, el_port_pool(p->port), &ops, p, 0);
	/* Input and output get half of what the chains have together, each. */
	el_worker_open_task(&p->worker, EL_FLOW_INPUT, EL_PPB_ALL / 2, TASK_QUANTUM_NS, input_task);
	el_worker_open_task(&p->worker, EL_FLOW_OUTPUT, EL_PPB_ALL / 2, TASK_QUANTUM_NS,
			    output_task);
	for (uint32_t i = 0; i < p->chains.n; i++)
		el_process_begin(p, i);
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
	for (uint32_t i = 0; i < EL_SIGNALLED_MAX; i++)
		if (p->signalled[i].chains.n)
			el_process_remove(p, EL_CHAINS_MAX + i);
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
