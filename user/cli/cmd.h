/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of sluice: what they share. Each cmd_*.c holds the ones its name says. */
#ifndef SL_CMD_H
#define SL_CMD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Exit statuses, of sluice(8). */
enum {
	SL_EXIT_OK = 0,
	SL_EXIT_FAILED = 1,	 /* the daemon said no, or what was asked for does not exist */
	SL_EXIT_USAGE = 2,	 /* bad arguments, or a bad configuration file */
	SL_EXIT_NOT_RUNNING = 3, /* no daemon, or no bridge */
};

struct sl_cmd_options {
	const char *socket_path, *pin_dir;
	const char *bridge_path; /* control socket of the bridge; NULL: as the daemon says */
	bool json;
	bool all;	      /* rows that are zero, too */
	uint32_t patience_ms; /* for each piece of an answer */
	/* Of top */
	bool batch;
	uint32_t rounds; /* 0: without end */
	double delay_s;
};

/* argv[0] is the first argument after the command's name. Returns an exit status. */
typedef int (*sl_cmd_run)(const struct sl_cmd_options *options, int argc, char **argv);

int sl_cmd_status(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_show(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_explain(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_attach(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_detach(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_cc(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_top(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_check(const struct sl_cmd_options *options, int argc, char **argv);

/*
 * Ask the daemon. row is called for each row (borrowed) and may be NULL. Returns an exit status;
 * trouble has been written to standard error. `request` is taken.
 */
int sl_cmd_ask(const struct sl_cmd_options *options, json_t *request,
	       void (*row)(void *arg, const json_t *row), void *arg);
/* As sl_cmd_ask, for --json: the rows as one array, or the only row as an object. */
int sl_cmd_print_json(const struct sl_cmd_options *options, json_t *request, bool is_list);
/* The same of the bridge, whose socket the daemon names; a node without a bridge is told so. */
int sl_cmd_ask_bridge(const struct sl_cmd_options *options, json_t *request,
		      void (*row)(void *arg, const json_t *row), void *arg);
int sl_cmd_print_bridge_json(const struct sl_cmd_options *options, json_t *request, bool is_list);
/* A value as JSON on standard output. */
void sl_cmd_dump(const json_t *value);

/* Text of a member, or "" if it is missing or no string; number of a member, or 0. */
const char *sl_cmd_text(const json_t *row, const char *key);
long long sl_cmd_number(const json_t *row, const char *key);

/* Cells and texts of the cluster's views, for sl_cmd_show. */
struct sl_table;
void sl_cmd_system_port_cells(struct sl_table *table, const json_t *row);
void sl_cmd_peer_cells(struct sl_table *table, const json_t *row);
void sl_cmd_voq_cells(struct sl_table *table, const json_t *row);
bool sl_cmd_voq_is_idle(const json_t *row); /* nothing has come for it ever */
void sl_cmd_egress_queue_cells(struct sl_table *table, const json_t *row);
bool sl_cmd_egress_queue_is_idle(const json_t *row);
void sl_cmd_print_fabric(void *arg, const json_t *row);
void sl_cmd_cc_cells(struct sl_table *table, const json_t *row);

/* "10.0.0.0/8 via 10.0.0.1 dev eth1 proto bird metric 32", as `ip route` prints it. */
void sl_cmd_print_route(const json_t *route);

/* Rows of counters as a table; `nonzero` leaves out the others. */
int sl_cmd_print_counters(const json_t *rows, bool nonzero);

#endif
