/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/transport/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define TRANSPORTS_MAX 256 /* the nodes of a cluster, and one to spare */
#define PATHS_MAX      256
#define HINTS	       256 /* by queue pair number: where to look first */
#define MILLION	       1000000U

/* A message on its way. */
struct flight {
	uint64_t due_ns;
	uint64_t order; /* number of departure: breaks ties of due_ns */
	struct rb_endpoint to, from;
	uint32_t len_bytes;
	bool ce;
	uint8_t *data; /* owned */
};

struct rb_mem_network {
	struct rb_mem_config config;
	struct rb_mem_stats stats;
	uint64_t now_ns, random, order;
	uint32_t n_flights;
	struct flight *flights; /* owned, in_flight_max entries; a heap, the next to arrive first */
	struct mem_transport *transports[TRANSPORTS_MAX];
	uint8_t transport_hint[HINTS];
};

struct rb_path {
	struct rb_endpoint remote;
	void *context;
	bool open;
};

struct mem_transport {
	struct rb_transport base;
	struct rb_mem_network *network; /* borrowed */
	struct rb_endpoint self;
	struct rb_transport_stats stats;
	struct rb_path paths[PATHS_MAX];
	uint32_t paths_end; /* no path behind it was ever open */
	uint8_t path_hint[HINTS];
	uint64_t *receive; /* owned: stack of posted chunks */
	uint32_t n_receive, receive_max;
	struct rb_completion *arrived; /* owned: ring of receive_max */
	uint32_t first, n_arrived;
	uint64_t *lent; /* owned: cookies of sends not yet completed, in_flight_max of them */
	uint32_t n_lent;
	int event_fd;
	bool signalled; /* event_fd is readable */
};

static struct mem_transport *of(struct rb_transport *t)
{
	return (struct mem_transport *)t;
}

