/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hands out pieces of the pages that records live in, and takes them back. A piece is 1 to
 * SL_PIECE_UNITS_MAX units side by side. A page is cut into pieces of one size for as long as one
 * of them is in use.
 *
 * A retired piece is handed out again no sooner than SL_GRACE_NS later, or after
 * sl_pieces_unread: by then every program run that has seen it has ended.
 */
#ifndef SL_FIB_PIECE_H
#define SL_FIB_PIECE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/forwarding.h"

/* A wide record of 256 runs. */
#define SL_PIECE_UNITS_MAX 17

/* Bytes beside each unit that only the writer sees: a length for each 16-bit value. */
#define SL_NOTE_BYTES 32

/*
 * In use: lengths, at the owner's will; a piece of n units has n * SL_NOTE_BYTES. Retired: its
 * place in the queue of those that wait.
 */
union sl_note {
	uint8_t len[SL_NOTE_BYTES];
	struct {
		uint64_t free_ns; /* CLOCK_MONOTONIC; may be handed out from then on */
		uint32_t next;	  /* piece that was retired after this one */
	} waiting;
};
_Static_assert(sizeof(union sl_note) == SL_NOTE_BYTES, "a note per unit");

struct sl_piece_page {
	uint64_t free;	     /* bit i: piece i is free */
	uint32_t prev, next; /* in the list it is in */
	uint8_t units;	     /* of each piece; 0: no piece is in use */
	bool closed;	     /* its free pieces are not handed out, until no piece is in use */
};

struct sl_pieces {
	uint32_t n_pages;
	uint32_t fresh; /* pages from here on have never been used */
	uint32_t empty; /* list of pages with no piece in use */
	/* by units: list of pages with a free piece */
	uint32_t partial[SL_PIECE_UNITS_MAX + 1];
	struct sl_piece_page *page; /* owned; n_pages */
	union sl_note *note;	    /* owned; one for each unit */
	/* queue of retired pieces: `waiting` of them; the oldest `unread` have no reader */
	uint32_t oldest, newest, waiting, unread;
	uint32_t waiting_units;
	uint32_t used_units; /* in pieces that are in use or wait */
	uint32_t used_pages; /* fresh and empty ones are not */
};

int sl_pieces_init(struct sl_pieces *pieces, uint32_t n_pages); /* 0 or -ENOMEM */
void sl_pieces_fini(struct sl_pieces *pieces);

/*
 * Take a piece of so many units, 1..SL_PIECE_UNITS_MAX; *unit is its first. now_ns is the
 * time. 0, or -ENOSPC: nothing is free, or free long enough.
 */
int sl_piece_take(struct sl_pieces *pieces, uint64_t now_ns, uint32_t units, uint32_t *unit);
/* Give back a piece that XDP may still read. */
void sl_piece_retire(struct sl_pieces *pieces, uint64_t now_ns, uint32_t unit);
/* Give back a piece that XDP never saw. */
void sl_piece_put(struct sl_pieces *pieces, uint32_t unit);

/* Free the pieces that have waited long enough; sl_piece_take does so when it must. */
void sl_pieces_reap(struct sl_pieces *pieces, uint64_t now_ns);
/* All program runs that began before this moment have ended: pieces that wait may go out. */
void sl_pieces_unread(struct sl_pieces *pieces);

/*
 * Choose pages to empty: of each size of piece those that have the fewest, as many as there is room
 * for in the others. Nothing is handed out from them until no piece in them is in use, or until the
 * next call, which chooses anew. Closes none, and returns false, if they are fewer than `least`.
 */
bool sl_pieces_close_sparse(struct sl_pieces *pieces, uint32_t least);
/* Is the piece in a page to empty? */
bool sl_piece_is_closed(const struct sl_pieces *pieces, uint32_t unit);

/* Memory of the writer's own: what was touched. */
size_t sl_pieces_bytes(const struct sl_pieces *pieces);

#endif
