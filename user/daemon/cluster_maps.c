/* SPDX-License-Identifier: BSD-2-Clause */
#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>

#include "user/daemon/cluster_maps.h"
#include "bpf/abi/fabric_address.h"
#include "bpf/abi/voq.h"
#include "user/datapath/pins.h"
#include "user/text/prefix.h"

/* The most receive queues that the operator can give a netdev; 0: its driver does not say. */
static uint32_t receive_queues_max(const char *netdev)
{
	struct ethtool_channels channels = { .cmd = ETHTOOL_GCHANNELS };
	struct ifreq request = { .ifr_data = (void *)&channels };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", netdev);
	if (fd < 0 || ioctl(fd, SIOCETHTOOL, &request))
		channels = (struct ethtool_channels){ 0 };
	if (fd >= 0)
		close(fd);
	return channels.max_rx + channels.max_combined;
}

/* Receive queues that a netdev has, or may have later. */
static uint32_t receive_queues(const char *netdev)
{
	const uint32_t max = receive_queues_max(netdev);
	const struct dirent *entry;
	uint32_t n = 0;
	char path[64];
	DIR *queues;

	snprintf(path, sizeof(path), "/sys/class/net/%s/queues", netdev);
	queues = opendir(path);
	while (queues && (entry = readdir(queues)))
		n += strncmp(entry->d_name, "rx-", 3) == 0;
	if (queues)
		closedir(queues);
	return n > max ? n : max;
}

/* Numbers of ports come in steps, so that those which come later find places. */
#define PORT_STEP  16
#define PORT_SPARE 8
#define PORT_MAX   255

/* 0: the node is alone, without queues. */
static uint32_t highest_port(const struct sl_cluster_settings *cluster)
{
	const struct sl_cluster_node *self = sl_cluster_find_node(cluster, cluster->node);
	uint32_t highest = self ? 1 : 0;

	for (uint32_t i = 0; self && i < self->ports.n; i++)
		if (sl_cluster_port(self, i)->number > highest)
			highest = sl_cluster_port(self, i)->number;
	return highest;
}

void sl_cluster_size_maps(const struct sl_cluster_settings *cluster,
			  struct sl_datapath_params *params)
{
	const struct sl_cluster_node *self = sl_cluster_find_node(cluster, cluster->node);

	if (!self)
		return;
	params->config.node_id = cluster->node;
	params->config.n_voqs = SL_VOQS_MAX; /* ports may come later */
	params->config.n_queues = 1;
	params->config.n_workers = cluster->bridge.workers;
	params->config.express = sl_cluster_has_express(cluster);
	params->config.reserves = cluster->reserve > 0;
	params->n_ports = highest_port(cluster) + PORT_SPARE;
	params->n_ports += PORT_STEP - 1 - (params->n_ports - 1) % PORT_STEP;
	if (params->n_ports > PORT_MAX)
		params->n_ports = PORT_MAX;
	for (uint32_t i = 0; i < self->ports.n; i++) {
		uint32_t queues = receive_queues(sl_cluster_port(self, i)->name);

		if (queues > params->config.n_queues)
			params->config.n_queues = queues;
	}
}

bool sl_cluster_fits_maps(const struct sl_cluster_settings *cluster, const struct sl_datapath *dp)
{
	struct sl_datapath_params params = { 0 };

	sl_cluster_size_maps(cluster, &params);
	return highest_port(cluster) <= sl_datapath_ports(dp) &&
	       params.config.n_queues <= sl_datapath_config(dp)->n_queues;
}

/* --- Indices of system ports --- */

/*
 * A map of the running fast path, or of one that was never published; of another version of sluice,
 * its values may have another size: then it is none.
 */
static int open_pinned(const char *pin_dir, const char *name, uint32_t value_bytes)
{
	int fd = sl_pins_get(pin_dir, 0, name);
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	if (fd < 0)
		fd = sl_pins_get(pin_dir, 1, name);
	if (fd < 0 || (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.value_size == value_bytes))
		return fd;
	close(fd);
	return -ENOENT;
}

/* Does the bridge serve VOQs of this index? */
static bool is_served(int backlog_fd, uint32_t index)
{
	struct sl_backlog backlog = { 0 };
	uint32_t voq = sl_sysport_voq(index);

	return backlog_fd >= 0 && !bpf_map_lookup_elem(backlog_fd, &voq, &backlog) &&
	       backlog.system_port;
}

