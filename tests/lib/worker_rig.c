/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/worker_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "rdma-bridge/wire/bytes.h"

#define SECOND_NS   1000000000ULL
#define ROOM_FRAMES 256 /* of a port, unless a test changes it */

/* Length of frame n; the lengths go through all from 60 to 1514. */
static uint32_t length_of(const struct rig_ring *ring, uint32_t n)
{
	return ring->len_bytes ? ring->len_bytes : 60 + n * 37 % 1455;
}

static uint32_t ring_receive(void *context, struct rb_frame *out, uint32_t max)
{
	struct rig_ring *ring = context;
	struct rb_chunks *chunks = ring->node->chunks;
	uint32_t n;

	for (n = 0; n < max && n < ring->to_make; n++) {
		uint64_t offset = rb_chunk_take(chunks, RB_OWNER_INGRESS);
		uint32_t number = ring->made + n, len = length_of(ring, number);
		uint8_t *data;

		if (offset == RB_CHUNK_NONE)
			break;
		offset += RB_CHUNK_HEADROOM_BYTES;
		data = rb_chunk_data(chunks, offset);
		for (uint32_t i = 0; i < len; i++)
			data[i] = (uint8_t)(number * 13 + i);
		rb_put16(data, ring->system_port);
		data[2] = ring->node->id;
		data[3] = ring->class;
		rb_put32(data + 4, number);
		rb_put16(data + 8, (uint16_t)len);
		out[n] = (struct rb_frame){
			.offset = offset,
			.arrival_ns = ring->node->rig->now_ns,
			.len_bytes = len,
			.ingress_port = SL_SYSTEM_PORT(ring->node->id, 1),
		};
	}
	ring->reads++;
	ring->made += n;
	ring->to_make -= n;
	if (ring->to_make > 0)
		rb_input_ask(&ring->input);
	return n;
}

static struct rig_port *port_of(struct rb_tx *tx)
{
	return (struct rig_port *)((char *)tx - offsetof(struct rig_port, tx));
}

static void port_close(struct rb_tx *tx)
{
	port_of(tx)->closed = true;
}

static uint32_t port_room(struct rb_tx *tx)
{
	return port_of(tx)->room - port_of(tx)->n_held;
}

static uint32_t port_put(struct rb_tx *tx, const struct rb_frame *frames, uint32_t n)
{
	struct rig_port *port = port_of(tx);

	assert_true(n <= port_room(tx));
	for (uint32_t i = 0; i < n; i++) {
		const uint8_t *data = rb_chunk_data(port->node->chunks, frames[i].offset);
		uint32_t number = rb_get32(data + 4);
		uint32_t *next = &port->next[data[2]][data[3]];

		assert_int_equal(rb_get16(data), SL_SYSTEM_PORT(port->node->id, port->number));
		assert_int_equal(rb_get16(data + 8), frames[i].len_bytes);
		for (uint32_t b = 10; b < frames[i].len_bytes; b++)
			assert_int_equal(data[b], (uint8_t)(number * 13 + b));
		port->out_of_order += number < *next;
		port->skipped += number > *next ? number - *next : 0;
		if (number >= *next)
			*next = number + 1;
		port->held[port->n_held++] = frames[i].offset;
		port->received++;
	}
	return n;
}

static int port_flush(struct rb_tx *tx)
{
	port_of(tx)->calls++;
	return port_of(tx)->down ? -ENETDOWN : 0;
}

static uint32_t port_reap(struct rb_tx *tx, uint64_t *offsets, uint32_t max)
{
	struct rig_port *port = port_of(tx);
	uint32_t n = port->down ? 0 : port->n_held < max ? port->n_held : max;

	port->calls++;
	for (uint32_t i = 0; i < n; i++)
		offsets[i] = port->held[--port->n_held];
	return n;
}

static const struct rb_tx_ops port_ops = {
	.name = "memory",
	.close = port_close,
	.room = port_room,
	.put = port_put,
	.flush = port_flush,
	.reap = port_reap,
};

static void on_peer(void *context, uint8_t id, enum rb_peer_state state)
{
	struct rig_node *node = context;

	(void)id;
	node->ups += state == RB_PEER_UP;
	node->downs += state == RB_PEER_DOWN;
}

struct rb_endpoint rig_endpoint(const struct rig_node *node)
{
	const struct rig_setting *setting = &node->rig->setting;
	struct rb_endpoint e = { .qpn = 0x100u + node->id,
				 .qkey = node->qkey,
				 .message_max_bytes = setting->message_max_bytes };

