/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * `sluice top`: a sample of everything it shows, and a screen that shows a sample.
 *
 *   top_sample.c   asks sluiced and the bridge, and makes rates of two answers
 *   top_view.c     draws a sample as a screen of text; pure
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
 * Everything at one moment. A row is as `sluice -j show` has it, with a member "id" that is unique
 * in its list, and for each counter X a member "X_per_s": a real, or null without an earlier value.
 */
struct sl_top_sample {
	json_t *rows[SL_TOP_LISTS];	/* owned arrays; NULL: no answer */
	uint64_t time_ns[SL_TOP_LISTS]; /* when the question was sent, CLOCK_MONOTONIC */
	long long node, nodes;		/* 0: alone, or not known */
	bool alone;			/* the daemon says that it is in no cluster */
	char daemon_why[SL_TOP_WHY_BYTES],
		bridge_why[SL_TOP_WHY_BYTES]; /* why there is no answer; "": there is one */
};

/* Ask for everything. If a daemon does not answer, daemon_why or bridge_why says why. */
void sl_top_ask(const struct sl_cmd_options *options, struct sl_top_sample *out);
/* Fill in the rates against `before`; all are null if that is NULL. */
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
	bool all; /* show idle rows, too */
	bool paused;
	bool colour;		 /* attributes of a terminal */
	bool keys;		 /* the last line says which keys there are */
	uint32_t columns, lines; /* lines 0: as many as it takes */
	/* the row that is shown first; sl_top_draw corrects it if there are fewer */
	uint32_t first;
	double interval_s;
};

/* Write the screen: at most `lines` lines that end in '\n', none longer than `columns`. */
void sl_top_draw(const struct sl_top_sample *sample, struct sl_top_screen *screen, FILE *out);

#endif
