/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/bridge.h"

#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "rdma-bridge/neighbour.h"
#include "rdma-bridge/roce_xdp.h"
#include "rdma-bridge/verbs.h"
#include "user/lib/log.h"
#include "user/lib/prefix.h"

#define CHUNK_BYTES	4096
#define TRANSPORT_RING	2048
#define RECEIVE_TARGET	2048
#define VOQ_RING	2048
#define FILL_TARGET	2048
#define FULL_VOQS	4    /* that a receive queue can hold and still receive for the others */
#define FRAME_MAX_BYTES 3500 /* what a chunk holds with all that surrounds it */
#define HELLOS_PER_LIFE 5    /* in the time after which a silent peer is down */
#define BURST_BYTES	(16 * 1514)
#define FRAME_MIN_BYTES 84 /* the least that a frame takes of a link, with preamble and gap */
#define ETHER_BYTES	14 /* of a frame, beyond its port's MTU */
#define BURST_FRAMES	16
#define HOP_LIMIT	64

/* --- Addresses, identities ---------------------------------------------------------------- */

static int gid_of(const char *text, uint8_t gid[16])
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	uint8_t family, addr[16];

	if (sl_addr_parse(text, &family, addr))
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

static int introduce_ourselves(const struct rb_bridge *b, struct rb_introduction *self)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	uint8_t table[SL_SYSPORT_BYTES_MAX];
	struct rb_endpoint endpoint;
	unsigned int len = RB_TABLE_HASH_BYTES;

	b->transport->ops->endpoint(b->transport, &endpoint);
	*self = (struct rb_introduction){
		.node = (uint8_t)cluster->node,
		.transport = cluster->transport == SL_TRANSPORT_VERBS_RC ? RB_TRANSPORT_RC
									 : RB_TRANSPORT_UD,
		.pkey = RB_ROCE_PKEY_DEFAULT,
		.epoch = b->epoch,
		.qpn = endpoint.qpn,
		.qkey = endpoint.qkey,
		.message_max_bytes = endpoint.message_max_bytes,
	};
	memcpy(self->gid, endpoint.gid, sizeof(self->gid));
	return EVP_Digest(table, sl_sysport_encode(&cluster->table, table), self->table_hash, &len,
			  EVP_sha256(), NULL) == 1
		       ? 0
		       : -EIO;
}

/* The most chunks that a receive queue of an edge port may have, those of waiting frames included. */
static uint32_t held_max(const struct rb_bridge *b)
{
	return FILL_TARGET + FULL_VOQS * b->settings->cluster.bridge.voq_frames;
}

/* --- Edge ports --------------------------------------------------------------------------- */

/* The peer, and the VOQ of its ingress, that VOQ id voqs[i] is. */
static struct rb_ingress *ingress_of(struct rb_bridge *b, uint32_t i, uint32_t *local)
{
	const struct rb_bridge_remote *remote = &b->remotes[i / SL_CLASSES];

	*local = remote->first_voq + i % SL_CLASSES;
	return b->worker->peer[remote->system_port >> 8]->ingress;
}

static void watch(int epoll_fd, int fd, struct epoll_event *event)
{
	/* A descriptor that cannot be watched is looked at all the same, once a tick. */
	event->events = EPOLLIN;
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, event);
}

static void link_port(struct rb_bridge *b, struct rb_bridge_port *port)
{
	for (uint32_t q = 0; q < rb_edge_queues(port->edge); q++)
		for (uint32_t i = 0; i < b->n_voqs; i++) {
			struct epoll_event event = { .data.ptr = NULL };
			uint32_t local;
			struct rb_ingress *in = ingress_of(b, i, &local);

			rb_ingress_add_input(in, local, rb_edge_input(port->edge, q, i));
			watch(b->all_fd, rb_edge_fd(port->edge, q, i), &event);
		}
	rb_egress_set_tx(b->worker->port[port->settings->number], rb_edge_tx(port->edge), b->chunks,
			 b->worker->counters);
}

