/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "user/text/prefix.h"
#include "user/cluster/remote_state.h"

_Static_assert(sizeof(struct sl_remote_entry) == 44, "an entry has hidden padding");

/* --- Generations --- */

struct collector {
	struct sl_assembly *a;
	int err;
};

static void collect(void *ctx, const struct sl_announce_record *record)
{
	struct collector *c = ctx;
	struct sl_assembly *a = c->a;

	if (c->err)
		return;
	if (a->n == a->room) {
		uint32_t room = a->room ? 2 * a->room : 64;
		struct sl_announce_record *records = realloc(a->records, room * sizeof(*records));

		if (!records) {
			c->err = -ENOMEM;
			return;
		}
		a->records = records;
		a->room = room;
	}
	a->records[a->n++] = *record;
}

static void ignore(void *ctx, const struct sl_announce_record *record)
{
	(void)ctx;
	(void)record;
}

static void begin(struct sl_assembly *a, const struct sl_announce_header *header)
{
	a->any = true;
	a->complete = false;
	a->generation = header->generation;
	a->parts = a->missing = header->parts;
	a->n = 0;
	memset(a->seen, 0, sizeof(a->seen));
}

int sl_assembly_input(struct sl_assembly *a, const uint8_t *bytes, size_t len_bytes,
		      uint8_t source_node, uint8_t self_node)
{
	struct sl_announce_header header;
	struct collector c = { .a = a };
	int err;

	/* Check the part first, so that a bad one does not end the generation before it. */
	err = sl_announce_parse(bytes, len_bytes, source_node, self_node, &header, ignore, NULL);
	if (err)
		return err;
	if (header.kind != SL_ANNOUNCE_STATE)
		return -EPROTO;
	if (a->any && (int32_t)(header.generation - a->generation) < 0)
		return 0;
	if (!a->any || header.generation != a->generation)
		begin(a, &header);
	if (header.parts != a->parts)
		return -EPROTO;
	if (a->complete || a->seen[header.part / 8] & 1u << header.part % 8)
		return 0;
	sl_announce_parse(bytes, len_bytes, source_node, self_node, &header, collect, &c);
	if (c.err) {
		a->any = false; /* the next repetition begins the generation again */
		return c.err;
	}
	a->seen[header.part / 8] |= (uint8_t)(1u << header.part % 8);
	a->complete = --a->missing == 0;
	return a->complete;
}

void sl_assembly_reset(struct sl_assembly *a)
{
	free(a->records);
	memset(a, 0, sizeof(*a));
}

/* --- Entries --- */

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct sl_remote_entry));
}

static int compare_keys(const struct sl_remote_entry *a, const struct sl_remote_entry *b)
{
	return memcmp(a, b, SL_REMOTE_KEY_BYTES);
}

static size_t add_address(const struct sl_announce_record *r,
			  const struct sl_remote_sources *sources, struct sl_remote_entry *out)
{
	const bool link_local =
		r->family == AF_INET6 && r->addr[0] == 0xfe && (r->addr[1] & 0xc0) == 0x80;
	struct sl_remote_entry entry = { .kind = SL_REMOTE_HOST,
					 .family = r->family,
					 .len = sl_addr_bits(r->family),
					 .system_port = r->system_port };
	size_t n = 0;

	if (link_local)
		return 0;
	memcpy(entry.addr, r->addr, sizeof(entry.addr));
	out[n++] = entry;
	if (r->prefix_len == entry.len)
		return n;
	entry.kind = SL_REMOTE_PREFIX;
	entry.len = r->prefix_len;
	sl_addr_mask(entry.addr, entry.len);
	memcpy(entry.source, r->family == AF_INET ? sources->addr4 : sources->addr6,
	       sizeof(entry.source));
	out[n++] = entry;
	return n;
}

size_t sl_remote_entries(const struct sl_announce_record *records, size_t n,
			 const struct sl_remote_sources *sources, struct sl_remote_entry *out)
{
	size_t used = 0, kept = 0;

	for (size_t i = 0; i < n; i++) {
		const struct sl_announce_record *r = &records[i];

		if (r->type == SL_ANNOUNCE_ADDRESS) {
			used += add_address(r, sources, &out[used]);
		} else if (r->type == SL_ANNOUNCE_NEIGHBOUR) {
			out[used] = (struct sl_remote_entry){ .kind = SL_REMOTE_NEIGHBOUR,
							      .family = r->family,
							      .system_port = r->system_port };
			memcpy(out[used].addr, r->addr, sizeof(out[used].addr));
			memcpy(out[used++].mac, r->mac, sizeof(r->mac));
		}
	}
	if (used)
		qsort(out, used, sizeof(*out), compare);
	for (size_t i = 0; i < used; i++)
		if (!kept || compare_keys(&out[kept - 1], &out[i]) != 0)
			out[kept++] = out[i];
	return kept;
}

void sl_remote_diff(const struct sl_remote_entry *old, size_t n_old,
		    const struct sl_remote_entry *new, size_t n_new,
		    void (*each)(void *ctx, enum sl_remote_change change,
				 const struct sl_remote_entry *was,
				 const struct sl_remote_entry *now),
		    void *ctx)
{
	size_t i = 0, j = 0;

	while (i < n_old || j < n_new) {
		int order = i == n_old ? 1 : j == n_new ? -1 : compare_keys(&old[i], &new[j]);

		if (order < 0) {
			each(ctx, SL_REMOTE_REMOVE, &old[i++], NULL);
		} else if (order > 0) {
			each(ctx, SL_REMOTE_ADD, NULL, &new[j++]);
		} else {
			if (compare(&old[i], &new[j]) != 0)
				each(ctx, SL_REMOTE_REPLACE, &old[i], &new[j]);
			i++;
			j++;
		}
	}
}
