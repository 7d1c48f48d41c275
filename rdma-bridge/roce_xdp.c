/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/roce_xdp.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "rdma-bridge/fabric_xdp.h"
#include "rdma-bridge/netdev.h"
#include "rdma-bridge/xsk.h"

#define PATHS_MAX    256
#define BATCH	     64
#define XDP_HEADROOM 256 /* the kernel keeps it free before each received frame */
/* The kernel lets go of a queue up to half a second after its last user closed it. */
#define BIND_PATIENCE_NS 1000000000ULL
#define CNP_INTERVAL_NS \
	50000ULL /* at most one notification per path in this time, as adapters do */

struct rb_path {
	bool open;
	struct rb_roce_path wire;
	uint8_t remote_ip[16];
	uint32_t remote_qpn;
	uint32_t message_max_bytes;
	uint32_t psn;
	uint64_t cnp_ns; /* when the last notification left; 0: never */
	void *context;
};

struct queue {
	struct rb_xsk_queue *xsk; /* owned */
	uint32_t posted;	  /* chunks it may receive into */
};

struct roce_transport {
	struct rb_transport base;
	struct rb_roce_config roce;
	struct rb_roce_end self;
	struct rb_fabric_xdp *xdp; /* owned */
	struct rb_transport_stats stats;
	uint64_t verdicts[RB_ROCE_VERDICT_COUNT];
	uint32_t message_max_bytes; /* what the MTU and a chunk hold */
	int epoll_fd;
	uint32_t n_queues;
	uint32_t next_queue; /* where poll begins, so that none starves */
	struct queue queues[RB_FABRIC_QUEUES_MAX];
	struct rb_path
		*newest; /* of the last message received: the next one is often of the same */
	struct rb_path paths[PATHS_MAX];
};

static struct roce_transport *of(struct rb_transport *t)
{
	return (struct roce_transport *)t;
}

static void roce_close(struct rb_transport *base)
{
	struct roce_transport *t = of(base);

	/* First the program, so that nothing is redirected to sockets that go. */
	rb_fabric_xdp_close(t->xdp);
	for (uint32_t i = 0; i < t->n_queues; i++)
		rb_xsk_close(t->queues[i].xsk);
	if (t->epoll_fd >= 0)
		close(t->epoll_fd);
	rb_chunks_reclaim(base->chunks, RB_OWNER_SEND);
	free(t);
}

static void roce_endpoint(struct rb_transport *base, struct rb_endpoint *out)
{
	const struct roce_transport *t = of(base);

	*out = (struct rb_endpoint){ .qpn = t->self.qpn,
				     .qkey = t->self.qkey,
				     .message_max_bytes = t->message_max_bytes };
	memcpy(out->gid, t->self.ip, sizeof(out->gid));
	memcpy(out->mac, t->self.mac, sizeof(out->mac));
}

/* --- Paths -------------------------------------------------------------------------------- */

static bool leads_to(const struct rb_path *path, const uint8_t ip[16], uint32_t qpn)
{
	return path->open && path->remote_qpn == qpn && memcmp(path->remote_ip, ip, 16) == 0;
}

static struct rb_path *find_path(struct roce_transport *t, const uint8_t ip[16], uint32_t qpn)
{
	if (t->newest && leads_to(t->newest, ip, qpn))
		return t->newest;
	for (uint32_t i = 0; i < PATHS_MAX; i++)
		if (leads_to(&t->paths[i], ip, qpn))
			return t->newest = &t->paths[i];
	return NULL;
}

