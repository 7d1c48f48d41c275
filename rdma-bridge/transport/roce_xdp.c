/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/transport/roce_xdp.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "bpf/abi/fabric_address.h"
#include "bpf/lib/endian.bpf.h"
#include "rdma-bridge/port/netdev.h"
#include "rdma-bridge/port/xsk.h"
#include "rdma-bridge/queue/handback.h"
#include "rdma-bridge/transport/fabric_xdp.h"

#define ETHER_BYTES 14
#define PATHS_MAX   256
#define BATCH	    64
/* The kernel frees a queue up to half a second after its last user closed it. */
#define BIND_PATIENCE_NS 1000000000ULL
/* At most one notification per path in this time, as adapters do. */
#define CNP_INTERVAL_NS 50000ULL

struct rb_path {
	bool open;
	struct rb_roce_path wire;
	uint8_t remote_ip[16];
	uint32_t remote_qpn;
	uint32_t message_max_bytes;
	uint8_t hop_limit; /* of what comes from there; 0: any */
	uint32_t psn;
	uint64_t last_posted; /* of roce_transport.posted: its newest message */
	uint64_t cnp_ns;      /* when the last notification left; 0: never */
	void *context;
};

struct queue {
	struct rb_xsk_queue *xsk; /* owned */
	uint32_t posted; /* chunks it may receive into; only the owner of the queue writes it */
	struct rb_handback back[RB_ROCE_XDP_WORKERS_MAX]; /* from each other worker */
};

/* Shared by the transports of a netdev. It changes only while no worker runs. */
struct device {
	struct rb_fabric_xdp *xdp; /* owned */
	uint32_t ifindex;
	uint32_t workers, users; /* transports that were opened, and that are open */
	uint32_t n_queues;
	struct queue *queues; /* owned */
};

struct roce_transport {
	struct rb_transport base;
	struct rb_roce_config roce;
	struct rb_roce_end self;
	struct device *device; /* shared; the last user closes it */
	uint32_t worker;
	struct rb_transport_stats stats;
	uint64_t verdicts[RB_ROCE_VERDICT_COUNT];
	uint32_t message_max_bytes; /* what fits both the MTU and a chunk */
	int epoll_fd;
	uint32_t next_queue;	    /* where the next poll begins, so that no queue starves */
	struct rb_path *newest;	    /* of the last message received; the next often has the same */
	uint64_t posted, completed; /* frames given to the transmit ring, which keeps their order */
	/* With express: what XDP and we know of each sender, and the next number of each. */
	struct sl_arrivals *arrivals; /* NULL: without */
	uint64_t next_number[256];
	struct rb_path paths[PATHS_MAX];
};

static struct roce_transport *of(struct rb_transport *t)
{
	return (struct roce_transport *)t;
}

/* The queue that it transmits on. */
static struct rb_xsk_queue *sender(const struct roce_transport *t)
{
	return t->device->queues[t->worker].xsk;
}

static void device_close(struct device *device)
{
	/* The program goes first, so that it redirects nothing to closed sockets. */
	rb_fabric_xdp_close(device->xdp);
	for (uint32_t i = 0; i < device->n_queues; i++) {
		rb_xsk_close(device->queues[i].xsk);
		for (uint32_t w = 0; w < device->workers; w++)
			rb_handback_fini(&device->queues[i].back[w]);
	}
	free(device->queues);
	free(device);
}

static void roce_close(struct rb_transport *base)
{
	struct roce_transport *t = of(base);

	base->chunks->on_free = NULL;
	if (--t->device->users == 0)
		device_close(t->device);
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
				     .message_max_bytes = t->message_max_bytes,
				     .hop_limit = t->roce.hop_limit };
	memcpy(out->gid, t->self.ip, sizeof(out->gid));
	memcpy(out->mac, t->self.mac, sizeof(out->mac));
}

/* --- Paths --- */

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
	path->hop_limit = remote->hop_limit;
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

/* --- Sending --- */

static void reap(struct roce_transport *t)
{
	uint64_t offsets[BATCH];
	uint32_t n;

	do {
		n = rb_xsk_complete(sender(t), offsets, BATCH);
		t->completed += n;
		for (uint32_t i = 0; i < n; i++)
			rb_chunk_release(t->base.chunks, offsets[i], RB_OWNER_SEND);
	} while (n == BATCH);
}

