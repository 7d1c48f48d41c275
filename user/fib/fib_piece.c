/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A slab allocator (Bonwick, 1994) of 17 sizes. The pieces that wait are a queue through their own
 * notes: it needs no memory, however many there are.
 */
#include "user/fib/fib_piece.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* Pieces that one call frees, so that none takes long; it takes at most one. */
#define REAP_AT_ONCE 4

_Static_assert(SL_PAGE_UNITS == 64, "a page's free pieces are the bits of one word");

int sl_pieces_init(struct sl_pieces *pieces, uint32_t n_pages)
{
	*pieces = (struct sl_pieces){ .n_pages = n_pages, .empty = NONE };
	for (uint32_t units = 0; units <= SL_PIECE_UNITS_MAX; units++)
		pieces->partial[units] = NONE;
	pieces->page = calloc(n_pages, sizeof(*pieces->page));
	pieces->note = calloc((size_t)n_pages * SL_PAGE_UNITS, sizeof(*pieces->note));
	if (pieces->page && pieces->note)
		return 0;
	sl_pieces_fini(pieces);
	return -ENOMEM;
}

void sl_pieces_fini(struct sl_pieces *pieces)
{
	free(pieces->page);
	free(pieces->note);
	*pieces = (struct sl_pieces){ 0 };
}

/* --- Lists of pages --- */

static void link_page(struct sl_pieces *pieces, uint32_t *list, uint32_t number)
{
	struct sl_piece_page *page = &pieces->page[number];

	page->prev = NONE;
	page->next = *list;
	if (*list != NONE)
		pieces->page[*list].prev = number;
	*list = number;
}

static void unlink_page(struct sl_pieces *pieces, uint32_t *list, uint32_t number)
{
	struct sl_piece_page *page = &pieces->page[number];

	if (page->prev == NONE)
		*list = page->next;
	else
		pieces->page[page->prev].next = page->next;
	if (page->next != NONE)
		pieces->page[page->next].prev = page->prev;
}

static uint64_t all_free(uint32_t units)
{
	return ~0ULL >> (64 - SL_PAGE_UNITS / units);
}

/* --- Free and in use --- */

void sl_piece_put(struct sl_pieces *pieces, uint32_t unit)
{
	uint32_t number = unit / SL_PAGE_UNITS;
	struct sl_piece_page *page = &pieces->page[number];
	uint32_t *partial = &pieces->partial[page->units];

	pieces->used_units -= page->units;
	if (!page->free && !page->closed)
		link_page(pieces, partial, number);
	page->free |= 1ULL << (unit % SL_PAGE_UNITS) / page->units;
	if (page->free != all_free(page->units))
		return;
	if (!page->closed)
		unlink_page(pieces, partial, number);
	link_page(pieces, &pieces->empty, number);
	page->units = 0;
	page->closed = false;
	pieces->used_pages--;
}

/* Cut a page that has no piece in use. -ENOSPC: there is none. */
static int cut_page(struct sl_pieces *pieces, uint32_t units)
{
	uint32_t number = pieces->empty;

	if (number != NONE)
		unlink_page(pieces, &pieces->empty, number);
	else if (pieces->fresh < pieces->n_pages)
		number = pieces->fresh++;
	else
		return -ENOSPC;
	pieces->page[number].units = (uint8_t)units;
	pieces->page[number].free = all_free(units);
	link_page(pieces, &pieces->partial[units], number);
	pieces->used_pages++;
	return 0;
}

static bool has_waited(const struct sl_pieces *pieces, uint64_t now_ns)
{
	return pieces->waiting &&
	       (pieces->unread || pieces->note[pieces->oldest].waiting.free_ns <= now_ns);
}

/* Free up to `most` of those that have waited long enough. */
static void reap(struct sl_pieces *pieces, uint64_t now_ns, uint32_t most)
{
	for (; most && has_waited(pieces, now_ns); most--) {
		uint32_t unit = pieces->oldest;

		pieces->oldest = pieces->note[unit].waiting.next;
		pieces->waiting--;
		pieces->unread -= pieces->unread > 0;
		pieces->waiting_units -= pieces->page[unit / SL_PAGE_UNITS].units;
		sl_piece_put(pieces, unit);
	}
}

static int take_from(struct sl_pieces *pieces, uint32_t units, uint32_t *unit)
{
	uint32_t number = pieces->partial[units];
	struct sl_piece_page *page;
	uint32_t piece;

	if (number == NONE)
		return -ENOSPC;
	page = &pieces->page[number];
	piece = (uint32_t)__builtin_ctzll(page->free);
	page->free &= page->free - 1;
	if (!page->free)
		unlink_page(pieces, &pieces->partial[units], number);
	*unit = number * SL_PAGE_UNITS + piece * units;
	pieces->used_units += units;
	return 0;
}

