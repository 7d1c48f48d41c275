/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/bridge/fabric.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include <openssl/rand.h>

#include "bpf/abi/arrival.h"
#include "bpf/abi/fabric_address.h"
#include "rdma-bridge/rate/rates.h"
#include "rdma-bridge/transport/none.h"
#include "rdma-bridge/transport/roce_xdp.h"
#include "rdma-bridge/transport/verbs/verbs.h"
#include "user/lib/log.h"
#include "user/text/prefix.h"

#define ETHER_BYTES 14 /* Ethernet header: what a frame has beyond its port's MTU */

int rb_fabric_gid(const char *address, uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	uint8_t family, addr[16];

	if (sl_addr_parse(address, &family, addr))
		return -EINVAL;
	if (sl_addr_bits(family) == 128) {
		memcpy(gid, addr, 16);
	} else {
		memcpy(gid, mapped, sizeof(mapped));
		memcpy(gid + 12, addr, 4);
	}
	return 0;
}

static int random_u32(uint32_t min, uint32_t max, uint32_t *out)
{
	if (RAND_bytes((unsigned char *)out, sizeof(*out)) != 1)
		return -EIO;
	*out = min + *out % (max - min + 1);
	return 0;
}

uint32_t rb_fabric_message_needed_bytes(const struct rb_bridge *b)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	const struct sl_cluster_node *self = sl_cluster_find_node(cluster, cluster->node);
	uint32_t mtu_bytes = 1500;

	for (uint32_t p = 0; p < self->ports.n; p++) {
		struct rb_netdev netdev;

		if (rb_netdev_query(sl_cluster_port(self, p)->name, &netdev) == 0 &&
		    netdev.mtu_bytes > mtu_bytes)
			mtu_bytes = netdev.mtu_bytes;
	}
	return mtu_bytes + ETHER_BYTES + RB_MSG_OVERHEAD_BYTES;
}

uint32_t rb_fabric_mtu_for(uint32_t message_bytes, uint32_t chunk_bytes)
{
	const uint32_t by_chunk = chunk_bytes - RB_CHUNK_HEADROOM_BYTES;
	const uint32_t by_message = message_bytes - RB_MSG_OVERHEAD_BYTES;

	return (by_chunk < by_message ? by_chunk : by_message) - ETHER_BYTES;
}

uint32_t rb_fabric_mtu_to(const struct rb_bridge *b, uint8_t node)
{
	struct rb_worker *w = b->lanes[0].worker;
	const uint32_t remote = w->peer[node]->remote.message_max_bytes;
	struct rb_endpoint self;
	uint32_t message_bytes;

	w->transport->ops->endpoint(w->transport, &self);
	message_bytes = remote < self.message_max_bytes ? remote : self.message_max_bytes;
	return rb_fabric_mtu_for(message_bytes, rb_chunk_bytes(b->lanes[0].chunks));
}

/* --- Opening --- */

/* Where the link of sl_fabric is pinned. */
static void link_path(const struct rb_bridge *b, char path[PATH_MAX])
{
	snprintf(path, PATH_MAX, "%s%s", b->settings->pin_dir, SL_FABRIC_LINK);
}

