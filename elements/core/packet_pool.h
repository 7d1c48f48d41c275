/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets of a worker, in chunks of one memory area. A packet has one owner at a time: the pool,
 * an element's queue, or the chain that runs. Pure: the memory is the caller's.
 */
#ifndef EL_PACKET_POOL_H
#define EL_PACKET_POOL_H

#include <stdbool.h>
#include <stdint.h>

struct el_packet {
	uint8_t *data;		/* the Ethernet header; within the chunk */
	uint32_t len_bytes;	/* of the frame */
	uint32_t chunk;		/* number of its chunk */
	uint32_t l3_offset;	/* of the IP header in the frame: behind 0 to 2 VLAN tags */
	uint8_t paint;		/* colour, set by Paint; 0 at entry */
	uint8_t reserved[3];	/* 0 */
	struct el_packet *link; /* the owner's: the next packet of its list */
};

struct el_pool {
	uint8_t *area;		   /* borrowed: n_chunks * chunk_bytes */
	struct el_packet *packets; /* borrowed: n_chunks, by chunk */
	uint32_t n_chunks, chunk_bytes;
	uint32_t headroom_bytes; /* before the data of a packet that is taken */
	uint32_t n_free;
	struct el_packet *free; /* list by link */
};

/* All chunks are free. headroom_bytes is below chunk_bytes. */
void el_pool_init(struct el_pool *pool, uint8_t *area, struct el_packet *packets, uint32_t n_chunks,
		  uint32_t chunk_bytes, uint32_t headroom_bytes);

/* An empty packet whose data lies headroom_bytes into its chunk; NULL: none is free. */
struct el_packet *el_pool_take(struct el_pool *pool);
void el_pool_give(struct el_pool *pool, struct el_packet *packet);
/* A second packet of the same bytes and paint; NULL: none is free. */
struct el_packet *el_pool_copy(struct el_pool *pool, const struct el_packet *packet);

/* Bytes between the frame and the begin or end of its chunk. */
uint32_t el_packet_headroom(const struct el_pool *pool, const struct el_packet *packet);
uint32_t el_packet_tailroom(const struct el_pool *pool, const struct el_packet *packet);

#endif
