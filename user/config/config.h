/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration file of sluiced, sluice.yaml(5): its schema, its defaults, and the checks that
 * need more than the schema. See yaml.h for what an error looks like.
 */
#ifndef SL_CONFIG_H
#define SL_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/abi.h"
#include "user/config/config_cluster.h"
#include "user/config/config_filter.h"
#include "user/lib/log.h"
#include "user/lib/xdp_mode.h"
#include "user/text/yaml.h"

#define SL_CONFIG_DEFAULT_PATH		   "/etc/sluice/sluice.yaml"
#define SL_CONFIG_DEFAULT_SOCKET	   "/run/sluice/sluiced.sock"
#define SL_CONFIG_DEFAULT_ELEMENTS_CONTROL "/run/sluice/sluice-elements.sock"
#define SL_CONFIG_DEFAULT_AGENT_CONTROL	   "/run/sluice/sluice-cluster.sock"
#define SL_CONFIG_DEFAULT_PINS		   "/sys/fs/bpf/sluice"

struct sl_port_settings {
	char *name;
	enum sl_xdp_mode mode; /* SL_XDP_NONE: auto */
	bool optional;	       /* may be missing at start */
	enum sl_hidden_tags hidden_tags;
	uint32_t line;
};

/* Elements; 0: the default of bpf/abi/forwarding.h. */
struct sl_table_settings {
	uint32_t nexthops, adjacencies, groups;
	uint32_t ipv4_routes, ipv6_routes;
};

/* Packets a second on each processor; 0: no limit. */
struct sl_limit_settings {
	uint32_t ttl, no_route;
	uint32_t local; /* each of TCP, UDP and the rest */
};

struct sl_control_settings {
	char *socket;  /* path */
	uint32_t mode; /* permissions of the socket */
	char *group;   /* its group, or NULL: that of the process */
};

/* The part `sflow:`, for `sluice sflow`; the daemons leave it alone. */
#define SL_SFLOW_COLLECTORS_MAX	  16
#define SL_SFLOW_PORT_DEFAULT	  6343 /* of UDP, assigned to sFlow */
#define SL_SFLOW_HEADER_MAX_BYTES 512

struct sl_sflow_collector {
	char *address; /* IPv4 or IPv6 */
	uint32_t port; /* 0: SL_SFLOW_PORT_DEFAULT */
};

struct sl_sflow_settings {
	uint32_t line;			/* of the part in the file; 0: it is not there */
	struct sl_yaml_list collectors; /* of struct sl_sflow_collector */
	char *agent;	       /* IPv4 or IPv6 address; NULL: the one that this node sends from */
	uint32_t sampling;     /* one in so many frames */
	uint32_t polling_s;    /* between two samples of a port's counters; 0: none */
	uint32_t header_bytes; /* of each sample, at most */
};

/* While netfilter has rules for forwarded packets of a family: */
enum sl_netfilter {
	SL_NETFILTER_KERNEL, /* the kernel gets all packets of that family */
	SL_NETFILTER_IGNORE, /* the fast path forwards all the same */
};

struct sl_settings {
	enum sl_engine engine;
	struct sl_yaml_list
		ports; /* of struct sl_port_settings; in a cluster, those of this node */
	struct sl_cluster_settings cluster;
	/* What the file says of a router without a cluster, unless it has become `cluster`. */
	struct sl_cluster_settings alone;
	struct sl_yaml_list alone_ports; /* of struct sl_cluster_port */
	struct sl_table_settings tables;
	struct sl_control_settings control;
	enum sl_netfilter netfilter;
	uint32_t heartbeat_s; /* so long the fast path goes on without a daemon; 0: for ever */
	struct sl_limit_settings punt_limits;
	uint32_t exact_flows;	     /* that have room; 0: there can be none */
	struct sl_yaml_list filters; /* of struct sl_filter_list_settings */
	struct sl_sflow_settings sflow;
	char *metrics; /* where it offers metrics (metrics.h); NULL: nowhere */
	char *pin_dir;
	enum sl_log_level log_level;
	char *file_name;
	uint64_t sum; /* sl_settings_sum of the text */
};

/*
 * Read and check a configuration. The caller owns *out, to be released by sl_settings_free. 0;
 * -EINVAL with one line in error; -ENOMEM. sl_settings_load reads a file, and so may return any
 * error of open(2), with one line in error.
 */
int sl_settings_parse(const char *file_name, const char *text, size_t text_bytes,
		      struct sl_settings **out, char error[SL_YAML_ERROR_BYTES]);
int sl_settings_load(const char *path, struct sl_settings **out, char error[SL_YAML_ERROR_BYTES]);
void sl_settings_free(struct sl_settings *settings); /* NULL is fine */
/* Tells one text from another: FNV-1a of 64 bits. No proof against somebody who tries. */
uint64_t sl_settings_sum(const char *text, size_t text_bytes);

const struct sl_port_settings *sl_settings_port(const struct sl_settings *settings, uint32_t i);
const struct sl_port_settings *sl_settings_find_port(const struct sl_settings *settings,
						     const char *name); /* or NULL */

/*
 * Is every port that is not optional a netdev of this network namespace? 0, or -ENODEV with one
 * line in error.
 */
int sl_settings_check_ports(const struct sl_settings *settings, char error[SL_YAML_ERROR_BYTES]);

const struct sl_sflow_collector *sl_sflow_collector(const struct sl_sflow_settings *sflow,
						    uint32_t i);

const char *sl_engine_name(enum sl_engine engine);

#endif
