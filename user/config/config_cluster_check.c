/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queues/reserved_flows.h"
#include "user/config/config_cluster_check.h"
#include "user/text/prefix.h"

#define CLASS_SHIFT 4 /* class of a DSCP that no entry names: DSCP >> 4 */

struct check {
	struct sl_cluster_settings *cluster;
	const char *file_name;
	char *error;
};

/* Where a port is written: under its node, or, of a router alone, under `ports`. */
static void port_path(const struct check *c, uint32_t i, uint32_t p, char path[48])
{
	if (sl_cluster_has_fabric(c->cluster))
		snprintf(path, 48, "cluster.nodes[%u].ports[%u]", i, p);
	else
		snprintf(path, 48, "ports[%u]", p);
}

static int refuse_port(const struct check *c, uint32_t i, uint32_t p, const char *key,
		       const char *value, const char *message)
{
	const struct sl_cluster_port *port = sl_cluster_port(sl_cluster_node(c->cluster, i), p);
	char path[64], where[48];

	port_path(c, i, p, where);
	snprintf(path, sizeof(path), "%s.%s", where, key);
	sl_yaml_error(c->error, c->file_name, port->line, path, value, "%s", message);
	return -EINVAL;
}

/*
 * Without a `controller:`, a port that is shaped gets `price`: its capacity is known, so the
 * sources can share it. Any other port gets `fixed`, and so does each port of a router alone: there
 * it has one source, whose queues are the port's.
 */
static int check_controller(const struct check *c, uint32_t i, uint32_t p,
			    struct sl_cluster_port *port)
{
	const bool shared = port->rate_text && sl_cluster_has_fabric(c->cluster);
	unsigned int by_default = shared ? CC_PRICE : CC_FIXED;
	unsigned int number = port->controller ? port->controller : by_default;
	char why[SL_CC_WHY_BYTES];

	sl_cc_settings_init(&port->control, cc_lookup_number(number)->name);
	if (!port->parameters)
		return 0;
	if (sl_cc_settings_set_all(&port->control, port->parameters, why) ||
	    sl_cc_settings_check(&port->control, why))
		return refuse_port(c, i, p, "parameters", port->parameters, why);
	return 0;
}

/* Where a queue was written, for messages. */
struct written_queue {
	const struct check *check;
	const struct sl_queue_settings *queue;
	const char *port_path;
	uint32_t index;
};

static int refuse_text(const struct written_queue *w, const char *key, const char *text,
		       const char *message)
{
	char path[96];

	snprintf(path, sizeof(path), "%s.queues[%u].%s", w->port_path, w->index, key);
	sl_yaml_error(w->check->error, w->check->file_name, w->queue->line, path, text, "%s",
		      message);
	return -EINVAL;
}

static int refuse_number(const struct written_queue *w, const char *key, uint32_t value,
			 const char *message)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", value);
	return refuse_text(w, key, text, message);
}

static int refuse_parameter(const struct written_queue *w, const struct fq_ops *ops,
			    const char *name)
{
	char message[256];
	int n;

	for (uint32_t i = 0; i < ops->n_params; i++) {
		const struct fq_param *p = &ops->params[i];

		if (strcmp(p->name, name) != 0)
			continue;
		snprintf(message, sizeof(message),
			 "has a %s that is out of range: write a whole number from %lld to %lld",
			 name, (long long)p->min, (long long)p->max);
		return refuse_text(w, "parameters", w->queue->parameters, message);
	}
	n = snprintf(message, sizeof(message), "has no parameter \"%s\" of %s: write", name,
		     ops->name);
	for (uint32_t i = 0; i < ops->n_params && n < (int)sizeof(message); i++)
		n += snprintf(message + n, sizeof(message) - (size_t)n, "%s %s",
			      i == 0			? ""
			      : i == ops->n_params - 1u ? " or"
							: ",",
			      ops->params[i].name);
	if (ops->n_params == 0)
		snprintf(message, sizeof(message),
			 "has no meaning: %s has no parameters, leave them out", ops->name);
	return refuse_text(w, "parameters", w->queue->parameters, message);
}

