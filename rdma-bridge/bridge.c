/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/bridge.h"

#include <errno.h>
#include <net/if.h>
#include <pthread.h>
#include <poll.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sched.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "rdma-bridge/transport/neighbour.h"
#include "rdma-bridge/transport/roce_xdp.h"
#include "rdma-bridge/transport/verbs/verbs.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"
#include "user/text/prefix.h"

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
#define COPY_CHUNKS	1024 /* read ahead out of the rings of other lanes, and being packed */
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

	b->lanes[0].transport->ops->endpoint(b->lanes[0].transport, &endpoint);
	*self = (struct rb_introduction){
		.node = (uint8_t)cluster->node,
		.transport = cluster->transport == SL_TRANSPORT_VERBS_RC ? RB_TRANSPORT_RC
									 : RB_TRANSPORT_UD,
		.pkey = RB_ROCE_PKEY_DEFAULT,
		.epoch = b->epoch,
		.qpn = endpoint.qpn,
		.qkey = endpoint.qkey,
		.message_max_bytes = endpoint.message_max_bytes,
		.further_qps = b->n_lanes - 1,
	};
	memcpy(self->gid, endpoint.gid, sizeof(self->gid));
	return EVP_Digest(table, sl_sysport_encode(&cluster->table, table), self->table_hash, &len,
			  EVP_sha256(), NULL) == 1
		       ? 0
		       : -EIO;
}

/*
 * The most chunks that a receive queue of an edge port may have, those of waiting frames included.
 */
static uint32_t held_max(const struct rb_bridge *b)
{
	return FILL_TARGET + FULL_VOQS * b->settings->cluster.bridge.voq_frames;
}

/* --- Lanes -------------------------------------------------------------------------------- */

struct rb_lane *rb_bridge_lane(const struct rb_bridge *b, uint16_t system_port)
{
	return &b->lanes[((system_port & 0xff) - 1) % b->n_lanes];
}

static struct rb_lane *lane_of(const struct rb_bridge_port *port, const struct rb_bridge *b)
{
	return rb_bridge_lane(b, port->system_port);
}

enum rb_peer_state rb_bridge_peer_state(const struct rb_bridge *b, uint8_t node)
{
	enum rb_peer_state worst = RB_PEER_UP;

	for (uint32_t i = 0; i < b->n_lanes; i++) {
		/* The other lanes run. */
		const volatile enum rb_peer_state *now =
			&b->lanes[i].worker->peers.peer[node].state;
		enum rb_peer_state state = *now;

		if (state < worst)
			worst = state;
	}
	return worst;
}

struct rb_threads {
	pthread_t thread[RB_EDGE_WORKERS_MAX]; /* by lane; the first's is the caller's own */
	uint32_t started;		       /* of them, lanes 1 to that */
	uint32_t halts;			       /* of the first lane's thread: how deep */
	/* The mutex guards `parked`; `halt` and `quit` are written under it, and read without. */
	pthread_mutex_t mutex;
	pthread_cond_t parked_changed, released;
	uint32_t parked; /* threads that wait to be released */
	bool halt, quit;
};

static void wake(const struct rb_lane *lane)
{
	const uint64_t one = 1;

	if (write(lane->wake_fd, &one, sizeof(one)) < 0)
		sl_debug("cannot wake worker %u: %s", lane->index, strerror(errno));
}

void rb_bridge_wake(const struct rb_bridge *b, uint16_t system_port)
{
	const struct rb_lane *lane = rb_bridge_lane(b, system_port);

	if (lane->index > 0)
		wake(lane);
}

void rb_bridge_halt(struct rb_bridge *b)
{
	struct rb_threads *t = b->threads;

	if (t->started == 0 || t->halts++ > 0)
		return;
	pthread_mutex_lock(&t->mutex);
	__atomic_store_n(&t->halt, true, __ATOMIC_RELAXED);
	for (uint32_t i = 1; i <= t->started; i++)
		wake(&b->lanes[i]);
	while (t->parked < t->started)
		pthread_cond_wait(&t->parked_changed, &t->mutex);
	pthread_mutex_unlock(&t->mutex);
}

