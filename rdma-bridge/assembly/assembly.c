/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/assembly/assembly.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <openssl/crypto.h>

#include "rdma-bridge/assembly/reachable.h"
#include "rdma-bridge/bridge/ports.h"
#include "rdma-bridge/bridge/fabric.h"
#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/lane_threads.h"
#include "rdma-bridge/bridge/peering.h"
#include "rdma-bridge/bridge/remote_ports.h"
#include "rdma-bridge/bridge/takers.h"
#include "rdma-bridge/express/express_paths.h"
#include "rdma-bridge/port/edge.h"
#include "rdma-bridge/rate/cc_overrides.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"

#define CHUNK_BYTES 4096
_Static_assert(CHUNK_BYTES == SL_FLOW_FRAME_MAX_BYTES, "flow queues take what chunks hold");
/* Open files beside those of ports and nodes: maps, programs, control sockets and their clients. */
#define DESCRIPTORS	     160
#define DESCRIPTORS_PER_LANE 16
#define HELLOS_PER_LIFE	     5		  /* hellos in the time after which a silent peer is down */
#define HELLO_NS_MAX	     100000000ULL /* clocks are compared by them, too */

/* --- Memory --- */

/* What a lane uses chunks for. */
struct demand {
	uint64_t rings;	  /* it does not work with fewer */
	uint64_t waiting; /* frames, before and after the fabric */
};

static uint32_t receive_queues(const struct sl_cluster_port *port)
{
	return port->receive_queues ? port->receive_queues : 1;
}

/* Chunks that a lane keeps posted to its transport. That of a router alone takes none. */
static uint32_t receive_target(const struct rb_bridge *b)
{
	return sl_cluster_has_fabric(&b->settings->cluster) ? RB_BRIDGE_RECEIVE_TARGET : 1;
}

/* With the ports that this node has in the settings `cluster`. */
static struct demand demand_of(const struct rb_bridge *b, const struct sl_cluster_settings *cluster,
			       const struct rb_lane *lane)
{
	const struct sl_cluster_node *self = sl_cluster_find_node(cluster, cluster->node);
	struct demand demand = { .rings = receive_target(b) };

	if (sl_cluster_has_fabric(cluster))
		demand.rings += 2 * RB_BRIDGE_TRANSPORT_RING;
	for (uint32_t p = 0; p < self->ports.n; p++) {
		const struct sl_cluster_port *port = sl_cluster_port(self, p);
		uint64_t queues = receive_queues(port), queued = 0;

		if (rb_bridge_lane(b, SL_SYSTEM_PORT(cluster->node, port->number)) != lane)
			continue;
		for (uint32_t c = 0; c < SL_CLASSES; c++)
			queued += port->queue[c].frames;
		demand.rings += queues * RB_BRIDGE_FILL_TARGET;
		/* Many small frames share a chunk. */
		demand.waiting += queues * rb_bridge_waiting_frames(cluster) + queued / 2;
	}
	/* One of several lanes also copies frames out of the rings of the others. */
	if (b->n_lanes > 1)
		demand.waiting += rb_bridge_waiting_frames(cluster);
	return demand;
}

static uint64_t mib_of(uint64_t chunks)
{
	return (chunks * CHUNK_BYTES + (1 << 20) - 1) >> 20;
}