static int set_parameters(const struct written_queue *w, struct fq_config *fq)
{
	static const char blanks[] = " \t\n";
	const char *words = w->queue->parameters;

	for (words += strspn(words, blanks); *words; words += strspn(words, blanks)) {
		const size_t length = strcspn(words, blanks);
		char name[32] = "", digits[20] = "";
		int end = 0;

		if (sscanf(words, "%31[a-z_]=%18[0-9]%n", name, digits, &end) != 2 ||
		    (size_t)end != length)
			return refuse_text(w, "parameters", w->queue->parameters,
					   "has a word that is none: write words NAME=NUMBER");
		if (fq_config_set(fq, name, strtoll(digits, NULL, 10)))
			return refuse_parameter(w, fq->ops, name);
		words += length;
	}
	return 0;
}

/* Policies on one queue, as their authors wrote them; for the others, as many as there can be. */
static uint32_t default_flows(enum fq_policy policy)
{
	return policy == FQ_TAIL || policy == FQ_RED || policy == FQ_BLUE ? 1 : FQ_QUEUES_MAX;
}

/*
 * The flow queues of a class as queues/ takes them. What the bridge alone knows, the speed of a
 * port without a rate, is that of 10 Gb/s Ethernet until it says so.
 */
static int fill_flow_queues(const struct written_queue *w, const struct sl_cluster_port *port,
			    struct sl_queue_settings *queue)
{
	const struct sl_queue_settings *written = w->queue;
	const uint32_t bytes = queue->frames * SL_FLOW_QUANTUM_BYTES;
	struct fq_shape shape = {
		.queues = written->flows,
		.limit_frames = queue->frames,
		.limit_bytes = bytes > SL_FLOW_FRAME_MAX_BYTES ? bytes : SL_FLOW_FRAME_MAX_BYTES,
		.frame_max_bytes = SL_FLOW_FRAME_MAX_BYTES,
		.quantum_bytes = SL_FLOW_QUANTUM_BYTES,
		.rate_Bps = SL_FLOW_SPEED_DEFAULT_BPS,
	};
	const bool is_reserved = queue->class == SL_RESERVED_CLASS &&
				 sl_cluster_reservable_Bps(w->check->cluster, port);
	const uint32_t policy_plus1 =
		is_reserved && !written->policy_plus1 ? FQ_LONGEST + 1 : written->policy_plus1;
	const char *why = NULL;
	char message[128];

	if (!written->policy_plus1 && written->flows)
		return refuse_number(
			w, "flows", written->flows,
			"needs a discard policy: write policy: qsdrr, codel or another");
	if (!written->policy_plus1 && written->parameters)
		return refuse_text(w, "parameters", written->parameters,
				   "are those of a discard policy: write policy: qsdrr, codel or "
				   "another");
	if (!policy_plus1)
		return 0;
	if (shape.queues == 0)
		shape.queues = is_reserved ? FQ_QUEUES_MAX : default_flows(policy_plus1 - 1);
	if (is_reserved && shape.queues <= FQ_RESERVED_MAX)
		return refuse_number(w, "flows", shape.queues,
				     "leaves no queue for flows that have none reserved: write 257 "
				     "or more, or leave it out");
	shape.reserved = is_reserved ? FQ_RESERVED_MAX : 0;
	if (port->rate.per_s)
		shape.rate_Bps = port->rate.frames ? port->rate.per_s * SL_FLOW_QUANTUM_BYTES
						   : port->rate.per_s;
	if (shape.rate_Bps > FQ_RATE_MAX_BPS)
		shape.rate_Bps = FQ_RATE_MAX_BPS;
	/* Every value is in its range. */
	if (fq_config_init(&queue->flow_queues, fq_policies[policy_plus1 - 1]->name, &shape))
		return refuse_number(w, "frames", queue->frames, "is out of range with a policy");
	if (written->parameters && set_parameters(w, &queue->flow_queues))
		return -EINVAL;
	if (fq_config_prepare(&queue->flow_queues, &why) == 0)
		return 0;
	snprintf(message, sizeof(message), "do not work: %s", why);
	return refuse_text(w, "parameters", written->parameters, message);
}