void rb_bridge_release(struct rb_bridge *b)
{
	struct rb_threads *t = b->threads;

	if (t->started == 0 || --t->halts > 0)
		return;
	pthread_mutex_lock(&t->mutex);
	__atomic_store_n(&t->halt, false, __ATOMIC_RELAXED);
	pthread_cond_broadcast(&t->released);
	pthread_mutex_unlock(&t->mutex);
}

static void park(struct rb_threads *t)
{
	pthread_mutex_lock(&t->mutex);
	t->parked++;
	pthread_cond_signal(&t->parked_changed);
	while (t->halt)
		pthread_cond_wait(&t->released, &t->mutex);
	t->parked--;
	pthread_mutex_unlock(&t->mutex);
}

/* --- Edge ports --------------------------------------------------------------------------- */

/* The peer in its lane, and the VOQ of its ingress, that VOQ id voqs[i] is. */
static struct rb_ingress *ingress_of(struct rb_bridge *b, uint32_t i, uint32_t *local)
{
	const struct rb_bridge_remote *remote = &b->remotes[i / SL_CLASSES];

	*local = remote->first_voq + i % SL_CLASSES;
	return b->lanes[b->voq_lanes[i]].worker->peer[remote->system_port >> 8]->ingress;
}

static void watch(int epoll_fd, int fd, struct epoll_event *event)
{
	/* A descriptor that cannot be watched is looked at all the same, once a tick. */
	event->events = EPOLLIN;
	epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, event);
}

static void link_port(struct rb_bridge *b, struct rb_bridge_port *port)
{
	struct rb_lane *lane = lane_of(port, b);

	for (uint32_t q = 0; q < rb_edge_queues(port->edge); q++)
		for (uint32_t i = 0; i < b->n_voqs; i++) {
			struct epoll_event event = { .data.ptr = NULL };
			uint32_t local;
			struct rb_ingress *in = ingress_of(b, i, &local);

			rb_ingress_add_input(in, local, rb_edge_input(port->edge, q, i));
			watch(b->lanes[b->voq_lanes[i]].all_fd, rb_edge_fd(port->edge, q, i),
			      &event);
		}
	rb_egress_set_tx(lane->worker->port[port->settings->number], rb_edge_tx(port->edge),
			 lane->chunks, lane->worker->counters);
}

static void close_port(struct rb_bridge *b, struct rb_bridge_port *port)
{
	struct rb_lane *lane = lane_of(port, b);

	if (!port->edge)
		return;
	for (uint32_t q = 0; q < rb_edge_queues(port->edge); q++)
		for (uint32_t i = 0; i < b->n_voqs; i++) {
			uint32_t local;
			struct rb_ingress *in = ingress_of(b, i, &local);

			rb_ingress_remove_input(in, local, rb_edge_input(port->edge, q, i));
		}
	rb_edge_shut(port->edge, b->maps.backlog, lane->worker->counters);
	rb_egress_set_tx(lane->worker->port[port->settings->number], NULL, lane->chunks,
			 lane->worker->counters);
	rb_edge_close(port->edge);
	port->edge = NULL;
	port->ifindex = 0;
}

/* What injects frames for a port that is configured so; made when the first such port opens. */
static struct rb_injector *injector_of(struct rb_lane *lane, const struct rb_bridge_port *port)
{
	int err;

	if (port->settings->transmit != SL_TRANSMIT_INJECT || lane->injector)
		return port->settings->transmit == SL_TRANSMIT_INJECT ? lane->injector : NULL;
	err = lane->injector_err ? lane->injector_err : rb_injector_open(&lane->injector);
	if (err && !lane->injector_err)
		sl_warning("cannot inject frames: %s; ports transmit by AF_XDP", strerror(-err));
	else if (!err && !rb_injector_counts(lane->injector))
		sl_warning("without CAP_PERFMON, frames that a driver refuses are not counted");
	lane->injector_err = err;
	return lane->injector;
}