static int roce_path_create(struct rb_transport *base, const struct rb_endpoint *remote,
			    void *context, struct rb_path **out)
{
	struct roce_transport *t = of(base);
	struct rb_roce_end end = { .qpn = remote->qpn, .qkey = remote->qkey };
	struct rb_path *path = NULL;
	int err;

	*out = NULL;
	if (remote->message_max_bytes == 0)
		return -EINVAL;
	if (find_path(t, remote->gid, remote->qpn))
		return -EEXIST;
	for (uint32_t i = 0; i < PATHS_MAX && !path; i++)
		if (!t->paths[i].open)
			path = &t->paths[i];
	if (!path)
		return -ENOSPC;
	memcpy(end.ip, remote->gid, sizeof(end.ip));
	memcpy(end.mac, remote->mac, sizeof(end.mac));
	memset(path, 0, sizeof(*path));
	err = rb_roce_path_init(&path->wire, &t->roce, &t->self, &end);
	if (err)
		return err;
	memcpy(path->remote_ip, remote->gid, sizeof(path->remote_ip));
	path->remote_qpn = remote->qpn;
	path->message_max_bytes = remote->message_max_bytes < t->message_max_bytes
					  ? remote->message_max_bytes
					  : t->message_max_bytes;
	path->context = context;
	path->open = true;
	*out = path;
	return 0;
}

static void roce_path_destroy(struct rb_transport *base, struct rb_path *path)
{
	(void)base;
	path->open = false;
}

/* --- Sending ------------------------------------------------------------------------------ */

static void reap(struct roce_transport *t)
{
	uint64_t offsets[BATCH];
	uint32_t n;

	do {
		n = rb_xsk_complete(t->queues[0].xsk, offsets, BATCH);
		for (uint32_t i = 0; i < n; i++)
			rb_chunk_release(t->base.chunks, offsets[i], RB_OWNER_SEND);
	} while (n == BATCH);
}

/* A chunk to build a frame in, if the transmit ring will take it. */
static uint64_t take_send_chunk(struct roce_transport *t)
{
	if (rb_xsk_send_room(t->queues[0].xsk) == 0)
		reap(t);
	if (rb_xsk_send_room(t->queues[0].xsk) == 0)
		return RB_CHUNK_NONE;
	return rb_chunk_take(t->base.chunks, RB_OWNER_SEND);
}

static void transmit(struct roce_transport *t, uint64_t offset, uint32_t len_bytes)
{
	const struct rb_xsk_frame frame = { offset, len_bytes };

	rb_xsk_send(t->queues[0].xsk, &frame, 1);
}

static int roce_post_send(struct rb_transport *base, struct rb_path *path,
			  const struct rb_piece *pieces, uint32_t n, uint64_t cookie)
{
	struct roce_transport *t = of(base);
	int len_bytes = rb_message_bytes(base, pieces, n, path->message_max_bytes);
	uint64_t offset;
	uint8_t *frame, *at;

	(void)cookie;
	if (len_bytes < 0)
		return len_bytes;
	offset = take_send_chunk(t);
	if (offset == RB_CHUNK_NONE)
		return -EAGAIN;
	frame = rb_chunk_data(base->chunks, offset);
	at = frame + path->wire.header_bytes;
	for (uint32_t i = 0; i < n; i++) {
		memcpy(at, pieces[i].data, pieces[i].len_bytes);
		at += pieces[i].len_bytes;
	}
	transmit(t, offset, rb_roce_frame(&path->wire, path->psn++, frame, (uint32_t)len_bytes));
	t->stats.sent++;
	t->stats.sent_bytes += (uint32_t)len_bytes;
	t->stats.bytes_copied += (uint32_t)len_bytes;
	return 1;
}

static int roce_flush(struct rb_transport *base)
{
	struct roce_transport *t = of(base);
	int err = rb_xsk_kick(t->queues[0].xsk);

	if (err && err != -EAGAIN) {
		t->stats.send_failed++;
		err = -EAGAIN;
	}
	return err;
}

/* --- Receiving ---------------------------------------------------------------------------- */

static uint32_t roce_post_receive(struct rb_transport *base, const uint64_t *offsets, uint32_t n)
{
	struct roce_transport *t = of(base);
	uint32_t taken = 0;

	while (taken < n) {
		struct queue *q = &t->queues[0];
		uint32_t share = n - taken, got;

		/* The queue with the fewest chunks is next, with its part of what is left. */
		for (uint32_t i = 1; i < t->n_queues; i++)
			if (t->queues[i].posted < q->posted)
				q = &t->queues[i];
		share = (share + t->n_queues - 1) / t->n_queues;
		got = rb_xsk_fill(q->xsk, offsets + taken, share);
		if (got == 0)
			break;
		q->posted += got;
		taken += got;
	}
	return taken;
}

