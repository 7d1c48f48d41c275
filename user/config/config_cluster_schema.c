/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <net/if.h>
#include <string.h>
#include <sys/un.h>

#include "user/config/config_cluster_schema.h"
#include "user/text/prefix.h"

#define NODES_MAX	 255
#define NODE_PORTS_MAX	 255
#define QUEUE_FRAMES_MAX 65536

/* --- What a value may be --- */

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

static bool valid_words(const char *text)
{
	return text[0] != '\0'; /* the check beyond the schema reads them, and can say more */
}

static bool valid_rate(const char *text)
{
	struct sl_rate rate;

	return !sl_rate_parse(text, &rate);
}

static bool valid_bit_rate(const char *text)
{
	struct sl_rate rate;

	return !sl_rate_parse(text, &rate) && !rate.frames;
}

static bool valid_dscp(const char *text)
{
	uint64_t mask;

	return !sl_dscp_parse(text, &mask);
}

static bool valid_port_addresses(const char *text)
{
	struct sl_port_address addresses[SL_PORT_ADDRESSES_MAX];
	uint32_t n;

	return !sl_port_addresses_parse(text, addresses, &n);
}

static bool valid_cores(const char *text)
{
	uint32_t cores[SL_WORKERS_MAX];

	return sl_cores_parse(text, cores) > 0;
}

/* --- Keys --- */

#define FIELD(type_, field_) .offset = offsetof(struct type_, field_)

#define CONTROLLER_CHOICE(number, id, name_) { #name_, CC_##id },
static const struct sl_yaml_choice controllers[] = { CC_ALGORITHMS(CONTROLLER_CHOICE){ NULL, 0 } };

#define POLICY_CHOICE(id, name_) { #name_, FQ_##id + 1 },
static const struct sl_yaml_choice policies[] = { FQ_POLICIES(POLICY_CHOICE){ NULL, 0 } };

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
	{ .name = "policy",
	  .type = SL_YAML_CHOICE,
	  FIELD(sl_queue_settings, policy_plus1),
	  .choices = policies,
	  .what = "a discard policy" },
	{ .name = "flows",
	  .type = SL_YAML_UINT,
	  FIELD(sl_queue_settings, flows),
	  .min = 1,
	  .max = FQ_QUEUES_MAX,
	  .what = "a number of flow queues" },
	{ .name = "parameters",
	  .type = SL_YAML_STRING,
	  FIELD(sl_queue_settings, parameters),
	  .valid = valid_words,
	  .what = "a list of parameters: write words such as target_us=5000" },
	{ 0 },
};