static void open_port(struct rb_bridge *b, struct rb_bridge_port *port)
{
	struct rb_chunks *chunks[RB_EDGE_WORKERS_MAX];
	struct rb_lane *lane = lane_of(port, b);
	const struct rb_edge_config config = {
		.netdev = port->settings->name,
		.system_port = port->system_port,
		.chunks = lane->chunks,
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
		.injector = injector_of(lane, port),
		.workers = b->n_lanes,
		.owner = lane->index,
		.wake_fd = lane->wake_fd,
		.reader_chunks = chunks,
		.readers = b->voq_lanes,
	};
	uint32_t ifindex = if_nametoindex(port->settings->name);
	int err;

	for (uint32_t i = 0; i < b->n_lanes; i++)
		chunks[i] = b->lanes[i].chunks;
	err = rb_edge_open(&config, &port->edge);

	/*
	 * The kernel lets go of a queue up to half a second after the last user, who may have been
	 * killed.
	 */
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
 * Point every VOQ at its elements of the maps, or away from them. One that no controller has
 * touched yet begins open, with a limit; and each with nothing waiting.
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
	for (uint32_t i = 0; i < b->n_lanes; i++)
		rb_control_rewrite(b->lanes[i].worker->control);
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
	struct rb_maps maps;
	int err = rb_maps_open(b->settings->pin_dir, &maps);

	for (uint32_t i = 0; i < b->n_voqs && !err; i++)
		if (b->voqs[i] >= maps.meta.n_voqs) {
			rb_maps_close(&maps);
			err = -ENODATA;
		}
	if (!err) {
		rb_bridge_halt(b);
		b->maps = maps;
		point_voqs(b, now_ns);
		rb_bridge_release(b);
	}
	if (err != b->maps_err)
		log_maps(b, err);
	b->maps_err = err;
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
		   rb_verbs_is_lost(b->lanes[0].transport)) {
		sl_error("fabric: the RDMA device of %s is gone; waiting for its return", device);
		b->lost = true;
	}
}

/*
 * Has every port been opened, or is there another reason why not than that its former user is being
 * cleared away?
 */
static bool ports_are_settled(const struct rb_bridge *b)
{
	for (uint32_t i = 0; i < b->n_ports; i++)
		if (b->ports[i].err == -EBUSY && b->ports[i].busy < RB_BRIDGE_BUSY_MAX)
			return false;
	return true;
}

/* What waits on its way to other nodes is dropped. */
static void discard(struct rb_lane *lane)
{
	struct rb_worker *w = lane->worker;

	for (uint32_t i = 0; i < w->n_nodes; i++)
		if (w->peer[w->nodes[i]]->ingress)
			rb_ingress_discard(w->peer[w->nodes[i]]->ingress, UINT32_MAX, lane->chunks,
					   w->counters);
}

/* Ports and maps that are gone or new. */
static void look_around(struct rb_bridge *b, uint64_t now_ns)
{
	look_at_fabric(b);
	if (b->maps.voq && rb_maps_changed(&b->maps, b->settings->pin_dir)) {
		sl_info("sluiced has made other maps; opening the ports anew");
		rb_bridge_halt(b);
		for (uint32_t i = 0; i < b->n_ports; i++)
			close_port(b, &b->ports[i]);
		for (uint32_t i = 0; i < b->n_lanes; i++)
			discard(&b->lanes[i]);
		rb_maps_close(&b->maps);
		point_voqs(b, now_ns);
		rb_bridge_release(b);
	}
	if (b->maps.voq)
		rb_maps_refresh(&b->maps);
	else if (open_maps(b, now_ns))
		return;
	for (uint32_t i = 0; i < b->n_ports; i++) {
		struct rb_bridge_port *port = &b->ports[i];

		if (port->edge && if_nametoindex(port->settings->name) != port->ifindex) {
			sl_warning("port %s: the netdev is gone", port->settings->name);
			rb_bridge_halt(b);
			close_port(b, port);
			rb_bridge_release(b);
		}
		if (!port->edge) {
			rb_bridge_halt(b);
			open_port(b, port);
			rb_bridge_release(b);
		}
	}
	if (ports_are_settled(b))
		b->ready = true;
}

/* --- Peers -------------------------------------------------------------------------------- */

