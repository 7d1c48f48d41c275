/* SPDX-License-Identifier: BSD-2-Clause */
/* Each view is a table of columns. A screen that is too narrow for a column leaves it out. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "user/text/quantity.h"
#include "user/cli/top.h"

#define COLUMNS_MAX 400
/* the width of "1.23 M", whatever the value is */
#define QUANTITY   6
#define WAIT_ALARM 2 /* warn of a queue when 1 / WAIT_ALARM of its limit waits */

enum attribute { PLAIN, BOLD, REVERSE, DIM, RED, YELLOW, GREEN };
static const char *const attributes[] = { "", "1", "7", "2", "1;31", "33", "32" };

enum kind {
	TEXT,	  /* a string */
	STATE,	  /* a string; "up" is good */
	NUMBER,	  /* an integer as it is */
	TOTAL,	  /* an integer, as a quantity */
	PER_S,	  /* the rate of a counter */
	BIT_S,	  /* the rate of a counter of bytes, in bits */
	LIMIT,	  /* members "rate" and "unit" */
	DURATION, /* milliseconds */
};

struct column {
	const char *heading, *key;
	enum kind kind;
	unsigned int width;
	unsigned int from;    /* shown on screens of at least so many columns; 0: on all */
	enum attribute alarm; /* of values that are not 0 */
};