const struct sl_yaml_key sl_class_keys[] = {
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

/* What a port is, and how frames leave by it: of any router. */
#define NETDEV_KEYS                                                                    \
	{ .name = "name",                                                              \
	  .type = SL_YAML_STRING,                                                      \
	  FIELD(sl_cluster_port, name),                                                \
	  .required = true,                                                            \
	  .valid = sl_valid_netdev,                                                    \
	  .what = "a netdev name: "                                                    \
		  "write 1 to 15 characters, as `ip link` shows them, such as eth1" }, \
		{ .name = "mode",                                                      \
		  .type = SL_YAML_CHOICE,                                              \
		  FIELD(sl_cluster_port, mode),                                        \
		  .choices = sl_mode_choices,                                          \
		  .what = "a mode" },                                                  \
		{ .name = "optional",                                                  \
		  .type = SL_YAML_BOOL,                                                \
		  FIELD(sl_cluster_port, optional),                                    \
		  .what = "a truth value" },                                           \
	{                                                                              \
		.name = "hidden_tags", .type = SL_YAML_CHOICE,                         \
		FIELD(sl_cluster_port, hidden_tags), .choices = sl_tags_choices,       \
		.what = "a way to treat VLAN tags that XDP cannot see"                 \
	}

#define EGRESS_KEYS                                                                           \
	{ .name = "rate",                                                                     \
	  .type = SL_YAML_STRING,                                                             \
	  FIELD(sl_cluster_port, rate_text),                                                  \
	  .valid = valid_rate,                                                                \
	  .what = "a rate: "                                                                  \
		  "write bits a second as 10gbit or 500mbit, or frames a second as 2mpps" },  \
		{ .name = "burst_us",                                                         \
		  .type = SL_YAML_UINT,                                                       \
		  FIELD(sl_cluster_port, burst_us),                                           \
		  .max = 1000000,                                                             \
		  .what = "a time in microseconds" },                                         \
		{ .name = "scheduler",                                                        \
		  .type = SL_YAML_CHOICE,                                                     \
		  FIELD(sl_cluster_port, scheduler),                                          \
		  .choices = sl_scheduler_choices,                                            \
		  .what = "a scheduler" },                                                    \
		{ .name = "queues",                                                           \
		  .type = SL_YAML_LIST,                                                       \
		  FIELD(sl_cluster_port, queues),                                             \
		  .keys = queue_keys,                                                         \
		  .item_bytes = sizeof(struct sl_queue_settings),                             \
		  .items_max = SL_CLASSES },                                                  \
		{ .name = "controller",                                                       \
		  .type = SL_YAML_CHOICE,                                                     \
		  FIELD(sl_cluster_port, controller),                                         \
		  .choices = controllers,                                                     \
		  .what = "a controller" },                                                   \
		{ .name = "parameters",                                                       \
		  .type = SL_YAML_STRING,                                                     \
		  FIELD(sl_cluster_port, parameters),                                         \
		  .valid = valid_words,                                                       \
		  .what = "a list of parameters: "                                            \
			  "write words such as interval_us=1000 node2.weight=3" },            \
	{                                                                                     \
		.name = "transmit", .type = SL_YAML_CHOICE, FIELD(sl_cluster_port, transmit), \
		.choices = sl_transmit_choices, .what = "a way to transmit"                   \
	}

static const struct sl_yaml_key port_keys[] = {
	{ .type = SL_YAML_LINE, FIELD(sl_cluster_port, line) },
	{ .name = "number",
	  .type = SL_YAML_UINT,
	  FIELD(sl_cluster_port, number),
	  .required = true,
	  .min = 1,
	  .max = 255,
	  .what = "a port number" },
	NETDEV_KEYS,
	EGRESS_KEYS,
	{ .name = "express",
	  .type = SL_YAML_CHOICE,
	  FIELD(sl_cluster_port, express),
	  .choices = sl_express_choices,
	  .what = "a time for express frames" },
	{ .name = "addresses",
	  .type = SL_YAML_STRING,
	  FIELD(sl_cluster_port, addresses),
	  .valid = valid_port_addresses,
	  .what = "a list of addresses: write up to 16, each with the length of its prefix, as in "
		  "10.1.1.1/24 2001:db8::1/64" },
	{ 0 },
};

const struct sl_yaml_key sl_alone_port_keys[] = {
	{ .type = SL_YAML_LINE, FIELD(sl_cluster_port, line) },
	NETDEV_KEYS,
	EGRESS_KEYS,
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
	  .valid = sl_valid_host_address,
	  .what = "an address: write the node's IPv4 or IPv6 address on the fabric" },
	{ .name = "drain",
	  .type = SL_YAML_BOOL,
	  FIELD(sl_cluster_node, drain),
	  .what = "a truth value" },
	{ .name = "ports",
	  .type = SL_YAML_LIST,
	  FIELD(sl_cluster_node, ports),
	  .required = true,
	  .keys = port_keys,
	  .item_bytes = sizeof(struct sl_cluster_port),
	  .items_max = NODE_PORTS_MAX },
	{ 0 },
};