/* Take a chunk to build a frame in, if the transmit ring has room for the frame. */
static uint64_t take_send_chunk(struct roce_transport *t)
{
	if (rb_xsk_send_room(sender(t)) == 0)
		reap(t);
	if (rb_xsk_send_room(sender(t)) == 0)
		return RB_CHUNK_NONE;
	return rb_chunk_take(t->base.chunks, RB_OWNER_SEND);
}

static void transmit(struct roce_transport *t, uint64_t offset, uint32_t len_bytes)
{
	const struct rb_frame frame = { .offset = offset, .len_bytes = len_bytes };

	rb_xsk_send(sender(t), &frame, 1);
	t->posted++;
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
	path->last_posted = t->posted;
	t->stats.sent++;
	t->stats.sent_bytes += (uint32_t)len_bytes;
	t->stats.bytes_copied += (uint32_t)len_bytes;
	return 1;
}

static int roce_flush(struct rb_transport *base)
{
	struct roce_transport *t = of(base);
	int err = rb_xsk_kick(sender(t));

	/* In copy mode the frames are sent by now. */
	if (t->arrivals && t->completed != t->posted)
		reap(t);
	/* While the netdev is down, the ring keeps what it has, and there is nothing to do. */
	if (err == -ENETDOWN)
		return 0;
	if (err && err != -EAGAIN) {
		t->stats.send_failed++;
		err = -EAGAIN;
	}
	return err;
}

/* --- Receiving --- */

