/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/port/edge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <bpf/bpf.h>

#include "rdma-bridge/port/netdev.h"
#include "rdma-bridge/port/xsk.h"
#include "rdma-bridge/queue/handback.h"

#define BATCH	   64
#define QUEUES_MAX 64
#define SEND_SIZE  1024

/* A worker that reads rings of this port. */
struct edge_reader {
	struct rb_chunks *chunks; /* borrowed */
	/* To the owner: base of a chunk, plus its queue. The owner itself has none. */
	struct rb_handback back;
	uint64_t strangers, strangers_counted;
};

struct edge_ring {
	struct rb_input input; /* what links the ring to its VOQ */
	struct rb_edge *edge;
	struct edge_reader *reader;
	uint32_t queue, socket;
	uint32_t voq;
	uint64_t settled; /* frames that the kernel dropped and that are off the backlog */
};

struct edge_queue {
	struct rb_xsk_queue *xsk; /* owned */
	uint32_t posted;	  /* chunks in the fill ring and in the rings of VOQs */
};

struct rb_edge {
	struct rb_tx tx;
	struct rb_inject *inject; /* owned; NULL: AF_XDP alone transmits */
	struct rb_chunks *chunks;
	uint32_t number; /* of the port on its node */
	uint32_t n_queues, n_voqs, meta_queues, meta_voqs, fill_target, held_max;
	int xsk_fd;
	bool shut;
	uint32_t workers, owner;
	struct edge_reader readers[RB_EDGE_WORKERS_MAX]; /* by worker */
	uint64_t *filled; /* owned: a bit for each chunk, set while a ring of the kernel has it */
	/*
	 * Owned: for each chunk, the number of its frames in the transmit ring. A number and not a
	 * list, because a completion names the chunk but not always the frame: Linux 6.18 loses
	 * the lowest bit of the offset.
	 */
	uint16_t *sending;
	struct edge_queue queues[QUEUES_MAX];
	struct edge_ring *rings; /* owned: queue * n_voqs + i */
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

static uint32_t key_of(const struct rb_edge *edge, const struct edge_ring *ring)
{
	return sl_xsk_key(edge->number, ring->queue, ring->voq, edge->meta_queues, edge->meta_voqs);
}

/* --- Receiving --- */

/* Copy the metadata before a frame out. False if our XDP program did not write it. */
static bool read_meta(const struct edge_ring *ring, const uint8_t *frame,
		      struct sl_frame_meta *meta)
{
	memcpy(meta, frame - sizeof(*meta), sizeof(*meta));
	return meta->magic == SL_FRAME_META_MAGIC && meta->voq == ring->voq;
}

static uint32_t edge_receive(void *context, struct rb_ingress_frame *out, uint32_t max)
{
	struct edge_ring *ring = context;
	struct rb_edge *edge = ring->edge;
	struct edge_queue *q = &edge->queues[ring->queue];
	struct rb_chunk_frame frames[BATCH];
	uint32_t n = rb_xsk_receive(q->xsk, ring->socket, frames, max < BATCH ? max : BATCH);
	uint32_t taken = 0;

	q->posted -= n;
	for (uint32_t i = 0; i < n; i++) {
		struct sl_frame_meta meta;
		uint64_t bit, *word = filled_word(edge, frames[i].offset, &bit);

		*word &= ~bit;
		rb_chunk_move(edge->chunks, frames[i].offset, RB_OWNER_FILL, RB_OWNER_INGRESS);
		if (!read_meta(ring, rb_chunk_data(edge->chunks, frames[i].offset), &meta)) {
			ring->reader->strangers++;
			rb_chunk_release(edge->chunks, frames[i].offset, RB_OWNER_INGRESS);
			continue;
		}
		out[taken++] = (struct rb_ingress_frame){ .offset = frames[i].offset,
							  .arrival_ns = meta.arrival_ns,
							  .len_bytes = frames[i].len_bytes,
							  .ingress_port = meta.ingress_port };
	}
	return taken;
}

/* The same for a worker that is not the owner: copy the frames into chunks of its own. */
static uint32_t edge_receive_copy(void *context, struct rb_ingress_frame *out, uint32_t max)
{
	struct edge_ring *ring = context;
	const struct rb_edge *edge = ring->edge;
	struct rb_chunks *chunks = ring->reader->chunks;
	struct rb_chunk_frame frames[BATCH];
	uint64_t back[BATCH];
	uint32_t n, taken = 0;

	if (max > BATCH)
		max = BATCH;
	if (max > chunks->n_free)
		max = chunks->n_free;
	n = rb_xsk_receive(edge->queues[ring->queue].xsk, ring->socket, frames, max);
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *data = rb_chunk_data(chunks, frames[i].offset);
		struct sl_frame_meta meta;
		uint64_t to;

		back[i] = rb_chunk_base(chunks, frames[i].offset) | ring->queue;
		if (!read_meta(ring, data, &meta)) {
			ring->reader->strangers++;
			continue;
		}
		to = rb_chunk_take(chunks, RB_OWNER_INGRESS);
		memcpy(rb_chunk_data(chunks, to), data, frames[i].len_bytes);
		out[taken++] = (struct rb_ingress_frame){ .offset = to,
							  .arrival_ns = meta.arrival_ns,
							  .len_bytes = frames[i].len_bytes,
							  .ingress_port = meta.ingress_port };
	}
	if (n > 0)
		rb_handback_put(&ring->reader->back, back, n);
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
				uint64_t base = rb_chunk_base(edge->chunks, entries[i]);
				uint64_t bit, *word = filled_word(edge, base, &bit);