void sl_cluster_keep_indices(struct sl_cluster_settings *cluster, const char *pin_dir)
{
	const int ports_fd = open_pinned(pin_dir, "sl_system_ports", sizeof(uint64_t));
	const int backlog_fd = open_pinned(pin_dir, "sl_backlog", sizeof(struct sl_backlog));
	uint16_t held[SL_SYSTEM_PORTS_MAX] = { 0 };
	bool in_use[SL_SYSTEM_PORTS_MAX] = { false };

	for (uint32_t i = 0; ports_fd >= 0 && i < SL_SYSTEM_PORTS_MAX; i++) {
		uint64_t port = 0;

		if (bpf_map_lookup_elem(ports_fd, &i, &port))
			break;
		held[i] = (uint16_t)port;
		in_use[i] = is_served(backlog_fd, i);
	}
	sl_sysport_keep(&cluster->table, held, in_use);
	if (ports_fd >= 0)
		close(ports_fd);
	if (backlog_fd >= 0)
		close(backlog_fd);
}

static int fill_system_ports(const struct sl_sysport_table *table, int fd)
{
	int err = 0;

	for (uint32_t i = 0; i < SL_SYSTEM_PORTS_MAX && !err; i++) {
		uint64_t port = sl_sysport_of_index(table, i);

		err = bpf_map_update_elem(fd, &i, &port, BPF_ANY);
	}
	return err;
}

/* --- Sizes, classes, addresses --- */

/* An IPv4 address becomes an IPv4-mapped IPv6 address. */
static void fabric_key(const char *text, struct sl_fabric_key *key)
{
	uint8_t family, addr[16], mapped[16] = { [10] = 0xff, [11] = 0xff };

	sl_addr_parse(text, &family, addr);
	if (sl_addr_bits(family) == 128)
		memcpy(mapped, addr, sizeof(mapped));
	else
		memcpy(mapped + 12, addr, 4);
	memcpy(key, mapped, sizeof(*key));
}

static bool is_node(const struct sl_cluster_settings *cluster, const struct sl_fabric_key *key)
{
	for (uint32_t i = 0; i < cluster->nodes.n; i++) {
		struct sl_fabric_key node;

		fabric_key(sl_cluster_node(cluster, i)->address, &node);
		if (memcmp(&node, key, sizeof(node)) == 0)
			return true;
	}
	return false;
}

/* The addresses of all nodes, and no others. */
static int fill_fabric(const struct sl_cluster_settings *cluster, int fd)
{
	struct sl_fabric_key key, kept, *previous = NULL;
	const uint32_t one = 1;
	int err = 0;

	for (uint32_t i = 0; i < cluster->nodes.n && !err; i++) {
		fabric_key(sl_cluster_node(cluster, i)->address, &key);
		err = bpf_map_update_elem(fd, &key, &one, BPF_ANY);
	}
	while (!err && bpf_map_get_next_key(fd, previous, &key) == 0) {
		if (is_node(cluster, &key)) {
			kept = key;
			previous = &kept;
		} else {
			err = bpf_map_delete_elem(fd, &key);
		}
	}
	return err;
}

int sl_cluster_fill_maps(const struct sl_cluster_settings *cluster, const struct sl_datapath *dp)
{
	const int dscp_fd = sl_datapath_map_fd(dp, "sl_dscp");
	const int fabric_fd = sl_datapath_map_fd(dp, "sl_fabric");
	const int ports_fd = sl_datapath_map_fd(dp, "sl_system_ports");
	int err = 0;

	if (!cluster->node)
		return 0;
	if (dscp_fd < 0 || fabric_fd < 0 || ports_fd < 0)
		return -ENOENT;
	err = fill_system_ports(&cluster->table, ports_fd);
	for (uint32_t dscp = 0; dscp < SL_DSCPS && !err; dscp++) {
		const uint32_t class = cluster->class_of[dscp];

		err = bpf_map_update_elem(dscp_fd, &dscp, &class, BPF_ANY);
	}
	return err || !sl_cluster_has_fabric(cluster) ? err : fill_fabric(cluster, fabric_fd);
}
