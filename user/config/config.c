/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "user/config/config.h"
#include "bpf/abi/abi.h"
#include "bpf/abi/captured.h"
#include "bpf/abi/exact_flow.h"
#include "bpf/abi/forwarding.h"
#include "user/config/config_cluster_check.h"
#include "user/config/config_cluster_schema.h"
#include "user/text/listen_address.h"
#include "user/text/prefix.h"

#define PORTS_MAX 255 /* numbers of ports that queues have */

static const struct sl_yaml_choice engines[] = {
	{ "fast", SL_ENGINE_FAST },
	{ "lpm", SL_ENGINE_LPM },
	{ "kernel", SL_ENGINE_KERNEL },
	{ NULL, 0 },
};

static const struct sl_yaml_choice netfilter_choices[] = {
	{ "kernel", SL_NETFILTER_KERNEL },
	{ "ignore", SL_NETFILTER_IGNORE },
	{ NULL, 0 },
};

static const struct sl_yaml_choice log_levels[] = {
	{ "error", SL_LOG_ERROR },
	{ "warning", SL_LOG_WARNING },
	{ "info", SL_LOG_INFO },
	{ "debug", SL_LOG_DEBUG },
	{ NULL, 0 },
};

static bool valid_path(const char *text)
{
	return text[0] == '/' && text[1] && strlen(text) < PATH_MAX - 32 &&
	       text[strlen(text) - 1] != '/';
}

static bool valid_socket(const char *text)
{
	return valid_path(text) && strlen(text) < sizeof(((struct sockaddr_un *)0)->sun_path);
}

static bool valid_metrics(const char *text)
{
	struct sockaddr_storage address;

	return sl_listen_address_parse(text, &address) > 0;
}

static bool valid_group(const char *text)
{
	return *text && getgrnam(text);
}

/* Next-hop ids have 23 bits. */
#define INDEX_MAX SL_WORD_INDEX_MASK
#define UINT_KEY(key, field, low, high, text)                                                 \
	{                                                                                     \
		.name = (key), .type = SL_YAML_UINT,                                          \
		.offset = offsetof(struct sl_table_settings, field), .min = low, .max = high, \
		.what = (text)                                                                \
	}

static const struct sl_yaml_key table_keys[] = {
	UINT_KEY("nexthops", nexthops, 16, INDEX_MAX, "a number of next hops"),
	UINT_KEY("adjacencies", adjacencies, 16, INDEX_MAX, "a number of adjacencies"),
	UINT_KEY("groups", groups, 1, 1u << 20, "a number of multipath groups"),
	UINT_KEY("ipv4_routes", ipv4_routes, 16, 100000000, "a number of routes"),
	UINT_KEY("ipv6_routes", ipv6_routes, 16, 100000000, "a number of routes"),
	{ 0 },
};

#define LIMIT_KEY(key, field)                                                                   \
	{                                                                                       \
		.name = (key), .type = SL_YAML_UINT,                                            \
		.offset = offsetof(struct sl_limit_settings, field), .min = 0, .max = 10000000, \
		.what = "a number of packets a second"                                          \
	}
static const struct sl_yaml_key limit_keys[] = {
	LIMIT_KEY("ttl", ttl),
	LIMIT_KEY("no_route", no_route),
	LIMIT_KEY("local", local),
	{ 0 },
};

static const struct sl_yaml_key control_keys[] = {
	{ .name = "socket",
	  .type = SL_YAML_STRING,
	  .offset = offsetof(struct sl_control_settings, socket),
	  .valid = valid_socket,
	  .what = "a socket's path: write an absolute one of at most 107 characters" },
	{ .name = "mode",
	  .type = SL_YAML_OCTAL,
	  .offset = offsetof(struct sl_control_settings, mode),
	  .min = 0,
	  .max = 0777,
	  .what = "a file mode" },
	{ .name = "group",
	  .type = SL_YAML_STRING,
	  .offset = offsetof(struct sl_control_settings, group),
	  .valid = valid_group,
	  .what = "a group of this system: write one that `getent group` shows" },
	{ 0 },
};