static int open_memory(struct rb_bridge *b)
{
	uint64_t needed[RB_EDGE_WORKERS_MAX], total = 0, first = 0, rings = 0;
	uint32_t mib = b->settings->cluster.bridge.memory_mib;
	int err = 0;

	for (uint32_t i = 0; i < b->n_lanes; i++) {
		struct demand demand = demand_of(b, &b->settings->cluster, &b->lanes[i]);

		rings += demand.rings;
		total += needed[i] = demand.rings + demand.waiting;
	}
	b->area_bytes = mib ? (uint64_t)mib << 20 : total * CHUNK_BYTES;
	if (b->area_bytes <= rings * CHUNK_BYTES) {
		sl_error("memory_mib: %u MiB leave nothing for frames, since the rings of this "
			 "node's ports and fabric take %" PRIu64 " MiB: write %" PRIu64
			 " for all that may wait, or 0",
			 mib, mib_of(rings), mib_of(total));
		return -EINVAL;
	}
	b->area = mmap(NULL, b->area_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (b->area == MAP_FAILED) {
		err = -errno;
		b->area = NULL;
		sl_error("packet memory of %" PRIu64 " MiB: %s; memory_mib says how much is taken",
			 b->area_bytes >> 20, strerror(-err));
		return err;
	}
	for (uint32_t i = 0; i < b->n_lanes && !err; i++) {
		uint64_t share = b->area_bytes / CHUNK_BYTES * needed[i] / total;

		err = rb_chunks_create(b->area, first * CHUNK_BYTES, (uint32_t)share, CHUNK_BYTES,
				       &b->lanes[i].chunks);
		first += share;
	}
	return err;
}

bool rb_bridge_memory_fits(const struct rb_bridge *b, const struct sl_cluster_settings *cluster)
{
	for (uint32_t i = 0; i < b->n_lanes; i++) {
		const struct demand demand = demand_of(b, cluster, &b->lanes[i]);
		const uint64_t there = b->lanes[i].chunks->n;

		if (demand.rings >= there) {
			sl_error("the rings of this node's ports and fabric would take %" PRIu64
				 " MiB of packet memory, of which there are %" PRIu64
				 ": it takes a restart of sluice-bridge",
				 mib_of(demand.rings), mib_of(there));
			return false;
		}
		if (demand.rings + demand.waiting > there)
			sl_warning("packet memory stays at %" PRIu64 " MiB until sluice-bridge "
				   "starts anew; %" PRIu64 " would hold all that may wait now",
				   mib_of(there), mib_of(demand.rings + demand.waiting));
	}
	return true;
}

/* --- Workers and nodes --- */

static uint64_t hello_interval_ns(const struct sl_cluster_settings *cluster)
{
	const uint64_t ns = cluster->liveness_ms * 1000000ULL / HELLOS_PER_LIFE;

	return ns < HELLO_NS_MAX ? ns : HELLO_NS_MAX;
}

struct rb_worker_config rb_bridge_worker_config(const struct rb_bridge *b,
						const struct rb_lane *lane)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;

	return (struct rb_worker_config){
		.node = (uint8_t)cluster->node,
		.dead_after_ns = cluster->liveness_ms * 1000000ULL,
		.hello_interval_ns = hello_interval_ns(cluster),
		.pack_delay_ns = cluster->bridge.pack_delay_us * 1000ULL,
		.degree = cluster->bridge.packing,
		.receive_target = receive_target(b),
		.clock_ns = sl_now_ns,
		.clock_error_ns = cluster->clock_error_us * 1000,
		.transport = lane->transport,
		.epoch = b->epoch,
		.fabric_Bps = rb_fabric_speed_Bps(b),
		.urgency = b->urgency,
		.worker = lane->index,
		.n_workers = b->n_lanes,
	};
}

static int open_workers(struct rb_bridge *b)
{
	size_t bytes = b->n_lanes * sizeof(*b->urgency);
	int err = 0;

	b->urgency = aligned_alloc(_Alignof(struct rb_rates_urgency), bytes);
	if (!b->urgency)
		return -ENOMEM;
	memset(b->urgency, 0, bytes);
	for (uint32_t i = 0; i < b->n_lanes && !err; i++) {
		const struct rb_worker_config config = rb_bridge_worker_config(b, &b->lanes[i]);

		err = rb_worker_create(&config, &b->lanes[i].worker);
		if (!err && sl_cluster_has_express(&b->settings->cluster)) {
			const struct rb_express_config express = {
				.worker = b->lanes[i].worker,
				.check = b->settings->cluster.express_check,
				.n_workers = b->n_lanes,
				.index = i,
			};

			err = rb_express_open(&express, &b->lanes[i].express);
		}
	}
	return err;
}

static int add_nodes(struct rb_bridge *b, uint64_t now_ns)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	const struct sl_cluster_node *self = sl_cluster_find_node(cluster, cluster->node);
	int err = 0;

	b->ports = calloc(SL_SYSTEM_PORTS_MAX, sizeof(*b->ports));
	if (!b->ports)
		return -ENOMEM;
	for (uint32_t p = 0; p < self->ports.n && !err; p++) {
		struct rb_egress_port *queues;

		err = rb_bridge_open_queues(b, sl_cluster_port(self, p), true, now_ns, &queues);
		if (!err)
			rb_bridge_add_port(b, sl_cluster_port(self, p), queues, now_ns);
	}
	if (!err)
		err = rb_reachable_open(b, now_ns);
	return err ? err : rb_bridge_set_controllers(b, now_ns);
}

/* --- The whole --- */

/*
 * A ring for each worker and receive queue of a port, a TAP for each other port, calls to nodes and
 * from them.
 */