/*
 * The class of reserved flows goes first, so that what conforms never waits behind other classes;
 * its queues are flow queues, also where nobody wrote so.
 */
static int check_reserve(const struct check *c, const struct sl_cluster_port *port,
			 const char *port_path, struct sl_queue_settings *queue)
{
	const struct sl_queue_settings written = { .class = SL_RESERVED_CLASS };
	const struct written_queue w = { c, &written, port_path, port->queues.n };

	if (!sl_cluster_reservable_Bps(c->cluster, port))
		return 0;
	if (port->scheduler == SL_SCHEDULER_DRR) {
		char path[96];

		snprintf(path, sizeof(path), "%s.scheduler", port_path);
		sl_yaml_error(c->error, c->file_name, port->line, path,
			      sl_scheduler_name(port->scheduler),
			      "lets other classes hold up the flows that `reserve` is for: "
			      "write mixed or strict");
		return -EINVAL;
	}
	return queue->line ? 0 : fill_flow_queues(&w, port, queue);
}

/* Fill in the queue of each class: as written, and else by default. */
static int fill_queues(const struct check *c, struct sl_cluster_port *port, const char *port_path)
{
	const struct sl_queue_settings *written = port->queues.items;

	for (uint32_t class = 0; class < SL_CLASSES; class ++)
		port->queue[class] = (struct sl_queue_settings){
			.class = class, .weight = 1, .frames = c->cluster->bridge.queue_frames
		};
	for (uint32_t q = 0; q < port->queues.n; q++) {
		struct sl_queue_settings *queue = &port->queue[written[q].class];
		const struct written_queue w = { c, &written[q], port_path, q };

		if (queue->line)
			return refuse_number(&w, "class", written[q].class,
					     "is given twice: write each class of a port once");
		if (written[q].weight && port->scheduler == SL_SCHEDULER_STRICT)
			return refuse_number(
				&w, "weight", written[q].weight,
				"has no meaning with scheduler strict: leave it out, or "
				"write scheduler: mixed or drr");
		queue->line = written[q].line;
		if (written[q].weight)
			queue->weight = written[q].weight;
		if (written[q].frames)
			queue->frames = written[q].frames;
		if (fill_flow_queues(&w, port, queue))
			return -EINVAL;
	}
	return check_reserve(c, port, port_path, &port->queue[SL_RESERVED_CLASS]);
}

static int fill_classes(const struct check *c)
{
	const struct sl_class_settings *classes = c->cluster->classes.items;
	uint64_t seen = 0, mask;
	char path[48];

	for (uint32_t dscp = 0; dscp < SL_DSCPS; dscp++)
		c->cluster->class_of[dscp] = (uint8_t)(dscp >> CLASS_SHIFT);
	for (uint32_t i = 0; i < c->cluster->classes.n; i++) {
		sl_dscp_parse(classes[i].dscp, &mask);
		if (seen & mask) {
			snprintf(path, sizeof(path), "%sclasses[%u].dscp",
				 sl_cluster_has_fabric(c->cluster) ? "cluster." : "", i);
			sl_yaml_error(c->error, c->file_name, classes[i].line, path,
				      classes[i].dscp,
				      "has %d, which is in a class already: write each DSCP once",
				      __builtin_ctzll(seen & mask));
			return -EINVAL;
		}
		seen |= mask;
		for (uint32_t dscp = 0; dscp < SL_DSCPS; dscp++)
			if (mask >> dscp & 1)
				c->cluster->class_of[dscp] = (uint8_t)classes[i].class;
	}
	/* The class of reserved flows is for them alone. */
	for (uint32_t dscp = 0; c->cluster->reserve && dscp < SL_DSCPS; dscp++)
		if (c->cluster->class_of[dscp] == SL_RESERVED_CLASS)
			c->cluster->class_of[dscp] = SL_RESERVED_CLASS - 1;
	return 0;
}

