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

static int read_chains(const char *path, struct el_chains *chains, uint32_t *weights)
{
	char error[EL_ERROR_BYTES], *text;
	size_t n = 0;
	int err = read_text(path, &text, &n);

	*chains = (struct el_chains){ 0 };
	if (err)
		return err;
	err = el_chains_parse(path, text, n, chains, error);
	if (err)
		sl_error("%s", err == -ENOMEM ? strerror(ENOMEM) : error);
	free(text);
	if (!err && plan(chains, weights)) {
		el_chains_free(chains);
		err = -EINVAL;
	}
	return err;
}

int el_process_check(const char *path)
{
	uint32_t weights[EL_CHAINS_MAX];
	struct el_chains chains;
	int err = read_chains(path, &chains, weights);

	if (!err)
		el_chains_free(&chains);
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
	uint32_t weights[EL_CHAINS_MAX];
	struct el_chains chains;
	int err = read_chains(p->path, &chains, weights);

	if (err)
		return err;
	close_chains(p);
	p->chains = chains;
	memcpy(p->weights, weights, sizeof(weights));
	open_chains(p);
	sl_info("%u chains of %s", chains.n, p->path);
	return 0;
}

/* --- Life --- */

int el_process_open(const char *path, struct el_process **out)
{
	struct el_process *p = calloc(1, sizeof(*p));
	int err;

	*out = NULL;
	if (!p)
		return -ENOMEM;
	p->path = path;
	p->started_ns = sl_now_ns();
	/* The text first: who has written it wrong wants no netdevs. */
	err = read_chains(path, &p->chains, p->weights);
	if (!err)
		err = el_chain_netdevs_open(&p->netdevs);
	if (!err)
		err = el_port_open(&p->netdevs, &p->port);
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
	sl_info("%u chains of %s", p->chains.n, path);
	*out = p;
	return 0;
}

void el_process_close(struct el_process *p)
{
	if (!p)
		return;
	if (p->port)
		close_chains(p);
	el_chains_free(&p->chains);
	el_port_close(p->port);
	el_chain_netdevs_delete(&p->netdevs);
	free(p);
}

bool el_process_serve(struct el_process *p)
{
	const uint64_t until_ns = sl_now_ns() + SERVE_NS;

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