#define COLUMNS_OF_A_VIEW 17
static const struct column columns[SL_TOP_VIEWS][COLUMNS_OF_A_VIEW] = {
	[SL_TOP_PORTS] = { { "port", "port", TEXT, 15, 0, PLAIN },
			   { "state", "health", STATE, 7, 0, PLAIN },
			   { "mode", "mode", TEXT, 7, 100, PLAIN },
			   { "in pps", "rx_packets", PER_S, QUANTITY, 0, PLAIN },
			   { "bit/s", "rx_bytes", BIT_S, QUANTITY, 0, PLAIN },
			   { "out pps", "tx_packets", PER_S, 7, 0, PLAIN },
			   { "bit/s", "tx_bytes", BIT_S, QUANTITY, 0, PLAIN },
			   { "drop/s", "dropped", PER_S, QUANTITY, 0, RED },
			   { "dropped", "dropped", TOTAL, 7, 0, PLAIN },
			   { "in", "rx_packets", TOTAL, QUANTITY, 120, PLAIN },
			   { "bytes", "rx_bytes", TOTAL, QUANTITY, 120, PLAIN },
			   { "out", "tx_packets", TOTAL, QUANTITY, 120, PLAIN },
			   { "bytes", "tx_bytes", TOTAL, QUANTITY, 120, PLAIN },
			   { "mtu", "mtu_bytes", NUMBER, 6, 160, PLAIN },
			   { "mac", "mac", TEXT, 17, 160, PLAIN } },
	[SL_TOP_VOQS] = { { "queue", "id", TEXT, 10, 0, PLAIN },
			  { "control", "controller", TEXT, 7, 0, PLAIN },
			  { "limit", "rate", LIMIT, 10, 0, PLAIN },
			  { "out pps", "taken_frames", PER_S, 7, 0, PLAIN },
			  { "bit/s", "taken_bytes", BIT_S, QUANTITY, 0, PLAIN },
			  { "wait", "waiting_frames", TOTAL, QUANTITY, 0, PLAIN },
			  { "drop/s", "dropped_frames", PER_S, QUANTITY, 0, RED },
			  { "dropped", "dropped_frames", TOTAL, 7, 0, PLAIN },
			  { "past/s", "express_frames", PER_S, QUANTITY, 90, PLAIN },
			  { "in pps", "enqueued_frames", PER_S, QUANTITY, 100, PLAIN },
			  { "mark/s", "marked_frames", PER_S, QUANTITY, 100, YELLOW },
			  { "in", "enqueued_frames", TOTAL, QUANTITY, 120, PLAIN },
			  { "out", "taken_frames", TOTAL, QUANTITY, 120, PLAIN },
			  { "marked", "marked_frames", TOTAL, QUANTITY, 140, PLAIN },
			  { "bytes", "waiting_bytes", TOTAL, QUANTITY, 140, PLAIN },
			  { "frames", "limit_frames", NUMBER, 7, 160, PLAIN } },
	[SL_TOP_EGRESS] = { { "queue", "id", TEXT, 10, 0, PLAIN },
			    { "netdev", "netdev", TEXT, 8, 0, PLAIN },
			    { "limit", "rate", LIMIT, 10, 0, PLAIN },
			    { "out pps", "departed_frames", PER_S, 7, 0, PLAIN },
			    { "bit/s", "departed_bytes", BIT_S, QUANTITY, 0, PLAIN },
			    { "wait", "waiting_frames", TOTAL, QUANTITY, 0, PLAIN },
			    { "drop/s", "dropped_frames", PER_S, QUANTITY, 0, RED },
			    { "dropped", "dropped_frames", TOTAL, 7, 0, PLAIN },
			    { "in pps", "arrived_frames", PER_S, QUANTITY, 100, PLAIN },
			    { "bit/s", "arrived_bytes", BIT_S, QUANTITY, 100, PLAIN },
			    { "in", "arrived_frames", TOTAL, QUANTITY, 120, PLAIN },
			    { "out", "departed_frames", TOTAL, QUANTITY, 120, PLAIN },
			    { "sched", "scheduler", TEXT, 6, 140, PLAIN },
			    { "weight", "weight", NUMBER, 6, 140, PLAIN },
			    { "frames", "limit_frames", NUMBER, 7, 160, PLAIN } },
	[SL_TOP_PEERS] = { { "node", "id", TEXT, 4, 0, PLAIN },
			   { "state", "state", STATE, 7, 0, PLAIN },
			   { "since", "since_ms", DURATION, 10, 0, PLAIN },
			   { "heard", "heard_ms", DURATION, 9, 0, PLAIN },
			   { "msg/s", "data_sent", PER_S, QUANTITY, 0, PLAIN },
			   { "bit/s", "data_bytes_sent", BIT_S, QUANTITY, 0, PLAIN },
			   { "heard/s", "received", PER_S, 7, 0, PLAIN },
			   { "lost/s", "lost", PER_S, QUANTITY, 0, RED },
			   { "lost", "lost", TOTAL, QUANTITY, 0, PLAIN },
			   { "address", "address", TEXT, 39, 120, PLAIN },
			   { "sent", "data_sent", TOTAL, QUANTITY, 140, PLAIN },
			   { "heard", "received", TOTAL, QUANTITY, 140, PLAIN },
			   { "downs", "downs", NUMBER, 6, 140, PLAIN } },
	[SL_TOP_DROPS] = { { "what and why", "id", TEXT, 24, 0, PLAIN },
			   { "pps", "packets", PER_S, QUANTITY, 0, PLAIN },
			   { "bit/s", "bytes", BIT_S, QUANTITY, 0, PLAIN },
			   { "packets", "packets", TOTAL, 7, 0, PLAIN },
			   { "meaning", "text", TEXT, 200, 0, PLAIN } },
};

/* The member that each sort compares in each view; NULL: none. */
static const char *const sort_keys[SL_TOP_VIEWS][SL_TOP_SORTS] = {
	[SL_TOP_PORTS] = { NULL, "rx_packets_per_s", NULL, "dropped_per_s" },
	[SL_TOP_VOQS] = { NULL, "taken_frames_per_s", "waiting_frames", "dropped_frames_per_s" },
	[SL_TOP_EGRESS] = { NULL, "departed_frames_per_s", "waiting_frames",
			    "dropped_frames_per_s" },
	[SL_TOP_PEERS] = { NULL, "data_sent_per_s", NULL, "lost_per_s" },
	[SL_TOP_DROPS] = { NULL, "packets_per_s", NULL, "packets_per_s" },
};

/* --- A line --- */

struct page {
	FILE *out;
	const struct sl_top_screen *screen;
	uint32_t used;	/* columns of the current line */
	uint32_t lines; /* ended */
};

__attribute__((format(printf, 3, 4))) static void put(struct page *p, enum attribute attribute,
						      const char *format, ...)
{
	char text[COLUMNS_MAX + 1];
	uint32_t room = p->screen->columns > p->used ? p->screen->columns - p->used : 0;
	va_list args;
	int n;

	va_start(args, format);
	n = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (n < 0 || room == 0)
		return;
	if ((uint32_t)n > room)
		text[room] = '\0';
	p->used += (uint32_t)strlen(text);
	if (attribute != PLAIN && p->screen->colour)
		fprintf(p->out, "\033[%sm%s\033[0m", attributes[attribute], text);
	else
		fputs(text, p->out);
}