static bool valid_address(const char *text)
{
	uint8_t family, address[16];

	return !sl_addr_parse(text, &family, address);
}

#define COLLECTOR(field_) .offset = offsetof(struct sl_sflow_collector, field_)
#define SFLOW(field_)	  .offset = offsetof(struct sl_sflow_settings, field_)

static const struct sl_yaml_key collector_keys[] = {
	{ .name = "address",
	  .type = SL_YAML_STRING,
	  COLLECTOR(address),
	  .required = true,
	  .valid = valid_address,
	  .what = "an IPv4 or IPv6 address" },
	{ .name = "port",
	  .type = SL_YAML_UINT,
	  COLLECTOR(port),
	  .min = 1,
	  .max = UINT16_MAX,
	  .what = "a UDP port" },
	{ 0 },
};

static const struct sl_yaml_key sflow_keys[] = {
	{ .type = SL_YAML_LINE, SFLOW(line) },
	{ .name = "collectors",
	  .type = SL_YAML_LIST,
	  SFLOW(collectors),
	  .required = true,
	  .keys = collector_keys,
	  .item_bytes = sizeof(struct sl_sflow_collector),
	  .items_max = SL_SFLOW_COLLECTORS_MAX },
	{ .name = "agent",
	  .type = SL_YAML_STRING,
	  SFLOW(agent),
	  .valid = valid_address,
	  .what = "an IPv4 or IPv6 address" },
	{ .name = "sampling",
	  .type = SL_YAML_UINT,
	  SFLOW(sampling),
	  .min = 1,
	  .max = SL_CAPTURE_SAMPLING_MAX,
	  .what = "a number of frames of which one is sampled" },
	{ .name = "polling_s",
	  .type = SL_YAML_UINT,
	  SFLOW(polling_s),
	  .max = 86400,
	  .what = "a time in seconds" },
	{ .name = "header_bytes",
	  .type = SL_YAML_UINT,
	  SFLOW(header_bytes),
	  .min = 14,
	  .max = SL_SFLOW_HEADER_MAX_BYTES,
	  .what = "a length in bytes" },
	{ 0 },
};