/* Returns the system port of an earlier port that has the prefix of that address, or 0. */
static uint16_t find_prefix(const struct check *c, uint32_t i, uint32_t p,
			    const struct sl_port_address *address)
{
	struct sl_port_address others[SL_PORT_ADDRESSES_MAX];
	uint32_t n;

	for (uint32_t j = 0; j <= i; j++) {
		const struct sl_cluster_node *node = sl_cluster_node(c->cluster, j);

		for (uint32_t q = 0; q < (j < i ? node->ports.n : p); q++) {
			const struct sl_cluster_port *port = sl_cluster_port(node, q);

			sl_port_addresses_parse(port->addresses, others, &n);
			while (n > 0)
				if (sl_port_address_same_prefix(&others[--n], address))
					return SL_SYSTEM_PORT(node->id, (uint16_t)port->number);
		}
	}
	return 0;
}

/* A prefix lies behind one port: else nobody could say by which one its hosts are reached. */
static int check_addresses(const struct check *c, uint32_t i, uint32_t p)
{
	const struct sl_cluster_port *port = sl_cluster_port(sl_cluster_node(c->cluster, i), p);
	struct sl_port_address addresses[SL_PORT_ADDRESSES_MAX];
	char message[96];
	uint32_t n;

	sl_port_addresses_parse(port->addresses, addresses, &n);
	for (uint32_t a = 0; a < n; a++) {
		const uint16_t other = find_prefix(c, i, p, &addresses[a]);

		if (!other)
			continue;
		snprintf(message, sizeof(message),
			 "has the prefix of n%up%u, too: write each prefix at one port", other >> 8,
			 other & 0xff);
		return refuse_port(c, i, p, "addresses", port->addresses, message);
	}
	return 0;
}

static int check_port(const struct check *c, uint32_t i, uint32_t p)
{
	const struct sl_cluster_node *node = sl_cluster_node(c->cluster, i);
	struct sl_cluster_port *port = &((struct sl_cluster_port *)node->ports.items)[p];
	char number[16], path[48];

	port_path(c, i, p, path);
	if (port->rate_text)
		sl_rate_parse(port->rate_text, &port->rate);
	if (fill_queues(c, port, path))
		return -EINVAL;
	for (uint32_t q = 0; q < p; q++)
		if (strcmp(sl_cluster_port(node, q)->name, port->name) == 0)
			return refuse_port(c, i, p, "name", port->name,
					   "is named twice: write each port of a node once");
	if (check_controller(c, i, p, port) || check_addresses(c, i, p))
		return -EINVAL;
	if (port->express == SL_EXPRESS_UNSAID)
		port->express = c->cluster->express;
	snprintf(number, sizeof(number), "%u", port->number);
	switch (sl_sysport_add(&c->cluster->table,
			       SL_SYSTEM_PORT(node->id, (uint16_t)port->number))) {
	case -EEXIST:
		return refuse_port(c, i, p, "number", number,
				   "is given twice: number each port of a node differently");
	case -ENOSPC:
		return refuse_port(c, i, p, "number", number,
				   "is one port too many: the cluster has room for 1024");
	default:
		return 0;
	}
}