/* `fabric:` is only a heading: its keys are fields of struct sl_cluster_settings. */
static const struct sl_yaml_key fabric_keys[] = {
	{ .name = "device",
	  .type = SL_YAML_STRING,
	  FIELD(sl_cluster_settings, device),
	  .required = true,
	  .valid = sl_valid_netdev,
	  .what = "a netdev name: write 1 to 15 characters, as `ip link` shows them, "
		  "such as fab0" },
	{ .name = "transport",
	  .type = SL_YAML_CHOICE,
	  FIELD(sl_cluster_settings, transport),
	  .choices = sl_transport_choices,
	  .what = "a transport" },
	{ .name = "rate",
	  .type = SL_YAML_STRING,
	  FIELD(sl_cluster_settings, fabric_rate_text),
	  .valid = valid_bit_rate,
	  .what = "a rate: write bits a second as 10gbit or 500mbit" },
	{ .name = "express",
	  .type = SL_YAML_CHOICE,
	  FIELD(sl_cluster_settings, express),
	  .choices = sl_express_choices,
	  .what = "a time for express frames" },
	{ .name = "express_check",
	  .type = SL_YAML_CHOICE,
	  FIELD(sl_cluster_settings, express_check),
	  .choices = sl_express_check_choices,
	  .what = "a check of express messages" },
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

/* `bridge:` is a heading, too. These keys are those of any bridge. */
#define BRIDGE_KEYS                                                                        \
	{ .name = "workers",                                                               \
	  .type = SL_YAML_UINT,                                                            \
	  FIELD(sl_cluster_settings, bridge.workers),                                      \
	  .min = 1,                                                                        \
	  .max = SL_WORKERS_MAX,                                                           \
	  .what = "a number of threads" },                                                 \
		{ .name = "cores",                                                         \
		  .type = SL_YAML_STRING,                                                  \
		  FIELD(sl_cluster_settings, bridge.cores_text),                           \
		  .valid = valid_cores,                                                    \
		  .what = "a list of CPUs: "                                               \
			  "write up to 16 numbers, one for each worker, as in \"2,3\"" },  \
		{ .name = "realtime",                                                      \
		  .type = SL_YAML_UINT,                                                    \
		  FIELD(sl_cluster_settings, bridge.realtime),                             \
		  .max = 99,                                                               \
		  .what = "a realtime priority" },                                         \
		{ .name = "poll",                                                          \
		  .type = SL_YAML_CHOICE,                                                  \
		  FIELD(sl_cluster_settings, bridge.poll),                                 \
		  .choices = sl_poll_choices,                                              \
		  .what = "a way to wait" },                                               \
		{ .name = "voq_frames",                                                    \
		  .type = SL_YAML_UINT,                                                    \
		  FIELD(sl_cluster_settings, bridge.voq_frames),                           \
		  .min = 1,                                                                \
		  .max = 65536,                                                            \
		  .what = "a number of frames" },                                          \
		{ .name = "queue_frames",                                                  \
		  .type = SL_YAML_UINT,                                                    \
		  FIELD(sl_cluster_settings, bridge.queue_frames),                         \
		  .min = 1,                                                                \
		  .max = QUEUE_FRAMES_MAX,                                                 \
		  .what = "a number of frames" },                                          \
		{ .name = "memory_mib",                                                    \
		  .type = SL_YAML_UINT,                                                    \
		  FIELD(sl_cluster_settings, bridge.memory_mib),                           \
		  .min = 16,                                                               \
		  .max = 16384,                                                            \
		  .what = "a size in MiB" },                                               \
		{ .name = "delay_sample",                                                  \
		  .type = SL_YAML_UINT,                                                    \
		  FIELD(sl_cluster_settings, bridge.delay_sample),                         \
		  .max = 65536,                                                            \
		  .what = "a number of frames" },                                          \
	{                                                                                  \
		.name = "control", .type = SL_YAML_STRING,                                 \
		FIELD(sl_cluster_settings, bridge.control), .valid = valid_socket,         \
		.what = "a socket's path: write an absolute one of at most 107 characters" \
	}

static const struct sl_yaml_key bridge_keys[] = {
	BRIDGE_KEYS,
	{ .name = "packing",
	  .type = SL_YAML_UINT,
	  FIELD(sl_cluster_settings, bridge.packing),
	  .min = 1,
	  .max = 255,
	  .what = "a number of frames" },
	{ .name = "pack_delay_us",
	  .type = SL_YAML_UINT,
	  FIELD(sl_cluster_settings, bridge.pack_delay_us),
	  .max = 100000,
	  .what = "a time in microseconds" },
	{ 0 },
};

const struct sl_yaml_key sl_alone_bridge_keys[] = {
	{ .type = SL_YAML_LINE, FIELD(sl_cluster_settings, line) },
	BRIDGE_KEYS,
	{ .name = "socket",
	  .type = SL_YAML_STRING,
	  FIELD(sl_cluster_settings, socket),
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
	{ .name = "clock_error_us",
	  .type = SL_YAML_UINT,
	  FIELD(sl_cluster_settings, clock_error_us),
	  .min = 1,
	  .max = SL_CLOCK_ERROR_MAX_US,
	  .what = "a time in microseconds" },
	{ .name = "socket",
	  .type = SL_YAML_STRING,
	  FIELD(sl_cluster_settings, socket),
	  .valid = valid_socket,
	  .what = "a socket's path: write an absolute one of at most 107 characters" },
	{ .name = "fabric", .type = SL_YAML_MAP, .required = true, .keys = fabric_keys },
	{ .name = "bridge", .type = SL_YAML_MAP, .keys = bridge_keys },
	{ .name = "reserve",
	  .type = SL_YAML_UINT,
	  FIELD(sl_cluster_settings, reserve),
	  .max = SL_RESERVE_MAX,
	  .what = "a share in percent" },
	{ .name = "classes",
	  .type = SL_YAML_LIST,
	  FIELD(sl_cluster_settings, classes),
	  .keys = sl_class_keys,
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