	e.gid[0] = 0xfd;
	e.gid[15] = node->id;
	return e;
}

static void add_ports(struct rig_node *node)
{
	const struct rig_setting *setting = &node->rig->setting;

	for (uint8_t number = 1; number <= RIG_PORTS; number++) {
		struct rb_egress_config egress = {
			.system_port = SL_SYSTEM_PORT(node->id, number),
			.rate = setting->port_rate,
			.burst = 32,
		};
		struct rig_port *port = &node->port[number];

		for (uint32_t c = 0; c < SL_CLASSES; c++)
			egress.class[c] = (struct rb_egress_class_config){
				.level = c == 3, .weight = 1, .limit_frames = setting->limit_frames
			};
		assert_int_equal(rb_worker_add_port(node->worker, &egress, node->rig->now_ns), 0);
		memset(port, 0, sizeof(*port));
		*port = (struct rig_port){ .tx = { .ops = &port_ops },
					   .node = node,
					   .number = number,
					   .room = ROOM_FRAMES };
		rb_egress_set_tx(node->worker->port[number], &port->tx, node->chunks,
				 node->worker->counters);
	}
}

void rig_add_peer(struct rig_node *node, uint8_t other)
{
	assert_int_equal(other == node->id
				 ? rb_worker_add_self(node->worker, RIG_VOQS, 1514)
				 : rb_worker_add_peer(node->worker, other, RIG_VOQS, 1514),
			 0);
	for (uint32_t i = 0; i < RIG_VOQS; i++) {
		struct rig_ring *ring = &node->ring[other][i];
		struct rb_ingress *in = node->worker->peer[other]->ingress;

		node->voq[other][i] = (struct sl_voq){ .rate = SL_RATE_UNLIMITED };
		memset(&node->backlog[other][i], 0, sizeof(node->backlog[other][i]));
		*ring = (struct rig_ring){
			.input = { .receive = ring_receive, .context = ring },
			.node = node,
			.system_port = SL_SYSTEM_PORT(other, 1 + i / SL_CLASSES),
			.class = i % SL_CLASSES,
		};
		rb_ingress_set_voq(in, i, ring->system_port, ring->class, &node->voq[other][i],
				   &node->backlog[other][i], node->rig->now_ns);
		rb_ingress_add_input(in, i, &ring->input);
	}
}

void rig_remove_peer(struct rig_node *node, uint8_t other)
{
	for (uint32_t i = 0; i < RIG_VOQS; i++)
		rb_ingress_remove_input(node->worker->peer[other]->ingress, i,
					&node->ring[other][i].input);
	rb_worker_remove_peer(node->worker, other);
}

static void add_destinations(struct rig_node *node)
{
	for (uint8_t other = 1; other <= RIG_NODES; other++)
		if (other != node->id || node->rig->setting.own)
			rig_add_peer(node, other);
}

void rig_start(struct rig_node *node, uint32_t epoch)
{
	const struct rig_setting *setting = &node->rig->setting;
	struct rb_worker_config config = {
		.node = node->id,
		.epoch = epoch,
		.dead_after_ns = RIG_DEAD_NS,
		.hello_interval_ns = RIG_DEAD_NS / 5,
		.pack_delay_ns = setting->pack_delay_ns,
		.degree = setting->degree,
		.receive_target = RIG_RECEIVES,
	};
	struct rb_endpoint self;

	node->epoch = epoch;
	node->qkey = epoch * 7;
	node->dead = false;
	self = rig_endpoint(node);
	assert_int_equal(
		rb_chunks_create(node->area, 0, RIG_CHUNKS, RIG_CHUNK_BYTES, &node->chunks), 0);
	assert_int_equal(
		rb_mem_open(node->rig->network, &self, node->chunks, 512, &node->transport), 0);
	config.transport = node->transport;
	assert_int_equal(rb_worker_create(&config, &node->worker), 0);
	node->worker->event_context = node;
	node->worker->on_peer = on_peer;
	add_ports(node);
	add_destinations(node);
}

void rig_stop(struct rig_node *node)
{
	rb_worker_destroy(node->worker);
	node->transport->ops->close(node->transport);
	rb_chunks_reclaim(node->chunks, RB_OWNER_RECEIVE);
	/* No chunk is left but those that the ports had not given back. */
	assert_int_equal(node->chunks->n_free, RIG_CHUNKS);
	assert_int_equal(node->chunks->violations, 0);
	rb_chunks_destroy(node->chunks);
}

