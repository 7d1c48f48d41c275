/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/port/edge.h"

#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>

#include "rdma-bridge/port/netdev.h"
#include "rdma-bridge/port/xsk.h"
#include "rdma-bridge/queue/handback.h"
#include "rdma-bridge/queue/ring_numbers.h"
#include "user/lib/errand.h"

#define BATCH	  64
#define SEND_SIZE 1024
#define CLOSE_NS  10000000000ULL /* how long to wait for a zero-copy device to let go */

/* A worker that reads rings of this port. */
struct edge_reader {
	struct rb_chunks *chunks; /* borrowed */
	/* To the owner: base of a chunk. The owner itself has none. */
	struct rb_handback back;
	uint32_t turn; /* the queue that is read first */
	uint64_t strangers, strangers_counted;
};

struct edge_queue {
	struct rb_xsk_queue *xsk; /* owned */
};

struct rb_edge {
	struct rb_tx tx;
	struct rb_inject *inject; /* owned; NULL: AF_XDP alone transmits */
	struct rb_chunks *chunks;
	uint32_t ifindex;
	uint32_t number;   /* of the port on its node */
	uint32_t n_queues; /* of these it has sockets and uses them */
	uint32_t meta_queues, meta_voqs, fill_target;
	int xsk_fd;
	bool zero_copy;
	struct rb_edge_config config; /* while it is being opened */
	char netdev[IF_NAMESIZE];
	struct sl_errand opening, closing;
	int err; /* of opening */
	/* Nothing uses the sockets of n_closing queues, which are being closed. */
	bool withdrawn;
	uint32_t n_closing;
	uint32_t workers, owner;
	struct edge_reader readers[RB_EDGE_WORKERS_MAX]; /* by worker */
	uint64_t *filled; /* owned: a bit for each chunk, set while a ring of the kernel has it */
	/*
	 * Owned: for each chunk, the number of its frames in the transmit ring. A number and not a
	 * list, because a completion names the chunk but not always the frame: Linux 6.18 loses
	 * the lowest bit of the offset.
	 */
	uint16_t *sending;
	struct edge_queue *queues;     /* owned */
	struct rb_ring_numbers *rings; /* owned: queue * workers + worker */
};

static uint64_t *filled_word(struct rb_edge *edge, uint64_t offset, uint64_t *bit)
{
	uint64_t i = (offset - edge->chunks->first_bytes) >> edge->chunks->shift;

	*bit = 1ULL << i % 64;
	return &edge->filled[i / 64];
}

static uint16_t *sending_of(struct rb_edge *edge, uint64_t offset)
{
	return &edge->sending[(offset - edge->chunks->first_bytes) >> edge->chunks->shift];
}

static struct rb_ring_numbers *ring_of(struct rb_edge *edge, uint32_t queue, uint32_t worker)
{
	return &edge->rings[queue * edge->workers + worker];
}

static uint32_t key_of(const struct rb_edge *edge, uint32_t queue, uint32_t worker)
{
	return sl_ring_key(edge->number, queue, worker, edge->meta_queues, edge->workers);
}

/* --- Receiving --- */

/* Copy the metadata before a frame out. False if our XDP program did not write it. */
static bool read_meta(const struct rb_edge *edge, const uint8_t *frame, struct sl_frame_meta *meta)
{
	memcpy(meta, frame - sizeof(*meta), sizeof(*meta));
	return meta->magic == SL_FRAME_META_MAGIC && meta->voq < edge->meta_voqs;
}

/* Where a frame goes after its metadata has been read: the chunk stays, or the frame is copied. */
static uint64_t own(struct rb_edge *edge, uint32_t worker, const struct rb_frame *frame)
{
	struct rb_chunks *chunks = edge->readers[worker].chunks;
	uint64_t bit, *word, to;

	if (worker == edge->owner) {
		word = filled_word(edge, frame->offset, &bit);
		*word &= ~bit;
		rb_chunk_move(chunks, frame->offset, RB_OWNER_FILL, RB_OWNER_INGRESS);
		return frame->offset;
	}
	to = rb_chunk_take(chunks, RB_OWNER_INGRESS);
	memcpy(rb_chunk_data(chunks, to), rb_chunk_data(chunks, frame->offset), frame->len_bytes);
	return to;
}

