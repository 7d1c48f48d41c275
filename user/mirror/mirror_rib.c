/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A hash table with chains. The routes of one prefix stand in one chain, one after the other, in
 * the order in which the kernel tries them.
 */
#include "user/mirror/mirror_rib.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "user/mirror/mirror_hash.h"

enum { FIRST_BUCKETS = 1024, FIRST_ROOM = 1024 };

int sl_rib_init(struct sl_rib *s, uint8_t family)
{
	*s = (struct sl_rib){ .family = family,
			      .addr_bytes = family == AF_INET ? 4 : 16,
			      .free = SL_ROUTE_NONE,
			      .mask = FIRST_BUCKETS - 1 };
	s->stride = (uint32_t)sizeof(struct sl_route) + s->addr_bytes;
	s->bucket = malloc(FIRST_BUCKETS * sizeof(*s->bucket));
	if (!s->bucket)
		return -ENOMEM;
	memset(s->bucket, 0xff, FIRST_BUCKETS * sizeof(*s->bucket));
	return 0;
}

void sl_rib_fini(struct sl_rib *s)
{
	free(s->pool);
	free(s->bucket);
	free(s->shadow);
	free(s->host);
	*s = (struct sl_rib){ 0 };
}

static uint32_t hash(const struct sl_rib *s, const uint8_t *addr, uint8_t len)
{
	return sl_hash(addr, s->addr_bytes, len);
}

static bool same(const struct sl_rib *s, const struct sl_route *r, const uint8_t *addr, uint8_t len)
{
	return r->len == len && !memcmp(r->addr, addr, s->addr_bytes);
}

sl_route_ref sl_rib_first(const struct sl_rib *s, const uint8_t *addr, uint8_t len)
{
	sl_route_ref ref = s->bucket[hash(s, addr, len) & s->mask];

	while (ref != SL_ROUTE_NONE && !same(s, sl_rib_at(s, ref), addr, len))
		ref = sl_rib_at(s, ref)->next;
	return ref;
}

sl_route_ref sl_rib_next(const struct sl_rib *s, sl_route_ref ref)
{
	const struct sl_route *r = sl_rib_at(s, ref);

	if (r->next != SL_ROUTE_NONE && same(s, sl_rib_at(s, r->next), r->addr, r->len))
		return r->next;
	return SL_ROUTE_NONE;
}

/* Double the buckets. Each chain splits into two, which keep its order. */
static void grow_buckets(struct sl_rib *s)
{
	const uint32_t old = s->mask + 1;
	sl_route_ref *bucket = realloc(s->bucket, 2 * (size_t)old * sizeof(*bucket));

	if (!bucket)
		return; /* the chains only get longer */
	s->bucket = bucket;
	s->mask = 2 * old - 1;
	for (uint32_t i = 0; i < old; i++) {
		sl_route_ref ref = bucket[i], *tail[2] = { &bucket[i], &bucket[i + old] };
		while (ref != SL_ROUTE_NONE) {
			struct sl_route *r = sl_rib_at(s, ref);
			sl_route_ref **at = &tail[!!(hash(s, r->addr, r->len) & old)];
			**at = ref;
			*at = &r->next;
			ref = r->next;
		}
		*tail[0] = *tail[1] = SL_ROUTE_NONE;
	}
}

static sl_route_ref take(struct sl_rib *s)
{
	sl_route_ref ref = s->free;

	if (ref != SL_ROUTE_NONE) {
		s->free = sl_rib_at(s, ref)->next;
		return ref;
	}
	if (s->used == s->room) {
		const uint32_t room = s->room ? s->room + s->room / 2 : FIRST_ROOM;
		uint8_t *pool = realloc(s->pool, (size_t)room * s->stride);
		if (!pool)
			return SL_ROUTE_NONE;
		s->pool = pool;
		s->room = room;
	}
	s->walk_left += s->walk_left > 0; /* else the walk would end before it has seen all */
	return s->used++;
}

static void link_in(struct sl_rib *s, sl_route_ref ref, sl_route_ref after)
{
	struct sl_route *r = sl_rib_at(s, ref);
	sl_route_ref *at;

	if (after != SL_ROUTE_NONE) {
		at = &sl_rib_at(s, after)->next;
	} else {
		at = &s->bucket[hash(s, r->addr, r->len) & s->mask];
		while (*at != SL_ROUTE_NONE && !same(s, sl_rib_at(s, *at), r->addr, r->len))
			at = &sl_rib_at(s, *at)->next;
	}
	r->next = *at;
	*at = ref;
}

static void link_out(struct sl_rib *s, sl_route_ref ref)
{
	const struct sl_route *r = sl_rib_at(s, ref);
	sl_route_ref *at = &s->bucket[hash(s, r->addr, r->len) & s->mask];

	while (*at != ref)
		at = &sl_rib_at(s, *at)->next;
	*at = r->next;
}

sl_route_ref sl_rib_add(struct sl_rib *s, const uint8_t *addr, uint8_t len, sl_route_ref after)
{
	const sl_route_ref ref = take(s);
	struct sl_route *r;

	if (ref == SL_ROUTE_NONE)
		return ref;
	if (s->n++ > s->mask)
		grow_buckets(s);
	r = sl_rib_at(s, ref);
	*r = (struct sl_route){ .len = len };
	memcpy(r->addr, addr, s->addr_bytes);
	link_in(s, ref, after);
	s->with_len[len]++;
	return ref;
}

void sl_rib_move(struct sl_rib *s, sl_route_ref ref, sl_route_ref after)
{
	link_out(s, ref);
	link_in(s, ref, after);
}

void sl_rib_del(struct sl_rib *s, sl_route_ref ref)
{
	struct sl_route *r = sl_rib_at(s, ref);

	link_out(s, ref);
	s->with_len[r->len]--;
	s->n--;
	r->path = SL_ROUTE_NONE;
	r->next = s->free;
	s->free = ref;
}

size_t sl_rib_bytes(const struct sl_rib *s)
{
	return (size_t)s->used * s->stride + ((size_t)s->mask + 1) * sizeof(*s->bucket) +
	       s->host_room * sizeof(*s->host) + s->n_shadow * sizeof(*s->shadow);
}

bool sl_prefix_covers(uint8_t len, const uint8_t *prefix, const uint8_t *addr)
{
	const uint32_t bytes = len / 8, bits = len % 8;

	return !memcmp(prefix, addr, bytes) &&
	       (!bits || !((prefix[bytes] ^ addr[bytes]) & (0xff00 >> bits & 0xff)));
}