static void close_port(struct rb_bridge *b, struct rb_bridge_port *port)
{
	if (!port->edge)
		return;
	for (uint32_t q = 0; q < rb_edge_queues(port->edge); q++)
		for (uint32_t i = 0; i < b->n_voqs; i++) {
			uint32_t local;
			struct rb_ingress *in = ingress_of(b, i, &local);

			rb_ingress_remove_input(in, local, rb_edge_input(port->edge, q, i));
		}
	rb_edge_shut(port->edge, b->maps.backlog, b->worker->counters);
	rb_egress_set_tx(b->worker->port[port->settings->number], NULL, b->chunks,
			 b->worker->counters);
	rb_edge_close(port->edge);
	port->edge = NULL;
	port->ifindex = 0;
}

/* What injects frames for a port that is configured so; made when the first such port opens. */
static struct rb_injector *injector_of(struct rb_bridge *b, const struct rb_bridge_port *port)
{
	int err;

	if (port->settings->transmit != SL_TRANSMIT_INJECT || b->injector)
		return port->settings->transmit == SL_TRANSMIT_INJECT ? b->injector : NULL;
	err = b->injector_err ? b->injector_err : rb_injector_open(&b->injector);
	if (err && !b->injector_err)
		sl_warning("cannot inject frames: %s; ports transmit by AF_XDP", strerror(-err));
	else if (!err && !rb_injector_counts(b->injector))
		sl_warning("without CAP_PERFMON, frames that a driver refuses are not counted");
	b->injector_err = err;
	return b->injector;
}

static void open_port(struct rb_bridge *b, struct rb_bridge_port *port)
{
	const struct rb_edge_config config = {
		.netdev = port->settings->name,
		.system_port = port->system_port,
		.chunks = b->chunks,
		.area_bytes = b->area_bytes,
		.voqs = b->voqs,
		.n_voqs = b->n_voqs,
		.meta_ports = b->maps.meta.n_ports,
		.meta_queues = b->maps.meta.n_queues,
		.meta_voqs = b->maps.meta.n_voqs,
		.ring_size = VOQ_RING,
		.fill_target = FILL_TARGET,
		.held_max = held_max(b),
		.xsk_fd = b->maps.xsk_fd,
		.injector = injector_of(b, port),
	};
	uint32_t ifindex = if_nametoindex(port->settings->name);
	int err = rb_edge_open(&config, &port->edge);

	/* The kernel lets go of a queue up to half a second after the last user, who may have been killed. */
	port->busy = err == -EBUSY ? port->busy + 1 : 0;
	if (err && (err == -EBUSY ? port->busy == RB_BRIDGE_BUSY_MAX : err != port->err))
		sl_warning("port %s: cannot open AF_XDP rings: %s; trying again",
			   port->settings->name, strerror(-err));
	port->err = err;
	if (err)
		return;
	port->ifindex = ifindex;
	link_port(b, port);
	sl_info("port %s: n%up%u, %u queues of %u VOQs, %s, transmits by %s", port->settings->name,
		port->system_port >> 8, port->system_port & 0xff, rb_edge_queues(port->edge),
		b->n_voqs, rb_edge_is_zero_copy(port->edge) ? "zero-copy" : "copy mode",
		rb_edge_tx(port->edge)->ops->name);
}

/* --- Maps --------------------------------------------------------------------------------- */

/*
 * Point every VOQ at its elements of the maps, or away from them. One that no controller has touched yet begins
 * open, with a limit; and each with nothing waiting.
 */
static void point_voqs(struct rb_bridge *b, uint64_t now_ns)
{
	static struct sl_backlog no_backlog;

	for (uint32_t i = 0; i < b->n_voqs; i++) {
		struct sl_voq *voq = b->maps.voq ? &b->maps.voq[b->voqs[i]] : NULL;
		struct sl_backlog *backlog = voq ? &b->maps.backlog[b->voqs[i]] : &no_backlog;
		uint32_t local;
		struct rb_ingress *in = ingress_of(b, i, &local);

		/* Without maps: frames of remote ports' netdevs alone can come then. */
		b->open_voqs[i] =
			(struct sl_voq){ .rate = SL_RATE_UNLIMITED, .burst = BURST_FRAMES };
		if (voq && !voq->controller[0])
			*voq = (struct sl_voq){ .rate = SL_RATE_UNLIMITED,
						.burst = BURST_FRAMES,
						.limit_frames =
							b->settings->cluster.bridge.voq_frames,
						.controller = "fixed" };
		backlog->missed += backlog->enqueued.frames - backlog->dequeued.frames;
		backlog->dequeued = backlog->enqueued;
		rb_ingress_set_voq(in, local, b->remotes[i / SL_CLASSES].system_port,
				   (uint8_t)(i % SL_CLASSES), voq ? voq : &b->open_voqs[i], backlog,
				   now_ns);
	}
	rb_control_rewrite(b->worker->control);
}