/* splitmix64: the same numbers on every machine. */
static uint64_t next_random(struct rb_mem_network *network)
{
	uint64_t z = network->random += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static bool chance(struct rb_mem_network *network, uint32_t ppm)
{
	return next_random(network) % MILLION < ppm;
}

static bool same_pair(const struct rb_endpoint *a, const struct rb_endpoint *b)
{
	return a->qpn == b->qpn && memcmp(a->gid, b->gid, sizeof(a->gid)) == 0;
}

/* --- The network --- */

int rb_mem_network_create(const struct rb_mem_config *config, struct rb_mem_network **out)
{
	struct rb_mem_network *network;

	*out = NULL;
	if (config->loss_ppm > MILLION || config->duplicate_ppm > MILLION ||
	    config->reorder_ppm > MILLION || config->mark_ppm > MILLION ||
	    config->in_flight_max == 0)
		return -EINVAL;
	network = calloc(1, sizeof(*network));
	if (!network)
		return -ENOMEM;
	network->flights = calloc(config->in_flight_max, sizeof(*network->flights));
	if (!network->flights) {
		free(network);
		return -ENOMEM;
	}
	network->config = *config;
	network->random = config->seed;
	*out = network;
	return 0;
}

void rb_mem_network_destroy(struct rb_mem_network *network)
{
	if (!network)
		return;
	for (uint32_t i = 0; i < network->n_flights; i++)
		free(network->flights[i].data);
	free(network->flights);
	free(network);
}

void rb_mem_network_set(struct rb_mem_network *network, const struct rb_mem_config *config)
{
	uint32_t in_flight_max = network->config.in_flight_max;

	network->config = *config;
	network->config.in_flight_max = in_flight_max;
}

void rb_mem_network_stats(const struct rb_mem_network *network, struct rb_mem_stats *out)
{
	*out = network->stats;
}

static void signal_arrival(struct mem_transport *t)
{
	const uint64_t one = 1;

	if (!t->signalled)
		t->signalled = write(t->event_fd, &one, sizeof(one)) == sizeof(one);
}

static struct mem_transport *transport_at(struct rb_mem_network *network,
					  const struct rb_endpoint *to)
{
	uint8_t *hint = &network->transport_hint[to->qpn % HINTS];

	for (uint32_t i = 0; i < TRANSPORTS_MAX; i++) {
		const uint32_t place = (*hint + i) % TRANSPORTS_MAX;
		struct mem_transport *t = network->transports[place];

		if (t && same_pair(&t->self, to)) {
			*hint = (uint8_t)place;
			return t;
		}
	}
	return NULL;
}

/* What the owner of the path from there gave with it; NULL: there is no such path. */
static void *context_of(struct mem_transport *t, const struct rb_endpoint *from)
{
	uint8_t *hint = &t->path_hint[from->qpn % HINTS];

	for (uint32_t i = 0; i < t->paths_end; i++) {
		const uint32_t at = (*hint + i) % t->paths_end;

		if (t->paths[at].open && same_pair(&t->paths[at].remote, from)) {
			*hint = (uint8_t)at;
			return t->paths[at].context;
		}
	}
	return NULL;
}

static void arrive(struct rb_mem_network *network, const struct flight *flight)
{
	struct mem_transport *t = transport_at(network, &flight->to);
	struct rb_completion *c;
	uint64_t offset;

	if (!t || t->self.qkey != flight->to.qkey ||
	    flight->len_bytes > t->self.message_max_bytes) {
		network->stats.refused++;
		return;
	}
	if (t->n_receive == 0) {
		t->stats.no_buffer++;
		return;
	}
	offset = t->receive[--t->n_receive];
	memcpy(rb_chunk_data(t->base.chunks, offset), flight->data, flight->len_bytes);
	c = &t->arrived[(t->first + t->n_arrived++) % t->receive_max];
	*c = (struct rb_completion){ .kind = RB_RECEIVED,
				     .ce = flight->ce,
				     .len_bytes = flight->len_bytes,
				     .offset = offset,
				     .context = context_of(t, &flight->from) };
	t->stats.received++;
	t->stats.received_bytes += flight->len_bytes;
	t->stats.marked += flight->ce;
	signal_arrival(t);
}

/* Does `a` arrive before `b`: earlier, or at the same time and it left first? */
static bool is_before(const struct flight *a, const struct flight *b)
{
	return a->due_ns < b->due_ns || (a->due_ns == b->due_ns && a->order < b->order);
}

static void add_flight(struct rb_mem_network *network, const struct flight *flight)
{
	struct flight *heap = network->flights;
	uint32_t at = network->n_flights++;

	for (; at && is_before(flight, &heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = *flight;
}

/* Take the next message to arrive out of the heap, which is not empty. */
static struct flight take_flight(struct rb_mem_network *network)
{
	struct flight *heap = network->flights, first = heap[0];
	const uint32_t n = --network->n_flights;
	const struct flight last = heap[n];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < n) {
		if (child + 1 < n && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &last))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = last;
	return first;
}

void rb_mem_network_advance(struct rb_mem_network *network, uint64_t now_ns)
{
	network->now_ns = now_ns;
	while (network->n_flights && network->flights[0].due_ns <= now_ns) {
		const struct flight flight = take_flight(network);

		arrive(network, &flight);
		free(flight.data);
	}
}

/* The treatment that the network gives a message of this type. */
static const struct rb_mem_config *impairment(const struct rb_mem_network *network,
					      const struct rb_piece *pieces)
{
	static const struct rb_mem_config none;
	uint8_t only = network->config.only_type;

	return only == 0 || (pieces[0].len_bytes > 1 && pieces[0].data[1] == only)
		       ? &network->config
		       : &none;
}

/* Send one copy of the message. */
static int depart(struct rb_mem_network *network, const struct mem_transport *t,
		  const struct rb_path *path, const struct rb_piece *pieces, uint32_t n,
		  uint32_t len_bytes)
{
	const struct rb_mem_config *bad = impairment(network, pieces);
	uint32_t at = 0;
	struct flight f = { .due_ns = network->now_ns + bad->delay_ns,
			    .order = network->order++,
			    .to = path->remote,
			    .from = t->self,
			    .len_bytes = len_bytes,
			    .ce = chance(network, bad->mark_ppm),
			    .data = malloc(len_bytes) };
	if (!f.data)
		return -EAGAIN;
	for (uint32_t i = 0; i < n; i++) {
		memcpy(f.data + at, pieces[i].data, pieces[i].len_bytes);
		at += pieces[i].len_bytes;
	}
	if (chance(network, bad->reorder_ppm)) {
		f.due_ns += bad->reorder_ns;
		network->stats.reordered++;
	}
	add_flight(network, &f);
	return 0;
}

/* --- Operations --- */

static void mem_close(struct rb_transport *base)
{
	struct mem_transport *t = of(base);

	for (int i = 0; i < TRANSPORTS_MAX; i++)
		if (t->network->transports[i] == t)
			t->network->transports[i] = NULL;
	if (t->event_fd >= 0)
		close(t->event_fd);
	free(t->receive);
	free(t->arrived);
	free(t->lent);
	free(t);
}

static void mem_endpoint(struct rb_transport *base, struct rb_endpoint *out)
{
	*out = of(base)->self;
}

static int mem_path_create(struct rb_transport *base, const struct rb_endpoint *remote,
			   void *context, struct rb_path **out)
{
	struct mem_transport *t = of(base);
	struct rb_path *path = NULL;

	*out = NULL;
	if (remote->qpn < 2 || remote->qpn > 0xffffff || remote->message_max_bytes == 0)
		return -EINVAL;
	for (int i = 0; i < PATHS_MAX; i++) {
		if (t->paths[i].open && same_pair(&t->paths[i].remote, remote))
			return -EEXIST;
		if (!t->paths[i].open && !path)
			path = &t->paths[i];
	}
	if (!path)
		return -ENOSPC;
	*path = (struct rb_path){ .remote = *remote, .context = context, .open = true };
	if (t->paths_end <= (uint32_t)(path - t->paths))
		t->paths_end = (uint32_t)(path - t->paths) + 1;
	*out = path;
	return 0;
}

static void mem_path_destroy(struct rb_transport *base, struct rb_path *path)
{
	(void)base;
	path->open = false;
}

static uint32_t mem_post_receive(struct rb_transport *base, const uint64_t *offsets, uint32_t n)
{
	struct mem_transport *t = of(base);
	uint32_t taken = 0;

	while (taken < n && t->n_receive + t->n_arrived < t->receive_max)
		t->receive[t->n_receive++] = offsets[taken++];
	return taken;
}

static int mem_post_send(struct rb_transport *base, struct rb_path *path,
			 const struct rb_piece *pieces, uint32_t n, uint64_t cookie)
{
	struct mem_transport *t = of(base);
	struct rb_mem_network *network = t->network;
	const uint32_t remote_max = path->remote.message_max_bytes;
	const uint32_t self_max = t->self.message_max_bytes;
	int bytes =
		rb_message_bytes(base, pieces, n, remote_max < self_max ? remote_max : self_max);
	uint32_t len_bytes = (uint32_t)bytes, copies = 1;

	if (bytes < 0)
		return bytes;
	/* Room for a duplicate too, so that the outcome depends on the seed alone. */
	if (network->n_flights + 2 > network->config.in_flight_max ||
	    t->n_lent == network->config.in_flight_max)
		return -EAGAIN;
	if (chance(network, impairment(network, pieces)->loss_ppm)) {
		network->stats.lost++;
		copies = 0;
	} else if (chance(network, impairment(network, pieces)->duplicate_ppm)) {
		network->stats.duplicated++;
		copies = 2;
	}
	for (uint32_t i = 0; i < copies; i++)
		if (depart(network, t, path, pieces, n, len_bytes))
			return -EAGAIN;
	t->stats.sent++;
	t->stats.sent_bytes += len_bytes;
	if (network->config.lend) {
		t->lent[t->n_lent++] = cookie;
		return 0;
	}
	t->stats.bytes_copied += len_bytes;
	return 1;
}

static int mem_flush(struct rb_transport *base)
{
	(void)base;
	return 0;
}

static uint32_t mem_poll(struct rb_transport *base, struct rb_completion *out, uint32_t max,
			 uint64_t now_ns)
{
	struct mem_transport *t = of(base);
	uint32_t n = 0;

	(void)now_ns;
	for (; n < max && t->n_lent > 0; n++)
		out[n] = (struct rb_completion){ .kind = RB_SENT, .cookie = t->lent[--t->n_lent] };
	for (; n < max && t->n_arrived > 0; n++) {
		out[n] = t->arrived[t->first];
		t->first = (t->first + 1) % t->receive_max;
		t->n_arrived--;
		rb_chunk_move(base->chunks, out[n].offset, RB_OWNER_RECEIVE, RB_OWNER_MESSAGE);
	}
	return n;
}

static int mem_wait_fd(struct rb_transport *base)
{
	return of(base)->event_fd;
}

static bool mem_arm(struct rb_transport *base)
{
	struct mem_transport *t = of(base);
	uint64_t count;
	ssize_t n;

	if (t->n_arrived > 0)
		return true;
	n = read(t->event_fd, &count, sizeof(count));
	(void)n; /* fails if the counter is 0 already */
	t->signalled = false;
	return false;
}

static void mem_stats(struct rb_transport *base, struct rb_transport_stats *out)
{
	*out = of(base)->stats;
}

static const struct rb_transport_ops mem_ops = {
	.name = "mem",
	.close = mem_close,
	.endpoint = mem_endpoint,
	.path_create = mem_path_create,
	.path_destroy = mem_path_destroy,
	.post_receive = mem_post_receive,
	.post_send = mem_post_send,
	.flush = mem_flush,
	.poll = mem_poll,
	.wait_fd = mem_wait_fd,
	.arm = mem_arm,
	.stats = mem_stats,
};

int rb_mem_open(struct rb_mem_network *network, const struct rb_endpoint *self,
		struct rb_chunks *chunks, uint32_t receive_max, struct rb_transport **out)
{
	struct mem_transport *t;
	int place = -1;

	*out = NULL;
	if (self->qpn < 2 || self->qpn > 0xffffff || receive_max == 0 ||
	    self->message_max_bytes == 0 || self->message_max_bytes > rb_chunk_bytes(chunks))
		return -EINVAL;
	for (int i = 0; i < TRANSPORTS_MAX; i++) {
		if (!network->transports[i])
			place = i;
		else if (same_pair(&network->transports[i]->self, self))
			return -EEXIST;
	}
	if (place < 0)
		return -ENOSPC;
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->base = (struct rb_transport){ .ops = &mem_ops,
					 .chunks = chunks,
					 .pieces_max = RB_PIECES_MAX };
	t->network = network;
	t->self = *self;
	t->receive_max = receive_max;
	t->receive = calloc(receive_max, sizeof(*t->receive));
	t->arrived = calloc(receive_max, sizeof(*t->arrived));
	t->lent = calloc(network->config.in_flight_max, sizeof(*t->lent));
	t->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!t->receive || !t->arrived || !t->lent || t->event_fd < 0) {
		mem_close(&t->base);
		return -ENOMEM;
	}
	network->transports[place] = t;
	*out = &t->base;
	return 0;
}
