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

void sl_cluster_size_maps(const struct sl_cluster_settings *cluster,
			  struct sl_datapath_params *params)
{
	const struct sl_cluster_node *self = sl_cluster_find_node(cluster, cluster->node);

	if (!self)
		return;
	params->config.node_id = cluster->node;
	params->config.n_voqs = cluster->table.n * SL_CLASSES;
	params->config.n_queues = 1;
	params->config.n_workers = cluster->bridge.workers;
	params->config.express = sl_cluster_has_express(cluster);
	params->config.reserves = cluster->reserve > 0;
	params->n_ports = 1;
	for (uint32_t i = 0; i < self->ports.n; i++) {
		const struct sl_cluster_port *port = sl_cluster_port(self, i);
		uint32_t queues = receive_queues(port->name);

		if (queues > params->config.n_queues)
			params->config.n_queues = queues;
		if (port->number > params->n_ports)
			params->n_ports = port->number;
	}
}

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

int sl_cluster_fill_maps(const struct sl_cluster_settings *cluster, const struct sl_datapath *dp)
{
	const int dscp_fd = sl_datapath_map_fd(dp, "sl_dscp");
	const int fabric_fd = sl_datapath_map_fd(dp, "sl_fabric");
	const uint32_t one = 1;
	int err = 0;

	if (!cluster->node)
		return 0;
	if (dscp_fd < 0 || fabric_fd < 0)
		return -ENOENT;
	for (uint32_t dscp = 0; dscp < SL_DSCPS && !err; dscp++) {
		const uint32_t class = cluster->class_of[dscp];

		err = bpf_map_update_elem(dscp_fd, &dscp, &class, BPF_ANY);
	}
	for (uint32_t i = 0; sl_cluster_has_fabric(cluster) && i < cluster->nodes.n && !err; i++) {
		struct sl_fabric_key key;

		fabric_key(sl_cluster_node(cluster, i)->address, &key);
		err = bpf_map_update_elem(fabric_fd, &key, &one, BPF_ANY);
	}
	return err;
}
