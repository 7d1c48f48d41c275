/* SPDX-License-Identifier: BSD-2-Clause */
/* The only file that knows libxdp's xsk.h. */
#include "rdma-bridge/port/xsk.h"
#include "user/lib/clock.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <xdp/xsk.h>

#define BIND_RETRY_NS 10000000L
#define SEND_BATCH    32 /* frames the kernel sends per call in copy mode */

struct ring {
	struct xsk_socket *socket; /* owned */
	struct xsk_ring_cons receive;
};

struct rb_xsk_queue {
	struct xsk_umem *umem; /* owned */
	struct xsk_ring_prod fill;
	struct xsk_ring_cons completion;
	struct xsk_ring_prod send;
	uint32_t unsent;      /* in the transmit ring since the last kick that took all */
	uint32_t outstanding; /* sent and not completed */
	bool zero_copy;
	uint32_t n_rings;
	struct ring *rings; /* owned */
};

/* Create the UMEM and its sockets. libxdp wants each ring zeroed first, and calloc did that. */
static int try_open(const struct rb_xsk_config *config, struct rb_xsk_queue *queue)
{
	const struct xsk_umem_config umem_config = {
		.fill_size = config->fill_size,
		.comp_size = config->send_size,
		.frame_size = config->chunk_bytes,
	};
	/* Neither XDP_COPY nor XDP_ZEROCOPY: the kernel takes zero-copy where the driver has it. */
	const struct xsk_socket_config socket_config = {
		.rx_size = config->receive_size,
		.tx_size = config->send_size,
		.libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD,
		.bind_flags = XDP_USE_NEED_WAKEUP,
	};
	int err;

	err = xsk_umem__create(&queue->umem, config->area, config->area_bytes, &queue->fill,
			       &queue->completion, &umem_config);
	for (uint32_t i = 0; i < config->sockets && !err; i++)
		err = xsk_socket__create_shared(
			&queue->rings[i].socket, config->netdev, config->queue, queue->umem,
			&queue->rings[i].receive, i == 0 ? &queue->send : NULL, &queue->fill,
			&queue->completion, &socket_config);
	return err;
}

static void tear_down(struct rb_xsk_queue *queue)
{
	/* The first socket holds the UMEM's descriptor, so it goes last. */
	for (uint32_t i = queue->n_rings; i-- > 0;)
		if (queue->rings[i].socket)
			xsk_socket__delete(queue->rings[i].socket);
	if (queue->umem)
		xsk_umem__delete(queue->umem);
}

static void forget(struct rb_xsk_queue *queue)
{
	struct ring *rings = queue->rings;
	uint32_t n = queue->n_rings;

	tear_down(queue);
	memset(rings, 0, n * sizeof(*rings));
	*queue = (struct rb_xsk_queue){ .rings = rings, .n_rings = n };
}

int rb_xsk_open(const struct rb_xsk_config *config, struct rb_xsk_queue **out)
{
	uint64_t deadline_ns = sl_now_ns() + config->patience_ns;
	const struct timespec pause = { .tv_nsec = BIND_RETRY_NS };
	struct xdp_options options = { 0 };
	socklen_t len = sizeof(options);
	struct rb_xsk_queue *queue;
	int err;

	*out = NULL;
	if (config->sockets == 0 || config->sockets > RB_XSK_SOCKETS_MAX)
		return -EINVAL;
	if (if_nametoindex(config->netdev) == 0)
		return -ENODEV;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	queue->n_rings = config->sockets;
	queue->rings = calloc(config->sockets, sizeof(*queue->rings));
	if (!queue->rings) {
		free(queue);
		return -ENOMEM;
	}
	/* The kernel frees a queue some time after its last user closed it, so busy may pass. */
	while ((err = try_open(config, queue)) == -EBUSY && sl_now_ns() < deadline_ns) {
		forget(queue);
		nanosleep(&pause, NULL);
	}
	if (err) {
		rb_xsk_close(queue);
		return err;
	}
	if (getsockopt(rb_xsk_fd(queue, 0), SOL_XDP, XDP_OPTIONS, &options, &len) == 0)
		queue->zero_copy = options.flags & XDP_OPTIONS_ZEROCOPY;
	*out = queue;
	return 0;
}

void rb_xsk_close(struct rb_xsk_queue *queue)
{
	if (!queue)
		return;
	tear_down(queue);
	free(queue->rings);
	free(queue);
}

/* Nobody can bind a queue of which the kernel has not let go. */
int rb_xsk_wait_closed(uint32_t ifindex, uint32_t queue, uint64_t patience_ns)
{
	const uint32_t page_bytes = (uint32_t)sysconf(_SC_PAGESIZE);
	struct rb_xsk_queue *probe = NULL;
	char netdev[IF_NAMESIZE];
	struct rb_xsk_config config = {
		.netdev = netdev,
		.queue = queue,
		.area_bytes = page_bytes,
		.chunk_bytes = page_bytes < 4096 ? page_bytes : 4096,
		.sockets = 1,
		.fill_size = 2,
		.receive_size = 2,
		.send_size = 2,
		.patience_ns = patience_ns,
	};
	int err;

	if (!if_indextoname(ifindex, netdev))
		return -ENODEV;
	config.area = aligned_alloc(page_bytes, page_bytes);
	if (!config.area)
		return -ENOMEM;
	err = rb_xsk_open(&config, &probe);
	rb_xsk_close(probe);
	free(config.area);
	return err;
}

bool rb_xsk_is_zero_copy(const struct rb_xsk_queue *queue)
{
	return queue->zero_copy;
}

