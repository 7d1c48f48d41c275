/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/config/config_cluster_check.h"
#include "user/text/prefix.h"

#define CLASS_SHIFT 4 /* class of a DSCP that no entry names: DSCP >> 4 */

struct check {
	struct sl_cluster_settings *cluster;
	const char *file_name;
	char *error;
};

static int refuse_port(const struct check *c, uint32_t i, uint32_t p, const char *key,
		       const char *value, const char *message)
{
	const struct sl_cluster_port *port = sl_cluster_port(sl_cluster_node(c->cluster, i), p);
	char path[64];

	snprintf(path, sizeof(path), "cluster.nodes[%u].ports[%u].%s", i, p, key);
	sl_yaml_error(c->error, c->file_name, port->line, path, value, "%s", message);
	return -EINVAL;
}

/*
 * Without a `controller:`, a port that is shaped gets `price`: its capacity is known, so the
 * sources can share it. Any other port gets `fixed`.
 */
static int check_controller(const struct check *c, uint32_t i, uint32_t p,
			    struct sl_cluster_port *port)
{
	unsigned int by_default = port->rate_text ? CC_PRICE : CC_FIXED;
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

static int refuse_queue(const struct check *c, const struct sl_queue_settings *queue,
			const char *port_path, uint32_t q, const char *key, uint32_t value,
			const char *message)
{
	char path[96], text[16];

	snprintf(path, sizeof(path), "%s.queues[%u].%s", port_path, q, key);
	snprintf(text, sizeof(text), "%u", value);
	sl_yaml_error(c->error, c->file_name, queue->line, path, text, "%s", message);
	return -EINVAL;
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

		if (queue->line)
			return refuse_queue(c, &written[q], port_path, q, "class", written[q].class,
					    "is given twice: write each class of a port once");
		if (written[q].weight && port->scheduler == SL_SCHEDULER_STRICT)
			return refuse_queue(
				c, &written[q], port_path, q, "weight", written[q].weight,
				"has no meaning with scheduler strict: leave it out, or "
				"write scheduler: mixed or drr");
		queue->line = written[q].line;
		if (written[q].weight)
			queue->weight = written[q].weight;
		if (written[q].frames)
			queue->frames = written[q].frames;
	}
	return 0;
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
			snprintf(path, sizeof(path), "cluster.classes[%u].dscp", i);
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
	return 0;
}

static int check_port(const struct check *c, uint32_t i, uint32_t p)
{
	const struct sl_cluster_node *node = sl_cluster_node(c->cluster, i);
	struct sl_cluster_port *port = &((struct sl_cluster_port *)node->ports.items)[p];
	char number[16], path[64];

	snprintf(path, sizeof(path), "cluster.nodes[%u].ports[%u]", i, p);
	if (fill_queues(c, port, path))
		return -EINVAL;
	for (uint32_t q = 0; q < p; q++)
		if (strcmp(sl_cluster_port(node, q)->name, port->name) == 0)
			return refuse_port(c, i, p, "name", port->name,
					   "is named twice: write each port of a node once");
	if (port->rate_text)
		sl_rate_parse(port->rate_text, &port->rate);
	if (check_controller(c, i, p, port))
		return -EINVAL;
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
		sl_yaml_error(c->error, c->file_name, c->cluster->line, "cluster.bridge.workers",
			      text, "is not the number of `cores`: write one core for each worker");
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
	for (uint32_t p = 0; p < self->ports.n; p++) {
		if (strcmp(sl_cluster_port(self, p)->name, cluster->device) != 0)
			continue;
		sl_yaml_error(error, file_name, cluster->line, "cluster.fabric.device",
			      cluster->device,
			      "is an edge port of this node, too: the fabric needs its own netdev");
		return -EINVAL;
	}
	return 0;
}