static uint32_t receive_queue(struct rb_edge *edge, uint32_t queue, uint32_t worker,
			      const struct rb_ring_accounts *accounts, struct rb_frame *out,
			      uint32_t max)
{
	struct rb_ring_numbers *ring = ring_of(edge, queue, worker);
	struct edge_reader *reader = &edge->readers[worker];
	uint64_t back[BATCH];
	uint32_t n, taken = 0;

	if (worker != edge->owner && max > reader->chunks->n_free)
		max = reader->chunks->n_free;
	n = rb_xsk_receive(edge->queues[queue].xsk, worker, out, max < BATCH ? max : BATCH);
	for (uint32_t i = 0; i < n; i++) {
		struct rb_frame frame = out[i];
		struct sl_frame_meta meta;
		bool ours = read_meta(edge, rb_chunk_data(reader->chunks, frame.offset), &meta);

		back[i] = rb_chunk_base(reader->chunks, frame.offset);
		if (!ours) {
			reader->strangers++;
			if (worker == edge->owner)
				rb_chunk_release(reader->chunks, own(edge, worker, &frame),
						 RB_OWNER_INGRESS);
			continue;
		}
		rb_ring_came(ring, meta.number, meta.voq, frame.len_bytes, accounts);
		frame.offset = own(edge, worker, &frame);
		frame.arrival_ns = meta.arrival_ns;
		frame.ingress_port = meta.ingress_port;
		frame.voq = meta.voq;
		out[taken++] = frame;
	}
	if (n > 0)
		rb_ring_publish(ring);
	if (n > 0 && worker != edge->owner)
		rb_handback_put(&reader->back, back, n);
	return taken;
}

uint32_t rb_edge_receive(struct rb_edge *edge, uint32_t worker, struct sl_backlog *backlog,
			 struct sl_counter *counters, struct rb_frame *out, uint32_t max)
{
	const struct rb_ring_accounts accounts = { backlog, edge->meta_voqs, counters };
	struct edge_reader *reader = &edge->readers[worker];
	uint32_t taken = 0;

	for (uint32_t i = 0; i < edge->n_queues && taken < max; i++) {
		uint32_t queue = (reader->turn + i) % edge->n_queues;

		taken += receive_queue(edge, queue, worker, &accounts, out + taken, max - taken);
	}
	if (edge->n_queues)
		reader->turn = (reader->turn + 1) % edge->n_queues;
	return taken;
}

/* Free the chunks that other workers handed back. */
static void take_back(struct rb_edge *edge)
{
	uint64_t entries[BATCH];
	uint32_t n;

	for (uint32_t w = 0; w < edge->workers; w++)
		while (w != edge->owner &&
		       (n = rb_handback_take(&edge->readers[w].back, entries, BATCH)) > 0)
			for (uint32_t i = 0; i < n; i++) {
				uint64_t bit, *word = filled_word(edge, entries[i], &bit);

				*word &= ~bit;
				rb_chunk_release(edge->chunks, entries[i], RB_OWNER_FILL);
			}
}

/* Chunks to add to a queue's fill ring. */
static uint32_t missing(const struct rb_edge *edge, struct edge_queue *q)
{
	uint32_t filled = rb_xsk_filled(q->xsk);

	return filled < edge->fill_target ? edge->fill_target - filled : 0;
}

void rb_edge_refill(struct rb_edge *edge)
{
	uint64_t offsets[BATCH];

	if (edge->workers > 1)
		take_back(edge);
	for (uint32_t i = 0; i < edge->n_queues; i++) {
		struct edge_queue *q = &edge->queues[i];

		for (uint32_t want = missing(edge, q); want > 0;) {
			uint32_t n = 0, taken;

			while (n < BATCH && n < want) {
				offsets[n] = rb_chunk_take(edge->chunks, RB_OWNER_FILL);
				if (offsets[n] == RB_CHUNK_NONE)
					break;
				n++;
			}
			taken = rb_xsk_fill(q->xsk, offsets, n);
			want -= taken;
			for (uint32_t k = 0; k < taken; k++) {
				uint64_t bit, *word = filled_word(edge, offsets[k], &bit);

				*word |= bit;
			}
			for (uint32_t k = taken; k < n; k++)
				rb_chunk_release(edge->chunks, offsets[k], RB_OWNER_FILL);
			if (taken < BATCH)
				break;
		}
	}
}