static void end_line(struct page *p)
{
	fputc('\n', p->out);
	p->used = 0;
	p->lines++;
}

/* --- Values --- */

/* "1.23 M", " 999  ": QUANTITY wide, so that digits and prefixes stand below each other. */
static const char *quantity(double value, char text[SL_QUANTITY_BYTES])
{
	char number[SL_QUANTITY_BYTES];
	size_t n;

	sl_quantity((uint64_t)(value + 0.5), number);
	n = strlen(number);
	snprintf(text, SL_QUANTITY_BYTES, number[n - 1] == ' ' ? "%5s " : "%6s", number);
	return text;
}

/* The rate of a counter; -1: it is not known. */
static double per_s(const json_t *row, const char *key)
{
	char name[64];
	const json_t *value;

	snprintf(name, sizeof(name), "%s_per_s", key);
	value = json_object_get(row, name);
	return json_is_real(value) ? json_real_value(value) : -1;
}

static enum attribute state_attribute(const char *state)
{
	return strcmp(state, "up") == 0 ? GREEN : RED;
}

static void limit_text(const json_t *row, char *text, size_t bytes)
{
	const json_t *rate = json_object_get(row, "rate");
	bool frames = strcmp(sl_cmd_text(row, "unit"), "frames") == 0;
	char number[SL_QUANTITY_BYTES];

	if (!json_is_integer(rate))
		snprintf(text, bytes, "-");
	else
		snprintf(text, bytes, "%s%s",
			 sl_quantity((uint64_t)json_integer_value(rate) * (frames ? 1 : 8), number),
			 frames ? "pps" : "bit");
}

static enum attribute cell_text(const struct column *column, const json_t *row, char *text,
				size_t bytes)
{
	const json_t *value = json_object_get(row, column->key);
	char number[SL_QUANTITY_BYTES];
	double rate;

	switch (column->kind) {
	case TEXT:
	case STATE:
		snprintf(text, bytes, "%s", sl_cmd_text(row, column->key));
		return column->kind == STATE ? state_attribute(text) : PLAIN;
	case LIMIT:
		limit_text(row, text, bytes);
		return PLAIN;
	case PER_S:
	case BIT_S:
		rate = per_s(row, column->key) * (column->kind == BIT_S ? 8 : 1);
		snprintf(text, bytes, "%s", rate < 0 ? "- " : quantity(rate, number));
		return rate > 0 ? column->alarm : PLAIN;
	default:
		break;
	}
	if (!json_is_integer(value)) {
		snprintf(text, bytes, "-");
		return PLAIN;
	}
	if (column->kind == NUMBER)
		snprintf(text, bytes, "%lld", (long long)json_integer_value(value));
	else if (column->kind == DURATION)
		snprintf(text, bytes, "%s",
			 sl_duration((uint64_t)json_integer_value(value), number));
	else
		snprintf(text, bytes, "%s", quantity((double)json_integer_value(value), number));
	/* The queue fills up. */
	if (strcmp(column->key, "waiting_frames") == 0 && json_integer_value(value) > 0 &&
	    json_integer_value(value) * WAIT_ALARM >= sl_cmd_number(row, "limit_frames"))
		return YELLOW;
	return PLAIN;
}

static bool is_left_aligned(const struct column *column)
{
	return column->kind == TEXT || column->kind == STATE;
}

/* --- The parts of the screen --- */

static void put_rate(struct page *p, const char *before, double rate, const char *after,
		     enum attribute alarm)
{
	char text[SL_QUANTITY_BYTES];

	put(p, PLAIN, "%s", before);
	if (rate < 0)
		put(p, PLAIN, "    - ");
	else
		put(p, rate > 0 ? alarm : PLAIN, "%s", quantity(rate, text));
	put(p, PLAIN, "%s", after);
}

