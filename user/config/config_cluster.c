/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "user/config/config_cluster.h"
#include "user/text/prefix.h"
#include "user/ipc/relay.h"

#define NODES_MAX	 255
#define NODE_PORTS_MAX	 255
#define QUEUE_FRAMES_MAX 65536
#define CLASS_SHIFT	 4 /* of a DSCP, where nothing is written: 16 DSCPs make a class */

const struct sl_yaml_choice sl_mode_choices[] = {
	{ "auto", SL_XDP_NONE },
	{ "native", SL_XDP_NATIVE },
	{ "generic", SL_XDP_GENERIC },
	{ NULL, 0 },
};

static const struct sl_yaml_choice transports[] = {
	{ "roce-xdp", SL_TRANSPORT_ROCE_XDP },
	{ "verbs-ud", SL_TRANSPORT_VERBS_UD },
	{ "verbs-rc", SL_TRANSPORT_VERBS_RC },
	{ NULL, 0 },
};

const char *sl_transport_name(enum sl_transport transport)
{
	return transports[transport].name;
}

bool sl_valid_netdev(const char *text)
{
	size_t n = strcspn(text, "/: \t\n\v\f\r");

	return n > 0 && n < IF_NAMESIZE && !text[n] && strcmp(text, ".") != 0 &&
	       strcmp(text, "..") != 0;
}

static bool valid_path(const char *text)
{
	return text[0] == '/' && text[1] && strlen(text) < PATH_MAX;
}

static bool valid_socket(const char *text)
{
	return valid_path(text) && strlen(text) < sizeof(((struct sockaddr_un *)0)->sun_path);
}

/* Of one host: neither all zero nor multicast, loopback or (as it needs a zone) link-local. */
static bool valid_address(const char *text)
{
	static const uint8_t zero[16];
	uint8_t family, a[16];

	if (sl_addr_parse(text, &family, a) || !memcmp(a, zero, sizeof(zero)))
		return false;
	if (sl_addr_bits(family) == 32)
		return a[0] != 127 && a[0] < 224 && a[0] != 0;
	return a[0] != 0xff && !(a[0] == 0xfe && (a[1] & 0xc0) == 0x80) &&
	       (memcmp(a, zero, 15) || a[15] != 1);
}

static bool valid_words(const char *text)
{
	return text[0] != '\0'; /* read by check_port, which can say more */
}

static bool valid_rate(const char *text)
{
	struct sl_rate rate;

	return !sl_rate_parse(text, &rate);
}

int sl_dscp_parse(const char *text, uint64_t *mask)
{
	*mask = 0;
	for (const char *p = text;; p++) {
		unsigned long from, to;
		char *end;

		/* strtoul would take signs and blanks. */
		if (!isdigit((unsigned char)*p))
			return -EINVAL;
		from = to = strtoul(p, &end, 10);
		if (*end == '-') {
			if (!isdigit((unsigned char)end[1]))
				return -EINVAL;
			to = strtoul(end + 1, &end, 10);
		}
		if (from > to || to >= SL_DSCPS)
			return -EINVAL;
		for (; from <= to; from++)
			*mask |= 1ULL << from;
		if (*end == '\0')
			return 0;
		if (*end != ',')
			return -EINVAL;
		p = end;
	}
}

static bool valid_dscp(const char *text)
{
	uint64_t mask;

	return !sl_dscp_parse(text, &mask);
}

#define FIELD(type_, field_) .offset = offsetof(struct type_, field_)

#define CONTROLLER_CHOICE(number, id, name_) { #name_, CC_##id },
static const struct sl_yaml_choice controllers[] = { CC_ALGORITHMS(CONTROLLER_CHOICE){ NULL, 0 } };

static const struct sl_yaml_choice transmits[] = {
	{ "af_xdp", SL_TRANSMIT_AF_XDP },
	{ "inject", SL_TRANSMIT_INJECT },
	{ NULL, 0 },
};

static const struct sl_yaml_choice schedulers[] = {
	{ "mixed", SL_SCHEDULER_MIXED },
	{ "drr", SL_SCHEDULER_DRR },
	{ "strict", SL_SCHEDULER_STRICT },
	{ NULL, 0 },
};

const char *sl_scheduler_name(enum sl_scheduler scheduler)
{
	return schedulers[scheduler].name;
}

uint32_t sl_scheduler_level(enum sl_scheduler scheduler, uint32_t class)
{
	switch (scheduler) {
	case SL_SCHEDULER_STRICT:
		return class;
	case SL_SCHEDULER_DRR:
		return 0;
	default:
		return class == SL_CLASSES - 1;
	}
}

