/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `sluice top`: what it looks at, and how that looks.
 *
 *   top_sample.c   asks daemon and bridge, and makes rates of two answers
 *   top_view.c     a sample as a screen of text; pure
 *   cmd_top.c      the terminal: keys, resizing, time
 */
#ifndef SL_TOP_H
#define SL_TOP_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "user/cli/cmd.h"

#define SL_TOP_WHY_BYTES 160

/* Lists of a sample; the first ones are the views, in the order of their keys 1, 2, ... */
enum sl_top_list {
	SL_TOP_PORTS,
	SL_TOP_VOQS,
	SL_TOP_EGRESS,
	SL_TOP_PEERS,
	SL_TOP_DROPS,
	SL_TOP_VIEWS,
	SL_TOP_STAGES = SL_TOP_VIEWS, /* rx, forward, ... of XDP */
	SL_TOP_FABRIC,		      /* one row */
	SL_TOP_LISTS
};
const char *sl_top_list_name(enum sl_top_list list);

/*
 * Everything at one moment. A row is as `sluice -j show` has it, with a member "id", unlike that of
 * any other row of its list, and for each counter X a member "X_per_s": a real, or null if there is
 * nothing to compare with.
 */
struct sl_top_sample {
	json_t *rows[SL_TOP_LISTS];	/* owned arrays; NULL: could not be asked */
	uint64_t time_ns[SL_TOP_LISTS]; /* when it was asked, CLOCK_MONOTONIC */
	long long node, nodes;		/* 0: alone, or not known */
	bool alone;			/* the daemon says that it is in no cluster */
	char daemon_why[SL_TOP_WHY_BYTES],
		bridge_why[SL_TOP_WHY_BYTES]; /* no answer; "": answered */
};

/* Ask everything; what does not answer is in daemon_why and bridge_why. */
void sl_top_ask(const struct sl_cmd_options *options, struct sl_top_sample *out);
/* Fill in the rates: against `before`, or none if that is NULL. */
void sl_top_rates(struct sl_top_sample *now, const struct sl_top_sample *before);
/* The row of that id, borrowed; NULL if there is none. */
const json_t *sl_top_row(const json_t *rows, const char *id);
void sl_top_free(struct sl_top_sample *sample);				    /* zeroed is fine */
json_t *sl_top_json(const struct sl_top_sample *sample, double interval_s); /* new reference */

enum sl_top_sort {
	SL_TOP_BY_NAME,
	SL_TOP_BY_RATE,
	SL_TOP_BY_WAITING,
	SL_TOP_BY_DROPS,
	SL_TOP_SORTS
};

struct sl_top_screen {
	enum sl_top_list view; /* below SL_TOP_VIEWS */
	enum sl_top_sort sort;
	bool all; /* rows where nothing has happened ever, too */
	bool paused;
	bool colour;		 /* attributes of a terminal */
	bool keys;		 /* the last line says which keys there are */
	uint32_t columns, lines; /* lines 0: as many as it takes */
	uint32_t first;		 /* row that is shown first; corrected if there are fewer */
	double interval_s;
};

/* Write the screen: lines that end in '\n', none longer than `columns`, at most `lines` of them. */
void sl_top_draw(const struct sl_top_sample *sample, struct sl_top_screen *screen, FILE *out);

#endif