static void draw_node(struct page *p, const struct sl_top_sample *s)
{
	const json_t *stages = s->rows[SL_TOP_STAGES];

	if (s->node)
		put(p, BOLD, "node %lld of %lld", s->node, s->nodes);
	else
		put(p, BOLD, "%s", s->alone ? "one node" : "sluice");
	put(p, PLAIN, "   every %.3g s", p->screen->interval_s);
	if (p->screen->paused)
		put(p, REVERSE, " paused ");
	if (*s->daemon_why) {
		put(p, PLAIN, "   ");
		put(p, RED, "%s", s->daemon_why);
	}
	end_line(p);
	put_rate(p, "xdp    in ", per_s(sl_top_row(stages, "stage rx"), "packets"), "pps", PLAIN);
	put_rate(p, "  here ", per_s(sl_top_row(stages, "stage forward"), "packets"), "", PLAIN);
	put_rate(p, "  away ", per_s(sl_top_row(stages, "stage voq"), "packets"), "", PLAIN);
	put_rate(p, "  kernel ", per_s(sl_top_row(stages, "sum punts"), "packets"), "", PLAIN);
	put_rate(p, "  drop ", per_s(sl_top_row(stages, "sum drops"), "packets"), "", RED);
	end_line(p);
}

static void draw_fabric(struct page *p, const struct sl_top_sample *s)
{
	const json_t *fabric = json_array_get(s->rows[SL_TOP_FABRIC], 0), *peer;
	const double messages = per_s(fabric, "data_messages_sent");
	const double lost = per_s(fabric, "lost");
	size_t i, up = 0;

	if (s->alone || (fabric && strcmp(sl_cmd_text(fabric, "transport"), "none") == 0))
		return;
	put(p, PLAIN, "%s ", s->nodes == 1 ? "bridge" : "fabric");
	if (!fabric) {
		put(p, RED, "%s", *s->bridge_why ? s->bridge_why : "not known");
		end_line(p);
		return;
	}
	put_rate(p, "out ", per_s(fabric, "frames_sent"), "fps", PLAIN);
	put_rate(p, " ", messages, "msg/s", PLAIN);
	if (messages > 0)
		put(p, PLAIN, "%7.2f a msg", per_s(fabric, "frames_sent") / messages);
	else
		put(p, PLAIN, "%7s a msg", "-");
	put_rate(p, "  in ", per_s(fabric, "frames_received"), "fps", PLAIN);
	if (lost > 0)
		put_rate(p, "  lost ", lost, "", RED);
	json_array_foreach(s->rows[SL_TOP_PEERS], i, peer)
		up += strcmp(sl_cmd_text(peer, "state"), "up") == 0;
	put(p, PLAIN, "  peers ");
	put(p, up == json_array_size(s->rows[SL_TOP_PEERS]) ? PLAIN : RED, "%zu/%zu", up,
	    json_array_size(s->rows[SL_TOP_PEERS]));
	end_line(p);
}

static void draw_tabs(struct page *p, const struct sl_top_sample *s)
{
	static const char *const names[] = { "ports", "voqs", "egress queues", "peers",
					     "drops, punts" };

	for (int i = 0; i < SL_TOP_VIEWS; i++) {
		bool there = s->rows[i] != NULL;

		put(p,
		    i == (int)p->screen->view ? REVERSE
		    : there		      ? PLAIN
					      : DIM,
		    " %d %s ", i + 1, names[i]);
		/* Mark the current view on a terminal without attributes, too. */
		put(p, PLAIN, "%s", !p->screen->colour && i == (int)p->screen->view ? "*" : " ");
	}
	end_line(p);
}

static bool is_idle(enum sl_top_list view, const json_t *row)
{
	switch (view) {
	case SL_TOP_VOQS:
		return sl_cmd_voq_is_idle(row);
	case SL_TOP_EGRESS:
		return sl_cmd_egress_queue_is_idle(row);
	case SL_TOP_DROPS:
		return sl_cmd_number(row, "packets") == 0;
	default:
		return false;
	}
}

static double sort_value(const struct sl_top_screen *screen, const json_t *row)
{
	const char *key = sort_keys[screen->view][screen->sort];

	return key ? json_number_value(json_object_get(row, key)) : 0;
}