static void log_maps(const struct rb_bridge *b, int err)
{
	const char *dir = b->settings->pin_dir;

	if (!err)
		sl_info("maps of \"%s\": %u VOQs", dir, b->maps.meta.n_voqs);
	else if (err == -ENOENT)
		sl_info("waiting for sluiced to pin its maps in \"%s\"", dir);
	else if (err == -EPROTO)
		sl_warning("the maps in \"%s\" are of another version of sluice than %u", dir,
			   SL_ABI_VERSION);
	else if (err == -ENODATA)
		sl_warning("the maps in \"%s\" are not for this cluster: sluiced has another "
			   "configuration",
			   dir);
	else
		sl_warning("cannot open the maps in \"%s\": %s", dir, strerror(-err));
}

/* Logged when the outcome changes. */
static int open_maps(struct rb_bridge *b, uint64_t now_ns)
{
	int err = rb_maps_open(b->settings->pin_dir, &b->maps);

	for (uint32_t i = 0; i < b->n_voqs && !err; i++)
		if (b->voqs[i] >= b->maps.meta.n_voqs) {
			rb_maps_close(&b->maps);
			err = -ENODATA;
		}
	if (err != b->maps_err)
		log_maps(b, err);
	b->maps_err = err;
	if (!err)
		point_voqs(b, now_ns);
	return err;
}

static void look_at_fabric(struct rb_bridge *b)
{
	const char *device = b->settings->cluster.device;
	struct rb_netdev now;

	if (rb_netdev_query(device, &now)) {
		sl_error("fabric: the netdev %s is gone; waiting for its return", device);
		b->lost = true;
	} else if (now.ifindex != b->fabric.ifindex || now.mtu_bytes != b->fabric.mtu_bytes ||
		   memcmp(now.mac, b->fabric.mac, sizeof(now.mac)) != 0) {
		sl_warning("fabric: %s is another netdev now, or has another MAC address or MTU; "
			   "beginning anew",
			   device);
		b->lost = true;
	} else if (b->settings->cluster.transport != SL_TRANSPORT_ROCE_XDP &&
		   rb_verbs_is_lost(b->transport)) {
		sl_error("fabric: the RDMA device of %s is gone; waiting for its return", device);
		b->lost = true;
	}
}

/* Has every port been opened, or is there another reason why not than that its former user is being cleared away? */
static bool ports_are_settled(const struct rb_bridge *b)
{
	for (uint32_t i = 0; i < b->n_ports; i++)
		if (b->ports[i].err == -EBUSY && b->ports[i].busy < RB_BRIDGE_BUSY_MAX)
			return false;
	return true;
}

/* Ports and maps that are gone or new. */
static void look_around(struct rb_bridge *b, uint64_t now_ns)
{
	look_at_fabric(b);
	if (b->maps.voq && rb_maps_changed(&b->maps, b->settings->pin_dir)) {
		sl_info("sluiced has made other maps; opening the ports anew");
		for (uint32_t i = 0; i < b->n_ports; i++)
			close_port(b, &b->ports[i]);
		for (uint32_t i = 0; i < b->worker->n_nodes; i++)
			rb_ingress_discard(b->worker->peer[b->worker->nodes[i]]->ingress,
					   UINT32_MAX, b->chunks, b->worker->counters);
		rb_maps_close(&b->maps);
		point_voqs(b, now_ns);
	}
	if (!b->maps.voq && open_maps(b, now_ns))
		return;
	for (uint32_t i = 0; i < b->n_ports; i++) {
		struct rb_bridge_port *port = &b->ports[i];

		if (port->edge && if_nametoindex(port->settings->name) != port->ifindex) {
			sl_warning("port %s: the netdev is gone", port->settings->name);
			close_port(b, port);
		}
		if (!port->edge)
			open_port(b, port);
	}
	if (ports_are_settled(b))
		b->ready = true;
}

