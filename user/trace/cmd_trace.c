/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice trace: each packet that a filter selects, with every step that it takes on this node. */
#include <getopt.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "user/capture/capture_loop.h"
#include "user/capture/frame_text.h"
#include "user/cli/cmd.h"
#include "user/trace/trace_explain.h"

#define SNAP_BYTES  256 /* headers are enough */
#define RING_BYTES  (8192 * 1024)
#define NANOSECONDS 1000000000ULL
#define HELD_MAX    4096 /* packets whose way out is awaited */
#define HELD_NS	    200000000ULL

struct held {
	struct sl_sighting *in; /* owned, without the frame's bytes behind SNAP_BYTES */
};

struct trace {
	const struct sl_cmd_options *options;
	struct sl_frame_filter *filter;
	uint64_t count, shown; /* packets; count 0: without end */
	struct held held[HELD_MAX];
	uint32_t n_held;
	struct sl_trace_answers answers;
	struct sl_trace_nodes nodes;
	bool json, stages;
	uint64_t newest_ns;
};

static const char usage[] =
	"Usage: sluice [OPTION]... trace [-s [-n NODE=SOCKET]...] [-c N] [-j] FILTER\n\n"
	"Follow packets through this node: where and when each enters, what the fast path decides\n"
	"and why, and where it leaves.\n\n"
	"  -s, --stages   of frames that left by this node's ports and that the bridge measured,\n"
	"                 say how long each stage in the cluster took; the bridge's last ones first\n"
	"  -n, --node NODE=SOCKET\n"
	"                 with -s: the control socket by which sluiced of that node answers, to say\n"
	"                 what decided the frames that entered there; may be repeated\n"
	"  -c, --count N  end after N packets\n"
	"  -j, --json     one JSON object a line for each packet\n"
	"  -h, --help     this text\n\n"
	"FILTER is an expression of pcap-filter(7), of frames as they enter.\n"
	"See sluice-capture(8).\n";

static struct trace *of(struct sl_capture_loop *loop)
{
	return loop->user;
}

/* Borrowed, NULL if sluiced does not say. */
static const json_t *explain(struct trace *t, const struct sl_sighting *in)
{
	char port[IF_NAMESIZE];

	if (in->fabric || !if_indextoname(in->ifindex, port))
		return NULL;
	return sl_trace_explain(&t->answers, t->options, port, false, in->bytes, in->copied_bytes);
}

/* --- Printing --- */

static const char *port_name(uint32_t ifindex, char name[IF_NAMESIZE])
{
	if (!if_indextoname(ifindex, name))
		snprintf(name, IF_NAMESIZE, "%u", ifindex);
	return name;
}

static void print_time(const struct sl_capture_loop *loop, uint64_t time_ns)
{
	uint64_t real_ns = time_ns + loop->real_offset_ns;
	time_t seconds = (time_t)(real_ns / NANOSECONDS);
	struct tm local;
	char clock[16];

	localtime_r(&seconds, &local);
	strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	printf("  %s.%09llu", clock, (unsigned long long)(real_ns % NANOSECONDS));
}

/* The time of a step after the first. */
static void print_later(uint64_t first_ns, uint64_t time_ns)
{
	char text[32];

	snprintf(text, sizeof(text), "+%.3f us", (double)(time_ns - first_ns) / 1000.0);
	printf("  %18s", text);
}

/* in or out may be NULL: the frame was not seen there. */
static void print_text(struct sl_capture_loop *loop, const struct sl_sighting *in,
		       const struct sl_sighting *out)
{
	const struct sl_sighting *first = in ? in : out;
	char frame[SL_FRAME_TEXT_MAX], outcome[SL_FRAME_TEXT_MAX], name[IF_NAMESIZE];
	const json_t *row = in ? explain(of(loop), in) : NULL;

	sl_frame_text(first->bytes, first->copied_bytes, frame);
	printf("%s, %u bytes\n", frame, first->frame_bytes);
	if (in) {
		print_time(loop, in->time_ns);
		printf("  enters %s, queue %u\n", port_name(in->ifindex, name), in->queue);
		sl_outcome_text(in, outcome);
		if (in->end_ns)
			print_later(in->time_ns, in->end_ns);
		else
			printf("  %18s", "");
		printf("  %s\n", outcome);
		if (row)
			sl_trace_print_explanation(row);
	}
	if (out && in) {
		print_later(in->time_ns, out->time_ns);
		printf("  leaves %s, %u bytes\n", port_name(out->ifindex, name), out->frame_bytes);
	} else if (out) {
		print_time(loop, out->time_ns);
		printf("  leaves %s; %s\n", port_name(out->ifindex, name),
		       out->sent ? "the bridge sends it" : "where it entered is not captured");
	} else if (in->outcome == SL_OUTCOME_FORWARD) {
		printf("  %18s  how it leaves is not captured\n", "");
	}
}