static uint32_t roce_post_receive(struct rb_transport *base, const uint64_t *offsets, uint32_t n)
{
	struct roce_transport *t = of(base);
	struct device *d = t->device;
	uint32_t taken = 0, ours = (d->n_queues - t->worker + d->workers - 1) / d->workers;

	while (taken < n) {
		struct queue *q = &d->queues[t->worker];
		uint32_t share = n - taken, got;

		/* The queue with the fewest chunks gets its share of those left. */
		for (uint32_t i = t->worker; i < d->n_queues; i += d->workers)
			if (d->queues[i].posted < q->posted)
				q = &d->queues[i];
		share = (share + ours - 1) / ours;
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

static struct sl_arrivals *arrivals_of(const struct roce_transport *t, uint8_t node)
{
	return &t->arrivals[node * t->device->workers + t->worker];
}

/* A message from a node, or several, which XDP counted in `handed`, is in the bridge no longer. */
static void count_left(struct roce_transport *t, uint8_t node, uint64_t n)
{
	struct sl_arrivals *from = arrivals_of(t, node);

	__atomic_store_n(&from->left, from->left + n, __ATOMIC_RELEASE);
}

static void on_free(void *context, uint8_t tag)
{
	count_left(context, tag, 1);
}

/*
 * What XDP says of a frame. `node` is the sender only if it is a data message that counts in
 * `handed`; else 0. A gap in the numbers is messages that never came; such a one that comes late
 * counts no more.
 */
static struct sl_arrival_meta read_arrival(struct roce_transport *t, const uint8_t *frame)
{
	struct sl_arrival_meta meta;
	int64_t ahead;

	if (!t->arrivals || rb_fabric_xdp_lacks_meta(t->device->xdp))
		return (struct sl_arrival_meta){ 0 };
	memcpy(&meta, frame - sizeof(meta), sizeof(meta));
	if (meta.magic != SL_ARRIVAL_META_MAGIC)
		return (struct sl_arrival_meta){ 0 };
	if (meta.node == 0)
		return meta;
	ahead = (int64_t)(meta.number - t->next_number[meta.node]);
	if (ahead < 0) {
		meta.node = 0;
		return meta;
	}
	if (ahead > 0)
		count_left(t, meta.node, (uint64_t)ahead);
	t->next_number[meta.node] = meta.number + 1;
	return meta;
}

/*
 * Judge one frame. True if it is a message for the caller. *node: the caller must see to it that
 * the message is counted by count_left; 0: it need not.
 */
static bool accept_frame(struct roce_transport *t, const struct rb_frame *frame, uint64_t now_ns,
			 struct rb_completion *out, uint8_t *node)
{
	const uint8_t *data = rb_chunk_data(t->base.chunks, frame->offset);
	const struct sl_arrival_meta meta = read_arrival(t, data);
	struct rb_roce_packet packet;
	enum rb_roce_verdict verdict =
		rb_roce_parse(&t->roce, &t->self, data, frame->len_bytes, &packet);
	struct rb_path *path = NULL;

	*node = meta.node;
	if (verdict == RB_ROCE_SEND)
		path = find_path(t, packet.src_ip, packet.src_qpn);
	if (verdict == RB_ROCE_SEND && packet.express && !meta.judged)
		verdict = RB_ROCE_EXPRESS;
	if (path && path->hop_limit == SL_FABRIC_HOP_LIMIT &&
	    packet.hop_limit != SL_FABRIC_HOP_LIMIT)
		verdict = RB_ROCE_HOP_LIMIT;
	t->verdicts[verdict]++;
	if (verdict == RB_ROCE_CNP)
		t->stats.cnp_received++;
	if (verdict != RB_ROCE_SEND)
		return false;
	*out = (struct rb_completion){
		.kind = RB_RECEIVED,
		.ce = packet.ce,
		.numbered = meta.judged,
		.came_ns = meta.came_ns,
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

/* The next frames of a queue of this worker, *read of them, and the messages among them. */
static uint32_t poll_own(struct roce_transport *t, struct queue *q, struct rb_completion *out,
			 uint32_t max, uint64_t now_ns, uint32_t *read)
{
	struct rb_frame frames[BATCH];
	uint32_t delivered = 0, n;

	n = rb_xsk_receive(q->xsk, t->worker, frames, max < BATCH ? max : BATCH);
	*read = n;
	for (uint32_t i = 0; i < n; i++) {
		uint8_t node;

		if (accept_frame(t, &frames[i], now_ns, &out[delivered], &node)) {
			rb_chunk_move(t->base.chunks, frames[i].offset, RB_OWNER_RECEIVE,
				      RB_OWNER_MESSAGE);
			if (node)
				rb_chunk_tag(t->base.chunks, frames[i].offset, RB_OWNER_MESSAGE,
					     node);
			q->posted--;
			delivered++;
			continue;
		}
		if (node)
			count_left(t, node, 1);
		/* The fill ring has room, because it had this chunk. */
		frames[i].offset = rb_chunk_base(t->base.chunks, frames[i].offset);
		rb_xsk_fill(q->xsk, &frames[i].offset, 1);
	}
	return delivered;
}

/* The same of a queue of another worker: copy the good messages, hand the chunks back. */
static uint32_t poll_foreign(struct roce_transport *t, struct queue *q, struct rb_completion *out,
			     uint32_t max, uint64_t now_ns, uint32_t *read)
{
	struct rb_chunks *chunks = t->base.chunks;
	uint64_t back[BATCH];
	struct rb_frame frames[BATCH];
	uint32_t delivered = 0, n;

	n = rb_xsk_receive(q->xsk, t->worker, frames, max < BATCH ? max : BATCH);
	*read = n;
	for (uint32_t i = 0; i < n; i++) {
		struct rb_completion *c = &out[delivered];
		uint64_t chunk = RB_CHUNK_NONE, to;
		bool accepted;
		uint8_t node;

		back[i] = rb_chunk_base(chunks, frames[i].offset);
		accepted = accept_frame(t, &frames[i], now_ns, c, &node);
		if (accepted)
			chunk = rb_chunk_take(chunks, RB_OWNER_MESSAGE);
		if (node && chunk != RB_CHUNK_NONE)
			rb_chunk_tag(chunks, chunk, RB_OWNER_MESSAGE, node);
		else if (node)
			count_left(t, node, 1);
		if (!accepted)
			continue;
		if (chunk == RB_CHUNK_NONE) {
			t->stats.received--;
			t->stats.received_bytes -= c->len_bytes;
			t->stats.no_buffer++;
			continue;
		}
		to = chunk + (c->offset - back[i]);
		memcpy(rb_chunk_data(chunks, to), rb_chunk_data(chunks, c->offset), c->len_bytes);
		c->offset = to;
		delivered++;
	}
	if (n > 0)
		rb_handback_put(&q->back[t->worker], back, n);
	return delivered;
}

/*
 * Frames that are no message must not hold up those behind them: read until there are `max`
 * messages, or the ring is empty, or so many frames were read that the worker has other things to
 * do.
 */
static uint32_t poll_queue(struct roce_transport *t, uint32_t i, struct rb_completion *out,
			   uint32_t max, uint64_t now_ns)
{
	struct queue *q = &t->device->queues[i];
	const bool own = i % t->device->workers == t->worker;
	uint32_t delivered = 0, frames = 0, read;

	do {
		delivered +=
			own ? poll_own(t, q, out + delivered, max - delivered, now_ns, &read)
			    : poll_foreign(t, q, out + delivered, max - delivered, now_ns, &read);
		frames += read;
	} while (read > 0 && delivered < max && frames < BATCH);
	return delivered;
}

/* Fill in the chunks that other workers handed back; the ring has room, because it had them. */
static void take_back(struct roce_transport *t)
{
	struct device *d = t->device;
	uint64_t offsets[BATCH];
	uint32_t n;

	for (uint32_t i = t->worker; i < d->n_queues; i += d->workers)
		for (uint32_t w = 0; w < d->workers; w++)
			while (w != t->worker &&
			       (n = rb_handback_take(&d->queues[i].back[w], offsets, BATCH)) > 0)
				rb_xsk_fill(d->queues[i].xsk, offsets, n);
}

static uint32_t roce_poll(struct rb_transport *base, struct rb_completion *out, uint32_t max,
			  uint64_t now_ns)
{
	struct roce_transport *t = of(base);
	uint32_t n = 0, queues = t->device->n_queues;

	reap(t);
	if (t->device->workers > 1)
		take_back(t);
	for (uint32_t i = 0; i < queues && n < max; i++)
		n += poll_queue(t, (t->next_queue + i) % queues, out + n, max - n, now_ns);
	t->next_queue = (t->next_queue + 1) % queues;
	return n;
}

static int roce_wait_fd(struct rb_transport *base)
{
	return of(base)->epoll_fd;
}

static bool roce_arm(struct rb_transport *base)
{
	struct epoll_event event;

	/* The sockets stay readable while frames wait, so no wake-up is missed. */
	return epoll_wait(of(base)->epoll_fd, &event, 1, 0) > 0;
}

static void roce_stats(struct rb_transport *base, struct rb_transport_stats *out)
{
	struct roce_transport *t = of(base);

	*out = t->stats;
	for (uint32_t i = 0; i < t->device->n_queues; i++) {
		struct rb_xsk_drops drops;

		rb_xsk_drops(t->device->queues[i].xsk, t->worker, &drops);
		out->no_buffer += drops.no_chunk;
		out->ring_full += drops.ring_full;
	}
}

void rb_roce_xdp_info(struct rb_transport *base, struct rb_roce_xdp_info *out)
{
	const struct roce_transport *t = of(base);

	out->queues = t->device->n_queues;
	out->zero_copy = rb_xsk_is_zero_copy(sender(t));
	out->native_xdp = rb_fabric_xdp_is_native(t->device->xdp);
	out->pin_err = rb_fabric_xdp_pin_error(t->device->xdp);
	out->samples = rb_fabric_xdp_samples(t->device->xdp) != NULL;
	out->sent_err = rb_fabric_xdp_sent_error(t->device->xdp);
	memcpy(out->verdicts, t->verdicts, sizeof(out->verdicts));
}

/* --- Opening --- */

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

/* The largest message that fits the MTU and, with headroom and headers, a chunk. */
static uint32_t largest_message(const struct rb_roce_xdp_config *config, uint32_t mtu_bytes)
{
	uint32_t by_mtu = rb_roce_payload_for_mtu(mtu_bytes, config->address);
	uint32_t by_chunk = rb_chunk_bytes(config->chunks) - RB_CHUNK_HEADROOM_BYTES -
			    RB_ROCE_HEADER_MAX_BYTES - RB_ROCE_TRAILER_MAX_BYTES;

	return by_mtu < by_chunk ? by_mtu : by_chunk;
}

static int open_queue(struct device *device, const struct rb_roce_xdp_config *config, uint32_t i)
{
	const struct rb_xsk_config xsk = {
		.netdev = config->netdev,
		.queue = i,
		.area = config->chunks->area,
		.area_bytes = config->area_bytes,
		.chunk_bytes = rb_chunk_bytes(config->chunks),
		.sockets = device->workers,
		.fill_size = config->ring_size,
		.receive_size = config->ring_size,
		.send_size = config->ring_size,
		.patience_ns = BIND_PATIENCE_NS,
	};
	struct queue *q = &device->queues[i];
	uint32_t owner = i % device->workers;
	int err = rb_xsk_open(&xsk, &q->xsk);

	if (err)
		return err;
	device->n_queues++;
	for (uint32_t w = 0; w < device->workers && !err; w++) {
		err = rb_xsk_publish(q->xsk, w, rb_fabric_xdp_map(device->xdp),
				     i * device->workers + w);
		if (!err && w != owner)
			err = rb_handback_init(&q->back[w], config->ring_size,
					       config->wake_fds[owner]);
	}
	return err;
}

/* --- Express --- */

static uint32_t add_words(uint32_t sum, const uint8_t *bytes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i += sizeof(uint16_t)) {
		uint16_t word;

		memcpy(&word, bytes + i, sizeof(word));
		sum += word;
	}
	return sum;
}

void rb_roce_xdp_express_path(struct rb_transport *base, const struct rb_path *path, uint32_t epoch,
			      uint8_t node, enum sl_express_check check,
			      struct sl_express_path *out)
{
	const struct roce_transport *t = of(base);
	const uint8_t *ip = path->wire.header + ETHER_BYTES;
	const bool v4 = path->wire.header_bytes == SL_EXPRESS_HEADER4_BYTES;
	const uint16_t protocol = htons(IPPROTO_UDP);

	out->ifindex = t->device->ifindex;
	out->epoch = epoch;
	out->node = node;
	out->check = (uint8_t)check;
	out->frame_max_bytes = (uint16_t)(path->message_max_bytes - RB_MSG_OVERHEAD_BYTES);
	out->header_bytes = (uint8_t)path->wire.header_bytes;
	memcpy(out->header, path->wire.header, path->wire.header_bytes);
	out->ip_sum = v4 ? add_words(0, ip, sizeof(struct iphdr)) : 0;
	out->pseudo_sum = v4 ? add_words(0, ip + offsetof(struct iphdr, saddr), 8)
			     : add_words(0, ip + offsetof(struct ipv6hdr, saddr), 32);
	out->pseudo_sum += protocol;
}

bool rb_roce_xdp_is_under_way(struct rb_transport *base, const struct rb_path *path)
{
	return path->last_posted > of(base)->completed;
}

void rb_roce_xdp_expect_express(struct rb_transport *base, uint8_t node,
				const struct rb_endpoint *remote, uint32_t epoch,
				enum sl_express_check check)
{
	struct sl_arrivals *from = arrivals_of(of(base), node);

	/* Closed while the fields are those of two lives. */
	__atomic_store_n(&from->check, SL_EXPRESS_NONE, __ATOMIC_SEQ_CST);
	memcpy(from->ip, remote->gid, sizeof(from->ip));
	from->epoch = sl_htonl(epoch);
	from->qpn = sl_htonl(remote->qpn);
	for (uint32_t i = 0; i < SL_STREAMS_MAX; i++)
		from->stream[i].span = 0;
	__atomic_store_n(&from->check, check, __ATOMIC_SEQ_CST);
}

const struct sl_arrivals *rb_roce_xdp_arrivals(struct rb_transport *base, uint8_t node)
{
	return arrivals_of(of(base), node);
}

struct sl_arrival_port *rb_roce_xdp_ports(struct rb_transport *base)
{
	return rb_fabric_xdp_ports(of(base)->device->xdp);
}

const struct sl_passed *rb_roce_xdp_taken(struct rb_transport *base)
{
	return rb_fabric_xdp_taken(of(base)->device->xdp);
}

struct sl_samples *rb_roce_xdp_samples(struct rb_transport *base)
{
	struct sl_samples *samples = rb_fabric_xdp_samples(of(base)->device->xdp);

	return samples ? &samples[of(base)->worker] : NULL;
}

static int device_open(const struct rb_roce_xdp_config *config, const struct rb_netdev *netdev,
		       struct device **out)
{
	struct device *device = calloc(1, sizeof(*device));
	const struct rb_fabric_xdp_config xdp = {
		.ifindex = netdev->ifindex,
		.address = config->address,
		.queues = netdev->queues,
		.workers = config->workers ? config->workers : 1,
		.first_qpn = config->qpn,
		.express = config->express,
		.node = config->node,
		.sample = config->sample,
		.qkey = config->qkey,
		.pin = config->pin,
	};
	int err;

	if (!device)
		return -ENOMEM;
	device->workers = xdp.workers;
	device->ifindex = netdev->ifindex;
	device->queues = calloc(netdev->queues, sizeof(*device->queues));
	if (!device->queues && netdev->queues)
		err = -ENOMEM;
	else
		err = netdev->queues < device->workers ? -ENOSPC
						       : rb_fabric_xdp_open(&xdp, &device->xdp);
	for (uint32_t i = 0; i < netdev->queues && !err; i++)
		err = open_queue(device, config, i);
	if (err)
		device_close(device);
	else
		*out = device;
	return err;
}

/* Open a worker's transport, one more user of the device. */
static int transport_open(const struct rb_roce_xdp_config *config, const struct rb_netdev *netdev,
			  struct device *device, uint32_t worker, struct rb_transport **out)
{
	struct roce_transport *t = calloc(1, sizeof(*t));
	struct epoll_event event = { .events = EPOLLIN };

	if (!t)
		return -ENOMEM;
	device->users++;
	*out = &t->base;
	t->base = (struct rb_transport){
		.ops = &roce_ops,
		.chunks = device->workers > 1 ? config->worker_chunks[worker] : config->chunks,
		.pieces_max = RB_PIECES_MAX,
	};
	t->device = device;
	t->worker = worker;
	t->self = (struct rb_roce_end){ .qpn = config->qpn + worker, .qkey = config->qkey };
	memcpy(t->self.ip, config->address, sizeof(t->self.ip));
	memcpy(t->self.mac, netdev->mac, sizeof(t->self.mac));
	t->message_max_bytes = largest_message(config, netdev->mtu_bytes);
	t->roce = config->roce;
	t->roce.payload_max_bytes = (uint16_t)t->message_max_bytes;
	t->roce.express = config->express;
	if (config->express) {
		t->arrivals = rb_fabric_xdp_arrivals(device->xdp);
		t->base.chunks->on_free = on_free;
		t->base.chunks->on_free_context = t;
	}
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll_fd < 0)
		return -errno;
	for (uint32_t i = 0; i < device->n_queues; i++)
		if (epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, rb_xsk_fd(device->queues[i].xsk, worker),
			      &event))
			return -errno;
	return 0;
}

int rb_roce_xdp_open(const struct rb_roce_xdp_config *config, struct rb_transport **out)
{
	uint32_t workers = config->workers ? config->workers : 1;
	struct device *device = NULL;
	struct rb_netdev netdev;
	int err;

	for (uint32_t w = 0; w < workers; w++)
		out[w] = NULL;
	if (config->qpn < 2 || config->qpn + workers > 0xffffff ||
	    workers > RB_ROCE_XDP_WORKERS_MAX)
		return -EINVAL;
	err = rb_netdev_query(config->netdev, &netdev);
	if (!err && largest_message(config, netdev.mtu_bytes) == 0)
		err = -EMSGSIZE;
	if (!err)
		err = device_open(config, &netdev, &device);
	for (uint32_t w = 0; w < workers && !err; w++)
		err = transport_open(config, &netdev, device, w, &out[w]);
	if (!err)
		return 0;
	if (device && device->users == 0)
		device_close(device);
	for (uint32_t w = 0; w < workers; w++) {
		if (out[w])
			roce_close(out[w]);
		out[w] = NULL;
	}
	return err;
}