static void notify(struct roce_transport *t, struct rb_path *path, uint64_t now_ns)
{
	uint64_t offset;

	if (path->cnp_ns && now_ns - path->cnp_ns < CNP_INTERVAL_NS)
		return;
	offset = take_send_chunk(t);
	if (offset == RB_CHUNK_NONE)
		return;
	transmit(t, offset,
		 rb_roce_cnp(&path->wire, path->remote_qpn, rb_chunk_data(t->base.chunks, offset)));
	path->cnp_ns = now_ns;
	t->stats.cnp_sent++;
}

/* Judge one frame; true if it is a message for the caller. */
static bool accept_frame(struct roce_transport *t, const struct rb_xsk_frame *frame,
			 uint64_t now_ns, struct rb_completion *out)
{
	const uint8_t *data = rb_chunk_data(t->base.chunks, frame->offset);
	struct rb_roce_packet packet;
	enum rb_roce_verdict verdict =
		rb_roce_parse(&t->roce, &t->self, data, frame->len_bytes, &packet);
	struct rb_path *path;

	t->verdicts[verdict]++;
	if (verdict == RB_ROCE_CNP)
		t->stats.cnp_received++;
	if (verdict != RB_ROCE_SEND)
		return false;
	path = find_path(t, packet.src_ip, packet.src_qpn);
	*out = (struct rb_completion){
		.kind = RB_RECEIVED,
		.ce = packet.ce,
		.len_bytes = packet.payload_bytes,
		.offset = frame->offset + (uint64_t)(packet.payload - data),
		.context = path ? path->context : NULL,
	};
	t->stats.received++;
	t->stats.received_bytes += packet.payload_bytes;
	if (packet.ce) {
		t->stats.marked++;
		if (path)
			notify(t, path, now_ns);
	}
	return true;
}

static uint32_t poll_queue(struct roce_transport *t, struct queue *q, struct rb_completion *out,
			   uint32_t max, uint64_t now_ns)
{
	struct rb_xsk_frame frames[BATCH];
	uint32_t delivered = 0, n;

	n = rb_xsk_receive(q->xsk, 0, frames, max < BATCH ? max : BATCH);
	for (uint32_t i = 0; i < n; i++) {
		if (accept_frame(t, &frames[i], now_ns, &out[delivered])) {
			rb_chunk_move(t->base.chunks, frames[i].offset, RB_OWNER_RECEIVE,
				      RB_OWNER_MESSAGE);
			q->posted--;
			delivered++;
			continue;
		}
		/* The ring has the room that this very chunk left. */
		frames[i].offset = rb_chunk_base(t->base.chunks, frames[i].offset);
		rb_xsk_fill(q->xsk, &frames[i].offset, 1);
	}
	return delivered;
}

static uint32_t roce_poll(struct rb_transport *base, struct rb_completion *out, uint32_t max,
			  uint64_t now_ns)
{
	struct roce_transport *t = of(base);
	uint32_t n = 0;

	reap(t);
	for (uint32_t i = 0; i < t->n_queues && n < max; i++)
		n += poll_queue(t, &t->queues[(t->next_queue + i) % t->n_queues], out + n, max - n,
				now_ns);
	t->next_queue = (t->next_queue + 1) % t->n_queues;
	return n;
}

static int roce_wait_fd(struct rb_transport *base)
{
	return of(base)->epoll_fd;
}

static bool roce_arm(struct rb_transport *base)
{
	struct epoll_event event;

	/* The sockets are readable as long as frames wait: nothing can be missed. */
	return epoll_wait(of(base)->epoll_fd, &event, 1, 0) > 0;
}

static void roce_stats(struct rb_transport *base, struct rb_transport_stats *out)
{
	struct roce_transport *t = of(base);

	*out = t->stats;
	for (uint32_t i = 0; i < t->n_queues; i++) {
		struct rb_xsk_drops drops;

		rb_xsk_drops(t->queues[i].xsk, 0, &drops);
		out->no_buffer += drops.no_chunk;
		out->ring_full += drops.ring_full;
	}
}