int rb_xsk_fd(const struct rb_xsk_queue *queue, uint32_t socket)
{
	return xsk_socket__fd(queue->rings[socket].socket);
}

int rb_xsk_publish(const struct rb_xsk_queue *queue, uint32_t socket, int map_fd, uint32_t key)
{
	int fd = rb_xsk_fd(queue, socket);

	return bpf_map_update_elem(map_fd, &key, &fd, BPF_ANY) ? -errno : 0;
}

void rb_xsk_drops(const struct rb_xsk_queue *queue, uint32_t socket, struct rb_xsk_drops *out)
{
	struct xdp_statistics s = { 0 };
	socklen_t len = sizeof(s);

	getsockopt(rb_xsk_fd(queue, socket), SOL_XDP, XDP_STATISTICS, &s, &len);
	/*
	 * rx_dropped counts frames. rx_fill_ring_empty_descs would count attempts of all sockets of
	 * the queue.
	 */
	*out = (struct rb_xsk_drops){ .no_chunk = s.rx_dropped, .ring_full = s.rx_ring_full };
}

uint32_t rb_xsk_filled(struct rb_xsk_queue *queue)
{
	return queue->fill.size - xsk_prod_nb_free(&queue->fill, queue->fill.size);
}

uint32_t rb_xsk_fill(struct rb_xsk_queue *queue, const uint64_t *offsets, uint32_t n)
{
	uint32_t room = xsk_prod_nb_free(&queue->fill, n), at;

	if (n > room)
		n = room;
	if (n == 0 || xsk_ring_prod__reserve(&queue->fill, n, &at) != n)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		*xsk_ring_prod__fill_addr(&queue->fill, at + i) = offsets[i];
	xsk_ring_prod__submit(&queue->fill, n);
	if (xsk_ring_prod__needs_wakeup(&queue->fill))
		recvfrom(rb_xsk_fd(queue, 0), NULL, 0, MSG_DONTWAIT, NULL, NULL);
	return n;
}

bool rb_xsk_waits(struct rb_xsk_queue *queue, uint32_t socket)
{
	return xsk_cons_nb_avail(&queue->rings[socket].receive, 1) > 0;
}

uint32_t rb_xsk_receive(struct rb_xsk_queue *queue, uint32_t socket, struct rb_frame *out,
			uint32_t max)
{
	struct xsk_ring_cons *ring = &queue->rings[socket].receive;
	uint32_t at, n = xsk_ring_cons__peek(ring, max, &at);

	for (uint32_t i = 0; i < n; i++) {
		const struct xdp_desc *desc = xsk_ring_cons__rx_desc(ring, at + i);

		out[i] = (struct rb_frame){ .offset = desc->addr, .len_bytes = desc->len };
	}
	if (n)
		xsk_ring_cons__release(ring, n);
	return n;
}

uint32_t rb_xsk_send_room(struct rb_xsk_queue *queue)
{
	/* Every frame needs a place in the completion ring, too, which has the same size. */
	uint32_t room = xsk_prod_nb_free(&queue->send, queue->send.size);
	uint32_t unreaped = queue->send.size - queue->outstanding;

	return room < unreaped ? room : unreaped;
}

uint32_t rb_xsk_send(struct rb_xsk_queue *queue, const struct rb_frame *frames, uint32_t n)
{
	uint32_t room = rb_xsk_send_room(queue), at;

	if (n > room)
		n = room;
	if (n == 0 || xsk_ring_prod__reserve(&queue->send, n, &at) != n)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		struct xdp_desc *desc = xsk_ring_prod__tx_desc(&queue->send, at + i);

		*desc = (struct xdp_desc){ .addr = frames[i].offset, .len = frames[i].len_bytes };
	}
	xsk_ring_prod__submit(&queue->send, n);
	queue->unsent += n;
	queue->outstanding += n;
	return n;
}

/*
 * In copy mode one call sends SEND_BATCH frames and returns EAGAIN if more wait. The ring's
 * consumer index tells how far the kernel came.
 */
int rb_xsk_kick(struct rb_xsk_queue *queue)
{
	uint32_t calls = queue->unsent / SEND_BATCH + 1;

	if (queue->unsent == 0)
		return 0;
	if (!xsk_ring_prod__needs_wakeup(&queue->send)) {
		queue->unsent = 0;
		return 0;
	}
	for (uint32_t i = 0; i < calls; i++) {
		ssize_t n = sendto(rb_xsk_fd(queue, 0), NULL, 0, MSG_DONTWAIT, NULL, 0);

		if (n < 0 && errno != EAGAIN && errno != EBUSY && errno != ENOBUFS)
			return -errno;
		queue->unsent = *queue->send.producer -
				__atomic_load_n(queue->send.consumer, __ATOMIC_ACQUIRE);
		if (queue->unsent == 0)
			return 0;
	}
	return -EAGAIN;
}

uint32_t rb_xsk_complete(struct rb_xsk_queue *queue, uint64_t *offsets, uint32_t max)
{
	uint32_t at, n = xsk_ring_cons__peek(&queue->completion, max, &at);

	for (uint32_t i = 0; i < n; i++)
		offsets[i] = *xsk_ring_cons__comp_addr(&queue->completion, at + i);
	if (n)
		xsk_ring_cons__release(&queue->completion, n);
	queue->outstanding -= n;
	return n;
}

uint32_t rb_xsk_outstanding(const struct rb_xsk_queue *queue)
{
	return queue->outstanding;
}