static const struct sl_yaml_key queue_keys[] = {
	{ .type = SL_YAML_LINE, FIELD(sl_queue_settings, line) },
	{ .name = "class",
	  .type = SL_YAML_UINT,
	  FIELD(sl_queue_settings, class),
	  .required = true,
	  .max = SL_CLASSES - 1,
	  .what = "a class" },
	{ .name = "weight",
	  .type = SL_YAML_UINT,
	  FIELD(sl_queue_settings, weight),
	  .min = 1,
	  .max = 1024,
	  .what = "a weight" },
	{ .name = "frames",
	  .type = SL_YAML_UINT,
	  FIELD(sl_queue_settings, frames),
	  .min = 1,
	  .max = QUEUE_FRAMES_MAX,
	  .what = "a number of frames" },
	{ 0 },
};

static const struct sl_yaml_key class_keys[] = {
	{ .type = SL_YAML_LINE, FIELD(sl_class_settings, line) },
	{ .name = "class",
	  .type = SL_YAML_UINT,
	  FIELD(sl_class_settings, class),
	  .required = true,
	  .max = SL_CLASSES - 1,
	  .what = "a class" },
	{ .name = "dscp",
	  .type = SL_YAML_STRING,
	  FIELD(sl_class_settings, dscp),
	  .required = true,
	  .valid = valid_dscp,
	  .what = "a list of DSCPs: write numbers from 0 to 63 and ranges of them, as 46 or "
		  "0-7,46" },
	{ 0 },
};

static const struct sl_yaml_key port_keys[] = {
	{ .type = SL_YAML_LINE, FIELD(sl_cluster_port, line) },
	{ .name = "number",
	  .type = SL_YAML_UINT,
	  FIELD(sl_cluster_port, number),
	  .required = true,
	  .min = 1,
	  .max = 255,
	  .what = "a port number" },
	{ .name = "name",
	  .type = SL_YAML_STRING,
	  FIELD(sl_cluster_port, name),
	  .required = true,
	  .valid = sl_valid_netdev,
	  .what = "a netdev name: write 1 to 15 characters, as `ip link` shows them, such as eth1" },
	{ .name = "mode",
	  .type = SL_YAML_CHOICE,
	  FIELD(sl_cluster_port, mode),
	  .choices = sl_mode_choices,
	  .what = "a mode" },
	{ .name = "optional",
	  .type = SL_YAML_BOOL,
	  FIELD(sl_cluster_port, optional),
	  .what = "a truth value" },
	{ .name = "rate",
	  .type = SL_YAML_STRING,
	  FIELD(sl_cluster_port, rate_text),
	  .valid = valid_rate,
	  .what = "a rate: write bits a second as 10gbit or 500mbit, or frames a second as 2mpps" },
	{ .name = "burst_us",
	  .type = SL_YAML_UINT,
	  FIELD(sl_cluster_port, burst_us),
	  .max = 1000000,
	  .what = "a time in microseconds" },
	{ .name = "scheduler",
	  .type = SL_YAML_CHOICE,
	  FIELD(sl_cluster_port, scheduler),
	  .choices = schedulers,
	  .what = "a scheduler" },
	{ .name = "queues",
	  .type = SL_YAML_LIST,
	  FIELD(sl_cluster_port, queues),
	  .keys = queue_keys,
	  .item_bytes = sizeof(struct sl_queue_settings),
	  .items_max = SL_CLASSES },
	{ .name = "controller",
	  .type = SL_YAML_CHOICE,
	  FIELD(sl_cluster_port, controller),
	  .choices = controllers,
	  .what = "a controller" },
	{ .name = "parameters",
	  .type = SL_YAML_STRING,
	  FIELD(sl_cluster_port, parameters),
	  .valid = valid_words,
	  .what = "a list of parameters: write words such as interval_us=1000 node2.weight=3" },
	{ .name = "transmit",
	  .type = SL_YAML_CHOICE,
	  FIELD(sl_cluster_port, transmit),
	  .choices = transmits,
	  .what = "a way to transmit" },
	{ 0 },
};