void rb_roce_xdp_info(struct rb_transport *base, struct rb_roce_xdp_info *out)
{
	const struct roce_transport *t = of(base);

	out->queues = t->n_queues;
	out->zero_copy = rb_xsk_is_zero_copy(t->queues[0].xsk);
	out->native_xdp = rb_fabric_xdp_is_native(t->xdp);
	memcpy(out->verdicts, t->verdicts, sizeof(out->verdicts));
}

/* --- Opening ------------------------------------------------------------------------------ */

static const struct rb_transport_ops roce_ops = {
	.name = "roce-xdp",
	.close = roce_close,
	.endpoint = roce_endpoint,
	.path_create = roce_path_create,
	.path_destroy = roce_path_destroy,
	.post_receive = roce_post_receive,
	.post_send = roce_post_send,
	.flush = roce_flush,
	.poll = roce_poll,
	.wait_fd = roce_wait_fd,
	.arm = roce_arm,
	.stats = roce_stats,
};

/* Bytes of a message that fit both the MTU and, with all that surrounds it, a chunk. */
static uint32_t largest_message(const struct rb_roce_xdp_config *config, uint32_t mtu_bytes)
{
	uint32_t by_mtu = rb_roce_payload_for_mtu(mtu_bytes, config->address);
	uint32_t by_chunk = rb_chunk_bytes(config->chunks) - XDP_HEADROOM -
			    RB_ROCE_HEADER_MAX_BYTES - RB_ROCE_TRAILER_MAX_BYTES;

	return by_mtu < by_chunk ? by_mtu : by_chunk;
}

static int open_queue(struct roce_transport *t, const struct rb_roce_xdp_config *config, uint32_t i)
{
	const struct rb_xsk_config xsk = {
		.netdev = config->netdev,
		.queue = i,
		.area = config->chunks->area,
		.area_bytes = config->area_bytes,
		.chunk_bytes = rb_chunk_bytes(config->chunks),
		.sockets = 1,
		.fill_size = config->ring_size,
		.receive_size = config->ring_size,
		.send_size = config->ring_size,
		.patience_ns = BIND_PATIENCE_NS,
	};
	struct epoll_event event = { .events = EPOLLIN };
	int err = rb_xsk_open(&xsk, &t->queues[i].xsk);

	if (err)
		return err;
	t->n_queues++;
	if (epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, rb_xsk_fd(t->queues[i].xsk, 0), &event))
		return -errno;
	return rb_xsk_publish(t->queues[i].xsk, 0, rb_fabric_xdp_map(t->xdp), i);
}

int rb_roce_xdp_open(const struct rb_roce_xdp_config *config, struct rb_transport **out)
{
	struct roce_transport *t;
	struct rb_netdev netdev;
	int err;

	*out = NULL;
	if (config->qpn < 2 || config->qpn >= 0xffffff)
		return -EINVAL;
	err = rb_netdev_query(config->netdev, &netdev);
	if (err)
		return err;
	if (netdev.queues > RB_FABRIC_QUEUES_MAX)
		netdev.queues = RB_FABRIC_QUEUES_MAX;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->base = (struct rb_transport){ .ops = &roce_ops,
					 .chunks = config->chunks,
					 .pieces_max = RB_PIECES_MAX };
	t->self = (struct rb_roce_end){ .qpn = config->qpn, .qkey = config->qkey };
	memcpy(t->self.ip, config->address, sizeof(t->self.ip));
	memcpy(t->self.mac, netdev.mac, sizeof(t->self.mac));
	t->message_max_bytes = largest_message(config, netdev.mtu_bytes);
	t->roce = config->roce;
	t->roce.payload_max_bytes = (uint16_t)t->message_max_bytes;
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll_fd < 0)
		err = -errno;
	else if (t->message_max_bytes == 0)
		err = -EMSGSIZE;
	else
		err = rb_fabric_xdp_open(netdev.ifindex, config->address, &t->xdp);
	for (uint32_t i = 0; i < netdev.queues && !err; i++)
		err = open_queue(t, config, i);
	if (err)
		roce_close(&t->base);
	else
		*out = &t->base;
	return err;
}
