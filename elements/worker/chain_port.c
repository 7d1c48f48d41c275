/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bpf/abi/chain_header.h"
#include "elements/worker/chain_frame.h"
#include "elements/worker/chain_input.skel.h"
#include "elements/worker/chain_port.h"
#include "rdma-bridge/port/xsk.h"
#include "user/lib/log.h"

#define CHUNKS	    4096u
#define CHUNK_BYTES 4096u
#define HEADROOM    256u  /* XDP_PACKET_HEADROOM, so a copy has as much as its original */
#define FILL	    1024u /* chunks that wait for frames */
#define RING	    1024u
#define KEPT_MAX    1024u
#define PATIENCE_NS 5000000000u

struct el_port {
	const struct el_chain_netdevs *netdevs; /* borrowed */
	struct el_pool pool;
	uint8_t *area;			/* owned */
	struct el_packet *packets;	/* owned */
	struct rb_xsk_queue *queue;	/* owned */
	struct el_chain_input_bpf *bpf; /* owned */
	struct bpf_link *link;		/* owned; the program leaves the netdev with it */
	struct rb_frame kept[KEPT_MAX];
	uint32_t n_kept;
	struct el_port_counters counters;
};

static void refill(struct el_port *port)
{
	while (rb_xsk_filled(port->queue) < FILL) {
		struct el_packet *packet = el_pool_take(&port->pool);
		uint64_t offset;

		if (!packet)
			return;
		offset = (uint64_t)packet->chunk * CHUNK_BYTES;
		if (rb_xsk_fill(port->queue, &offset, 1) != 1) {
			el_pool_give(&port->pool, packet);
			return;
		}
	}
}

static int open_program(struct el_port *port)
{
	int err;

	port->bpf = el_chain_input_bpf__open_and_load();
	if (!port->bpf)
		return -errno;
	err = rb_xsk_publish(port->queue, 0, bpf_map__fd(port->bpf->maps.sl_chain_xsk), 0);
	if (err)
		return err;
	port->link = bpf_program__attach_xdp(port->bpf->progs.sl_chain_input,
					     (int)port->netdevs->worker_ifindex);
	return port->link ? 0 : -errno;
}

int el_port_open(const struct el_chain_netdevs *netdevs, struct el_port **out)
{
	struct rb_xsk_config config = {
		.netdev = SL_CHAIN_WORKER_NETDEV,
		.area_bytes = (uint64_t)CHUNKS * CHUNK_BYTES,
		.chunk_bytes = CHUNK_BYTES,
		.sockets = 1,
		.fill_size = 2 * FILL,
		.receive_size = RING,
		.send_size = RING,
		.patience_ns = PATIENCE_NS,
	};
	struct el_port *port = calloc(1, sizeof(*port));
	int err = -ENOMEM;

	*out = NULL;
	if (!port)
		return err;
	port->netdevs = netdevs;
	port->area = aligned_alloc(CHUNK_BYTES, config.area_bytes);
	port->packets = calloc(CHUNKS, sizeof(*port->packets));
	if (port->area && port->packets) {
		memset(port->area, 0, config.area_bytes);
		el_pool_init(&port->pool, port->area, port->packets, CHUNKS, CHUNK_BYTES, HEADROOM);
		config.area = port->area;
		err = rb_xsk_open(&config, &port->queue);
	}
	if (!err) {
		refill(port);
		err = open_program(port);
	}
	if (err) {
		sl_error("cannot open " SL_CHAIN_WORKER_NETDEV " by AF_XDP: %s", strerror(-err));
		el_port_close(port);
		return err;
	}
	*out = port;
	return 0;
}

void el_port_close(struct el_port *port)
{
	if (!port)
		return;
	bpf_link__destroy(port->link);
	el_chain_input_bpf__destroy(port->bpf);
	rb_xsk_close(port->queue);
	free(port->packets);
	free(port->area);
	free(port);
}

struct el_pool *el_port_pool(struct el_port *port)
{
	return &port->pool;
}

int el_port_fd(const struct el_port *port)
{
	return rb_xsk_fd(port->queue, 0);
}

const struct el_port_counters *el_port_counters(const struct el_port *port)
{
	return &port->counters;
}

uint64_t el_port_refused(const struct el_port *port)
{
	struct rb_xsk_drops drops;

	rb_xsk_drops(port->queue, 0, &drops);
	return drops.no_chunk + drops.ring_full;
}

bool el_port_waits(struct el_port *port)
{
	return rb_xsk_waits(port->queue, 0);
}

uint32_t el_port_receive(struct el_port *port, struct el_packet **out, uint32_t max)
{
	struct rb_frame frames[EL_PORT_BATCH];
	uint32_t n =
		rb_xsk_receive(port->queue, 0, frames, max < EL_PORT_BATCH ? max : EL_PORT_BATCH);

	for (uint32_t i = 0; i < n; i++) {
		struct el_packet *packet = &port->packets[frames[i].offset / CHUNK_BYTES];

		*packet = (struct el_packet){ .data = port->area + frames[i].offset,
					      .len_bytes = frames[i].len_bytes,
					      .chunk = packet->chunk };
		out[i] = packet;
	}
	port->counters.received += n;
	refill(port);
	return n;
}

void el_port_send(struct el_port *port, struct el_packet *packet)
{
	if (port->n_kept == KEPT_MAX) {
		port->counters.output_full++;
		el_pool_give(&port->pool, packet);
		return;
	}
	el_chain_frame_address(packet, port->netdevs->router_mac, port->netdevs->worker_mac);
	port->kept[port->n_kept++] =
		(struct rb_frame){ .offset = (uint64_t)(packet->data - port->area),
				   .len_bytes = packet->len_bytes };
}

bool el_port_is_sending(const struct el_port *port)
{
	return port->n_kept || rb_xsk_outstanding(port->queue);
}

bool el_port_flush(struct el_port *port)
{
	uint32_t n = rb_xsk_send(port->queue, port->kept,
				 port->n_kept < EL_PORT_BATCH ? port->n_kept : EL_PORT_BATCH);
	uint64_t done[EL_PORT_BATCH];

	port->counters.sent += n;
	port->n_kept -= n;
	memmove(port->kept, port->kept + n, port->n_kept * sizeof(port->kept[0]));
	rb_xsk_kick(port->queue);
	n = rb_xsk_complete(port->queue, done, EL_PORT_BATCH);
	for (uint32_t i = 0; i < n; i++)
		el_pool_give(&port->pool, &port->packets[done[i] / CHUNK_BYTES]);
	return port->n_kept > 0;
}