void rb_edge_settle(struct rb_edge *edge, uint32_t worker, struct sl_backlog *backlog,
		    struct sl_counter *counters, uint64_t now_ns)
{
	const struct rb_ring_accounts accounts = { backlog, edge->meta_voqs, counters };
	struct edge_reader *reader = &edge->readers[worker];

	rb_count(counters, RB_COUNT_DROP_NO_META, reader->strangers - reader->strangers_counted, 0);
	reader->strangers_counted = reader->strangers;
	for (uint32_t queue = 0; queue < edge->n_queues; queue++) {
		struct rb_ring_numbers *ring = ring_of(edge, queue, worker);
		struct rb_xsk_queue *xsk = edge->queues[queue].xsk;
		struct rb_xsk_drops drops;

		if (!rb_ring_misses(ring) || rb_xsk_waits(xsk, worker))
			continue;
		rb_xsk_drops(xsk, worker, &drops);
		rb_ring_settle(ring, drops.no_chunk + drops.ring_full, now_ns, &accounts);
	}
}

void rb_edge_share(struct rb_edge *edge, uint32_t worker)
{
	for (uint32_t queue = 0; queue < edge->n_queues; queue++)
		__atomic_store_n(&ring_of(edge, queue, worker)->shared->share_frames,
				 edge->readers[worker].chunks->n_free, __ATOMIC_RELAXED);
}

/* --- Transmitting --- */

static struct rb_edge *edge_of(struct rb_tx *tx)
{
	return (struct rb_edge *)tx;
}

static void tx_close(struct rb_tx *tx)
{
	(void)tx;
}

static uint32_t tx_room(struct rb_tx *tx)
{
	struct rb_edge *edge = edge_of(tx);

	return edge->withdrawn ? 0 : rb_xsk_send_room(edge->queues[0].xsk);
}

static uint32_t tx_put(struct rb_tx *tx, const struct rb_frame *frames, uint32_t n)
{
	struct rb_edge *edge = edge_of(tx);
	const uint32_t room = tx_room(tx);

	if (room == 0) /* maybe withdrawn, and then there is no socket */
		return 0;
	n = rb_xsk_send(edge->queues[0].xsk, frames, n < room ? n : room);
	for (uint32_t i = 0; i < n; i++)
		++*sending_of(edge, frames[i].offset);
	return n;
}

static int tx_flush(struct rb_tx *tx)
{
	return edge_of(tx)->withdrawn ? 0 : rb_xsk_kick(edge_of(tx)->queues[0].xsk);
}

/* After the ring is closed: give back the frames that were in it, by their chunks. */
static uint32_t reap_shut(struct rb_edge *edge, uint64_t *offsets, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < edge->chunks->n && n < max; i++)
		for (; edge->sending[i] > 0 && n < max; edge->sending[i]--)
			offsets[n++] =
				edge->chunks->first_bytes + ((uint64_t)i << edge->chunks->shift);
	return n;
}

static uint32_t tx_reap(struct rb_tx *tx, uint64_t *offsets, uint32_t max)
{
	struct rb_edge *edge = edge_of(tx);
	uint32_t n;

	/* Until the sockets are closed, the kernel may still read these frames. */
	if (edge->withdrawn)
		return rb_edge_is_withdrawn(edge) ? reap_shut(edge, offsets, max) : 0;
	n = rb_xsk_complete(edge->queues[0].xsk, offsets, max);
	for (uint32_t i = 0; i < n; i++)
		--*sending_of(edge, offsets[i]);
	return n;
}

static const struct rb_tx_ops edge_tx_ops = {
	.name = "af-xdp",
	.close = tx_close,
	.room = tx_room,
	.put = tx_put,
	.flush = tx_flush,
	.reap = tx_reap,
};

/* --- Opening and closing --- */

struct rb_tx *rb_edge_tx(struct rb_edge *edge)
{
	return edge->inject ? rb_inject_tx(edge->inject) : &edge->tx;
}

int rb_edge_fd(const struct rb_edge *edge, uint32_t queue, uint32_t worker)
{
	return rb_xsk_fd(edge->queues[queue].xsk, worker);
}

uint32_t rb_edge_queues(const struct rb_edge *edge)
{
	return edge->n_queues;
}

uint32_t rb_edge_ifindex(const struct rb_edge *edge)
{
	return edge->ifindex;
}

bool rb_edge_is_zero_copy(const struct rb_edge *edge)
{
	return edge->zero_copy;
}