static json_t *step(const struct sl_capture_loop *loop, const char *what, uint64_t time_ns,
		    uint32_t ifindex)
{
	char name[IF_NAMESIZE];

	return json_pack("{s:s, s:I, s:s}", "step", what, "time_ns",
			 (json_int_t)(time_ns + loop->real_offset_ns), "port",
			 port_name(ifindex, name));
}

static void print_json(struct sl_capture_loop *loop, const struct sl_sighting *in,
		       const struct sl_sighting *out)
{
	const struct sl_sighting *first = in ? in : out;
	char frame[SL_FRAME_TEXT_MAX], outcome[SL_FRAME_TEXT_MAX];
	const json_t *row = in ? explain(of(loop), in) : NULL;
	const char *explanation;
	json_t *steps = json_array(), *object, *decided;

	sl_frame_text(first->bytes, first->copied_bytes, frame);
	if (in) {
		json_array_append_new(steps, step(loop, "in", in->time_ns, in->ifindex));
		decided =
			step(loop, "decision", in->end_ns ? in->end_ns : in->time_ns, in->ifindex);
		sl_outcome_text(in, outcome);
		json_object_set_new(decided, "outcome", json_string(sl_outcome_word(in)));
		json_object_set_new(decided, "text", json_string(outcome));
		if (sl_outcome_reason(in, &explanation))
			json_object_set_new(decided, "reason",
					    json_string(sl_outcome_reason(in, &explanation)));
		if (in->voq_plus1)
			json_object_set_new(decided, "voq", json_integer(in->voq_plus1 - 1));
		json_array_append_new(steps, decided);
	}
	if (out)
		json_array_append_new(steps, step(loop, "out", out->time_ns, out->ifindex));
	object = json_pack("{s:s, s:i, s:o, s:O?}", "frame", frame, "frame_bytes",
			   (int)first->frame_bytes, "steps", steps, "explain", row);
	json_dumpf(object, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(object);
}

static void show(struct sl_capture_loop *loop, const struct sl_sighting *in,
		 const struct sl_sighting *out)
{
	struct trace *t = of(loop);

	if (loop->stop)
		return;
	if (t->json)
		print_json(loop, in, out);
	else
		print_text(loop, in, out);
	if (t->count && ++t->shown >= t->count)
		loop->stop = true;
}

/* --- From frames at ports to packets on their way --- */

static void drop_held(struct trace *t, uint32_t i)
{
	free(t->held[i].in);
	memmove(&t->held[i], &t->held[i + 1], (t->n_held - i - 1) * sizeof(t->held[0]));
	t->n_held--;
}

static void hold(struct sl_capture_loop *loop, const struct sl_sighting *in)
{
	const size_t bytes = sizeof(*in) + in->copied_bytes;
	struct sl_sighting *copy = malloc(bytes);
	struct trace *t = of(loop);

	if (!copy)
		return;
	memcpy(copy, in, bytes);
	if (t->n_held == HELD_MAX) {
		show(loop, t->held[0].in, NULL);
		drop_held(t, 0);
	}
	t->held[t->n_held++].in = copy;
}

static void seen(struct sl_capture_loop *loop, const struct sl_sighting *s)
{
	struct trace *t = of(loop);

	t->newest_ns = s->time_ns;
	for (uint32_t i = 0; s->out && s->id && i < t->n_held; i++)
		if (t->held[i].in->id == s->id) {
			show(loop, t->held[i].in, s);
			drop_held(t, i);
			return;
		}
	if (!sl_capture_passes(loop, s))
		return;
	if (s->out)
		show(loop, NULL, s);
	else if (s->outcome == SL_OUTCOME_FORWARD)
		hold(loop, s);
	else
		show(loop, s, NULL);
}

/* A packet whose way out was lost is shown without it. */
static void shown(struct sl_capture_loop *loop)
{
	struct trace *t = of(loop);

	while (t->n_held && t->newest_ns - t->held[0].in->time_ns > HELD_NS) {
		show(loop, t->held[0].in, NULL);
		drop_held(t, 0);
	}
	if (fflush(stdout) || ferror(stdout))
		loop->stop = true;
}

static void ended(struct sl_capture_loop *loop)
{
	struct trace *t = of(loop);

	while (t->n_held) {
		show(loop, t->held[0].in, NULL);
		drop_held(t, 0);
	}
	if (loop->n_lost)
		fprintf(stderr, "%llu frames not captured\n", (unsigned long long)loop->n_lost);
}

static int run(struct trace *t)
{
	struct sl_capture_loop loop = {
		.command = "trace",
		.snap_bytes = SNAP_BYTES,
		.ring_bytes = RING_BYTES,
		.filter = t->filter,
		.seen = seen,
		.shown = shown,
		.user = t,
	};
	int status = sl_capture_loop_run(&loop, ended) ? SL_EXIT_FAILED : SL_EXIT_OK;

	sl_trace_answers_fini(&t->answers);
	return status;
}

static int run_filtered(struct trace *t, const char *expression)
{
	char why[256];
	int status;

	if (sl_frame_filter_create(expression, &t->filter, why, sizeof(why))) {
		fprintf(stderr, "sluice: trace: \"%s\" is not a filter: %s: see pcap-filter(7)\n",
			expression, why);
		return SL_EXIT_USAGE;
	}
	status = t->stages ? sl_trace_stages(t->options, &t->nodes, t->filter, t->count, t->json)
			   : run(t);
	sl_frame_filter_destroy(t->filter);
	return status;
}

int sl_cmd_trace(const struct sl_cmd_options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "stages", no_argument, NULL, 's' },	   { "node", required_argument, NULL, 'n' },
		{ "count", required_argument, NULL, 'c' }, { "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },	   { NULL, 0, NULL, 0 },
	};
	struct trace *t = calloc(1, sizeof(*t));
	char *expression, *end;
	int option, status;

	if (!t)
		return SL_EXIT_FAILED;
	t->options = options;
	t->json = options->json;
	optind = 0;
	argv--; /* getopt wants a name before the arguments; the command's is there */
	argc++;
	status = -1;
	while (status < 0 && (option = getopt_long(argc, argv, "+sn:c:jh", longs, NULL)) != -1) {
		switch (option) {
		case 'c':
			t->count = strtoull(optarg, &end, 10);
			if (optarg[0] >= '1' && optarg[0] <= '9' && !*end)
				break;
			fprintf(stderr,
				"sluice: trace: -c: \"%s\" is not a number of packets: write 1 "
				"or more\n",
				optarg);
			status = SL_EXIT_USAGE;
			break;
		case 'n':
			if (!sl_trace_node_add(&t->nodes, optarg))
				status = SL_EXIT_USAGE;
			break;
		case 's':
			t->stages = true;
			break;
		case 'j':
			t->json = true;
			break;
		default:
			status = sl_cmd_other_option(option, usage, "trace");
		}
	}
	if (status < 0 && t->nodes.n && !t->stages) {
		fprintf(stderr,
			"sluice: trace: -n: write -s, too: only stages begin at another node\n");
		status = SL_EXIT_USAGE;
	}
	if (status < 0 && optind == argc) {
		fprintf(stderr, "sluice: trace: which packets?: write a filter, such as "
				"\"host 10.0.2.2\"\n");
		status = SL_EXIT_USAGE;
	}
	if (status < 0) {
		expression = sl_cmd_join(argc - optind, argv + optind);
		status = run_filtered(t, expression);
		free(expression);
	}
	free(t);
	return status;
}