static const struct sl_yaml_key settings_keys[] = {
	{ .name = "engine",
	  .type = SL_YAML_CHOICE,
	  .offset = offsetof(struct sl_settings, engine),
	  .choices = engines,
	  .what = "an engine" },
	{ .name = "ports",
	  .type = SL_YAML_LIST,
	  .offset = offsetof(struct sl_settings, alone_ports),
	  .keys = sl_alone_port_keys,
	  .item_bytes = sizeof(struct sl_cluster_port),
	  .items_max = PORTS_MAX },
	{ .name = "bridge",
	  .type = SL_YAML_MAP,
	  .offset = offsetof(struct sl_settings, alone),
	  .keys = sl_alone_bridge_keys },
	{ .name = "classes",
	  .type = SL_YAML_LIST,
	  .offset = offsetof(struct sl_settings, alone.classes),
	  .keys = sl_class_keys,
	  .item_bytes = sizeof(struct sl_class_settings),
	  .items_max = SL_DSCPS },
	{ .name = "reserve",
	  .type = SL_YAML_UINT,
	  .offset = offsetof(struct sl_settings, alone.reserve),
	  .max = SL_RESERVE_MAX,
	  .what = "a share in percent" },
	{ .name = "cluster",
	  .type = SL_YAML_MAP,
	  .offset = offsetof(struct sl_settings, cluster),
	  .keys = sl_cluster_keys },
	{ .name = "tables",
	  .type = SL_YAML_MAP,
	  .offset = offsetof(struct sl_settings, tables),
	  .keys = table_keys },
	{ .name = "control",
	  .type = SL_YAML_MAP,
	  .offset = offsetof(struct sl_settings, control),
	  .keys = control_keys },
	{ .name = "netfilter",
	  .type = SL_YAML_CHOICE,
	  .offset = offsetof(struct sl_settings, netfilter),
	  .choices = netfilter_choices,
	  .what = "a way to treat netfilter's rules" },
	{ .name = "heartbeat_s",
	  .type = SL_YAML_UINT,
	  .offset = offsetof(struct sl_settings, heartbeat_s),
	  .min = 0,
	  .max = 86400,
	  .what = "a time in seconds" },
	{ .name = "punt_limits",
	  .type = SL_YAML_MAP,
	  .offset = offsetof(struct sl_settings, punt_limits),
	  .keys = limit_keys },
	{ .name = "filters",
	  .type = SL_YAML_LIST,
	  .offset = offsetof(struct sl_settings, filters),
	  .keys = sl_filter_list_keys,
	  .item_bytes = sizeof(struct sl_filter_list_settings),
	  .items_max = SL_FILTER_LISTS },
	{ .name = "exact_flows",
	  .type = SL_YAML_UINT,
	  .offset = offsetof(struct sl_settings, exact_flows),
	  .min = 16,
	  .max = SL_EXACT_FLOWS_MAX,
	  .what = "a number of flows" },
	{ .name = "sflow",
	  .type = SL_YAML_MAP,
	  .offset = offsetof(struct sl_settings, sflow),
	  .keys = sflow_keys },
	{ .name = "metrics",
	  .type = SL_YAML_STRING,
	  .offset = offsetof(struct sl_settings, metrics),
	  .valid = valid_metrics,
	  .what = "an address to listen at: write PORT, ADDRESS:PORT or [IPv6 ADDRESS]:PORT" },
	{ .name = "pin_dir",
	  .type = SL_YAML_STRING,
	  .offset = offsetof(struct sl_settings, pin_dir),
	  .valid = valid_path,
	  .what = "a directory: write an absolute path in a BPF file system" },
	{ .name = "log_level",
	  .type = SL_YAML_CHOICE,
	  .offset = offsetof(struct sl_settings, log_level),
	  .choices = log_levels,
	  .what = "a log level" },
	{ 0 },
};

const struct sl_sflow_collector *sl_sflow_collector(const struct sl_sflow_settings *sflow,
						    uint32_t i)
{
	return &((const struct sl_sflow_collector *)sflow->collectors.items)[i];
}

const char *sl_engine_name(enum sl_engine engine)
{
	for (const struct sl_yaml_choice *c = engines; c->name; c++)
		if (c->value == (int)engine)
			return c->name;
	return "?";
}

const struct sl_port_settings *sl_settings_port(const struct sl_settings *settings, uint32_t i)
{
	return &((const struct sl_port_settings *)settings->ports.items)[i];
}

const struct sl_port_settings *sl_settings_find_port(const struct sl_settings *settings,
						     const char *name)
{
	for (uint32_t i = 0; i < settings->ports.n; i++)
		if (strcmp(sl_settings_port(settings, i)->name, name) == 0)
			return sl_settings_port(settings, i);
	return NULL;
}

static int port_error(const struct sl_settings *settings, uint32_t i,
		      char error[SL_YAML_ERROR_BYTES], const char *message)
{
	const struct sl_port_settings *port = sl_settings_port(settings, i);
	char path[32];

	snprintf(path, sizeof(path), "ports[%u].name", i);
	sl_yaml_error(error, settings->file_name, port->line, path, port->name, "%s", message);
	return -EINVAL;
}

static int check_duplicates(const struct sl_settings *settings, char error[SL_YAML_ERROR_BYTES])
{
	for (uint32_t i = 0; i < settings->ports.n; i++)
		if (sl_settings_find_port(settings, sl_settings_port(settings, i)->name) !=
		    sl_settings_port(settings, i))
			return port_error(settings, i, error,
					  "is named twice: write each port once");
	return 0;
}

