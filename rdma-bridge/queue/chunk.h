/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packet memory: one area cut into chunks of equal size. A chunk has one owner at a time. Every
 * hand-over is a call here that names the old and the new owner, so a leak shows in a count, and a
 * double free is caught where it happens. A chunk that holds several frames has a count of them.
 *
 * Any byte offset inside a chunk names the chunk, because AF_XDP descriptors and memory regions
 * carry such offsets.
 *
 * Threads: a rb_chunks belongs to one thread. Several may share an area, each with its own part.
 */
#ifndef RB_CHUNK_H
#define RB_CHUNK_H

#include <stdint.h>

#define RB_CHUNK_NONE UINT64_MAX

enum rb_owner {
	RB_OWNER_FREE = 0,
	RB_OWNER_FILL,	  /* in the fill ring of an edge port */
	RB_OWNER_RECEIVE, /* posted to the transport */
	RB_OWNER_INGRESS, /* holds a frame from an edge port or a TAP, until its message has left */
	RB_OWNER_MESSAGE, /* holds a received message; its uses are the frames not yet sent */
	RB_OWNER_SEND,	  /* the transport builds what it sends in it */
	RB_OWNER_TX,	  /* holds what a transmit back end copied */
	RB_OWNER_COUNT
};
const char *rb_owner_name(enum rb_owner owner);

struct rb_chunks {
	uint8_t *area;	      /* borrowed until rb_chunks_destroy */
	uint64_t first_bytes; /* offset of our first chunk in the area */
	uint32_t shift;	      /* log2 of the chunk size */
	uint32_t n;	      /* number of chunks */
	uint32_t n_free;
	uint32_t *free;			/* owned: stack of free chunks */
	uint16_t *uses;			/* owned: per chunk */
	uint8_t *owner;			/* owned: per chunk, enum rb_owner */
	uint8_t *tag;			/* owned: per chunk; 0: none */
	uint32_t count[RB_OWNER_COUNT]; /* chunks per owner; they sum to n */
	/* Calls that named another owner than the chunk's: bugs. Such a call changes nothing. */
	uint64_t violations;
	/* Called when a chunk that has a tag becomes free. The tag is gone then. */
	void (*on_free)(void *context, uint8_t tag);
	void *on_free_context;
};

/*
 * Manage n chunks of chunk_bytes (a power of two, 2048..65536), which begin at offset first_bytes
 * (a multiple of chunk_bytes) of an area. 0, -EINVAL or -ENOMEM.
 */
int rb_chunks_create(uint8_t *area, uint64_t first_bytes, uint32_t n, uint32_t chunk_bytes,
		     struct rb_chunks **out);
void rb_chunks_destroy(struct rb_chunks *chunks); /* NULL is fine; the area stays */

/* Take a free chunk, with 1 use. Returns the offset of its first byte, or RB_CHUNK_NONE. */
uint64_t rb_chunk_take(struct rb_chunks *chunks, enum rb_owner to);
/* Hand a chunk over. */
void rb_chunk_move(struct rb_chunks *chunks, uint64_t offset, enum rb_owner from, enum rb_owner to);
/* The chunk has `uses` uses from now on, 1..65535: so many releases free it. */
void rb_chunk_set_uses(struct rb_chunks *chunks, uint64_t offset, enum rb_owner owner,
		       uint16_t uses);
/* Mark the chunk until it is free; tag is not 0. */
void rb_chunk_tag(struct rb_chunks *chunks, uint64_t offset, enum rb_owner owner, uint8_t tag);
/* End one use of the chunk; the end of the last one frees it. */
void rb_chunk_release(struct rb_chunks *chunks, uint64_t offset, enum rb_owner from);

/* Free all chunks of an owner that is gone, as a closed socket. Returns how many. */
uint32_t rb_chunks_reclaim(struct rb_chunks *chunks, enum rb_owner from);

static inline uint64_t rb_chunk_base(const struct rb_chunks *chunks, uint64_t offset)
{
	return offset >> chunks->shift << chunks->shift;
}

/* The kernel keeps this free before each frame that AF_XDP receives; a TAP does as it does. */
#define RB_CHUNK_HEADROOM_BYTES 256

static inline uint32_t rb_chunk_bytes(const struct rb_chunks *chunks)
{
	return 1U << chunks->shift;
}

static inline uint8_t *rb_chunk_data(const struct rb_chunks *chunks, uint64_t offset)
{
	return chunks->area + offset;
}

#endif