uint64_t rb_edge_strangers(const struct rb_edge *edge)
{
	uint64_t strangers = 0;

	for (uint32_t w = 0; w < edge->workers; w++)
		strangers += edge->readers[w].strangers;
	return strangers;
}

static void unpublish(struct rb_edge *edge)
{
	for (uint32_t q = 0; q < edge->n_queues; q++)
		for (uint32_t w = 0; w < edge->workers; w++) {
			uint32_t key = key_of(edge, q, w);

			bpf_map_delete_elem(edge->xsk_fd, &key);
		}
}

static int open_queue(struct rb_edge *edge, uint32_t queue)
{
	const struct rb_edge_config *config = &edge->config;
	const struct rb_xsk_config xsk = {
		.netdev = edge->netdev,
		.queue = queue,
		.area = config->chunks->area,
		.area_bytes = config->area_bytes,
		.chunk_bytes = rb_chunk_bytes(config->chunks),
		.sockets = edge->workers,
		.fill_size = 2 * config->fill_target,
		.receive_size = SL_RING_FRAMES,
		.send_size = SEND_SIZE,
	};

	/* No socket is published here yet, so XDP numbers no frame. */
	for (uint32_t w = 0; w < edge->workers; w++)
		rb_ring_begin(ring_of(edge, queue, w), &config->rings[key_of(edge, queue, w)]);
	return rb_xsk_open(&xsk, &edge->queues[queue].xsk);
}

static int open_readers(struct rb_edge *edge, uint32_t queues)
{
	int err = 0;

	for (uint32_t w = 0; w < edge->workers && !err; w++)
		if (w != edge->owner)
			err = rb_handback_init(&edge->readers[w].back,
					       queues * (edge->fill_target + SL_RING_FRAMES),
					       edge->config.wake_fd);
	return err;
}

static int open_queues(struct rb_edge *edge)
{
	const struct rb_edge_config *config = &edge->config;
	struct rb_netdev netdev;
	int err = rb_netdev_query(edge->netdev, &netdev);

	if (err)
		return err;
	if (netdev.queues > edge->meta_queues)
		netdev.queues = edge->meta_queues;
	if (edge->number == 0 || edge->number > config->meta_ports || netdev.queues == 0)
		return -EINVAL;
	edge->ifindex = netdev.ifindex;
	edge->queues = calloc(netdev.queues, sizeof(*edge->queues));
	edge->rings = calloc((size_t)netdev.queues * edge->workers, sizeof(*edge->rings));
	edge->filled = calloc((config->chunks->n + 63) / 64, sizeof(*edge->filled));
	edge->sending = calloc(config->chunks->n, sizeof(*edge->sending));
	if (!edge->queues || !edge->rings || !edge->filled || !edge->sending)
		return -ENOMEM;
	err = open_readers(edge, netdev.queues);
	for (uint32_t i = 0; i < netdev.queues && !err; i++) {
		err = open_queue(edge, i);
		edge->n_queues += !err;
	}
	if (!err && config->injector)
		err = rb_inject_open(config->injector, netdev.ifindex, &edge->tx, config->chunks,
				     &edge->inject);
	if (!err)
		edge->zero_copy = rb_xsk_is_zero_copy(edge->queues[0].xsk);
	/* Here and not in rb_edge_shut, for which workers halt. */
	for (uint32_t i = 0; err && i < edge->n_queues; i++)
		rb_xsk_close(edge->queues[i].xsk);
	if (err)
		edge->n_queues = 0;
	return err;
}

static void open_sockets(void *context)
{
	struct rb_edge *edge = context;

	edge->err = open_queues(edge);
}

int rb_edge_begin(const struct rb_edge_config *config, struct rb_edge **out)
{
	struct rb_edge *edge;

	*out = NULL;
	if (config->workers > RB_EDGE_WORKERS_MAX)
		return -EINVAL;
	*out = edge = calloc(1, sizeof(*edge));
	if (!edge)
		return -ENOMEM;
	*edge = (struct rb_edge){
		.tx = { .ops = &edge_tx_ops },
		.chunks = config->chunks,
		.number = config->system_port & 0xff,
		.meta_queues = config->meta_queues,
		.meta_voqs = config->meta_voqs,
		.fill_target = config->fill_target,
		.xsk_fd = config->xsk_fd,
		.workers = config->workers ? config->workers : 1,
		.owner = config->owner,
		.config = *config,
	};
	strncpy(edge->netdev, config->netdev, sizeof(edge->netdev) - 1);
	edge->config.netdev = edge->netdev; /* no more what the caller lent */
	edge->config.reader_chunks = NULL;
	for (uint32_t w = 0; w < edge->workers; w++)
		edge->readers[w].chunks =
			config->workers ? config->reader_chunks[w] : config->chunks;
	sl_errand_begin(&edge->opening, open_sockets, edge);
	return 0;
}

