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

/* Add the entries of one ADDRESS to out; returns how many. */
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
	if (!r->is_peer)
		out[n++] = entry;
	if (!r->is_peer && r->prefix_len == entry.len)
		return n;
	entry.kind = SL_REMOTE_PREFIX;
	entry.len = r->prefix_len;
	sl_addr_mask(entry.addr, entry.len);
	memcpy(entry.source, r->family == AF_INET ? sources->addr4 : sources->addr6,
	       sizeof(entry.source));
	out[n++] = entry;
	return n;
}

/* --- What the kernel must not get --- */

#define NAME(id, name, text) name,
static const char *const refusal_names[] = { SL_REMOTE_REFUSALS(NAME) };
#undef NAME
#define TEXT(id, name, text) text,
static const char *const refusal_texts[] = { SL_REMOTE_REFUSALS(TEXT) };
#undef TEXT

const char *sl_remote_refusal_name(enum sl_remote_refusal refusal)
{
	return refusal_names[refusal];
}

const char *sl_remote_refusal_text(enum sl_remote_refusal refusal)
{
	return refusal_texts[refusal];
}

static int compare_prefixes(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct sl_prefix));
}

static int list_add(struct sl_prefix_list *list, const struct sl_prefix *prefix)
{
	if (list->n == list->room) {
		size_t room = list->room ? 2 * list->room : 16;
		struct sl_prefix *grown = realloc(list->prefix, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		list->prefix = grown;
		list->room = room;
	}
	list->prefix[list->n++] = *prefix;
	return 0;
}

int sl_remote_here_add(struct sl_remote_here *here, const struct sl_prefix *prefix, bool fabric)
{
	here->has_len[prefix->family == AF_INET6][prefix->len] = true;
	return list_add(&here->own, prefix) || (fabric && list_add(&here->fabric, prefix)) ? -ENOMEM
											   : 0;
}

static void list_sort(struct sl_prefix_list *list)
{
	if (list->n)
		qsort(list->prefix, list->n, sizeof(*list->prefix), compare_prefixes);
}

void sl_remote_here_sort(struct sl_remote_here *here)
{
	list_sort(&here->own);
	list_sort(&here->fabric);
}

static bool same_lists(const struct sl_prefix_list *a, const struct sl_prefix_list *b)
{
	return a->n == b->n &&
	       (!a->n || memcmp(a->prefix, b->prefix, a->n * sizeof(*a->prefix)) == 0);
}

bool sl_remote_here_same(const struct sl_remote_here *a, const struct sl_remote_here *b)
{
	return memcmp(&a->sources, &b->sources, sizeof(a->sources)) == 0 &&
	       same_lists(&a->own, &b->own) && same_lists(&a->fabric, &b->fabric);
}

void sl_remote_here_free(struct sl_remote_here *here)
{
	free(here->own.prefix);
	free(here->fabric.prefix);
	memset(here, 0, sizeof(*here));
}

/* Does the entry lie in an own prefix, or is it one? */
static bool is_own(const struct sl_remote_here *here, const struct sl_remote_entry *entry)
{
	struct sl_prefix key = { .family = entry->family };

	for (unsigned int len = 0; len <= entry->len && here->own.n; len++) {
		if (!here->has_len[entry->family == AF_INET6][len])
			continue;
		key.len = (uint8_t)len;
		memcpy(key.addr, entry->addr, sizeof(key.addr));
		sl_addr_mask(key.addr, len);
		if (bsearch(&key, here->own.prefix, here->own.n, sizeof(key), compare_prefixes))
			return true;
	}
	return false;
}

/*
 * A wider prefix takes nothing from the fabric while the fabric's own route is there, but all of it
 * when the link is down.
 */
static bool overlaps_fabric(const struct sl_remote_here *here, const struct sl_remote_entry *entry)
{
	for (size_t i = 0; i < here->fabric.n; i++) {
		const struct sl_prefix *fabric = &here->fabric.prefix[i];
		const uint8_t len = fabric->len < entry->len ? fabric->len : entry->len;

		if (fabric->family == entry->family &&
		    sl_addr_match(fabric->addr, entry->addr, len))
			return true;
	}
	return false;
}

/* "This network", loopback, multicast and beyond; ::, ::1 and multicast. */
static bool is_reserved(const struct sl_remote_entry *entry)
{
	static const uint8_t zeros[15];

	if (entry->family == AF_INET)
		return entry->addr[0] == 0 || entry->addr[0] == 127 || entry->addr[0] >= 224;
	return entry->addr[0] == 0xff ||
	       (memcmp(entry->addr, zeros, sizeof(zeros)) == 0 && entry->addr[15] <= 1);
}

/* Judge an entry by itself. SL_REMOTE_REFUSAL_COUNT: the kernel may have it. */
static enum sl_remote_refusal judge(const struct sl_remote_here *here,
				    const struct sl_remote_entry *entry)
{
	if (entry->kind == SL_REMOTE_NEIGHBOUR)
		return SL_REMOTE_REFUSAL_COUNT;
	if (entry->len < (entry->family == AF_INET ? SL_REMOTE_LEN4_MIN : SL_REMOTE_LEN6_MIN))
		return SL_REMOTE_REFUSAL_SHORT;
	if (is_reserved(entry))
		return SL_REMOTE_REFUSAL_RESERVED;
	if (overlaps_fabric(here, entry))
		return SL_REMOTE_REFUSAL_FABRIC;
	return is_own(here, entry) ? SL_REMOTE_REFUSAL_OWN : SL_REMOTE_REFUSAL_COUNT;
}

/* Count the entries of each port of the node, and judge by that, too. */
static enum sl_remote_refusal judge_number(const struct sl_remote_entry *entry,
					   uint32_t counts[2][256])
{
	const bool is_neighbour = entry->kind == SL_REMOTE_NEIGHBOUR;
	uint32_t *count = &counts[is_neighbour][entry->system_port & 0xff];

	if (*count == (is_neighbour ? SL_REMOTE_NEIGHBOURS_MAX : SL_REMOTE_ROUTES_MAX))
		return SL_REMOTE_REFUSAL_MANY;
	++*count;
	return SL_REMOTE_REFUSAL_COUNT;
}

size_t sl_remote_entries(const struct sl_announce_record *records, size_t n,
			 const struct sl_remote_here *here, struct sl_remote_entry *out,
			 void (*refuse)(void *ctx, const struct sl_remote_entry *entry,
					enum sl_remote_refusal why),
			 void *ctx)
{
	uint32_t counts[2][256] = { 0 };
	struct sl_remote_entry last = { 0 };
	size_t used = 0, kept = 0;

	for (size_t i = 0; i < n; i++) {
		const struct sl_announce_record *r = &records[i];

		if (r->type == SL_ANNOUNCE_ADDRESS) {
			used += add_address(r, &here->sources, &out[used]);
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
	for (size_t i = 0; i < used; i++) {
		const struct sl_remote_entry entry = out[i];
		enum sl_remote_refusal why;

		if (compare_keys(&last, &entry) == 0)
			continue;
		last = entry;
		why = judge(here, &entry);
		if (why == SL_REMOTE_REFUSAL_COUNT)
			why = judge_number(&entry, counts);
		if (why == SL_REMOTE_REFUSAL_COUNT)
			out[kept++] = entry;
		else
			refuse(ctx, &entry, why);
	}
	return kept;
}

bool sl_remote_diff(const struct sl_remote_entry *old, size_t n_old,
		    const struct sl_remote_entry *new, size_t n_new, struct sl_remote_cursor *at,
		    size_t max,
		    void (*each)(void *ctx, enum sl_remote_change change,
				 const struct sl_remote_entry *was,
				 const struct sl_remote_entry *now),
		    void *ctx)
{
	while (at->old < n_old || at->new < n_new) {
		int order = at->old == n_old   ? 1
			    : at->new == n_new ? -1
					       : compare_keys(&old[at->old], &new[at->new]);
		const bool same = order == 0 && compare(&old[at->old], &new[at->new]) == 0;

		if (!same && max-- == 0)
			return true;
		if (order < 0)
			each(ctx, SL_REMOTE_REMOVE, &old[at->old], NULL);
		else if (order > 0)
			each(ctx, SL_REMOTE_ADD, NULL, &new[at->new]);
		else if (!same)
			each(ctx, SL_REMOTE_REPLACE, &old[at->old], &new[at->new]);
		at->old += order <= 0;
		at->new += order >= 0;
	}
	return false;
}