static int take(struct sl_pieces *pieces, uint32_t units, uint32_t *unit)
{
	if (!take_from(pieces, units, unit))
		return 0;
	return cut_page(pieces, units) ? -ENOSPC : take_from(pieces, units, unit);
}

int sl_piece_take(struct sl_pieces *pieces, uint64_t now_ns, uint32_t units, uint32_t *unit)
{
	reap(pieces, now_ns, REAP_AT_ONCE);
	if (!take(pieces, units, unit))
		return 0;
	sl_pieces_reap(pieces, now_ns);
	return take(pieces, units, unit);
}

void sl_pieces_reap(struct sl_pieces *pieces, uint64_t now_ns)
{
	reap(pieces, now_ns, UINT32_MAX);
}

void sl_piece_retire(struct sl_pieces *pieces, uint64_t now_ns, uint32_t unit)
{
	pieces->note[unit].waiting.free_ns = now_ns + SL_GRACE_NS;
	if (pieces->waiting)
		pieces->note[pieces->newest].waiting.next = unit;
	else
		pieces->oldest = unit;
	pieces->newest = unit;
	pieces->waiting++;
	pieces->waiting_units += pieces->page[unit / SL_PAGE_UNITS].units;
}

void sl_pieces_unread(struct sl_pieces *pieces)
{
	pieces->unread = pieces->waiting;
}

/* --- Fewer pages --- */

static uint32_t pieces_in(const struct sl_piece_page *page)
{
	return SL_PAGE_UNITS / page->units - (uint32_t)__builtin_popcountll(page->free);
}

static bool is_partial(const struct sl_piece_page *page)
{
	return page->units && page->free;
}

/* Of one size of piece: the pages with more than `in_use` pieces stay, and so many of those with.
 */
struct stay {
	uint32_t in_use, n;
};

/* n_pages: by pieces in use. Returns how many pages need not stay. */
static uint32_t choose(const uint32_t *n_pages, uint32_t in_page, struct stay *stay)
{
	uint32_t pages = 0, in_use = 0, n;

	for (n = 1; n < in_page; n++) {
		pages += n_pages[n];
		in_use += n_pages[n] * n;
	}
	*stay = (struct stay){ in_page - 1, (in_use + in_page - 1) / in_page };
	pages -= stay->n;
	while (stay->in_use > 1 && n_pages[stay->in_use] < stay->n)
		stay->n -= n_pages[stay->in_use--];
	return pages;
}

bool sl_pieces_close_sparse(struct sl_pieces *pieces, uint32_t least)
{
	uint32_t n_pages[SL_PIECE_UNITS_MAX + 1][SL_PAGE_UNITS] = { 0 }, sparse = 0;
	struct stay stay[SL_PIECE_UNITS_MAX + 1];

	for (uint32_t i = 0; i < pieces->fresh; i++)
		if (is_partial(&pieces->page[i]))
			n_pages[pieces->page[i].units][pieces_in(&pieces->page[i])]++;
	for (uint32_t units = 1; units <= SL_PIECE_UNITS_MAX; units++)
		sparse += choose(n_pages[units], SL_PAGE_UNITS / units, &stay[units]);
	if (sparse < least)
		return false;
	for (uint32_t units = 1; units <= SL_PIECE_UNITS_MAX; units++)
		pieces->partial[units] = NONE;
	for (uint32_t i = 0; i < pieces->fresh; i++) {
		struct sl_piece_page *page = &pieces->page[i];
		struct stay *s = &stay[page->units];
		uint32_t in_use;

		if (!is_partial(page))
			continue;
		in_use = pieces_in(page);
		page->closed = in_use < s->in_use || (in_use == s->in_use && !s->n);
		s->n -= in_use == s->in_use && s->n;
		if (!page->closed)
			link_page(pieces, &pieces->partial[page->units], i);
	}
	return true;
}

bool sl_piece_is_closed(const struct sl_pieces *pieces, uint32_t unit)
{
	return pieces->page[unit / SL_PAGE_UNITS].closed;
}

size_t sl_pieces_bytes(const struct sl_pieces *pieces)
{
	return pieces->n_pages * sizeof(*pieces->page) +
	       (size_t)pieces->fresh * SL_PAGE_UNITS * sizeof(*pieces->note);
}