				*word &= ~bit;
				edge->queues[entries[i] - base].posted--;
				rb_chunk_release(edge->chunks, base, RB_OWNER_FILL);
			}
}

/* Chunks to add to a queue's fill ring: those it lacks, within held_max. */
static uint32_t missing(const struct rb_edge *edge, struct edge_queue *q)
{
	uint32_t filled = rb_xsk_filled(q->xsk), room = edge->held_max - q->posted;

	if (filled >= edge->fill_target)
		return 0;
	return edge->fill_target - filled < room ? edge->fill_target - filled : room;
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
			q->posted += taken;
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

static void off_the_backlog(struct edge_ring *ring, uint64_t frames, struct sl_backlog *backlog,
			    struct sl_counter *counters)
{
	struct sl_backlog *b = &backlog[ring->voq];

	if (frames == 0)
		return;
	rb_count(counters, RB_COUNT_DROP_VOQ_RING, frames, 0);
	b->missed += frames;
	__atomic_store_n(&b->dequeued.frames, b->dequeued.frames + frames, __ATOMIC_RELAXED);
}

void rb_edge_settle(struct rb_edge *edge, uint32_t worker, struct sl_backlog *backlog,
		    struct sl_counter *counters)
{
	struct edge_reader *reader = &edge->readers[worker];

	rb_count(counters, RB_COUNT_DROP_NO_META, reader->strangers - reader->strangers_counted, 0);
	reader->strangers_counted = reader->strangers;
	for (uint32_t i = 0; i < edge->n_queues * edge->n_voqs; i++) {
		struct edge_ring *ring = &edge->rings[i];
		struct sl_backlog *b = &backlog[ring->voq];
		struct rb_xsk_drops drops;
		uint64_t total;

		if (ring->reader != reader)
			continue;
		rb_xsk_drops(edge->queues[ring->queue].xsk, ring->socket, &drops);
		total = drops.no_chunk + drops.ring_full;
		off_the_backlog(ring, total - ring->settled, backlog, counters);
		ring->settled = total;
		/*
		 * The kernel does not tell how many bytes it dropped. When no frame waits, the
		 * bytes that left must be those that entered.
		 */
		if (__atomic_load_n(&b->enqueued.frames, __ATOMIC_RELAXED) == b->dequeued.frames)
			__atomic_store_n(&b->dequeued.bytes,
					 __atomic_load_n(&b->enqueued.bytes, __ATOMIC_RELAXED),
					 __ATOMIC_RELAXED);
	}
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

	return edge->shut ? 0 : rb_xsk_send_room(edge->queues[0].xsk);
}

static uint32_t tx_put(struct rb_tx *tx, const struct rb_chunk_frame *frames, uint32_t n)
{
	struct rb_edge *edge = edge_of(tx);

	if (n > tx_room(tx))
		n = tx_room(tx);
	n = rb_xsk_send(edge->queues[0].xsk, frames, n);
	for (uint32_t i = 0; i < n; i++)
		++*sending_of(edge, frames[i].offset);
	return n;
}

static int tx_flush(struct rb_tx *tx)
{
	return edge_of(tx)->shut ? 0 : rb_xsk_kick(edge_of(tx)->queues[0].xsk);
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

	if (edge->shut)
		return reap_shut(edge, offsets, max);
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

struct rb_input *rb_edge_input(struct rb_edge *edge, uint32_t queue, uint32_t i)
{
	return &edge->rings[queue * edge->n_voqs + i].input;
}

struct rb_tx *rb_edge_tx(struct rb_edge *edge)
{
	return edge->inject ? rb_inject_tx(edge->inject) : &edge->tx;
}

int rb_edge_fd(const struct rb_edge *edge, uint32_t queue, uint32_t i)
{
	return rb_xsk_fd(edge->queues[queue].xsk, i);
}

bool rb_edge_waits(const struct rb_edge *edge, uint32_t i)
{
	for (uint32_t q = 0; q < edge->n_queues; q++)
		if (rb_xsk_waits(edge->queues[q].xsk, i))
			return true;
	return false;
}

uint32_t rb_edge_queues(const struct rb_edge *edge)
{
	return edge->n_queues;
}

bool rb_edge_is_zero_copy(const struct rb_edge *edge)
{
	return rb_xsk_is_zero_copy(edge->queues[0].xsk);
}

uint64_t rb_edge_strangers(const struct rb_edge *edge)
{
	uint64_t strangers = 0;

	for (uint32_t w = 0; w < edge->workers; w++)
		strangers += edge->readers[w].strangers;
	return strangers;
}

static int publish(struct rb_edge *edge)
{
	int err = 0;

	for (uint32_t i = 0; i < edge->n_queues * edge->n_voqs && !err; i++)
		err = rb_xsk_publish(edge->queues[edge->rings[i].queue].xsk, edge->rings[i].socket,
				     edge->xsk_fd, key_of(edge, &edge->rings[i]));
	return err;
}

static void withdraw(struct rb_edge *edge)
{
	for (uint32_t i = 0; i < edge->n_queues * edge->n_voqs; i++) {
		uint32_t key = key_of(edge, &edge->rings[i]);

		bpf_map_delete_elem(edge->xsk_fd, &key);
	}
}

static int open_queue(struct rb_edge *edge, const struct rb_edge_config *config, uint32_t queue)
{
	const struct rb_xsk_config xsk = {
		.netdev = config->netdev,
		.queue = queue,
		.area = config->chunks->area,
		.area_bytes = config->area_bytes,
		.chunk_bytes = rb_chunk_bytes(config->chunks),
		.sockets = config->n_voqs,
		.fill_size = 2 * config->fill_target,
		.receive_size = config->ring_size,
		.send_size = SEND_SIZE,
	};

	for (uint32_t i = 0; i < config->n_voqs; i++) {
		struct edge_ring *ring = &edge->rings[queue * config->n_voqs + i];
		uint32_t reader = config->workers ? config->readers[i] : 0;

		*ring = (struct edge_ring){ .input = { reader == edge->owner ? edge_receive
									     : edge_receive_copy,
						       ring, NULL },
					    .edge = edge,
					    .reader = &edge->readers[reader],
					    .queue = queue,
					    .socket = i,
					    .voq = config->voqs[i] };
	}
	return rb_xsk_open(&xsk, &edge->queues[queue].xsk);
}

static int open_readers(struct rb_edge *edge, const struct rb_edge_config *config, uint32_t queues)
{
	int err = 0;

	for (uint32_t w = 0; w < edge->workers && !err; w++) {
		struct edge_reader *reader = &edge->readers[w];

		reader->chunks = config->workers ? config->reader_chunks[w] : config->chunks;
		if (w != edge->owner)
			err = rb_handback_init(&reader->back, queues * edge->held_max,
					       config->wake_fd);
	}
	return err;
}

int rb_edge_open(const struct rb_edge_config *config, struct rb_edge **out)
{
	uint32_t number = config->system_port & 0xff;
	struct rb_netdev netdev;
	struct rb_edge *edge;
	int err;

	*out = NULL;
	err = rb_netdev_query(config->netdev, &netdev);
	if (err)
		return err;
	if (netdev.queues > QUEUES_MAX)
		netdev.queues = QUEUES_MAX;
	if (netdev.queues > config->meta_queues)
		netdev.queues = config->meta_queues;
	if (number == 0 || number > config->meta_ports || netdev.queues == 0 ||
	    config->workers > RB_EDGE_WORKERS_MAX)
		return -EINVAL;
	for (uint32_t i = 0; i < config->n_voqs; i++)
		if (config->voqs[i] >= config->meta_voqs)
			return -EINVAL;
	edge = calloc(1, sizeof(*edge));
	if (!edge)
		return -ENOMEM;
	*edge = (struct rb_edge){
		.tx = { .ops = &edge_tx_ops },
		.chunks = config->chunks,
		.number = number,
		.n_voqs = config->n_voqs,
		.meta_queues = config->meta_queues,
		.meta_voqs = config->meta_voqs,
		.fill_target = config->fill_target,
		.held_max = config->held_max < config->fill_target ? config->fill_target
								   : config->held_max,
		.xsk_fd = config->xsk_fd,
		.workers = config->workers ? config->workers : 1,
		.owner = config->owner,
	};
	edge->rings = calloc((size_t)netdev.queues * config->n_voqs, sizeof(*edge->rings));
	edge->filled = calloc((config->chunks->n + 63) / 64, sizeof(*edge->filled));
	edge->sending = calloc(config->chunks->n, sizeof(*edge->sending));
	if (!edge->rings || !edge->filled || !edge->sending)
		err = -ENOMEM;
	if (!err)
		err = open_readers(edge, config, netdev.queues);
	for (uint32_t i = 0; i < netdev.queues && !err; i++) {
		err = open_queue(edge, config, i);
		edge->n_queues += !err;
	}
	if (!err && config->injector)
		err = rb_inject_open(config->injector, netdev.ifindex, &edge->tx, config->chunks,
				     &edge->inject);
	if (!err) {
		rb_edge_refill(edge);
		err = publish(edge);
	}
	if (err) {
		rb_edge_shut(edge, NULL, NULL);
		rb_edge_close(edge);
	} else {
		*out = edge;
	}
	return err;
}

void rb_edge_shut(struct rb_edge *edge, struct sl_backlog *backlog, struct sl_counter *counters)
{
	struct rb_ingress_frame frames[BATCH];
	uint32_t n;

	if (edge->rings)
		withdraw(edge);
	for (uint32_t i = 0; backlog && i < edge->n_queues * edge->n_voqs; i++) {
		struct edge_ring *ring = &edge->rings[i];

		while ((n = ring->input.receive(ring, frames, BATCH)) > 0) {
			for (uint32_t k = 0; k < n; k++)
				rb_chunk_release(ring->reader->chunks, frames[k].offset,
						 RB_OWNER_INGRESS);
			off_the_backlog(ring, n, backlog, counters);
		}
	}
	for (uint32_t w = 0; backlog && w < edge->workers; w++)
		rb_edge_settle(edge, w, backlog, counters);
	take_back(edge);
	for (uint32_t i = 0; i < edge->n_queues; i++)
		rb_xsk_close(edge->queues[i].xsk);
	edge->n_queues = 0;
	edge->shut = true;
	rb_inject_shut(edge->inject);
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
	free(edge);
}
