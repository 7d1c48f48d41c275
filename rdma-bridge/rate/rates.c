/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/rate/rates.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/queue/frame_counters.h"

int rb_rates_create(const struct rb_rates_config *config, struct rb_rates **out)
{
	struct rb_rates *r = calloc(1, sizeof(*r));

	*out = r;
	if (!r)
		return -ENOMEM;
	r->config = *config;
	r->random = config->seed;
	r->due_ns = UINT64_MAX;
	return 0;
}

static void free_remote(struct rb_rates_remote *remote)
{
	for (uint32_t k = 0; k < SL_CLASSES; k++) {
		free(remote->voq[k].trace);
		if (remote->has[k])
			remote->voq[k].voq->on_taken = NULL;
	}
	free(remote);
}

void rb_rates_destroy(struct rb_rates *r)
{
	if (!r)
		return;
	while (r->n_ports > 0)
		rb_rates_remove_port(r, r->port[0]->number);
	for (uint32_t i = 0; i < r->n_remotes; i++)
		free_remote(r->remote[i]);
	for (uint32_t i = 0; i < 256; i++)
		free(r->by_node[i]);
	free(r->remote);
	free(r);
}

void rb_rates_add_peer(struct rb_rates *r, uint8_t node, struct rb_ingress *ingress)
{
	r->nodes[r->n_nodes++] = node;
	r->peer[node] = (struct rb_rates_peer){ .node = node, .ingress = ingress };
}

void rb_rates_remove_peer(struct rb_rates *r, uint8_t node)
{
	for (uint32_t i = 0; i < r->n_nodes; i++)
		if (r->nodes[i] == node)
			memmove(&r->nodes[i], &r->nodes[i + 1], --r->n_nodes - i);
	r->peer[node] = (struct rb_rates_peer){ 0 };
	rb_rates_egress_forget(r, node);
}

void rb_rates_remove_remote(struct rb_rates *r, uint16_t system_port)
{
	for (uint32_t i = 0; i < r->n_remotes; i++) {
		if (r->remote[i]->system_port != system_port)
			continue;
		free_remote(r->remote[i]);
		r->remote[i] = r->remote[--r->n_remotes];
		r->by_node[system_port >> 8][system_port & 0xff] = NULL;
		return;
	}
}

void rb_rates_set_message_max(struct rb_rates *r, uint8_t node, uint32_t bytes)
{
	r->peer[node].message_max_bytes = bytes;
}

void rb_rates_set_fabric(struct rb_rates *r, uint64_t fabric_Bps)
{
	r->config.fabric_Bps = fabric_Bps;
}

void rb_rates_set_express(struct rb_rates *r, const struct sl_passed *taken)
{
	r->taken = taken;
}

static void set_due(struct rb_rates *r)
{
	uint64_t egress_ns = rb_rates_egress_due_ns(r), ingress_ns = rb_rates_ingress_due_ns(r);

	r->due_ns = egress_ns < ingress_ns ? egress_ns : ingress_ns;
}

void rb_rates_round(struct rb_rates *r, uint64_t now_ns)
{
	const struct sl_counter *counters = r->config.counters;

	if (r->n_ports == 0 && r->n_remotes == 0)
		return;
	r->now_ns = now_ns;
	if (now_ns >= r->scan_ns && (counters[RB_COUNT_INGRESS].packets != r->seen_ingress ||
				     counters[RB_COUNT_EGRESS].packets != r->seen_egress)) {
		r->scan_ns = now_ns + RB_RATES_SCAN_NS;
		r->seen_ingress = counters[RB_COUNT_INGRESS].packets;
		r->seen_egress = counters[RB_COUNT_EGRESS].packets;
		rb_rates_egress_wake(r, now_ns);
		rb_rates_ingress_wake(r, now_ns);
		set_due(r);
	}
	if (now_ns < r->due_ns)
		return;
	rb_rates_egress_run(r, now_ns);
	rb_rates_ingress_run(r, now_ns);
	set_due(r);
}

uint64_t rb_rates_due_ns(const struct rb_rates *r)
{
	return r->due_ns;
}

void rb_rates_peer_changed(struct rb_rates *r, uint8_t node, uint64_t now_ns)
{
	if (!rb_rates_peer_is_up(r, node))
		return;
	for (uint32_t i = 0; i < r->n_ports; i++) {
		r->port[i]->policy_ns = now_ns;
		r->port[i]->policy_gap_ns = RB_RATES_POLICY_MIN_NS;
	}
	for (uint32_t i = 0; i < r->n_remotes; i++)
		for (int k = 0; r->remote[i]->system_port >> 8 == node && k < SL_CLASSES; k++)
			r->remote[i]->voq[k].ticked_ns = now_ns;
	set_due(r);
}

void rb_rates_new_life(struct rb_rates *r, uint8_t node)
{
	rb_rates_ingress_forget(r, node);
	rb_rates_egress_forget(r, node);
}