static int open_roce_xdp(struct rb_bridge *b, const uint8_t address[16], uint32_t qkey)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	struct rb_chunks *chunks[RB_ROCE_XDP_WORKERS_MAX];
	int wake_fds[RB_ROCE_XDP_WORKERS_MAX];
	char pin[PATH_MAX];
	struct rb_transport *transports[RB_ROCE_XDP_WORKERS_MAX];
	struct rb_roce_xdp_config config = {
		.netdev = cluster->device,
		.qkey = qkey,
		.roce = { .pkey = RB_ROCE_PKEY_DEFAULT,
			  .dscp = (uint8_t)cluster->fabric_dscp,
			  .ecn = RB_ECN_ECT0,
			  .hop_limit = SL_FABRIC_HOP_LIMIT },
		.chunks = b->lanes[0].chunks,
		.area_bytes = b->area_bytes,
		.ring_size = RB_BRIDGE_TRANSPORT_RING,
		.workers = b->n_lanes,
		.worker_chunks = chunks,
		.wake_fds = wake_fds,
		.express = sl_cluster_has_express(cluster),
		.node = (uint8_t)cluster->node,
		.sample = cluster->bridge.delay_sample,
		.pin = pin,
	};
	struct rb_roce_xdp_info info;
	struct rb_endpoint endpoint;
	int err = random_u32(2, 0xffffff - b->n_lanes, &config.qpn);

	link_path(b, pin);
	memcpy(config.address, address, sizeof(config.address));
	for (uint32_t i = 0; i < b->n_lanes; i++) {
		chunks[i] = b->lanes[i].chunks;
		wake_fds[i] = b->lanes[i].wake_fd;
	}
	if (!err)
		err = rb_roce_xdp_open(&config, transports);
	for (uint32_t i = 0; i < b->n_lanes && !err; i++)
		b->lanes[i].transport = transports[i];
	if (err == -ENOSPC)
		sl_error(
			"fabric: %u workers need as many queues of %s, which has %u; `ethtool -L` sets "
			"them",
			b->n_lanes, cluster->device, b->fabric.queues);
	else if (err) {
		sl_error("fabric: cannot use %s: %s", cluster->device, strerror(-err));
	}
	if (err)
		return err;
	b->lanes[0].transport->ops->endpoint(b->lanes[0].transport, &endpoint);
	rb_roce_xdp_info(b->lanes[0].transport, &info);
	sl_info("fabric: roce-xdp on %s, %u queues, %s XDP, %s, messages up to %u bytes",
		cluster->device, info.queues, info.native_xdp ? "native" : "generic",
		info.zero_copy ? "zero-copy" : "copy mode", endpoint.message_max_bytes);
	if (info.pin_err)
		sl_warning("fabric: the XDP program of %s ends with this bridge: it cannot be "
			   "pinned at \"%s\": %s",
			   cluster->device, pin, strerror(-info.pin_err));
	if (info.sent_err)
		sl_warning("fabric: the delay of frames past the bridge ends with XDP's redirect, "
			   "not when the port's driver has them: %s",
			   strerror(-info.sent_err));
	return 0;
}

static int open_verbs(struct rb_bridge *b, const uint8_t address[16], uint32_t qkey)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	struct rb_verbs_config config = {
		.kind = cluster->transport == SL_TRANSPORT_VERBS_RC ? RB_VERBS_RC : RB_VERBS_UD,
		.qkey = qkey,
		.traffic_class = (uint8_t)(cluster->fabric_dscp << 2 | RB_ECN_ECT0),
		.service_level = (uint8_t)cluster->service_level,
		.hop_limit = SL_FABRIC_HOP_LIMIT,
		.chunks = b->lanes[0].chunks,
		.area_bytes = b->area_bytes,
		.receive_depth = RB_BRIDGE_RECEIVE_TARGET,
		.send_depth = RB_BRIDGE_TRANSPORT_RING,
		.patience_ns = cluster->liveness_ms * 1000000ULL,
	};
	const char *name = sl_transport_name(cluster->transport);
	struct rb_endpoint endpoint;
	struct rb_verbs_info info;
	char link[PATH_MAX];
	int err;

	/* Of a bridge before us, whose transport was another one. */
	link_path(b, link);
	unlink(link);
	memcpy(config.address, address, sizeof(config.address));
	err = rb_verbs_open(&config, &b->lanes[0].transport);
	if (err) {
		const char *problem = rb_verbs_problem(err);

		sl_error("fabric: cannot use %s at %s: %s; roce-xdp needs no RDMA device", name,
			 sl_cluster_find_node(cluster, cluster->node)->address,
			 problem ? problem : strerror(-err));
		return err;
	}
	b->lanes[0].transport->ops->endpoint(b->lanes[0].transport, &endpoint);
	rb_verbs_info(b->lanes[0].transport, &info);
	sl_info("fabric: %s on %s over %s, path MTU %u, %u gather entries, messages up to %u bytes",
		name, info.device, cluster->device, info.path_mtu_bytes, info.send_pieces_max,
		endpoint.message_max_bytes);
	return 0;
}

/* A router alone: each lane has a transport that reaches nobody. */
static int open_none(struct rb_bridge *b)
{
	int err = random_u32(1, UINT32_MAX - 1, &b->epoch);

	for (uint32_t i = 0; i < b->n_lanes && !err; i++)
		err = rb_none_open(b->lanes[i].chunks, &b->lanes[i].transport);
	return err;
}