static int check_node(const struct check *c, uint32_t i)
{
	const struct sl_cluster_node *node = sl_cluster_node(c->cluster, i);
	uint8_t family, first_family, address[16], other[16];
	char path[48], id[16];
	int err = 0;

	snprintf(path, sizeof(path), "cluster.nodes[%u].id", i);
	snprintf(id, sizeof(id), "%u", node->id);
	if (sl_cluster_find_node(c->cluster, node->id) != node) {
		sl_yaml_error(c->error, c->file_name, node->line, path, id,
			      "is given twice: give each node its own id");
		return -EINVAL;
	}
	snprintf(path, sizeof(path), "cluster.nodes[%u].address", i);
	if (node->address)
		sl_addr_parse(node->address, &family, address);
	for (uint32_t j = 0; j < i; j++) {
		sl_addr_parse(sl_cluster_node(c->cluster, j)->address, &first_family, other);
		if (family != first_family) {
			sl_yaml_error(c->error, c->file_name, node->line, path, node->address,
				      "is of another IP version than \"%s\": write all in one",
				      sl_cluster_node(c->cluster, j)->address);
			return -EINVAL;
		}
		if (!memcmp(address, other, sizeof(address))) {
			sl_yaml_error(c->error, c->file_name, node->line, path, node->address,
				      "is also the address of node %u: give each node its own",
				      sl_cluster_node(c->cluster, j)->id);
			return -EINVAL;
		}
	}
	for (uint32_t p = 0; p < node->ports.n && !err; p++)
		err = check_port(c, i, p);
	return err;
}

static const char *workers_path(const struct check *c)
{
	return sl_cluster_has_fabric(c->cluster) ? "cluster.bridge.workers" : "bridge.workers";
}

/* Without `workers:` there are as many as `cores:` has entries. */
static int check_workers(const struct check *c)
{
	struct sl_bridge_settings *bridge = &c->cluster->bridge;
	uint32_t cores = bridge->cores_text ? sl_cores_parse(bridge->cores_text, bridge->cores) : 0;
	char text[16];

	if (bridge->workers == 0)
		bridge->workers = cores ? cores : 1;
	snprintf(text, sizeof(text), "%u", bridge->workers);
	if (cores && cores != bridge->workers) {
		sl_yaml_error(c->error, c->file_name, c->cluster->line, workers_path(c), text,
			      "is not the number of `cores`: write one core for each worker");
		return -EINVAL;
	}
	if (bridge->workers > 1 && c->cluster->transport != SL_TRANSPORT_ROCE_XDP) {
		sl_yaml_error(c->error, c->file_name, c->cluster->line, "cluster.bridge.workers",
			      text,
			      "is for transport roce-xdp alone: write 1, or another transport");
		return -EINVAL;
	}
	return 0;
}

int sl_cluster_settings_check(struct sl_cluster_settings *cluster, const char *file_name,
			      char error[SL_YAML_ERROR_BYTES])
{
	const struct check c = { .cluster = cluster, .file_name = file_name, .error = error };
	const struct sl_cluster_node *self = sl_cluster_find_node(cluster, cluster->node);
	char id[16];
	int err = fill_classes(&c);

	for (uint32_t i = 0; i < cluster->nodes.n && !err; i++)
		err = check_node(&c, i);
	if (err)
		return err;
	if (!self) {
		snprintf(id, sizeof(id), "%u", cluster->node);
		sl_yaml_error(
			error, file_name, cluster->line, "cluster.node", id,
			"is not among cluster.nodes: write the id of this node, and its entry there");
		return -EINVAL;
	}
	if (cluster->fabric_rate_text)
		sl_rate_parse(cluster->fabric_rate_text, &cluster->fabric_rate);
	err = check_workers(&c);
	if (err)
		return err;
	if (cluster->express == SL_EXPRESS_ALWAYS && cluster->transport != SL_TRANSPORT_ROCE_XDP) {
		sl_yaml_error(error, file_name, cluster->line, "cluster.fabric.express", "always",
			      "is for transport roce-xdp alone: write never, or another transport");
		return -EINVAL;
	}
	for (uint32_t p = 0; sl_cluster_has_fabric(cluster) && p < self->ports.n; p++) {
		if (strcmp(sl_cluster_port(self, p)->name, cluster->device) != 0)
			continue;
		sl_yaml_error(error, file_name, cluster->line, "cluster.fabric.device",
			      cluster->device,
			      "is an edge port of this node, too: the fabric needs its own netdev");
		return -EINVAL;
	}
	return 0;
}
