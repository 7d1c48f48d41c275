/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls that the commands of sluice share. Each cmd_*.c holds the command of its name. */
#ifndef SL_CMD_H
#define SL_CMD_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Exit statuses, of sluice(8). */
enum {
	SL_EXIT_OK = 0,
	SL_EXIT_FAILED = 1,	 /* the daemon refused, or the thing asked for does not exist */
	SL_EXIT_USAGE = 2,	 /* bad arguments, or a bad configuration file */
	SL_EXIT_NOT_RUNNING = 3, /* no daemon, or no bridge */
};

struct sl_cmd_options {
	const char *socket_path, *pin_dir;
	const char *bridge_path; /* control socket of the bridge; NULL: sluiced says where it is */
	const char *elements_path; /* control socket of sluice-elements */
	bool json;
	bool all;	      /* show rows that are zero, too */
	uint32_t patience_ms; /* how long to wait for each piece of an answer */
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
int sl_cmd_filter(const struct sl_cmd_options *options, int argc, char **argv);
/* `filter flowspec`; argv[0] is the list. */
int sl_cmd_flowspec(const struct sl_cmd_options *options, int argc, char **argv);
/* `filter flow`; argv[0] says what to do. */
int sl_cmd_filter_flow(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_reserve(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_element(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_flow(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_top(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_capture(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_trace(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_web(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_sflow(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_cluster(const struct sl_cmd_options *options, int argc, char **argv);
int sl_cmd_check(const struct sl_cmd_options *options, int argc, char **argv);

/*
 * Ask sluiced; takes the reference to the request. Calls row, unless it is NULL, for each row,
 * which is borrowed. Returns an exit status; an error has been written to standard error.
 */
int sl_cmd_ask(const struct sl_cmd_options *options, json_t *request,
	       void (*row)(void *arg, const json_t *row), void *arg);
/* As sl_cmd_ask, for --json: the rows as one array, or the only row as an object. */
int sl_cmd_print_json(const struct sl_cmd_options *options, json_t *request, bool is_list);
/* The same for the bridge, whose socket sluiced names; it is an error if the node has no bridge. */
int sl_cmd_ask_bridge(const struct sl_cmd_options *options, json_t *request,
		      void (*row)(void *arg, const json_t *row), void *arg);
int sl_cmd_print_bridge_json(const struct sl_cmd_options *options, json_t *request, bool is_list);
/* The same for sluice-elements. */
int sl_cmd_ask_elements(const struct sl_cmd_options *options, json_t *request,
			void (*row)(void *arg, const json_t *row), void *arg);
int sl_cmd_print_elements_json(const struct sl_cmd_options *options, json_t *request);
/*
 * Ask by one of these functions, and print the rows as a table under the headers, which end with
 * NULL. cells writes the cells of a row into the table, its first argument.
 */
int sl_cmd_print_rows(const struct sl_cmd_options *options, json_t *request,
		      int (*ask_rows)(const struct sl_cmd_options *, json_t *,
				      void (*)(void *, const json_t *), void *),
		      const char *const *headers, void (*cells)(void *, const json_t *));
/* Write a value as JSON to standard output. */
void sl_cmd_dump(const json_t *value);

/* The text of a member, "" if it is missing or no text; the number of a member, or 0. */
const char *sl_cmd_text(const json_t *row, const char *key);
long long sl_cmd_number(const json_t *row, const char *key);

/* Cells and texts of the cluster's views, for sl_cmd_show. */
struct sl_table;
void sl_cmd_system_port_cells(struct sl_table *table, const json_t *row);
void sl_cmd_peer_cells(struct sl_table *table, const json_t *row);
void sl_cmd_voq_cells(struct sl_table *table, const json_t *row);
void sl_cmd_express_cells(struct sl_table *table, const json_t *row);
bool sl_cmd_delay_is_idle(const json_t *row);
void sl_cmd_delay_cells(struct sl_table *table, const json_t *row);
bool sl_cmd_voq_is_idle(const json_t *row); /* no frame has ever come for it */
void sl_cmd_egress_queue_cells(struct sl_table *table, const json_t *row);
bool sl_cmd_egress_queue_is_idle(const json_t *row);
void sl_cmd_print_busy(void *arg, const json_t *row);
void sl_cmd_print_fabric(void *arg, const json_t *row);
void sl_cmd_cc_cells(struct sl_table *table, const json_t *row);

/* KEY=VALUE words as an object of texts; NULL after a message. */
json_t *sl_cmd_object(const char *command, int argc, char **argv);

/* `show filters`, of one list or, where name is NULL, of all. Returns an exit status. */
int sl_cmd_show_filters(const struct sl_cmd_options *options, const char *name);
/*
 * KEY=VALUE words as a packet for `explain`; NULL after a message. And what its answer says of the
 * filter list.
 */
json_t *sl_cmd_packet(const struct sl_cmd_options *options, const char *command, int argc,
		      char **argv);
void sl_cmd_print_filter(const json_t *filter);
/* What an exact flow decides, as such an answer says; a line. */
void sl_cmd_print_exact_flow(const json_t *filter);

/*
 * What getopt gave a command that is no option of its own: 'h', which prints the usage, or an
 * option that is wrong, about which getopt has complained. Returns the exit status.
 */
int sl_cmd_other_option(int option, const char *usage, const char *command);

/* Arguments as one text with blanks between; the caller frees it. NULL: there are none. */
char *sl_cmd_join(int argc, char **argv);

/* Print a route as `ip route` does: "10.0.0.0/8 via 10.0.0.1 dev eth1 proto bird metric 32". */
void sl_cmd_print_route(const json_t *route);

/* Print rows of counters as a table; with `nonzero`, only those that are not zero. */
int sl_cmd_print_counters(const json_t *rows, bool nonzero);

#endif