bool rb_edge_has_opened(const struct rb_edge *edge, int *err)
{
	if (!sl_errand_is_done(&edge->opening))
		return false;
	*err = edge->err;
	return true;
}

int rb_edge_publish(struct rb_edge *edge)
{
	int err = 0;

	sl_errand_end(&edge->opening);
	rb_edge_refill(edge);
	for (uint32_t w = 0; w < edge->workers; w++)
		rb_edge_share(edge, w);
	for (uint32_t q = 0; q < edge->n_queues; q++)
		for (uint32_t w = 0; w < edge->workers && !err; w++)
			err = rb_xsk_publish(edge->queues[q].xsk, w, edge->xsk_fd,
					     key_of(edge, q, w));
	return err;
}

int rb_edge_open(const struct rb_edge_config *config, struct rb_edge **out)
{
	struct rb_edge *edge;
	int err = rb_edge_begin(config, &edge);

	*out = NULL;
	if (err)
		return err;
	sl_errand_end(&edge->opening);
	err = edge->err ? edge->err : rb_edge_publish(edge);
	if (err) {
		rb_edge_shut(edge, NULL, NULL);
		rb_edge_close(edge);
	} else {
		*out = edge;
	}
	return err;
}

static void close_sockets(void *context)
{
	struct rb_edge *edge = context;

	for (uint32_t i = 0; i < edge->n_closing; i++)
		rb_xsk_close(edge->queues[i].xsk);
	/* Else a device could write into chunks that hold something new. */
	for (uint32_t i = 0; edge->zero_copy && i < edge->n_closing; i++)
		if (rb_xsk_wait_closed(edge->ifindex, i, CLOSE_NS) == -ENODEV)
			break;
}

void rb_edge_withdraw(struct rb_edge *edge)
{
	if (edge->withdrawn)
		return;
	sl_errand_end(&edge->opening);
	unpublish(edge);
	rb_inject_shut(edge->inject);
	edge->withdrawn = true;
	edge->n_closing = edge->n_queues;
	edge->n_queues = 0;
	sl_errand_begin(&edge->closing, close_sockets, edge);
}

bool rb_edge_is_withdrawn(const struct rb_edge *edge)
{
	return sl_errand_is_done(&edge->closing);
}

/*
 * Closing a socket waits until no XDP program uses it any more. So the numbers are final then, and
 * all that have not been taken are lost, whether the frames lie in a ring or nowhere.
 */
void rb_edge_shut(struct rb_edge *edge, struct sl_backlog *backlog, struct sl_counter *counters)
{
	const struct rb_ring_accounts accounts = { backlog, edge->meta_voqs, counters };

	rb_edge_withdraw(edge);
	sl_errand_end(&edge->closing);
	take_back(edge);
	for (uint32_t i = 0; backlog && i < edge->n_closing * edge->workers; i++)
		rb_ring_end(&edge->rings[i], &accounts);
	for (uint32_t w = 0; backlog && w < edge->workers; w++)
		rb_count(counters, RB_COUNT_DROP_NO_META,
			 edge->readers[w].strangers - edge->readers[w].strangers_counted, 0);
	/* With the sockets closed, the kernel does not use the chunks of the rings any more. */
	for (uint32_t i = 0; edge->filled && i < edge->chunks->n; i++) {
		uint64_t offset = edge->chunks->first_bytes + ((uint64_t)i << edge->chunks->shift);

		if (edge->filled[i / 64] >> i % 64 & 1)
			rb_chunk_release(edge->chunks, offset, RB_OWNER_FILL);
	}
}

void rb_edge_close(struct rb_edge *edge)
{
	if (!edge)
		return;
	rb_inject_close(edge->inject);
	for (uint32_t w = 0; w < edge->workers; w++)
		rb_handback_fini(&edge->readers[w].back);
	free(edge->sending);
	free(edge->filled);
	free(edge->rings);
	free(edge->queues);
	free(edge);
}