/* --- Peers -------------------------------------------------------------------------------- */

/* Bytes of the message that a full frame of any of our ports needs, as large as their MTUs are now. */
static uint32_t message_needed(const struct rb_bridge *b)
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

static void on_met(void *context, const struct rb_introduction *peer)
{
	struct rb_bridge *b = context;
	bool known = b->worker->peers.peer[peer->node].epoch == peer->epoch;
	uint32_t needed = message_needed(b);
	struct rb_endpoint remote = { .qpn = peer->qpn,
				      .qkey = peer->qkey,
				      .message_max_bytes = peer->message_max_bytes };
	int err = 0;

	memcpy(remote.gid, peer->gid, sizeof(remote.gid));
	/* A device resolves by itself. */
	if (b->settings->cluster.transport == SL_TRANSPORT_ROCE_XDP)
		err = rb_neighbour_mac(b->fabric.ifindex, peer->gid, remote.mac);
	if (!err)
		err = rb_worker_connect(b->worker, peer->node, peer->epoch, &remote, b->tick_ns);
	if (err)
		sl_warning("fabric: met node %u, but there is no path to it: %s%s", peer->node,
			   strerror(-err),
			   err == -ENOENT ? " (its address is not on the fabric's link)" : "");
	else if (!known && peer->message_max_bytes < needed)
		sl_warning("fabric: node %u takes messages of up to %u bytes; a full frame of our "
			   "ports needs %u: larger frames will be dropped",
			   peer->node, peer->message_max_bytes, needed);
}

static void on_peer(void *context, uint8_t node, enum rb_peer_state state)
{
	struct rb_bridge *b = context;

	sl_info("fabric: node %u is %s", node, rb_peer_state_name(state));
	rb_meet_want(b->meet, node, state != RB_PEER_UP);
	rb_relay_peer(b, node);
}

static void on_announce(void *context, uint8_t node, const uint8_t *part, uint32_t part_bytes)
{
	rb_relay_received(context, node, part, part_bytes);
}

/* --- Opening ------------------------------------------------------------------------------ */

/*
 * Chunks for all that may hold some at once: the transport's rings, the fill rings of each receive queue of an edge
 * port, and messages whose frames wait in its egress queues.
 */
static uint64_t memory_needed(const struct rb_bridge *b)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	const struct sl_cluster_node *self = sl_cluster_find_node(cluster, cluster->node);
	uint64_t chunks = RECEIVE_TARGET + 2 * TRANSPORT_RING;

	for (uint32_t p = 0; p < self->ports.n; p++) {
		const struct sl_cluster_port *port = sl_cluster_port(self, p);
		struct rb_netdev netdev = { .queues = 1 };
		uint64_t waiting = 0;

		rb_netdev_query(port->name, &netdev);
		for (uint32_t c = 0; c < SL_CLASSES; c++)
			waiting += port->queue[c].frames;
		/* Of small frames many lie in one chunk. */
		chunks += (netdev.queues ? netdev.queues : 1) * (uint64_t)held_max(b) + waiting / 2;
	}
	return chunks * CHUNK_BYTES;
}