static const struct sl_yaml_key node_keys[] = {
	{ .type = SL_YAML_LINE, FIELD(sl_cluster_node, line) },
	{ .name = "id",
	  .type = SL_YAML_UINT,
	  FIELD(sl_cluster_node, id),
	  .required = true,
	  .min = 1,
	  .max = 255,
	  .what = "a node id" },
	{ .name = "address",
	  .type = SL_YAML_STRING,
	  FIELD(sl_cluster_node, address),
	  .required = true,
	  .valid = valid_address,
	  .what = "an address: write the node's IPv4 or IPv6 address on the fabric" },
	{ .name = "ports",
	  .type = SL_YAML_LIST,
	  FIELD(sl_cluster_node, ports),
	  .required = true,
	  .keys = port_keys,
	  .item_bytes = sizeof(struct sl_cluster_port),
	  .items_max = NODE_PORTS_MAX },
	{ 0 },
};

/* `fabric:` is only a heading: its keys are fields of the whole. */
static const struct sl_yaml_key fabric_keys[] = {
	{ .name = "device",
	  .type = SL_YAML_STRING,
	  FIELD(sl_cluster_settings, device),
	  .required = true,
	  .valid = sl_valid_netdev,
	  .what = "a netdev name: write 1 to 15 characters, as `ip link` shows them, such as fab0" },
	{ .name = "transport",
	  .type = SL_YAML_CHOICE,
	  FIELD(sl_cluster_settings, transport),
	  .choices = transports,
	  .what = "a transport" },
	{ .name = "dscp",
	  .type = SL_YAML_UINT,
	  FIELD(sl_cluster_settings, fabric_dscp),
	  .max = SL_DSCPS - 1,
	  .what = "a DSCP" },
	{ .name = "service_level",
	  .type = SL_YAML_UINT,
	  FIELD(sl_cluster_settings, service_level),
	  .max = 7,
	  .what = "a service level" },
	{ 0 },
};

static const struct sl_yaml_choice polls[] = {
	{ "adaptive", SL_POLL_ADAPTIVE },
	{ "busy", SL_POLL_BUSY },
	{ NULL, 0 },
};

const char *sl_poll_name(enum sl_poll poll)
{
	return polls[poll].name;
}

/* A list of CPUs; how many, or 0 if it is none. */
static uint32_t parse_cores(const char *text, uint32_t cores[SL_WORKERS_MAX])
{
	uint32_t n = 0;

	for (const char *p = text; n < SL_WORKERS_MAX; p++) {
		unsigned long core;
		char *end;

		if (!isdigit((unsigned char)*p))
			return 0;
		core = strtoul(p, &end, 10);
		if (core >= CPU_SETSIZE)
			return 0;
		cores[n++] = (uint32_t)core;
		if (*end == '\0')
			return n;
		if (*end != ',')
			return 0;
		p = end;
	}
	return 0;
}

static bool valid_cores(const char *text)
{
	uint32_t cores[SL_WORKERS_MAX];

	return parse_cores(text, cores) > 0;
}

static const struct sl_yaml_key bridge_keys[] = {
	{ .name = "workers",
	  .type = SL_YAML_UINT,
	  FIELD(sl_bridge_settings, workers),
	  .min = 1,
	  .max = SL_WORKERS_MAX,
	  .what = "a number of threads" },
	{ .name = "cores",
	  .type = SL_YAML_STRING,
	  FIELD(sl_bridge_settings, cores_text),
	  .valid = valid_cores,
	  .what = "a list of CPUs: write up to 16 numbers, one for each worker, as in \"2,3\"" },
	{ .name = "realtime",
	  .type = SL_YAML_UINT,
	  FIELD(sl_bridge_settings, realtime),
	  .max = 99,
	  .what = "a realtime priority" },
	{ .name = "poll",
	  .type = SL_YAML_CHOICE,
	  FIELD(sl_bridge_settings, poll),
	  .choices = polls,
	  .what = "a way to wait" },
	{ .name = "packing",
	  .type = SL_YAML_UINT,
	  FIELD(sl_bridge_settings, packing),
	  .min = 1,
	  .max = 255,
	  .what = "a number of frames" },
	{ .name = "pack_delay_us",
	  .type = SL_YAML_UINT,
	  FIELD(sl_bridge_settings, pack_delay_us),
	  .max = 100000,
	  .what = "a time in microseconds" },
	{ .name = "voq_frames",
	  .type = SL_YAML_UINT,
	  FIELD(sl_bridge_settings, voq_frames),
	  .min = 1,
	  .max = 65536,
	  .what = "a number of frames" },
	{ .name = "queue_frames",
	  .type = SL_YAML_UINT,
	  FIELD(sl_bridge_settings, queue_frames),
	  .min = 1,
	  .max = QUEUE_FRAMES_MAX,
	  .what = "a number of frames" },
	{ .name = "memory_mib",
	  .type = SL_YAML_UINT,
	  FIELD(sl_bridge_settings, memory_mib),
	  .min = 16,
	  .max = 16384,
	  .what = "a size in MiB" },
	{ .name = "control",
	  .type = SL_YAML_STRING,
	  FIELD(sl_bridge_settings, control),
	  .valid = valid_socket,
	  .what = "a socket's path: write an absolute one of at most 107 characters" },
	{ 0 },
};

