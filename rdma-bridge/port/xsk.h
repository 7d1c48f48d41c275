/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AF_XDP sockets on one receive queue of a netdev: one UMEM over packet memory with its fill and
 * completion ring, one transmit ring, and any number of receive rings. Each receive ring has a
 * socket of its own, which an element of an XSKMAP may name.
 *
 * Addresses are offsets into packet memory. Threads: a queue belongs to one thread, its owner, but
 * another thread may take frames from one receive ring.
 */
#ifndef RB_XSK_H
#define RB_XSK_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/wire/descriptor.h"

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
	uint64_t patience_ns;  /* how long to wait for a busy queue; 0: not at all */
};

/* Frames that the kernel dropped on the way to one socket, since it was opened. */
struct rb_xsk_drops {
	uint64_t no_chunk;  /* the fill ring was empty, or the frame larger than a chunk */
	uint64_t ring_full; /* the receive ring was full */
};

struct rb_xsk_queue;

/*
 * Bind to the queue, zero-copy if the driver can. Waits up to patience_ns for a queue that another
 * process has. 0, -EINVAL, -ENODEV, -EBUSY (another process has the queue), -ENOMEM, -EPERM;
 * -ENOBUFS when the memory may not be locked.
 */
int rb_xsk_open(const struct rb_xsk_config *config, struct rb_xsk_queue **out);
void rb_xsk_close(struct rb_xsk_queue *queue); /* NULL is fine */
/*
 * Wait until the kernel has let go of a queue that was closed: some time after the close. Until
 * then a zero-copy device may still write into the chunks of the fill ring. 0; -ENODEV: the netdev
 * is gone, and with it the queue; -EBUSY: not within patience_ns, as when another process has the
 * queue now; or what rb_xsk_open says.
 */
int rb_xsk_wait_closed(uint32_t ifindex, uint32_t queue, uint64_t patience_ns);

bool rb_xsk_is_zero_copy(const struct rb_xsk_queue *queue);
int rb_xsk_fd(const struct rb_xsk_queue *queue, uint32_t socket); /* readable when frames wait */
/* Write the socket into element `key` of an XSKMAP. 0 or -errno of the map. */
int rb_xsk_publish(const struct rb_xsk_queue *queue, uint32_t socket, int map_fd, uint32_t key);
void rb_xsk_drops(const struct rb_xsk_queue *queue, uint32_t socket, struct rb_xsk_drops *out);

uint32_t rb_xsk_filled(struct rb_xsk_queue *queue); /* chunks in the fill ring */
/* Put chunks into the fill ring. Returns how many fitted, the first ones. */
uint32_t rb_xsk_fill(struct rb_xsk_queue *queue, const uint64_t *offsets, uint32_t n);
bool rb_xsk_waits(struct rb_xsk_queue *queue, uint32_t socket); /* do received frames wait? */
/* Take received frames of one socket, at most max. Returns how many. */
uint32_t rb_xsk_receive(struct rb_xsk_queue *queue, uint32_t socket, struct rb_frame *out,
			uint32_t max);
/* Frames that rb_xsk_send would take now. */
uint32_t rb_xsk_send_room(struct rb_xsk_queue *queue);
/* Put frames into the transmit ring, for rb_xsk_kick. Returns how many fitted, the first ones. */
uint32_t rb_xsk_send(struct rb_xsk_queue *queue, const struct rb_frame *frames, uint32_t n);
/* Make the kernel send the transmit ring. 0, -EAGAIN if some frames wait, -errno of the device. */
int rb_xsk_kick(struct rb_xsk_queue *queue);
/* Take back frames that were sent, by their offsets, at most max. Returns how many. */
uint32_t rb_xsk_complete(struct rb_xsk_queue *queue, uint64_t *offsets, uint32_t max);
/* Frames given to rb_xsk_send and not yet completed. */
uint32_t rb_xsk_outstanding(const struct rb_xsk_queue *queue);

#endif