static int open_memory(struct rb_bridge *b)
{
	b->area_bytes = (uint64_t)b->settings->cluster.bridge.memory_mib << 20;
	if (b->area_bytes == 0)
		b->area_bytes = memory_needed(b);
	b->area = mmap(NULL, b->area_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (b->area == MAP_FAILED) {
		b->area = NULL;
		return -errno;
	}
	return rb_chunks_create(b->area, 0, (uint32_t)(b->area_bytes / CHUNK_BYTES), CHUNK_BYTES,
				&b->chunks);
}

static int open_roce_xdp(struct rb_bridge *b, const uint8_t address[16], uint32_t qkey)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	struct rb_roce_xdp_config config = {
		.netdev = cluster->device,
		.qkey = qkey,
		.roce = { .pkey = RB_ROCE_PKEY_DEFAULT,
			  .dscp = (uint8_t)cluster->fabric_dscp,
			  .ecn = RB_ECN_ECT0,
			  .hop_limit = HOP_LIMIT },
		.chunks = b->chunks,
		.area_bytes = b->area_bytes,
		.ring_size = TRANSPORT_RING,
	};
	struct rb_roce_xdp_info info;
	struct rb_endpoint endpoint;
	int err = random_u32(2, 0xfffffe, &config.qpn);

	memcpy(config.address, address, sizeof(config.address));
	if (!err)
		err = rb_roce_xdp_open(&config, &b->transport);
	if (err) {
		sl_error("fabric: cannot use %s: %s", cluster->device, strerror(-err));
		return err;
	}
	b->transport->ops->endpoint(b->transport, &endpoint);
	rb_roce_xdp_info(b->transport, &info);
	sl_info("fabric: roce-xdp on %s, %u queues, %s XDP, %s, messages up to %u bytes",
		cluster->device, info.queues, info.native_xdp ? "native" : "generic",
		info.zero_copy ? "zero-copy" : "copy mode", endpoint.message_max_bytes);
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
		.hop_limit = HOP_LIMIT,
		.chunks = b->chunks,
		.area_bytes = b->area_bytes,
		.receive_depth = RECEIVE_TARGET,
		.send_depth = TRANSPORT_RING,
		.patience_ns = cluster->liveness_ms * 1000000ULL,
	};
	const char *name = sl_transport_name(cluster->transport);
	struct rb_endpoint endpoint;
	struct rb_verbs_info info;
	int err;

	memcpy(config.address, address, sizeof(config.address));
	err = rb_verbs_open(&config, &b->transport);
	if (err) {
		const char *problem = rb_verbs_problem(err);

		sl_error("fabric: cannot use %s at %s: %s; roce-xdp needs no RDMA device", name,
			 sl_cluster_find_node(cluster, cluster->node)->address,
			 problem ? problem : strerror(-err));
		return err;
	}
	b->transport->ops->endpoint(b->transport, &endpoint);
	rb_verbs_info(b->transport, &info);
	sl_info("fabric: %s on %s over %s, path MTU %u, %u gather entries, messages up to %u bytes",
		name, info.device, cluster->device, info.path_mtu_bytes, info.send_pieces_max,
		endpoint.message_max_bytes);
	return 0;
}

static int open_transport(struct rb_bridge *b)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	struct rb_endpoint endpoint;
	uint8_t address[16];
	uint32_t qkey, needed;
	int err;

	err = gid_of(sl_cluster_find_node(cluster, cluster->node)->address, address);
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
	b->transport->ops->endpoint(b->transport, &endpoint);
	needed = message_needed(b);
	if (endpoint.message_max_bytes < needed)
		sl_warning("fabric: the MTU of %s, %u, holds messages of %u bytes; a full frame of "
			   "our ports needs %u: larger frames will be dropped",
			   cluster->device, b->fabric.mtu_bytes, endpoint.message_max_bytes,
			   needed);
	return 0;
}

static int open_worker(struct rb_bridge *b)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	struct rb_worker_config config = {
		.node = (uint8_t)cluster->node,
		.dead_after_ns = cluster->liveness_ms * 1000000ULL,
		.hello_interval_ns = cluster->liveness_ms * 1000000ULL / HELLOS_PER_LIFE,
		.pack_delay_ns = cluster->bridge.pack_delay_us * 1000ULL,
		.degree = cluster->bridge.packing,
		.receive_target = RECEIVE_TARGET,
		.transport = b->transport,
	};
	int err = random_u32(1, UINT32_MAX - 1, &b->epoch);

	config.epoch = b->epoch;
	if (!err)
		err = rb_worker_create(&config, &b->worker);
	if (err)
		return err;
	b->worker->event_context = b;
	b->worker->on_peer = on_peer;
	b->worker->on_announce = on_announce;
	return 0;
}