/*
 * Bytes of the message that a full frame of any of our ports needs, as large as their MTUs are now.
 */
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
	bool known = b->lanes[0].worker->peers.peer[peer->node].epoch == peer->epoch;
	uint32_t needed = message_needed(b);
	struct rb_endpoint remote = { .qpn = peer->qpn,
				      .qkey = peer->qkey,
				      .message_max_bytes = peer->message_max_bytes };
	int err = 0;

	memcpy(remote.gid, peer->gid, sizeof(remote.gid));
	/* A device resolves by itself. */
	if (b->settings->cluster.transport == SL_TRANSPORT_ROCE_XDP)
		err = rb_neighbour_mac(b->fabric.ifindex, peer->gid, remote.mac);
	rb_bridge_halt(b);
	for (uint32_t i = 0; i < b->n_lanes && !err; i++, remote.qpn++)
		err = rb_worker_connect(b->lanes[i].worker, peer->node, peer->epoch, &remote,
					b->tick_ns);
	rb_bridge_release(b);
	if (err)
		sl_warning("fabric: met node %u, but there is no path to it: %s%s", peer->node,
			   strerror(-err),
			   err == -ENOENT ? " (its address is not on the fabric's link)" : "");
	else if (!known && peer->message_max_bytes < needed)
		sl_warning("fabric: node %u takes messages of up to %u bytes; a full frame of our "
			   "ports needs %u: larger frames will be dropped",
			   peer->node, peer->message_max_bytes, needed);
}

static void tell_of_peer(struct rb_bridge *b, uint8_t node)
{
	enum rb_peer_state state = rb_bridge_peer_state(b, node);

	if (state == b->told[node])
		return;
	b->told[node] = (uint8_t)state;
	sl_info("fabric: node %u is %s", node, rb_peer_state_name(state));
	rb_meet_want(b->meet, node, state != RB_PEER_UP);
	rb_relay_peer(b, node);
}

static void on_peer(void *context, uint8_t node, enum rb_peer_state state)
{
	(void)state;
	tell_of_peer(context, node);
}

static void on_announce(void *context, uint8_t node, const uint8_t *part, uint32_t part_bytes)
{
	rb_relay_received(context, node, part, part_bytes);
}

/* --- Opening ------------------------------------------------------------------------------ */

/* Chunks that a lane needs. */
static uint64_t chunks_needed(const struct rb_bridge *b, const struct rb_lane *lane)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	const struct sl_cluster_node *self = sl_cluster_find_node(cluster, cluster->node);
	uint64_t chunks = RECEIVE_TARGET + 2 * TRANSPORT_RING;

	/* What it copies out of the rings of others has room in what it does not receive by. */
	for (uint32_t p = 0; p < self->ports.n; p++) {
		const struct sl_cluster_port *port = sl_cluster_port(self, p);
		struct rb_netdev netdev = { .queues = 1 };
		uint64_t waiting = 0;

		if (rb_bridge_lane(b, SL_SYSTEM_PORT(cluster->node, port->number)) != lane)
			continue;
		rb_netdev_query(port->name, &netdev);
		for (uint32_t c = 0; c < SL_CLASSES; c++)
			waiting += port->queue[c].frames;
		/* Of small frames many lie in one chunk. */
		chunks += (netdev.queues ? netdev.queues : 1) * (uint64_t)held_max(b) + waiting / 2;
	}
	return b->n_lanes == 1 ? chunks : chunks + COPY_CHUNKS;
}

static int open_memory(struct rb_bridge *b)
{
	uint64_t needed[RB_EDGE_WORKERS_MAX], total = 0, first = 0;
	int err = 0;

	for (uint32_t i = 0; i < b->n_lanes; i++)
		total += needed[i] = chunks_needed(b, &b->lanes[i]);
	b->area_bytes = (uint64_t)b->settings->cluster.bridge.memory_mib << 20;
	if (b->area_bytes == 0)
		b->area_bytes = total * CHUNK_BYTES;
	b->area = mmap(NULL, b->area_bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (b->area == MAP_FAILED) {
		b->area = NULL;
		return -errno;
	}
	for (uint32_t i = 0; i < b->n_lanes && !err; i++) {
		uint64_t share = b->area_bytes / CHUNK_BYTES * needed[i] / total;

		err = rb_chunks_create(b->area, first * CHUNK_BYTES, (uint32_t)share, CHUNK_BYTES,
				       &b->lanes[i].chunks);
		first += share;
	}
	return err;
}

static int open_roce_xdp(struct rb_bridge *b, const uint8_t address[16], uint32_t qkey)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	struct rb_chunks *chunks[RB_ROCE_XDP_WORKERS_MAX];
	int wake_fds[RB_ROCE_XDP_WORKERS_MAX];
	struct rb_transport *transports[RB_ROCE_XDP_WORKERS_MAX];
	struct rb_roce_xdp_config config = {
		.netdev = cluster->device,
		.qkey = qkey,
		.roce = { .pkey = RB_ROCE_PKEY_DEFAULT,
			  .dscp = (uint8_t)cluster->fabric_dscp,
			  .ecn = RB_ECN_ECT0,
			  .hop_limit = HOP_LIMIT },
		.chunks = b->lanes[0].chunks,
		.area_bytes = b->area_bytes,
		.ring_size = TRANSPORT_RING,
		.workers = b->n_lanes,
		.worker_chunks = chunks,
		.wake_fds = wake_fds,
	};
	struct rb_roce_xdp_info info;
	struct rb_endpoint endpoint;
	int err = random_u32(2, 0xffffff - b->n_lanes, &config.qpn);

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
		.chunks = b->lanes[0].chunks,
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
	b->lanes[0].transport->ops->endpoint(b->lanes[0].transport, &endpoint);
	needed = message_needed(b);
	if (endpoint.message_max_bytes < needed)
		sl_warning("fabric: the MTU of %s, %u, holds messages of %u bytes; a full frame of "
			   "our ports needs %u: larger frames will be dropped",
			   cluster->device, b->fabric.mtu_bytes, endpoint.message_max_bytes,
			   needed);
	return 0;
}

