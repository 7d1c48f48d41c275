/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "elements/core/packet_pool.h"

static uint8_t *chunk_begin(const struct el_pool *pool, const struct el_packet *packet)
{
	return pool->area + (uint64_t)packet->chunk * pool->chunk_bytes;
}

void el_pool_init(struct el_pool *pool, uint8_t *area, struct el_packet *packets, uint32_t n_chunks,
		  uint32_t chunk_bytes, uint32_t headroom_bytes)
{
	*pool = (struct el_pool){ .area = area,
				  .packets = packets,
				  .n_chunks = n_chunks,
				  .chunk_bytes = chunk_bytes,
				  .headroom_bytes = headroom_bytes };
	for (uint32_t i = n_chunks; i > 0; i--) {
		packets[i - 1] = (struct el_packet){ .chunk = i - 1 };
		el_pool_give(pool, &packets[i - 1]);
	}
}

struct el_packet *el_pool_take(struct el_pool *pool)
{
	struct el_packet *packet = pool->free;

	if (!packet)
		return NULL;
	pool->free = packet->link;
	pool->n_free--;
	*packet = (struct el_packet){ .chunk = packet->chunk };
	packet->data = chunk_begin(pool, packet) + pool->headroom_bytes;
	return packet;
}

void el_pool_give(struct el_pool *pool, struct el_packet *packet)
{
	packet->link = pool->free;
	pool->free = packet;
	pool->n_free++;
}

struct el_packet *el_pool_copy(struct el_pool *pool, const struct el_packet *packet)
{
	struct el_packet *copy = el_pool_take(pool);

	if (!copy)
		return NULL;
	copy->data = chunk_begin(pool, copy) + el_packet_headroom(pool, packet);
	copy->len_bytes = packet->len_bytes;
	copy->l3_offset = packet->l3_offset;
	copy->paint = packet->paint;
	memcpy(copy->data, packet->data, packet->len_bytes);
	return copy;
}

uint32_t el_packet_headroom(const struct el_pool *pool, const struct el_packet *packet)
{
	return (uint32_t)(packet->data - chunk_begin(pool, packet));
}

uint32_t el_packet_tailroom(const struct el_pool *pool, const struct el_packet *packet)
{
	return pool->chunk_bytes - el_packet_headroom(pool, packet) - packet->len_bytes;
}
