/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/queue/chunk.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define CHUNK_MIN_BYTES 2048
#define CHUNK_MAX_BYTES 65536

const char *rb_owner_name(enum rb_owner owner)
{
	static const char *const names[] = { "free",	"fill", "receive", "ingress",
					     "message", "send", "tx" };

	return names[owner];
}

int rb_chunks_create(uint8_t *area, uint64_t first_bytes, uint32_t n, uint32_t chunk_bytes,
		     struct rb_chunks **out)
{
	struct rb_chunks *chunks;

	*out = NULL;
	if (n == 0 || chunk_bytes < CHUNK_MIN_BYTES || chunk_bytes > CHUNK_MAX_BYTES ||
	    (chunk_bytes & (chunk_bytes - 1)) || first_bytes % chunk_bytes)
		return -EINVAL;
	chunks = calloc(1, sizeof(*chunks));
	if (!chunks)
		return -ENOMEM;
	chunks->area = area;
	chunks->first_bytes = first_bytes;
	chunks->shift = (uint32_t)__builtin_ctz(chunk_bytes);
	chunks->n = n;
	chunks->free = calloc(n, sizeof(*chunks->free));
	chunks->uses = calloc(n, sizeof(*chunks->uses));
	chunks->owner = calloc(n, sizeof(*chunks->owner));
	chunks->tag = calloc(n, sizeof(*chunks->tag));
	if (!chunks->free || !chunks->uses || !chunks->owner || !chunks->tag) {
		rb_chunks_destroy(chunks);
		return -ENOMEM;
	}
	/* The stack gives low chunks first, and later the chunk last freed, which is in caches. */
	for (uint32_t i = 0; i < n; i++)
		chunks->free[i] = n - 1 - i;
	chunks->n_free = n;
	chunks->count[RB_OWNER_FREE] = n;
	*out = chunks;
	return 0;
}

void rb_chunks_destroy(struct rb_chunks *chunks)
{
	if (!chunks)
		return;
	free(chunks->free);
	free(chunks->uses);
	free(chunks->owner);
	free(chunks->tag);
	free(chunks);
}

static void set_owner(struct rb_chunks *chunks, uint32_t i, enum rb_owner to)
{
	chunks->count[chunks->owner[i]]--;
	chunks->count[to]++;
	chunks->owner[i] = (uint8_t)to;
}

static void set_free(struct rb_chunks *chunks, uint32_t i)
{
	uint8_t tag = chunks->tag[i];

	set_owner(chunks, i, RB_OWNER_FREE);
	chunks->free[chunks->n_free++] = i;
	chunks->tag[i] = 0;
	if (tag && chunks->on_free)
		chunks->on_free(chunks->on_free_context, tag);
}

/*
 * Find the chunk's index if `from` owns it. If not, the caller has a bug, and the chunk stays as it
 * is: a leak is better than two owners.
 */
static bool find(struct rb_chunks *chunks, uint64_t offset, enum rb_owner from, uint32_t *i)
{
	uint64_t index = (offset - chunks->first_bytes) >> chunks->shift;

	if (index < chunks->n && chunks->owner[index] == from && from != RB_OWNER_FREE) {
		*i = (uint32_t)index;
		return true;
	}
	chunks->violations++;
	return false;
}

uint64_t rb_chunk_take(struct rb_chunks *chunks, enum rb_owner to)
{
	uint32_t i;

	if (chunks->n_free == 0)
		return RB_CHUNK_NONE;
	i = chunks->free[--chunks->n_free];
	chunks->uses[i] = 1;
	set_owner(chunks, i, to);
	return chunks->first_bytes + ((uint64_t)i << chunks->shift);
}

void rb_chunk_move(struct rb_chunks *chunks, uint64_t offset, enum rb_owner from, enum rb_owner to)
{
	uint32_t i;

	if (find(chunks, offset, from, &i))
		set_owner(chunks, i, to);
}

void rb_chunk_set_uses(struct rb_chunks *chunks, uint64_t offset, enum rb_owner owner,
		       uint16_t uses)
{
	uint32_t i;

	if (find(chunks, offset, owner, &i))
		chunks->uses[i] = uses;
}

void rb_chunk_tag(struct rb_chunks *chunks, uint64_t offset, enum rb_owner owner, uint8_t tag)
{
	uint32_t i;

	if (find(chunks, offset, owner, &i))
		chunks->tag[i] = tag;
}

void rb_chunk_release(struct rb_chunks *chunks, uint64_t offset, enum rb_owner from)
{
	uint32_t i;

	if (!find(chunks, offset, from, &i) || --chunks->uses[i] > 0)
		return;
	set_free(chunks, i);
}

uint32_t rb_chunks_reclaim(struct rb_chunks *chunks, enum rb_owner from)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < chunks->n && from != RB_OWNER_FREE; i++)
		if (chunks->owner[i] == from) {
			set_free(chunks, i);
			n++;
		}
	return n;
}