int rb_fabric_open(struct rb_bridge *b)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	struct rb_endpoint endpoint;
	uint8_t address[16];
	uint32_t qkey, needed;
	int err;

	if (!sl_cluster_has_fabric(cluster))
		return open_none(b);
	err = rb_fabric_gid(sl_cluster_find_node(cluster, cluster->node)->address, address);
	if (!err)
		err = random_u32(1, UINT32_MAX - 1, &b->epoch);
	if (!err)
		err = random_u32(0, RB_QKEY_MAX, &qkey);
	if (!err)
		err = rb_netdev_query(cluster->device, &b->fabric);
	if (err) {
		sl_error("fabric: cannot use %s: %s", cluster->device, strerror(-err));
		return err;
	}
	err = cluster->transport == SL_TRANSPORT_ROCE_XDP ? open_roce_xdp(b, address, qkey)
							  : open_verbs(b, address, qkey);
	if (err)
		return err;
	b->lanes[0].transport->ops->endpoint(b->lanes[0].transport, &endpoint);
	needed = rb_fabric_message_needed_bytes(b);
	if (endpoint.message_max_bytes < needed)
		sl_warning("fabric: the MTU of %s, %u, holds messages of %u bytes; a full frame of "
			   "our ports needs %u: larger frames will be dropped",
			   cluster->device, b->fabric.mtu_bytes, endpoint.message_max_bytes,
			   needed);
	return 0;
}

uint64_t rb_fabric_speed_Bps(const struct rb_bridge *b)
{
	if (b->settings->cluster.fabric_rate.per_s)
		return b->settings->cluster.fabric_rate.per_s;
	return b->fabric.speed_Bps ? b->fabric.speed_Bps : RB_RATES_SPEED_DEFAULT;
}

/* --- Loss and return --- */

void rb_fabric_check(struct rb_bridge *b)
{
	const char *device = b->settings->cluster.device;
	struct rb_netdev now;
	int err;

	if (!sl_cluster_has_fabric(&b->settings->cluster))
		return;
	err = rb_netdev_look(device, &now);
	if (err && err != -ENODEV && err != b->fabric_err)
		sl_warning("fabric: cannot look at %s: %s; trying again", device, strerror(-err));
	b->fabric_err = err;
	if (err && err != -ENODEV)
		return;
	if (err) {
		sl_error("fabric: the netdev %s is gone; waiting for its return", device);
		b->lost = true;
	} else if (now.ifindex != b->fabric.ifindex || now.mtu_bytes != b->fabric.mtu_bytes ||
		   rb_netdev_has_queue(device, &now, b->fabric.queues) ||
		   memcmp(now.mac, b->fabric.mac, sizeof(now.mac)) != 0) {
		sl_warning("fabric: %s is another netdev now, or has another MAC address or MTU, "
			   "or more receive queues; starting over",
			   device);
		b->lost = true;
	} else if (b->settings->cluster.transport != SL_TRANSPORT_ROCE_XDP &&
		   rb_verbs_is_lost(b->lanes[0].transport)) {
		sl_error("fabric: the RDMA device of %s is gone; waiting for its return", device);
		b->lost = true;
	}
}

bool rb_fabric_is_there(const struct sl_settings *settings)
{
	const struct sl_cluster_settings *cluster = &settings->cluster;
	struct sockaddr_storage address = { 0 };
	struct rb_netdev netdev;
	uint8_t family, addr[16], gid[16];
	socklen_t len;
	bool ours;
	int fd;

	if (rb_netdev_query(cluster->device, &netdev) || !netdev.up ||
	    sl_addr_parse(sl_cluster_find_node(cluster, cluster->node)->address, &family, addr))
		return false;
	address.ss_family = family;
	if (family == AF_INET) {
		memcpy(&((struct sockaddr_in *)&address)->sin_addr, addr, 4);
		len = sizeof(struct sockaddr_in);
	} else {
		memcpy(&((struct sockaddr_in6 *)&address)->sin6_addr, addr, 16);
		len = sizeof(struct sockaddr_in6);
	}
	fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return false;
	ours = bind(fd, (struct sockaddr *)&address, len) == 0;
	close(fd);
	if (!ours || cluster->transport == SL_TRANSPORT_ROCE_XDP)
		return ours;
	return rb_fabric_gid(sl_cluster_find_node(cluster, cluster->node)->address, gid) == 0 &&
	       rb_verbs_find(gid) == 0;
}
