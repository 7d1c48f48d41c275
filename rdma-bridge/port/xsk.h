/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AF_XDP sockets on one receive queue of a netdev: one UMEM over the packet memory with its fill
 * and completion ring, one transmit ring, and any number of receive rings, each a socket of its own
 * that an XSKMAP may lead to.
 *
 * Addresses are offsets into the packet memory. Not thread-safe: a queue belongs to one thread.
 */
#ifndef RB_XSK_H
#define RB_XSK_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/queue/chunk.h"

#define RB_XSK_SOCKETS_MAX 1024 /* receive rings of one queue */

struct rb_xsk_config {
	const char *netdev;
	uint32_t queue;
	uint8_t *area; /* packet memory: page aligned, borrowed until close */
	uint64_t area_bytes;
	uint32_t chunk_bytes;  /* 2048 or 4096 */
	uint32_t sockets;      /* receive rings, 1..RB_XSK_SOCKETS_MAX */
	uint32_t fill_size;    /* entries; these and the next are powers of two */
	uint32_t receive_size; /* of each receive ring */
	uint32_t send_size;    /* of the transmit and the completion ring */
	uint64_t patience_ns;  /* how long a queue that is busy is waited for; 0: not */
};

/* What the kernel dropped on the way to one socket, since it was opened. */
struct rb_xsk_drops {
	uint64_t no_chunk;  /* the fill ring was empty, or the frame larger than a chunk */
	uint64_t ring_full; /* the receive ring was full */
};

struct rb_xsk_queue;

/*
 * Bind to the queue, zero-copy if the driver can. A queue that a former owner is just leaving is
 * waited for, up to a second. -EINVAL, -ENODEV, -EBUSY (another process has the queue), -ENOMEM,
 * -EPERM; -ENOBUFS when the memory may not be locked.
 */
int rb_xsk_open(const struct rb_xsk_config *config, struct rb_xsk_queue **out);
void rb_xsk_close(struct rb_xsk_queue *queue); /* NULL is fine */

bool rb_xsk_is_zero_copy(const struct rb_xsk_queue *queue);
int rb_xsk_fd(const struct rb_xsk_queue *queue, uint32_t socket); /* readable when frames wait */
/* Let element `key` of an XSKMAP lead to this socket. 0 or -errno of the map. */
int rb_xsk_publish(const struct rb_xsk_queue *queue, uint32_t socket, int map_fd, uint32_t key);
void rb_xsk_drops(const struct rb_xsk_queue *queue, uint32_t socket, struct rb_xsk_drops *out);

/* Give chunks to receive into; how many were taken, the first ones. */
uint32_t rb_xsk_filled(struct rb_xsk_queue *queue); /* chunks in the fill ring */
uint32_t rb_xsk_fill(struct rb_xsk_queue *queue, const uint64_t *offsets, uint32_t n);
/* Take received frames of one socket. */
uint32_t rb_xsk_receive(struct rb_xsk_queue *queue, uint32_t socket, struct rb_chunk_frame *out,
			uint32_t max);
/* Entries free in the transmit ring. */
uint32_t rb_xsk_send_room(struct rb_xsk_queue *queue);
/* Put frames into the transmit ring; how many fitted. They leave with rb_xsk_kick. */
uint32_t rb_xsk_send(struct rb_xsk_queue *queue, const struct rb_chunk_frame *frames, uint32_t n);
/*
 * Make the kernel send what is in the ring. 0; -EAGAIN if some of it waits; -errno if the device
 * refuses.
 */
int rb_xsk_kick(struct rb_xsk_queue *queue);
/* Take back what was sent: the offsets that rb_xsk_send was given. */
uint32_t rb_xsk_complete(struct rb_xsk_queue *queue, uint64_t *offsets, uint32_t max);
/* Frames given to rb_xsk_send and not yet completed. */
uint32_t rb_xsk_outstanding(const struct rb_xsk_queue *queue);

#endif
