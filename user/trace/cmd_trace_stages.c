/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sluice trace -s: frames that left by the ports of this node, with the time that each spent in
 * each stage of the cluster, from where it entered to where it left. The bridge of the node of exit
 * knows them all, because the message brings what the node of entry knows. It remembers the last
 * frames that it measured (delay_sample); this asks for new ones again and again.
 */
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "user/capture/frame_filter.h"
#include "user/capture/frame_text.h"
#include "user/cli/cmd.h"
#include "user/config/config_cluster.h"
#include "user/ipc/control_client.h"
#include "user/trace/trace_explain.h"

#define HEAD_MAX    256
#define ROUND_MS    100
#define NANOSECONDS 1000000000LL

struct stages {
	const struct sl_cmd_options *options; /* borrowed */
	const struct sl_trace_nodes *nodes;   /* borrowed */
	struct sl_trace_answers *answers; /* owned; of this node's sluiced, then of each node's */
	const struct sl_frame_filter *filter; /* borrowed */
	uint64_t count, shown;		      /* count 0: without end */
	bool json;
	json_t *after; /* owned; the number of the newest frame of each port */
	json_t *rows;  /* owned; of the answer that comes */
	long long real_offset_ns;
	unsigned long long n_missed;
};

static long long now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * NANOSECONDS + t.tv_nsec;
}

/* How many bytes the text has; 0 if it is not hexadecimal. */
static uint32_t bytes_of(const char *text, uint8_t bytes[HEAD_MAX])
{
	uint32_t n = 0;

	for (; n < HEAD_MAX && text[0] && text[1]; text += 2)
		if (sscanf(text, "%2hhx", &bytes[n++]) != 1)
			return 0;
	return n;
}

static void print_clock(long long real_ns)
{
	time_t seconds = (time_t)(real_ns / NANOSECONDS);
	struct tm local;
	char clock[16];

	localtime_r(&seconds, &local);
	strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	printf("  %s.%09lld", clock, real_ns % NANOSECONDS);
}

/* A stage that took ns ended after_ns after the frame had entered. */
static void print_stage(long long after_ns, long long ns, const char *what, const char *port)
{
	char text[32];

	snprintf(text, sizeof(text), "+%.3f us", (double)after_ns / 1000.0);
	printf("  %18s  %12.3f us  %s%s\n", text, (double)ns / 1000.0, what, port);
}

/* What the message took is known as well as the nodes' clocks. */
static void message_text(const json_t *row, const char *where, char *text, size_t bytes)
{
	const json_t *error = json_object_get(row, "message_error_ns");

	if (json_is_integer(error))
		snprintf(text, bytes, "in a message %s, within %lld us", where,
			 json_integer_value(error) / 1000);
	else
		snprintf(text, bytes, "in a message %s, longer than the quickest", where);
}

/* The node of a port's name in the cluster; 0: it has none. */
static uint32_t node_of(const char *port)
{
	unsigned int node, number;

	return sscanf(port, "n%up%u", &node, &number) == 2 ? node : 0;
}

/* What sluiced says where the frame entered. Borrowed; NULL: it does not, or nobody said where. */
static const json_t *explain(struct stages *s, const json_t *row, const uint8_t *bytes, uint32_t n)
{
	const char *from = sl_cmd_text(row, "from");
	const uint32_t node = node_of(from);
	struct sl_cmd_options options = *s->options;

	if (!node)
		return NULL;
	for (uint32_t i = 0; i < s->nodes->n; i++)
		if (s->nodes->node[i].id == node) {
			options.socket_path = s->nodes->node[i].socket_path;
			return sl_trace_explain(&s->answers[1 + i], &options, from, true, bytes, n);
		}
	if (node != node_of(sl_cmd_text(row, "port")))
		return NULL;
	return sl_trace_explain(&s->answers[0], &options, from, true, bytes, n);
}

/* Both bridges' time is in the message of a frame that went past them. */
static void print_stages(const json_t *row, const char *port)
{
	long long after_ns = sl_cmd_number(row, "voq_ns");
	char message[64];

	print_stage(after_ns, sl_cmd_number(row, "voq_ns"), "waited in its VOQ, for ", port);
	after_ns += sl_cmd_number(row, "message_ns");
	message_text(row, "between the bridges", message, sizeof(message));
	if (sl_cmd_number(row, "message_ns"))
		print_stage(after_ns, sl_cmd_number(row, "message_ns"), message, "");
	after_ns += sl_cmd_number(row, "queue_ns");
	print_stage(after_ns, sl_cmd_number(row, "queue_ns"), "in the egress queue of ", port);
	after_ns += sl_cmd_number(row, "transmit_ns");
	print_stage(after_ns, sl_cmd_number(row, "transmit_ns"), "with the driver of ", port);
}

static void print_text(const struct stages *s, const json_t *row, const char *frame,
		       const json_t *explained)
{
	const char *from = sl_cmd_text(row, "from"), *port = sl_cmd_text(row, "port");
	const long long total_ns = sl_cmd_number(row, "total_ns");
	const long long message_ns = sl_cmd_number(row, "message_ns");
	char message[64];

	printf("%s, %lld bytes\n", frame, sl_cmd_number(row, "frame_bytes"));
	print_clock(sl_cmd_number(row, "left_ns") - total_ns + s->real_offset_ns);
	printf("  enters %s\n", *from ? from : "by a node's kernel");
	if (explained)
		sl_trace_print_explanation(explained);
	if (json_is_true(json_object_get(row, "express"))) {
		message_text(row, "past the bridges", message, sizeof(message));
		print_stage(message_ns, message_ns, message, "");
		print_stage(total_ns, total_ns - message_ns, "with the driver of ", port);
	} else {
		print_stages(row, port);
	}
	print_stage(total_ns, total_ns, "in all; leaves ", port);
}