static int open_worker(struct rb_bridge *b, struct rb_lane *lane)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	struct rb_worker_config config = {
		.node = (uint8_t)cluster->node,
		.dead_after_ns = cluster->liveness_ms * 1000000ULL,
		.hello_interval_ns = cluster->liveness_ms * 1000000ULL / HELLOS_PER_LIFE,
		.pack_delay_ns = cluster->bridge.pack_delay_us * 1000ULL,
		.degree = cluster->bridge.packing,
		.receive_target = RECEIVE_TARGET,
		.transport = lane->transport,
		.epoch = b->epoch,
	};
	int err = rb_worker_create(&config, &lane->worker);

	if (err || lane->index > 0)
		return err;
	lane->worker->event_context = b;
	lane->worker->on_peer = on_peer;
	lane->worker->on_announce = on_announce;
	return 0;
}

static int open_workers(struct rb_bridge *b)
{
	int err = random_u32(1, UINT32_MAX - 1, &b->epoch);

	for (uint32_t i = 0; i < b->n_lanes && !err; i++)
		err = open_worker(b, &b->lanes[i]);
	return err;
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
	return rb_worker_add_port(lane_of(port, b)->worker, &egress, now_ns);
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
	struct rb_worker *worker =
		rb_bridge_lane(b, SL_SYSTEM_PORT(b->settings->cluster.node, number))->worker;
	const struct rb_egress_port *port = worker->port[number];

	if (!port)
		return -ENOENT;
	return rb_control_set_port(worker->control, number, control, link_rate(port->unit),
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
	uint32_t n[RB_EDGE_WORKERS_MAX] = { 0 };
	int err = 0;

	for (uint32_t p = 0; p < node->ports.n; p++) {
		struct rb_bridge_remote *remote = &b->remotes[b->n_remotes++];
		uint32_t lane;
		int index;

		remote->system_port = SL_SYSTEM_PORT(node->id, sl_cluster_port(node, p)->number);
		lane = rb_bridge_lane(b, remote->system_port)->index;
		remote->first_voq = n[lane];
		n[lane] += SL_CLASSES;
		index = sl_sysport_index(table, remote->system_port);
		for (uint32_t c = 0; c < SL_CLASSES; c++) {
			b->voq_lanes[b->n_voqs] = (uint8_t)lane;
			b->voqs[b->n_voqs++] = sl_sysport_voq((uint32_t)index) + c;
		}
	}
	for (uint32_t i = 0; i < b->n_lanes && !err; i++)
		err = rb_worker_add_peer(b->lanes[i].worker, (uint8_t)node->id, n[i],
					 FRAME_MAX_BYTES);
	return err;
}

static int add_nodes(struct rb_bridge *b, uint64_t now_ns)
{
	const struct sl_cluster_settings *cluster = &b->settings->cluster;
	int err = 0;

	b->ports = calloc(SL_SYSTEM_PORTS_MAX, sizeof(*b->ports));
	b->remotes = calloc(SL_SYSTEM_PORTS_MAX, sizeof(*b->remotes));
	b->voqs = calloc(SL_VOQS_MAX, sizeof(*b->voqs));
	b->voq_lanes = calloc(SL_VOQS_MAX, sizeof(*b->voq_lanes));
	b->open_voqs = calloc(SL_VOQS_MAX, sizeof(*b->open_voqs));
	if (!b->ports || !b->remotes || !b->voqs || !b->voq_lanes || !b->open_voqs)
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

/* --- A lane's loop -------------------------------------------------------------------------- */

/* Of the ports, what is this lane's to do. */
static void settle(struct rb_lane *lane)
{
	struct rb_bridge *b = lane->bridge;

	for (uint32_t i = 0; i < b->n_ports; i++)
		if (b->ports[i].edge)
			rb_edge_settle(b->ports[i].edge, lane->index, b->maps.backlog,
				       lane->worker->counters);
}

static bool lane_round(struct rb_lane *lane, uint64_t now_ns)
{
	struct rb_bridge *b = lane->bridge;
	bool busy;

	if (lane->round_ns && now_ns - lane->round_ns > lane->longest_ns)
		lane->longest_ns = now_ns - lane->round_ns;
	lane->round_ns = now_ns;
	busy = rb_worker_round(lane->worker, now_ns);
	for (uint32_t i = 0; i < b->n_ports; i++)
		if (b->ports[i].edge && lane_of(&b->ports[i], b) == lane)
			rb_edge_refill(b->ports[i].edge);
	if (now_ns >= lane->tick_ns) {
		lane->tick_ns = now_ns + RB_BRIDGE_TICK_NS;
		rb_worker_tick(lane->worker, now_ns);
	}
	if (now_ns >= lane->settle_ns) {
		lane->settle_ns = now_ns + RB_BRIDGE_SETTLE_NS;
		settle(lane);
	}
	return busy;
}

/* When the next thing is due by the clock alone. */
static uint64_t due_ns(const struct rb_lane *lane, uint64_t now_ns)
{
	const struct rb_worker *w = lane->worker;
	/* Nothing else is finer than a fraction of the time to notice a death. */
	uint64_t until_ns = now_ns + w->config.hello_interval_ns / 3;

	if (w->held && until_ns > now_ns + RB_BRIDGE_NAP_NS)
		until_ns = now_ns + RB_BRIDGE_NAP_NS;
	if (until_ns > w->ready_ns)
		until_ns = w->ready_ns;
	if (lane->index == 0 && until_ns > lane->bridge->retry_ns)
		until_ns = lane->bridge->retry_ns;
	if (until_ns > rb_control_due_ns(w->control))
		until_ns = rb_control_due_ns(w->control);
	return until_ns;
}

static void lane_wait(struct rb_lane *lane, uint64_t now_ns)
{
	struct rb_transport *transport = lane->transport;
	uint64_t until_ns = due_ns(lane, now_ns);
	struct pollfd fabric = { .events = POLLIN };
	struct epoll_event event;
	struct timespec timeout;

	lane->awake = RB_AWAKE_IDLE;
	lane->awake_ns = 0;
	if (transport->ops->arm(transport))
		return;
	lane->round_ns = 0;
	if (until_ns <= now_ns)
		return;
	timeout.tv_sec = (time_t)((until_ns - now_ns) / 1000000000);
	timeout.tv_nsec = (long)((until_ns - now_ns) % 1000000000);
	fabric.fd = transport->ops->wait_fd(transport);
	if (lane->worker->held)
		ppoll(&fabric, 1, &timeout, NULL);
	else
		epoll_pwait2(lane->all_fd, &event, 1, &timeout, NULL);
}

/*
 * Nothing is to be done: is this lane to look out for more before it sleeps? What comes from
 * another core comes sooner than a sleeper wakes, and then its sender does not have to wake anyone.
 * But who makes more on this core can do so only while this sleeps. So each time that nothing came,
 * it does not look the next times, twice as many as before, and half as many when something came;
 * and it does not go on for long without any sleep, for the sake of all others.
 */
static bool looks_on(struct rb_lane *lane, uint64_t now_ns)
{
	if (lane->awake == RB_AWAKE_IDLE)
		return false;
	if (lane->awake == RB_AWAKE_WORKED && lane->skips > 0) {
		lane->skips--;
		return false;
	}
	if (now_ns - lane->awake_ns <= RB_BRIDGE_LOOK_NS) {
		if (lane->awake == RB_AWAKE_WORKED)
			lane->awake = RB_AWAKE_LOOKING;
		return true;
	}
	if (lane->awake == RB_AWAKE_FOUND) {
		lane->skips_next /= 2;
	} else if (lane->awake == RB_AWAKE_LOOKING) {
		lane->skips_next = 2 * lane->skips_next + 1;
		if (lane->skips_next > RB_BRIDGE_LOOK_SKIP)
			lane->skips_next = RB_BRIDGE_LOOK_SKIP;
		lane->skips = lane->skips_next;
	}
	return false;
}

/* After a round that did something, or not. */
static void lane_rest(struct rb_lane *lane, bool did, uint64_t now_ns)
{
	if (lane->awake_ns == 0)
		lane->awake_ns = now_ns;
	if (did && lane->awake == RB_AWAKE_IDLE)
		lane->awake = RB_AWAKE_WORKED;
	else if (did && lane->awake == RB_AWAKE_LOOKING)
		lane->awake = RB_AWAKE_FOUND;
	if (did || lane->bridge->settings->cluster.bridge.poll == SL_POLL_BUSY)
		return;
	if (lane->worker->held || !looks_on(lane, now_ns))
		lane_wait(lane, now_ns);
}

/* To its core, if it has one. */
static void pin(const struct rb_lane *lane)
{
	const struct sl_bridge_settings *settings = &lane->bridge->settings->cluster.bridge;
	cpu_set_t set;
	int err;

	if (!settings->cores_text)
		return;
	CPU_ZERO(&set);
	CPU_SET(settings->cores[lane->index], &set);
	err = pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	if (err)
		sl_warning("worker %u: cannot run on CPU %u: %s", lane->index,
			   settings->cores[lane->index], strerror(err));
}

static void *lane_main(void *context)
{
	struct rb_lane *lane = context;
	struct rb_threads *t = lane->bridge->threads;

	pin(lane);
	while (!__atomic_load_n(&t->quit, __ATOMIC_RELAXED)) {
		uint64_t now = sl_now_ns();

		if (__atomic_load_n(&t->halt, __ATOMIC_RELAXED)) {
			park(t);
			lane->round_ns = 0;
		} else {
			lane_rest(lane, lane_round(lane, now), now);
		}
	}
	return NULL;
}

/* --- Opening and closing ------------------------------------------------------------------ */

static int open_lanes(struct rb_bridge *b, uint32_t n)
{
	b->lanes = calloc(n, sizeof(*b->lanes));
	if (!b->lanes)
		return -ENOMEM;
	b->n_lanes = n;
	for (uint32_t i = 0; i < n; i++)
		b->lanes[i] =
			(struct rb_lane){ .bridge = b, .index = i, .all_fd = -1, .wake_fd = -1 };
	for (uint32_t i = 0; i < n; i++) {
		struct epoll_event event = { .events = EPOLLIN | EPOLLET };
		struct rb_lane *lane = &b->lanes[i];

		lane->all_fd = epoll_create1(EPOLL_CLOEXEC);
		lane->wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (lane->all_fd < 0 || lane->wake_fd < 0 ||
		    epoll_ctl(lane->all_fd, EPOLL_CTL_ADD, lane->wake_fd, &event))
			return -errno;
	}
	return 0;
}

/* The threads of all lanes but the first, who alone takes signals. */
static int start_lanes(struct rb_bridge *b)
{
	sigset_t all, before;
	int err = 0;

	pin(&b->lanes[0]);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	for (uint32_t i = 1; i < b->n_lanes && !err; i++) {
		err = pthread_create(&b->threads->thread[i], NULL, lane_main, &b->lanes[i]);
		b->threads->started += !err;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -err;
}

static void stop_lanes(struct rb_bridge *b)
{
	struct rb_threads *t = b->threads;

	__atomic_store_n(&t->quit, true, __ATOMIC_RELAXED);
	for (uint32_t i = 1; i <= t->started; i++) {
		wake(&b->lanes[i]);
		pthread_join(t->thread[i], NULL);
	}
	t->started = 0;
}

static struct rb_threads *threads_create(void)
{
	struct rb_threads *t = calloc(1, sizeof(*t));

	if (t) {
		pthread_mutex_init(&t->mutex, NULL);
		pthread_cond_init(&t->parked_changed, NULL);
		pthread_cond_init(&t->released, NULL);
	}
	return t;
}

static void threads_destroy(struct rb_threads *t)
{
	pthread_cond_destroy(&t->released);
	pthread_cond_destroy(&t->parked_changed);
	pthread_mutex_destroy(&t->mutex);
	free(t);
}

int rb_bridge_open(struct sl_settings *settings, struct rb_bridge **out)
{
	struct rb_bridge *b = calloc(1, sizeof(*b));
	struct epoll_event event = { .events = EPOLLIN };
	int err;

	*out = NULL;
	if (!b)
		return -ENOMEM;
	b->threads = threads_create();
	if (!b->threads) {
		free(b);
		return -ENOMEM;
	}
	b->settings = settings;
	b->maps_err = 1; /* not known yet */
	b->maps.xsk_fd = b->maps.dscp_fd = b->control_fd = b->relay_fd = b->client_fd = -1;
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
	b->control_fd = epoll_create1(EPOLL_CLOEXEC);
	if (b->control_fd < 0) {
		err = -errno;
		goto out;
	}
	err = open_lanes(b, settings->cluster.bridge.workers);
	if (!err)
		err = open_memory(b);
	if (!err)
		err = open_transport(b);
	if (!err)
		err = open_workers(b);
	if (!err)
		err = add_nodes(b, 0);
	if (!err)
		err = open_meet(b);
	if (!err)
		err = rb_relay_open(b);
	for (uint32_t i = 0; i < b->n_lanes && !err; i++)
		watch(b->lanes[i].all_fd,
		      b->lanes[i].transport->ops->wait_fd(b->lanes[i].transport), &event);
	if (!err)
		err = start_lanes(b);
	if (err) {
		sl_error("cannot start: %s", strerror(-err));
		goto out;
	}
	watch(b->control_fd, rb_meet_fd(b->meet), &event);
	watch(b->lanes[0].all_fd, b->control_fd, &event);
	*out = b;
out:
	if (err)
		rb_bridge_close(b);
	return err;
}

static void lane_close(struct rb_lane *lane)
{
	rb_injector_close(lane->injector);
	rb_worker_destroy(lane->worker);
	if (lane->transport)
		lane->transport->ops->close(lane->transport);
	if (lane->wake_fd >= 0)
		close(lane->wake_fd);
	if (lane->all_fd >= 0)
		close(lane->all_fd);
}

void rb_bridge_close(struct rb_bridge *b)
{
	if (!b)
		return;
	stop_lanes(b);
	rb_relay_close(b);
	rb_meet_close(b->meet);
	for (uint32_t i = 0; i < b->n_ports; i++)
		close_port(b, &b->ports[i]);
	for (uint32_t i = 0; i < b->n_lanes; i++)
		lane_close(&b->lanes[i]);
	rb_maps_close(&b->maps);
	for (uint32_t i = 0; i < b->n_lanes; i++)
		rb_chunks_destroy(b->lanes[i].chunks);
	if (b->area)
		munmap(b->area, b->area_bytes);
	if (b->control_fd >= 0)
		close(b->control_fd);
	free(b->lanes);
	free(b->ports);
	free(b->remotes);
	free(b->voqs);
	free(b->voq_lanes);
	free(b->open_voqs);
	free(b->kept_path);
	threads_destroy(b->threads);
	OPENSSL_cleanse(&b->key, sizeof(b->key));
	free(b);
}

/* --- Running ------------------------------------------------------------------------------ */

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

	watch(b->lanes[0].all_fd, fd, &event);
}

uint64_t rb_bridge_round(struct rb_bridge *b)
{
	struct rb_lane *lane = &b->lanes[0];
	uint64_t now = sl_now_ns();
	bool did;

	if (now >= b->retry_ns) {
		b->retry_ns = now + RB_BRIDGE_RETRY_NS;
		look_around(b, now);
	}
	did = lane_round(lane, now);
	if (now >= b->tick_ns) {
		b->tick_ns = now + RB_BRIDGE_TICK_NS;
		if (b->ready)
			rb_meet_poll(b->meet, now);
		rb_relay_poll(b, now);
		for (uint32_t i = 0; b->n_lanes > 1 && i < lane->worker->n_nodes; i++)
			tell_of_peer(b, lane->worker->nodes[i]);
	}
	lane_rest(lane, did, now);
	return now;
}