void rig_introduce(struct rig_node *to, const struct rig_node *whom)
{
	struct rb_endpoint e = rig_endpoint(whom);

	assert_int_equal(rb_worker_connect(to->worker, whom->id, whom->epoch, &e, to->rig->now_ns),
			 0);
}

void rig_run_for(struct worker_rig *rig, uint64_t ns)
{
	for (uint64_t end = rig->now_ns + ns; rig->now_ns < end; rig->now_ns += RIG_STEP_NS) {
		rb_mem_network_advance(rig->network, rig->now_ns);
		for (int i = 1; i <= RIG_NODES; i++) {
			if (rig->node[i].dead)
				continue;
			rb_worker_round(rig->node[i].worker, rig->now_ns);
			if (rig->now_ns % RIG_MS == 0)
				rb_worker_tick(rig->node[i].worker, rig->now_ns);
		}
	}
}

void rig_begin(struct worker_rig *rig, const struct rig_setting *setting)
{
	rig->setting = *setting;
	rig->setting.network.in_flight_max = 4096;
	rig->now_ns = SECOND_NS;
	assert_int_equal(rb_mem_network_create(&rig->setting.network, &rig->network), 0);
	for (uint8_t i = 1; i <= RIG_NODES; i++) {
		uint8_t *area = malloc((size_t)RIG_CHUNKS * RIG_CHUNK_BYTES);

		assert_non_null(area);
		memset(&rig->node[i], 0, sizeof(rig->node[i]));
		rig->node[i].rig = rig;
		rig->node[i].id = i;
		rig->node[i].area = area;
		rig_start(&rig->node[i], 1000u + i);
	}
	for (int i = 1; i <= RIG_NODES; i++)
		for (int k = 1; k <= RIG_NODES; k++)
			if (i != k)
				rig_introduce(&rig->node[i], &rig->node[k]);
	rig_run_for(rig, 10 * RIG_MS);
}

void rig_end(struct worker_rig *rig)
{
	for (int i = 1; i <= RIG_NODES; i++) {
		rig_stop(&rig->node[i]);
		free(rig->node[i].area);
	}
	rb_mem_network_destroy(rig->network);
}

const struct rig_setting rig_plain = {
	.degree = RB_RECORDS_MAX,
	.message_max_bytes = 4096,
	.limit_frames = 1024,
	.port_rate = SL_RATE_UNLIMITED,
	.network = { .seed = 1, .delay_ns = 20 * RIG_US },
};

uint64_t rig_count_of(const struct worker_rig *rig, int node, enum rb_frame_counter which)
{
	return rig->node[node].worker->counters[which].packets;
}

uint64_t rig_sum_of(const struct worker_rig *rig, enum rb_frame_counter which)
{
	return rig_count_of(rig, 1, which) + rig_count_of(rig, 2, which) +
	       rig_count_of(rig, 3, which);
}

void rig_offer(struct worker_rig *rig, int from, int to, uint32_t voq, uint32_t frames,
	       uint32_t len_bytes)
{
	struct rig_ring *ring = &rig->node[from].ring[to][voq];

	ring->to_make += frames;
	ring->len_bytes = len_bytes;
	rb_input_ask(&ring->input);
}

void rig_check_conservation(const struct worker_rig *rig)
{
	for (int i = 1; i <= RIG_NODES; i++) {
		const struct sl_counter *c = rig->node[i].worker->counters;

		assert_int_equal(c[RB_COUNT_INGRESS].packets,
				 c[RB_COUNT_SENT].packets + c[RB_COUNT_LOCAL].packets +
					 c[RB_COUNT_DROP_PEER_DOWN].packets +
					 c[RB_COUNT_DROP_TOO_BIG].packets);
		assert_int_equal(c[RB_COUNT_EGRESS].packets,
				 c[RB_COUNT_TRANSMITTED].packets +
					 c[RB_COUNT_DROP_QUEUE_FULL].packets +
					 c[RB_COUNT_DROP_PORT_DOWN].packets);
		assert_int_equal(c[RB_COUNT_EGRESS].bytes,
				 c[RB_COUNT_TRANSMITTED].bytes + c[RB_COUNT_DROP_QUEUE_FULL].bytes +
					 c[RB_COUNT_DROP_PORT_DOWN].bytes);
	}
}