/*
 * The rows to be shown, sorted: a new array of borrowed rows. There are few, so insert each at its
 * place, which keeps the order of equal rows.
 */
static const json_t **choose_rows(const struct sl_top_screen *screen, const json_t *rows, size_t *n)
{
	const json_t **out = calloc(json_array_size(rows) + 1, sizeof(*out));
	const json_t *row;
	size_t i;

	*n = 0;
	json_array_foreach(out ? rows : NULL, i, row) {
		size_t at = *n;

		if (!screen->all && is_idle(screen->view, row))
			continue;
		while (at > 0 && sort_value(screen, out[at - 1]) < sort_value(screen, row)) {
			out[at] = out[at - 1];
			at--;
		}
		out[at] = row;
		(*n)++;
	}
	return out;
}

/* a column of this width or more is cut at the screen's edge; a narrower one is left out */
#define CUT 100

/* Is there room for the column on this line, which holds those before it? */
static bool is_shown(const struct page *p, const struct column *column)
{
	const uint32_t begin = p->used ? p->used + 2 : 0;

	return column->heading && column->from <= p->screen->columns &&
	       (column->width >= CUT || begin + column->width <= p->screen->columns);
}

static void draw_headings(struct page *p)
{
	const struct column *c = columns[p->screen->view];

	for (int i = 0; i < COLUMNS_OF_A_VIEW; i++)
		if (is_shown(p, &c[i]))
			put(p, BOLD, is_left_aligned(&c[i]) ? "%s%-*s" : "%s%*s", i ? "  " : "",
			    (int)c[i].width, c[i].heading);
	end_line(p);
}

static void draw_row(struct page *p, const json_t *row)
{
	const struct column *c = columns[p->screen->view];
	char text[COLUMNS_MAX];

	for (int i = 0; i < COLUMNS_OF_A_VIEW; i++) {
		enum attribute attribute;

		if (!is_shown(p, &c[i]))
			continue;
		attribute = cell_text(&c[i], row, text, sizeof(text));
		put(p, PLAIN, "%s", i ? "  " : "");
		if (is_left_aligned(&c[i]))
			put(p, attribute, "%-*.*s", (int)c[i].width, (int)c[i].width, text);
		else
			put(p, attribute, "%*s", (int)c[i].width, text);
	}
	end_line(p);
}

static void draw_table(struct page *p, const struct sl_top_sample *s, struct sl_top_screen *screen)
{
	const json_t *rows = s->rows[screen->view];
	const uint32_t reserved = screen->keys;
	uint32_t room, shown;
	const json_t **chosen;
	size_t n;

	draw_headings(p);
	chosen = choose_rows(screen, rows, &n);
	room = screen->lines == 0		     ? (uint32_t)n
	       : screen->lines > p->lines + reserved ? screen->lines - p->lines - reserved
						     : 0;
	if (screen->first + room > n)
		screen->first = n > room ? (uint32_t)n - room : 0;
	shown = n - screen->first < room ? (uint32_t)n - screen->first : room;
	for (uint32_t i = 0; i < shown; i++)
		draw_row(p, chosen[screen->first + i]);
	if (n == 0 && room > 0) {
		put(p, DIM, "%s",
		    rows       ? "nothing yet"
		    : s->alone ? "this node is in no cluster"
			       : "not known");
		end_line(p);
	}
	free(chosen);
	while (screen->keys && p->lines + 1 < screen->lines)
		end_line(p);
	if (screen->keys && shown < n) {
		put(p, REVERSE, " %u-%u of %zu ", screen->first + 1, screen->first + shown, n);
		put(p, PLAIN, " ");
	}
}

void sl_top_draw(const struct sl_top_sample *s, struct sl_top_screen *screen, FILE *out)
{
	static const char *const sorts[] = { "name", "rate", "wait", "drops" };
	struct page p = { .out = out, .screen = screen };

	draw_node(&p, s);
	draw_fabric(&p, s);
	draw_tabs(&p, s);
	draw_table(&p, s, screen);
	if (!screen->keys)
		return;
	put(&p, DIM, "q quit  p pause  tab 1-5 view  s sort: %s  a %s  arrows scroll",
	    sorts[screen->sort], screen->all ? "busy only" : "all");
	/* No newline after the last line: the terminal would scroll. */
}