/* The ports of this node, as struct sl_port_settings has them. */
static int list_ports(struct sl_settings *s, const struct sl_yaml_list *own)
{
	const struct sl_cluster_port *port = own->items;
	struct sl_port_settings *ports = calloc(own->n ? own->n : 1, sizeof(*ports));

	if (!ports)
		return -ENOMEM;
	s->ports.items = ports;
	for (uint32_t i = 0; i < own->n; i++) {
		ports[i] = (struct sl_port_settings){ .name = strdup(port[i].name),
						      .mode = port[i].mode,
						      .optional = port[i].optional,
						      .hidden_tags = port[i].hidden_tags,
						      .line = port[i].line };
		s->ports.n++;
		if (!ports[i].name)
			return -ENOMEM;
	}
	return 0;
}

static int check_cluster(struct sl_settings *s, char error[SL_YAML_ERROR_BYTES])
{
	const char *beside = s->alone_ports.items ? "ports"
			     : s->alone.line	  ? "bridge"
			     : s->alone.classes.n ? "classes"
			     : s->alone.reserve	  ? "reserve"
						  : NULL;
	int err;

	if (beside) {
		sl_yaml_error(error, s->file_name, s->cluster.line, "", beside,
			      "is given beside cluster: write the %s under cluster%s only", beside,
			      s->alone_ports.items ? ".nodes" : "");
		return -EINVAL;
	}
	err = sl_cluster_settings_check(&s->cluster, s->file_name, error);
	return err ? err
		   : list_ports(s, &sl_cluster_find_node(&s->cluster, s->cluster.node)->ports);
}

/* Make the ports of a router alone those of a cluster's only node. */
static int make_node(struct sl_cluster_settings *alone, struct sl_yaml_list *ports)
{
	struct sl_cluster_node *node = calloc(1, sizeof(*node));
	struct sl_cluster_port *port = ports->items;

	if (!node)
		return -ENOMEM;
	for (uint32_t i = 0; i < ports->n; i++)
		port[i].number = i + 1;
	*node = (struct sl_cluster_node){ .id = SL_NODE_ALONE, .ports = *ports };
	*ports = (struct sl_yaml_list){ 0 };
	alone->nodes = (struct sl_yaml_list){ .items = node, .n = 1 };
	alone->node = node->id;
	return 0;
}

static bool has_queues(const struct sl_cluster_node *node)
{
	for (uint32_t i = 0; i < node->ports.n; i++)
		if (sl_cluster_port_is_queued(sl_cluster_port(node, i)))
			return true;
	return false;
}

/* A router alone takes the part of `cluster` if a port of it has queues. */
static int check_alone(struct sl_settings *s, char error[SL_YAML_ERROR_BYTES])
{
	const struct sl_cluster_settings none = { 0 };
	int err;

	if (!s->alone_ports.items) {
		sl_yaml_error(error, s->file_name, 1, "", "ports",
			      "is missing: write \"ports: ...\", or \"cluster: ...\"");
		return -EINVAL;
	}
	err = list_ports(s, &s->alone_ports);
	if (!err)
		err = check_duplicates(s, error);
	if (!err)
		err = make_node(&s->alone, &s->alone_ports);
	if (!err)
		err = sl_cluster_settings_check(&s->alone, s->file_name, error);
	if (err || !has_queues(sl_cluster_node(&s->alone, 0)))
		return err;
	sl_yaml_free(sl_cluster_keys, &s->cluster);
	s->cluster = s->alone;
	s->alone = none;
	return 0;
}

static int check_sflow(const struct sl_sflow_settings *sflow, const char *file_name,
		       char error[SL_YAML_ERROR_BYTES])
{
	if (!sflow->line)
		return 0;
	if (!sflow->collectors.n) {
		sl_yaml_error(error, file_name, sflow->line, "sflow", "collectors",
			      "is an empty list: write \"- address: ...\" for each collector");
		return -EINVAL;
	}
	return 0;
}

static int check(struct sl_settings *s, char error[SL_YAML_ERROR_BYTES])
{
	int err = sl_filters_settings_check(&s->filters, s->file_name, error);

	if (!err)
		err = check_sflow(&s->sflow, s->file_name, error);
	if (err)
		return err;
	return s->cluster.line ? check_cluster(s, error) : check_alone(s, error);
}