static int add_own_port(struct rb_bridge *b, const struct sl_cluster_port *settings,
			uint64_t now_ns)
{
	struct rb_bridge_port *port = &b->ports[b->n_ports];
	struct rb_egress_config egress = {
		.system_port = SL_SYSTEM_PORT(b->settings->cluster.node, settings->number),
		.frame_max_bytes = FRAME_MAX_BYTES,
		.rate = settings->rate.per_s ? settings->rate.per_s : SL_RATE_UNLIMITED,
		.unit = settings->rate.frames ? SL_UNIT_FRAMES : SL_UNIT_BYTES,
		.burst = settings->rate.frames ? BURST_FRAMES : BURST_BYTES,
	};

	uint64_t burst = settings->rate.per_s / 1000 * settings->burst_us / 1000;

	if (burst > egress.burst)
		egress.burst = burst < RB_PACE_BURST_MAX ? (uint32_t)burst : RB_PACE_BURST_MAX;
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		egress.class[c] = (struct rb_egress_class_config){
			.level = sl_scheduler_level(settings->scheduler, c),
			.weight = settings->queue[c].weight,
			.limit_frames = settings->queue[c].frames,
		};
	*port = (struct rb_bridge_port){ .settings = settings, .system_port = egress.system_port };
	b->n_ports++;
	return rb_worker_add_port(b->worker, &egress, now_ns);
}

/* What a port that does not say can take, and what any source can send: an Ethernet of 10 Gb/s. */
static uint64_t link_rate(enum sl_unit unit)
{
	return unit == SL_UNIT_BYTES ? RB_CONTROL_SPEED_DEFAULT
				     : RB_CONTROL_SPEED_DEFAULT / FRAME_MIN_BYTES;
}

int rb_bridge_control(struct rb_bridge *b, uint8_t number, const struct sl_cc_settings *control,
		      uint64_t now_ns, const char **why)
{
	const struct rb_egress_port *port = b->worker->port[number];

	if (!port)
		return -ENOENT;
	return rb_control_set_port(b->worker->control, number, control, link_rate(port->unit),
				   link_rate(port->unit), now_ns, why);
}

static int control_ports(struct rb_bridge *b, uint64_t now_ns)
{
	int err = 0;

	for (uint32_t p = 0; p < b->n_ports && !err; p++) {
		const struct sl_cluster_port *settings = b->ports[p].settings;
		struct sl_cc_settings control;
		const char *why;

		rb_kept_find(b->kept_path, b->ports[p].system_port, &settings->control, &control);
		err = rb_bridge_control(b, (uint8_t)settings->number, &control, now_ns, &why);
		/* It went with another rate of the port. */
		if (err == -EINVAL)
			err = rb_bridge_control(b, (uint8_t)settings->number, &settings->control,
						now_ns, &why);
		if (err == -EINVAL)
			sl_error("port %s: its controller does not work: %s", settings->name, why);
	}
	return err;
}

static int add_peer(struct rb_bridge *b, const struct sl_cluster_node *node)
{
	const struct sl_sysport_table *table = &b->settings->cluster.table;

	for (uint32_t p = 0; p < node->ports.n; p++) {
		struct rb_bridge_remote *remote = &b->remotes[b->n_remotes++];
		int index;

		remote->system_port = SL_SYSTEM_PORT(node->id, sl_cluster_port(node, p)->number);
		remote->first_voq = p * SL_CLASSES;
		index = sl_sysport_index(table, remote->system_port);
		for (uint32_t c = 0; c < SL_CLASSES; c++)
			b->voqs[b->n_voqs++] = sl_sysport_voq((uint32_t)index) + c;
	}
	return rb_worker_add_peer(b->worker, (uint8_t)node->id, node->ports.n * SL_CLASSES,
				  FRAME_MAX_BYTES);
}