static uint64_t descriptors_needed(const struct sl_cluster_settings *cluster,
				   const struct rb_netdev *fabric)
{
	const struct sl_cluster_node *self = sl_cluster_find_node(cluster, cluster->node);
	uint64_t workers = cluster->bridge.workers;
	uint64_t n = DESCRIPTORS + 2 * cluster->nodes.n + cluster->table.n +
		     workers * DESCRIPTORS_PER_LANE;

	n += workers * fabric->queues;
	for (uint32_t p = 0; p < self->ports.n; p++)
		n += workers * receive_queues(sl_cluster_port(self, p));
	return n;
}

/* Without CAP_IPC_LOCK, the memory of a UMEM counts against RLIMIT_MEMLOCK. */
int rb_bridge_raise_limits(const struct sl_cluster_settings *cluster,
			   const struct rb_netdev *fabric)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	uint64_t needed = descriptors_needed(cluster, fabric);
	struct rlimit files;

	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	if (getrlimit(RLIMIT_NOFILE, &files))
		return 0;
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	if (files.rlim_max >= needed)
		return 0;
	sl_error("this cluster of %u ports needs %" PRIu64 " open files, and %" PRIu64
		 " are allowed: raise LimitNOFILE= of the unit, or `ulimit -n`",
		 cluster->table.n, needed, (uint64_t)files.rlim_max);
	return -EMFILE;
}

int rb_bridge_open(struct sl_settings *settings, struct rb_bridge **out)
{
	struct rb_bridge *b = calloc(1, sizeof(*b));
	int err;

	*out = NULL;
	if (!b)
		return -ENOMEM;
	b->settings = settings;
	b->maps_err = 1; /* not known yet */
	b->maps.xsk_fd = b->maps.dscp_fd = b->sockets_fd = -1;
	rb_bridge_ask_netdevs(&settings->cluster);
	if (sl_cluster_has_fabric(&settings->cluster))
		rb_netdev_query(settings->cluster.device, &b->fabric);
	err = rb_bridge_raise_limits(&settings->cluster, &b->fabric);
	if (err)
		goto out;
	b->cc_overrides_path = rb_cc_overrides_path(settings->cluster.bridge.control);
	if (!b->cc_overrides_path) {
		err = -ENOMEM;
		goto out;
	}
	if (sl_cluster_has_fabric(&settings->cluster))
		err = rb_peering_read_keys(b);
	if (err)
		goto out;
	b->sockets_fd = epoll_create1(EPOLL_CLOEXEC);
	if (b->sockets_fd < 0) {
		err = -errno;
		goto out;
	}
	err = rb_lane_threads_create(b);
	if (!err)
		err = rb_lanes_open(b, settings->cluster.bridge.workers);
	if (!err)
		err = open_memory(b);
	if (!err)
		err = rb_fabric_open(b);
	if (!err)
		err = open_workers(b);
	if (!err)
		err = add_nodes(b, 0);
	if (!err)
		err = rb_peering_open(b);
	for (uint32_t i = 0; i < b->n_lanes && !err; i++)
		rb_watch(b->lanes[i].all_fd,
			 b->lanes[i].transport->ops->wait_fd(b->lanes[i].transport), NULL);
	if (!err)
		err = rb_lane_threads_start(b);
	if (err) {
		sl_error("cannot start: %s", strerror(-err));
		goto out;
	}
	rb_watch(b->lanes[0].all_fd, b->sockets_fd, NULL);
	*out = b;
out:
	if (err)
		rb_bridge_close(b);
	return err;
}

void rb_bridge_close(struct rb_bridge *b)
{
	if (!b)
		return;
	rb_lane_threads_stop(b);
	rb_takers_close(b->takers);
	/* The relay first: sluiced withdraws the remote ports while we close their TAPs. */
	rb_peering_close(b);
	rb_bridge_close_taps(b);
	for (uint32_t i = 0; i < b->n_ports; i++) {
		rb_bridge_close_port(b, &b->ports[i]);
		rb_bridge_adopt_settings(&b->ports[i], NULL, NULL);
	}
	for (uint32_t i = 0; i < b->n_lanes; i++)
		rb_lane_close(&b->lanes[i]);
	rb_maps_close(&b->maps);
	for (uint32_t i = 0; i < b->n_lanes; i++)
		rb_chunks_destroy(b->lanes[i].chunks);
	if (b->area)
		munmap(b->area, b->area_bytes);
	if (b->sockets_fd >= 0)
		close(b->sockets_fd);
	free(b->lanes);
	free(b->urgency);
	free(b->ports);
	rb_reachable_close(b);
	free(b->cc_overrides_path);
	rb_lane_threads_destroy(b);
	OPENSSL_cleanse(&b->keys, sizeof(b->keys));
	free(b);
}