static void print_json(const struct stages *s, const json_t *row, const char *frame,
		       const json_t *explained)
{
	json_t *object = json_copy((json_t *)row);

	json_object_set_new(object, "frame", json_string(frame));
	if (explained)
		json_object_set(object, "explain", (json_t *)explained);
	json_object_set_new(object, "left_ns",
			    json_integer(sl_cmd_number(row, "left_ns") + s->real_offset_ns));
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
}

static void show(struct stages *s, const json_t *row)
{
	const json_t *explained;
	uint8_t bytes[HEAD_MAX];
	char frame[SL_FRAME_TEXT_MAX];
	uint32_t n;

	n = bytes_of(sl_cmd_text(row, "bytes"), bytes);
	if ((s->count && s->shown >= s->count) ||
	    !sl_frame_filter_passes(s->filter, bytes, n,
				    (uint32_t)sl_cmd_number(row, "frame_bytes")))
		return;
	sl_frame_text(bytes, n, frame);
	explained = explain(s, row, bytes, n);
	if (s->json)
		print_json(s, row, frame, explained);
	else
		print_text(s, row, frame, explained);
	s->shown++;
}

static void take(void *arg, const json_t *row)
{
	const char *port = sl_cmd_text(row, "port");
	const long long number = sl_cmd_number(row, "number");
	struct stages *s = arg;
	const json_t *before = json_object_get(s->after, port);

	if (before && number > json_integer_value(before) + 1)
		s->n_missed += (unsigned long long)(number - json_integer_value(before) - 1);
	json_object_set_new(s->after, port, json_integer(number));
	json_array_append(s->rows, (json_t *)row);
}

static int by_time(const void *a, const void *b)
{
	static const char *const keys[] = { "left_ns", "number" };
	int order = 0;

	for (uint32_t i = 0; i < 2 && !order; i++) {
		const long long of_a = sl_cmd_number(*(json_t *const *)a, keys[i]);
		const long long of_b = sl_cmd_number(*(json_t *const *)b, keys[i]);

		order = (of_a > of_b) - (of_a < of_b);
	}
	return order;
}

/* Show the rows that came, in the order in which the frames left: an answer goes port by port. */
static void show_rows(struct stages *s)
{
	const size_t n = json_array_size(s->rows);
	json_t **rows = calloc(n ? n : 1, sizeof(*rows));

	for (size_t i = 0; rows && i < n; i++)
		rows[i] = json_array_get(s->rows, i);
	if (rows)
		qsort(rows, n, sizeof(*rows), by_time);
	for (size_t i = 0; rows && i < n; i++)
		show(s, rows[i]);
	free(rows);
	json_array_clear(s->rows);
}

/*
 * Where the bridge listens, as sluiced says, which need not be asked again with each round; without
 * an answer it is the usual place. Owned by the caller; NULL: the options say it, or asking the
 * bridge says what is wrong.
 */
static char *bridge_path(struct stages *s)
{
	const char *path = SL_CONFIG_DEFAULT_BRIDGE_CONTROL;
	json_t *rows = NULL;
	char *copy, why[256];

	if (s->options->bridge_path || !sl_client_listens(s->options->socket_path))
		return NULL;
	if (sl_trace_answers_may_ask(&s->answers[0], s->options)) {
		rows = sl_client_ask("sluiced", s->options->socket_path,
				     json_pack("{s:s, s:s}", "command", "show", "what", "cluster"),
				     s->options->patience_ms, why, sizeof(why));
		path = sl_cmd_text(json_array_get(rows, 0), "bridge");
	}
	copy = *path ? strdup(path) : NULL;
	json_decref(rows);
	return copy;
}

int sl_trace_stages(const struct sl_cmd_options *options, const struct sl_trace_nodes *nodes,
		    const struct sl_frame_filter *filter, uint64_t count, bool json)
{
	struct stages s = {
		.options = options, .nodes = nodes, .filter = filter, .count = count, .json = json
	};
	struct pollfd ended = { .events = POLLIN };
	struct sl_cmd_options where = *options;
	char *path;
	int status;
	sigset_t set;

	s.answers = calloc(1 + nodes->n, sizeof(*s.answers));
	if (!s.answers)
		return SL_EXIT_FAILED;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ended.fd = signalfd(-1, &set, SFD_CLOEXEC);
	path = bridge_path(&s);
	if (path)
		where.bridge_path = path;
	s.after = json_object();
	s.rows = json_array();
	do {
		s.real_offset_ns = now_ns(CLOCK_REALTIME) - now_ns(CLOCK_MONOTONIC);
		status = sl_cmd_ask_bridge(
			&where, json_pack("{s:s, s:O}", "command", "frames", "after", s.after),
			take, &s);
		show_rows(&s);
	} while (status == SL_EXIT_OK && !fflush(stdout) && !(count && s.shown >= count) &&
		 poll(&ended, 1, ROUND_MS) == 0);
	if (s.n_missed)
		fprintf(stderr, "%llu measured frames not seen\n", s.n_missed);
	close(ended.fd);
	free(path);
	json_decref(s.after);
	json_decref(s.rows);
	for (uint32_t i = 0; i <= nodes->n; i++)
		sl_trace_answers_fini(&s.answers[i]);
	free(s.answers);
	return status;
}