static int add_nodes(struct rb_bridge *b, uint64_t now_ns)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	int err = 0;

	b->ports = calloc(SL_SYSTEM_PORTS_MAX, sizeof(*b->ports));
	b->remotes = calloc(SL_SYSTEM_PORTS_MAX, sizeof(*b->remotes));
	b->voqs = calloc(SL_VOQS_MAX, sizeof(*b->voqs));
	b->open_voqs = calloc(SL_VOQS_MAX, sizeof(*b->open_voqs));
	if (!b->ports || !b->remotes || !b->voqs || !b->open_voqs)
		return -ENOMEM;
	for (uint32_t i = 0; i < cluster->nodes.n && !err; i++) {
		const struct sl_cluster_node *node = sl_cluster_node(cluster, i);

		if (node->id != cluster->node) {
			err = add_peer(b, node);
			continue;
		}
		for (uint32_t p = 0; p < node->ports.n && !err; p++)
			err = add_own_port(b, sl_cluster_port(node, p), now_ns);
	}
	if (!err)
		point_voqs(b, now_ns);
	return err ? err : control_ports(b, now_ns);
}

static int open_meet(struct rb_bridge *b)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	struct rb_meet_config config = {
		.netdev = cluster->device, .key = &b->key, .met = on_met, .context = b
	};
	int err = introduce_ourselves(b, &config.self);

	if (!err)
		err = rb_meet_open(&config, &b->meet);
	if (err) {
		sl_error("fabric: cannot listen at %s, TCP port %u: %s",
			 sl_cluster_find_node(cluster, cluster->node)->address, RB_MEET_PORT,
			 strerror(-err));
		return err;
	}
	for (uint32_t i = 0; i < cluster->nodes.n; i++) {
		const struct sl_cluster_node *node = sl_cluster_node(cluster, i);
		uint8_t gid[16];

		if (node->id != cluster->node && gid_of(node->address, gid) == 0)
			rb_meet_add(b->meet, (uint8_t)node->id, gid);
	}
	return 0;
}

/* Memory of a UMEM counts against this limit where CAP_IPC_LOCK is missing. */
static void raise_limits(void)
{
	const struct rlimit unlimited = { RLIM_INFINITY, RLIM_INFINITY };
	struct rlimit files;

	setrlimit(RLIMIT_MEMLOCK, &unlimited);
	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

int rb_bridge_open(struct sl_settings *settings, struct rb_bridge **out)
{
	struct rb_bridge *b = calloc(1, sizeof(*b));
	struct epoll_event event = { .events = EPOLLIN };
	int err;

	*out = NULL;
	if (!b)
		return -ENOMEM;
	b->settings = settings;
	b->maps_err = 1; /* not known yet */
	b->maps.xsk_fd = b->all_fd = b->control_fd = b->relay_fd = b->client_fd = -1;
	raise_limits();
	b->kept_path = rb_kept_path(settings->cluster.bridge.control);
	if (!b->kept_path) {
		err = -ENOMEM;
		goto out;
	}
	err = rb_key_read(settings->cluster.key_file, &b->key);
	if (err) {
		sl_error("cluster: key file \"%s\": %s", settings->cluster.key_file,
			 err == -EACCES	  ? "others may read it, or we may not: chmod 600"
			 : err == -EINVAL ? "a key has 16 to 1024 bytes"
					  : strerror(-err));
		goto out;
	}
	b->all_fd = epoll_create1(EPOLL_CLOEXEC);
	b->control_fd = epoll_create1(EPOLL_CLOEXEC);
	if (b->all_fd < 0 || b->control_fd < 0) {
		err = -errno;
		goto out;
	}
	err = open_memory(b);
	if (!err)
		err = open_transport(b);
	if (!err)
		err = open_worker(b);
	if (!err)
		err = add_nodes(b, 0);
	if (!err)
		err = open_meet(b);
	if (!err)
		err = rb_relay_open(b);
	if (err) {
		sl_error("cannot start: %s", strerror(-err));
		goto out;
	}
	watch(b->control_fd, rb_meet_fd(b->meet), &event);
	watch(b->all_fd, b->control_fd, &event);
	watch(b->all_fd, b->transport->ops->wait_fd(b->transport), &event);
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
	rb_relay_close(b);
	rb_meet_close(b->meet);
	for (uint32_t i = 0; i < b->n_remotes; i++)
		rb_tap_close(b->remotes[i].tap);
	for (uint32_t i = 0; i < b->n_ports; i++)
		close_port(b, &b->ports[i]);
	rb_injector_close(b->injector);
	rb_worker_destroy(b->worker);
	rb_maps_close(&b->maps);
	if (b->transport)
		b->transport->ops->close(b->transport);
	rb_chunks_destroy(b->chunks);
	if (b->area)
		munmap(b->area, b->area_bytes);
	if (b->control_fd >= 0)
		close(b->control_fd);
	if (b->all_fd >= 0)
		close(b->all_fd);
	free(b->ports);
	free(b->remotes);
	free(b->voqs);
	free(b->open_voqs);
	free(b->kept_path);
	OPENSSL_cleanse(&b->key, sizeof(b->key));
	free(b);
}

/* --- Running ------------------------------------------------------------------------------ */

static void settle(struct rb_bridge *b)
{
	for (uint32_t i = 0; i < b->n_ports; i++)
		if (b->ports[i].edge)
			rb_edge_settle(b->ports[i].edge, b->maps.backlog, b->worker->counters);
}

bool rb_bridge_is_lost(const struct rb_bridge *b)
{
	return b->lost;
}

bool rb_bridge_has_fabric(const struct sl_settings *settings)
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
	return gid_of(sl_cluster_find_node(cluster, cluster->node)->address, gid) == 0 &&
	       rb_verbs_find(gid) == 0;
}

