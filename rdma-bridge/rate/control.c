/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/rate/control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/worker.h"

int rb_control_create(struct rb_worker *worker, struct rb_control **out)
{
	struct rb_control *c = calloc(1, sizeof(*c));

	*out = c;
	if (!c)
		return -ENOMEM;
	c->worker = worker;
	c->random = worker->config.epoch;
	c->due_ns = UINT64_MAX;
	return 0;
}

int rb_control_trace_begin(struct rb_control_trace **trace)
{
	if (!*trace)
		*trace = calloc(1, sizeof(**trace));
	return *trace ? 0 : -ENOMEM;
}

void rb_control_trace_add(struct rb_control_trace *trace, const struct rb_control_point *point)
{
	trace->point[trace->n++ % RB_CONTROL_TRACE_POINTS] = *point;
}

void rb_control_destroy(struct rb_control *c)
{
	if (!c)
		return;
	for (uint32_t i = 0; i < 256; i++) {
		if (c->port[i])
			c->port[i]->egress->on_sample = NULL;
		for (uint32_t k = 0; c->port[i] && k < SL_CLASSES; k++)
			free(c->port[i]->queue[k].trace);
		free(c->port[i]);
	}
	for (uint32_t i = 0; i < c->n_remotes; i++) {
		for (uint32_t k = 0; k < SL_CLASSES; k++)
			free(c->remote[i]->voq[k].trace);
		free(c->remote[i]);
	}
	for (uint32_t i = 0; i < 256; i++)
		free(c->by_node[i]);
	free(c->remote);
	free(c);
}

uint64_t rb_control_next_ns(struct rb_control *c, uint64_t due_ns, uint32_t interval_ns,
			    uint64_t now_ns)
{
	if (now_ns < due_ns + interval_ns)
		return due_ns + interval_ns;
	c->stats.late++;
	return now_ns + interval_ns;
}

static void set_due(struct rb_control *c)
{
	uint64_t egress_ns = rb_control_egress_due(c), ingress_ns = rb_control_ingress_due(c);

	c->due_ns = egress_ns < ingress_ns ? egress_ns : ingress_ns;
}

void rb_control_round(struct rb_control *c, uint64_t now_ns)
{
	const struct sl_counter *counters = c->worker->counters;

	if (c->n_ports == 0 && c->n_remotes == 0)
		return;
	c->now_ns = now_ns;
	if (now_ns >= c->look_ns && (counters[RB_COUNT_INGRESS].packets != c->seen_ingress ||
				     counters[RB_COUNT_EGRESS].packets != c->seen_egress)) {
		c->look_ns = now_ns + RB_CONTROL_LOOK_NS;
		c->seen_ingress = counters[RB_COUNT_INGRESS].packets;
		c->seen_egress = counters[RB_COUNT_EGRESS].packets;
		rb_control_egress_look(c, now_ns);
		rb_control_ingress_look(c, now_ns);
		set_due(c);
	}
	if (now_ns < c->due_ns)
		return;
	rb_control_egress_run(c, now_ns);
	rb_control_ingress_run(c, now_ns);
	set_due(c);
}

uint64_t rb_control_due_ns(const struct rb_control *c)
{
	return c->due_ns;
}

void rb_control_peer(struct rb_control *c, uint8_t node, uint64_t now_ns)
{
	if (rb_worker_peer_state(c->worker, node) != RB_PEER_UP)
		return;
	for (uint32_t i = 0; i < 256; i++)
		if (c->port[i]) {
			c->port[i]->policy_ns = now_ns;
			c->port[i]->policy_gap_ns = RB_CONTROL_POLICY_MIN_NS;
		}
	for (uint32_t i = 0; i < c->n_remotes; i++)
		for (int k = 0; c->remote[i]->system_port >> 8 == node && k < SL_CLASSES; k++)
			c->remote[i]->voq[k].ticked_ns = now_ns;
	set_due(c);
}
