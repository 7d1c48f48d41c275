/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/assembly/own_ports.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/ports.h"
#include "rdma-bridge/queue/egress.h"
#include "user/lib/log.h"

/* What becomes of one port. */
struct port_change {
	const struct sl_cluster_port *to; /* borrowed; NULL: it leaves */
	struct sl_cluster_port *kept;	  /* owned: if it leaves, the settings until it has */
	struct rb_egress_port *queues;	  /* owned; NULL: they stay as they are */
	uint8_t number;
};

struct rb_own_ports {
	uint32_t n;
	struct port_change change[2 * 256]; /* of those that stay, leave or come */
};

/* --- Comparing --- */

static bool same_text(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool same_queue(const struct sl_queue_settings *a, const struct sl_queue_settings *b)
{
	return a->weight == b->weight && a->frames == b->frames &&
	       a->policy_plus1 == b->policy_plus1 && a->flows == b->flows &&
	       same_text(a->parameters, b->parameters);
}

static bool same_queues(const struct sl_cluster_port *a, const struct sl_cluster_port *b)
{
	bool same = a->rate.per_s == b->rate.per_s && a->rate.frames == b->rate.frames &&
		    a->burst_us == b->burst_us && a->scheduler == b->scheduler;

	for (uint32_t c = 0; c < SL_CLASSES && same; c++)
		same = same_queue(&a->queue[c], &b->queue[c]);
	return same;
}

/* Does it take other rings to be a port of these settings? */
static bool same_rings(const struct sl_cluster_port *a, const struct sl_cluster_port *b)
{
	return strcmp(a->name, b->name) == 0 && a->mode == b->mode && a->transmit == b->transmit;
}

static const struct sl_cluster_port *find(const struct sl_cluster_node *node, uint32_t number)
{
	for (uint32_t p = 0; p < node->ports.n; p++)
		if (sl_cluster_port(node, p)->number == number)
			return sl_cluster_port(node, p);
	return NULL;
}

static struct rb_bridge_port *port_of(const struct rb_bridge *b, uint32_t number)
{
	for (uint32_t i = 0; i < b->n_ports; i++)
		if ((b->ports[i].system_port & 0xff) == number)
			return &b->ports[i];
	return NULL;
}

/* --- Preparing --- */

/* The settings of a port that leaves, without what the bridge reads only to open it. */
static struct sl_cluster_port *keep(const struct sl_cluster_port *settings)
{
	struct sl_cluster_port *kept = malloc(sizeof(*kept));
	char *name = strdup(settings->name);

	if (!kept || !name) {
		free(kept);
		free(name);
		return NULL;
	}
	*kept = *settings;
	kept->name = name;
	kept->rate_text = kept->parameters = kept->addresses = NULL;
	kept->queues = (struct sl_yaml_list){ 0 };
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		kept->queue[c].parameters = NULL;
	return kept;
}

static int prepare_port(const struct rb_bridge *b, const struct sl_cluster_port *to,
			uint64_t now_ns, struct port_change *out)
{
	const struct rb_bridge_port *port = port_of(b, to->number);
	const struct rb_worker *worker;
	const struct rb_egress_port *queues;
	uint16_t system_port = SL_SYSTEM_PORT(b->settings->cluster.node, to->number);
	int err = 0;

	*out = (struct port_change){ .to = to, .number = (uint8_t)to->number };
	if (!port || !same_queues(port->settings, to))
		err = rb_bridge_open_queues(b, to, !port, now_ns, &out->queues);
	worker = rb_bridge_lane(b, system_port)->worker;
	queues = out->queues ? out->queues : worker->port[to->number];
	return err ? err : rb_bridge_check_controller(b, to, queues);
}

int rb_own_ports_prepare(const struct rb_bridge *b, const struct sl_cluster_settings *to,
			 uint64_t now_ns, struct rb_own_ports **out)
{
	const struct sl_cluster_node *self = sl_cluster_find_node(to, to->node);
	struct rb_own_ports *own = calloc(1, sizeof(*own));
	int err = 0;

	*out = own;
	if (!own)
		return -ENOMEM;
	for (uint32_t p = 0; p < self->ports.n && !err; p++)
		err = prepare_port(b, sl_cluster_port(self, p), now_ns, &own->change[own->n++]);
	for (uint32_t i = 0; i < b->n_ports && !err; i++) {
		const struct rb_bridge_port *port = &b->ports[i];
		struct port_change *change = &own->change[own->n];

		if (port->leaves || find(self, port->settings->number))
			continue;
		*change = (struct port_change){ .kept = keep(port->settings),
						.number = (uint8_t)port->settings->number };
		own->n++;
		err = change->kept ? 0 : -ENOMEM;
	}
	if (err == -ENOMEM)
		sl_error("reload: no memory for the queues of this node's ports");
	return err;
}

void rb_own_ports_close(struct rb_own_ports *own)
{
	for (uint32_t i = 0; own && i < own->n; i++) {
		rb_egress_close(own->change[i].queues, NULL, NULL);
		if (own->change[i].kept)
			free(own->change[i].kept->name);
		free(own->change[i].kept);
	}
	free(own);
}

/* --- The change --- */

static void change_port(struct rb_bridge *b, struct rb_bridge_port *port,
			struct port_change *change, uint64_t now_ns)
{
	const bool reopen = !same_rings(port->settings, change->to) || port->leaves;
	uint32_t without = 0;

	if (change->queues)
		without = rb_worker_take_port(rb_bridge_lane(b, port->system_port)->worker,
					      change->queues, now_ns);
	if (without)
		sl_warning("port %s: %u reserved flows have no queue of their own any more",
			   change->to->name, without);
	if (change->queues)
		sl_info("port %s: rate and queues are those of the new configuration",
			change->to->name);
	change->queues = NULL;
	rb_bridge_adopt_settings(port, change->to, NULL);
	if (reopen)
		rb_bridge_withdraw_port(port);
}

void rb_own_ports_apply(struct rb_bridge *b, struct rb_own_ports *own, uint64_t now_ns)
{
	for (uint32_t i = 0; i < own->n; i++) {
		struct port_change *change = &own->change[i];
		struct rb_bridge_port *port = port_of(b, change->number);

		if (!change->to) {
			sl_info("port %s has left the configuration", port->settings->name);
			rb_bridge_adopt_settings(port, change->kept, change->kept);
			change->kept = NULL;
			rb_bridge_withdraw_port(port);
		} else if (port) {
			change_port(b, port, change, now_ns);
		} else {
			rb_bridge_add_port(b, change->to, change->queues, now_ns);
			change->queues = NULL;
			sl_info("port %s has come into the configuration", change->to->name);
		}
	}
}