const struct sl_yaml_key sl_cluster_keys[] = {
	{ .type = SL_YAML_LINE, FIELD(sl_cluster_settings, line) },
	{ .name = "node",
	  .type = SL_YAML_UINT,
	  FIELD(sl_cluster_settings, node),
	  .required = true,
	  .min = 1,
	  .max = 255,
	  .what = "a node id" },
	{ .name = "key_file",
	  .type = SL_YAML_STRING,
	  FIELD(sl_cluster_settings, key_file),
	  .valid = valid_path,
	  .what = "a file: write an absolute path" },
	{ .name = "liveness_ms",
	  .type = SL_YAML_UINT,
	  FIELD(sl_cluster_settings, liveness_ms),
	  .min = 5,
	  .max = 60000,
	  .what = "a time in milliseconds" },
	{ .name = "socket",
	  .type = SL_YAML_STRING,
	  FIELD(sl_cluster_settings, socket),
	  .valid = valid_socket,
	  .what = "a socket's path: write an absolute one of at most 107 characters" },
	{ .name = "fabric", .type = SL_YAML_MAP, .required = true, .keys = fabric_keys },
	{ .name = "bridge",
	  .type = SL_YAML_MAP,
	  FIELD(sl_cluster_settings, bridge),
	  .keys = bridge_keys },
	{ .name = "classes",
	  .type = SL_YAML_LIST,
	  FIELD(sl_cluster_settings, classes),
	  .keys = class_keys,
	  .item_bytes = sizeof(struct sl_class_settings),
	  .items_max = SL_DSCPS },
	{ .name = "nodes",
	  .type = SL_YAML_LIST,
	  FIELD(sl_cluster_settings, nodes),
	  .required = true,
	  .keys = node_keys,
	  .item_bytes = sizeof(struct sl_cluster_node),
	  .items_max = NODES_MAX },
	{ 0 },
};

int sl_cluster_settings_init(struct sl_cluster_settings *c)
{
	c->liveness_ms = SL_CONFIG_DEFAULT_LIVENESS_MS;
	c->fabric_dscp = SL_CONFIG_DEFAULT_FABRIC_DSCP;
	c->key_file = strdup(SL_CONFIG_DEFAULT_KEY);
	c->socket = strdup(SL_RELAY_DEFAULT_SOCKET);
	c->bridge =
		(struct sl_bridge_settings){ .packing = 255,
					     .voq_frames = 1024,
					     .queue_frames = 1024,
					     .control = strdup(SL_CONFIG_DEFAULT_BRIDGE_CONTROL) };
	return c->key_file && c->socket && c->bridge.control ? 0 : -ENOMEM;
}

const struct sl_cluster_node *sl_cluster_node(const struct sl_cluster_settings *c, uint32_t i)
{
	return &((const struct sl_cluster_node *)c->nodes.items)[i];
}

const struct sl_cluster_node *sl_cluster_find_node(const struct sl_cluster_settings *c, uint32_t id)
{
	for (uint32_t i = 0; i < c->nodes.n; i++)
		if (sl_cluster_node(c, i)->id == id)
			return sl_cluster_node(c, i);
	return NULL;
}

const struct sl_cluster_port *sl_cluster_port(const struct sl_cluster_node *node, uint32_t i)
{
	return &((const struct sl_cluster_port *)node->ports.items)[i];
}

/* --- Checks beyond the schema --- */

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
 * A port that is shaped has a known capacity, so its sources can share it; any other is left as it
 * is.
 */
static int check_control(const struct check *c, uint32_t i, uint32_t p,
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

/* Each class gets what is written of it, and the defaults for the rest. */
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
	if (check_control(c, i, p, port))
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

/* As many as there are cores, if it is not said. */
static int check_workers(const struct check *c)
{
	struct sl_bridge_settings *bridge = &c->cluster->bridge;
	uint32_t cores = bridge->cores_text ? parse_cores(bridge->cores_text, bridge->cores) : 0;
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