int sl_settings_check_ports(const struct sl_settings *settings, char error[SL_YAML_ERROR_BYTES])
{
	for (uint32_t i = 0; i < settings->ports.n; i++) {
		const struct sl_port_settings *port = sl_settings_port(settings, i);

		if (!port->optional && !if_nametoindex(port->name)) {
			port_error(settings, i, error,
				   "is not a netdev here: write one that `ip link` shows, or "
				   "\"optional: true\" if it comes later");
			return -ENODEV;
		}
	}
	return 0;
}

uint64_t sl_settings_sum(const char *text, size_t text_bytes)
{
	uint64_t sum = 14695981039346656037ULL;

	for (size_t i = 0; i < text_bytes; i++)
		sum = (sum ^ (uint8_t)text[i]) * 1099511628211ULL;
	return sum;
}

int sl_settings_parse(const char *file_name, const char *text, size_t text_bytes,
		      struct sl_settings **out, char error[SL_YAML_ERROR_BYTES])
{
	struct sl_settings *s = calloc(1, sizeof(*s));
	int err = -ENOMEM;

	*out = NULL;
	error[0] = '\0';
	if (!s)
		goto out;
	s->sum = sl_settings_sum(text, text_bytes);
	s->engine = SL_ENGINE_FAST;
	s->log_level = SL_LOG_INFO;
	s->heartbeat_s = 30;
	s->punt_limits = (struct sl_limit_settings){ 10000, 10000, 10000 };
	s->sflow.sampling = 1000;
	s->sflow.polling_s = 20;
	s->sflow.header_bytes = 128;
	s->control.mode = 0660;
	s->control.socket = strdup(SL_CONFIG_DEFAULT_SOCKET);
	s->pin_dir = strdup(SL_CONFIG_DEFAULT_PINS);
	s->file_name = strdup(file_name);
	if (!s->control.socket || !s->pin_dir || !s->file_name ||
	    sl_cluster_settings_init(&s->cluster) || sl_cluster_settings_init(&s->alone))
		goto out;
	err = sl_yaml_parse(file_name, text, text_bytes, settings_keys, s, error);
	if (!err)
		err = check(s, error);
out:
	if (err == -ENOMEM)
		snprintf(error, SL_YAML_ERROR_BYTES, "%.200s: not enough memory", file_name);
	if (err)
		sl_settings_free(s);
	else
		*out = s;
	return err;
}

/*
 * Read at most SL_YAML_FILE_MAX bytes into text, which has room for one more. Returns how many, or
 * -errno.
 */
static ssize_t read_file(const char *path, char *text)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = 0, got = 1;

	if (fd < 0)
		return -errno;
	while (got > 0 && n <= (ssize_t)SL_YAML_FILE_MAX) {
		got = read(fd, text + n, SL_YAML_FILE_MAX + 1 - (size_t)n);
		n = got < 0 ? -errno : n + got;
	}
	close(fd);
	return n > (ssize_t)SL_YAML_FILE_MAX ? -EFBIG : n;
}

int sl_settings_load(const char *path, struct sl_settings **out, char error[SL_YAML_ERROR_BYTES])
{
	char *text = malloc(SL_YAML_FILE_MAX + 1);
	ssize_t n = text ? read_file(path, text) : -ENOMEM;
	int err;

	*out = NULL;
	if (n < 0) {
		err = (int)n;
		snprintf(error, SL_YAML_ERROR_BYTES,
			 "%.200s: cannot read the configuration file: %s", path, strerror(-err));
	} else {
		err = sl_settings_parse(path, text, (size_t)n, out, error);
	}
	free(text);
	return err;
}

void sl_settings_free(struct sl_settings *settings)
{
	struct sl_port_settings *ports;

	if (!settings)
		return;
	ports = settings->ports.items;
	for (uint32_t i = 0; i < settings->ports.n; i++)
		free(ports[i].name);
	free(ports);
	sl_filters_settings_free(&settings->filters);
	sl_yaml_free(sl_cluster_keys, &settings->alone);
	sl_yaml_free(settings_keys, settings);
	free(settings->file_name);
	free(settings);
}