void rb_bridge_watch(struct rb_bridge *b, int fd)
{
	struct epoll_event event = { .data.ptr = NULL };

	watch(b->all_fd, fd, &event);
}

bool rb_bridge_round(struct rb_bridge *b, uint64_t now_ns)
{
	bool busy;

	if (b->round_ns && now_ns - b->round_ns > b->longest_ns)
		b->longest_ns = now_ns - b->round_ns;
	b->round_ns = now_ns;
	if (now_ns >= b->retry_ns) {
		b->retry_ns = now_ns + RB_BRIDGE_RETRY_NS;
		look_around(b, now_ns);
	}
	busy = rb_worker_round(b->worker, now_ns);
	for (uint32_t i = 0; i < b->n_ports; i++)
		if (b->ports[i].edge)
			rb_edge_refill(b->ports[i].edge);
	if (now_ns >= b->tick_ns) {
		b->tick_ns = now_ns + RB_BRIDGE_TICK_NS;
		rb_worker_tick(b->worker, now_ns);
		if (b->ready)
			rb_meet_poll(b->meet, now_ns);
		rb_relay_poll(b, now_ns);
	}
	if (now_ns >= b->settle_ns) {
		b->settle_ns = now_ns + RB_BRIDGE_SETTLE_NS;
		settle(b);
	}
	return busy;
}

/* When the next thing is due by the clock alone. */
static uint64_t due_ns(const struct rb_bridge *b, uint64_t now_ns)
{
	const struct rb_worker *w = b->worker;
	/* Nothing else is finer than a fraction of the time to notice a death. */
	uint64_t until_ns = now_ns + w->config.hello_interval_ns / 3;

	if (w->held && until_ns > now_ns + RB_BRIDGE_NAP_NS)
		until_ns = now_ns + RB_BRIDGE_NAP_NS;
	if (until_ns > w->ready_ns)
		until_ns = w->ready_ns;
	if (until_ns > b->retry_ns)
		until_ns = b->retry_ns;
	if (until_ns > rb_control_due_ns(w->control))
		until_ns = rb_control_due_ns(w->control);
	return until_ns;
}

void rb_bridge_wait(struct rb_bridge *b, uint64_t now_ns)
{
	uint64_t until_ns = due_ns(b, now_ns);
	struct pollfd fabric = { .events = POLLIN };
	struct epoll_event event;
	struct timespec timeout;

	if (b->transport->ops->arm(b->transport))
		return;
	b->round_ns = 0;
	if (until_ns <= now_ns)
		return;
	timeout.tv_sec = (time_t)((until_ns - now_ns) / 1000000000);
	timeout.tv_nsec = (long)((until_ns - now_ns) % 1000000000);
	fabric.fd = b->transport->ops->wait_fd(b->transport);
	if (b->worker->held)
		ppoll(&fabric, 1, &timeout, NULL);
	else
		epoll_pwait2(b->all_fd, &event, 1, &timeout, NULL);
}
