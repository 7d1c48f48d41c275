/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice capture: frames of the fast path as pcapng, as lines of text, or as JSON. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/bpf.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "user/capture/capture_loop.h"
#include "user/capture/frame_text.h"
#include "user/capture/pcapng.h"
#include "user/cli/cmd.h"

#define PORT_OPTIONS_MAX 64
#define RING_KIB_DEFAULT 8192
#define RING_KIB_MAX	 1048576
#define OUTPUT_BUFFER	 (1 << 20)
#define NANOSECONDS	 1000000000ULL

struct capture {
	bool json;
	const char *path;	/* NULL: text */
	const char *expression; /* owned; NULL: no filter */
	uint64_t count;		/* 0: without end */
	FILE *out;
	uint32_t n_interfaces;	     /* written */
	uint64_t n_captured, n_left; /* frames that the kernel copied: shown, not of the filter */
	bool failed;
};

static const char usage[] =
	"Usage: sluice [OPTION]... capture -i PORT|all [OPTION]... [FILTER]\n\n"
	"Show or record the frames that XDP takes in at ports and sends out by them.\n\n"
	"  -i, --interface PORT  a port of this node, or its fabric's netdev; may be repeated;\n"
	"                        all: each that runs a program of sluice's\n"
	"  -w, --write FILE      write pcapng; -: to standard output, for `wireshark -k -i -`\n"
	"  -c, --count N         end after N frames\n"
	"  -s, --snap BYTES      copy so much of each frame (default and at most 65000)\n"
	"  -B, --buffer KIB      ring of each processor, 64 to 1048576 (default 8192)\n"
	"  -j, --json            one JSON object a line for each frame\n"
	"  -h, --help            this text\n\n"
	"FILTER is an expression of pcap-filter(7). The kernel copies what it selects.\n"
	"See sluice-capture(8).\n";

static struct capture *of(struct sl_capture_loop *loop)
{
	return loop->user;
}

static const char *name_of(struct sl_capture_loop *loop, uint32_t ifindex, uint32_t *slot)
{
	uint32_t n;
	const struct sl_capture_port *port = sl_xdp_capture_ports(loop->capture, &n);

	for (*slot = 0; *slot < n; (*slot)++)
		if (port[*slot].ifindex == ifindex)
			return port[*slot].name;
	return "?";
}

/* --- Text and JSON --- */

static void print_text(struct sl_capture_loop *loop, const struct sl_sighting *s)
{
	char frame[SL_FRAME_TEXT_MAX], outcome[SL_FRAME_TEXT_MAX], clock[16];
	uint64_t real_ns = s->time_ns + loop->real_offset_ns;
	time_t seconds = (time_t)(real_ns / NANOSECONDS);
	struct tm local;
	uint32_t slot;

	localtime_r(&seconds, &local);
	strftime(clock, sizeof(clock), "%H:%M:%S", &local);
	sl_frame_text(s->bytes, s->copied_bytes, frame);
	sl_outcome_text(s, outcome);
	fprintf(of(loop)->out, "%s.%09llu %s %s  %s, %u bytes; %s\n", clock,
		(unsigned long long)(real_ns % NANOSECONDS), name_of(loop, s->ifindex, &slot),
		s->out ? "out" : "in ", frame, s->frame_bytes, outcome);
}

static void print_json(struct sl_capture_loop *loop, const struct sl_sighting *s)
{
	char frame[SL_FRAME_TEXT_MAX], other[IF_NAMESIZE];
	const char *explanation, *reason = sl_outcome_reason(s, &explanation);
	uint32_t slot;
	json_t *row;

	sl_frame_text(s->bytes, s->copied_bytes, frame);
	row = json_pack("{s:I, s:s, s:s, s:I, s:s, s:s?, s:i, s:i, s:s}", "time_ns",
			(json_int_t)(s->time_ns + loop->real_offset_ns), "port",
			name_of(loop, s->ifindex, &slot), "direction", s->out ? "out" : "in", "id",
			(json_int_t)s->id, "outcome", s->sent ? "bridge" : sl_outcome_word(s),
			"reason", reason, "frame_bytes", (int)s->frame_bytes, "copied_bytes",
			(int)s->copied_bytes, "frame", frame);
	if (s->other_ifindex && if_indextoname(s->other_ifindex, other))
		json_object_set_new(row, s->out ? "entered_by" : "leaves_by", json_string(other));
	if (s->voq_plus1)
		json_object_set_new(row, "voq", json_integer(s->voq_plus1 - 1));
	if (s->end_ns)
		json_object_set_new(row, "took_ns",
				    json_integer((json_int_t)(s->end_ns - s->time_ns)));
	json_dumpf(row, of(loop)->out, JSON_COMPACT);
	putc('\n', of(loop)->out);
	json_decref(row);
}

/* --- pcapng --- */

/* Interfaces 2 * slot (in) and 2 * slot + 1 (out). */
static void write_interfaces(struct sl_capture_loop *loop)
{
	struct capture *c = of(loop);
	uint32_t n;
	const struct sl_capture_port *port = sl_xdp_capture_ports(loop->capture, &n);

	for (; c->n_interfaces < 2 * n; c->n_interfaces++) {
		const struct sl_capture_port *p = &port[c->n_interfaces / 2];
		const bool out = c->n_interfaces % 2;
		char name[IF_NAMESIZE + 8], description[64];

		snprintf(name, sizeof(name), "%s %s", p->name, out ? "out" : "in");
		snprintf(description, sizeof(description), "frames that %s",
			 out ? "leave, as they leave" : "enter, before the XDP program");
		sl_pcapng_interface(c->out, name, description, loop->snap_bytes, c->expression);
	}
}

static int xdp_action(const struct sl_sighting *s)
{
	static const int actions[] = {
		[SL_OUTCOME_UNKNOWN] = -1,	    [SL_OUTCOME_FORWARD] = XDP_REDIRECT,
		[SL_OUTCOME_QUEUED] = XDP_REDIRECT, [SL_OUTCOME_DROPPED] = XDP_DROP,
		[SL_OUTCOME_KERNEL] = XDP_PASS,
	};

	return s->sent ? -1 : actions[s->outcome];
}

static void write_frame(struct sl_capture_loop *loop, const struct sl_sighting *s)
{
	char comment[SL_FRAME_TEXT_MAX];
	uint32_t slot;

	name_of(loop, s->ifindex, &slot);
	write_interfaces(loop);
	sl_outcome_text(s, comment);
	sl_pcapng_frame(of(loop)->out, &(struct sl_pcapng_frame){
					       .interface = 2 * slot + s->out,
					       .time_ns = s->time_ns + loop->real_offset_ns,
					       .bytes = s->bytes,
					       .copied_bytes = s->copied_bytes,
					       .frame_bytes = s->frame_bytes,
					       .outbound = s->out,
					       .id = s->id,
					       .comment = comment,
					       .xdp_action = xdp_action(s),
					       .queue = s->sent ? -1 : (int64_t)s->queue,
				       });
}

/* --- The capture --- */

static void begun(struct sl_capture_loop *loop)
{
	struct capture *c = of(loop);
	uint32_t n;
	const struct sl_capture_port *port = sl_xdp_capture_ports(loop->capture, &n);

	if (c->path) {
		sl_pcapng_section(c->out, "sluice capture " SL_VERSION);
		write_interfaces(loop);
		fflush(c->out);
	}
	fputs("sluice: capture: listening on", stderr);
	for (uint32_t i = 0; i < n; i++)
		fprintf(stderr, "%s %s", i ? "," : "", port[i].name);
	fprintf(stderr, "; %u bytes of each frame\n", loop->snap_bytes);
}

static void seen(struct sl_capture_loop *loop, const struct sl_sighting *s)
{
	struct capture *c = of(loop);

	if (!sl_capture_passes(loop, s)) {
		c->n_left++;
		return;
	}
	c->n_captured++;
	if (c->path)
		write_frame(loop, s);
	else if (c->json)
		print_json(loop, s);
	else
		print_text(loop, s);
	if (c->count && c->n_captured >= c->count)
		loop->stop = true;
}

/* The reader sees each round at once. A reader that has gone ends the capture. */
static void shown(struct sl_capture_loop *loop)
{
	struct capture *c = of(loop);

	if (fflush(c->out) || ferror(c->out)) {
		c->failed = errno != EPIPE;
		loop->stop = true;
	}
}

static void ended(struct sl_capture_loop *loop)
{
	struct capture *c = of(loop);
	struct sl_capture_count count;
	uint64_t now_ns;

	if (c->path) {
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		now_ns = (uint64_t)now.tv_sec * NANOSECONDS + (uint64_t)now.tv_nsec;
		write_interfaces(loop);
		for (uint32_t i = 0; i < c->n_interfaces; i++) {
			sl_xdp_capture_counts(loop->capture, i / 2, i % 2, &count);
			sl_pcapng_statistics(c->out, i, now_ns, count.seen + count.left,
					     count.lost);
		}
	}
	fprintf(stderr, "%" PRIu64 " frames captured, %" PRIu64 " not captured", c->n_captured,
		loop->n_lost);
	if (loop->filter)
		fprintf(stderr, ", %" PRIu64 " left out by the filter", loop->n_left + c->n_left);
	fputc('\n', stderr);
}

/* --- Arguments --- */

static int wrong(const char *option, const char *text, const char *right)
{
	fprintf(stderr, "sluice: capture: %s: \"%s\" is not %s\n", option, text, right);
	return SL_EXIT_USAGE;
}

static bool number(const char *text, uint64_t least, uint64_t most, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && !*end && !errno && *out >= least && *out <= most;
}

static int open_output(struct capture *c)
{
	if (c->path && strcmp(c->path, "-") != 0) {
		c->out = fopen(c->path, "we");
		if (!c->out) {
			fprintf(stderr, "sluice: capture: \"%s\" cannot be written: %s\n", c->path,
				strerror(errno));
			return SL_EXIT_FAILED;
		}
	} else if (c->path && isatty(STDOUT_FILENO)) {
		fprintf(stderr,
			"sluice: capture: -w -: standard output is a terminal: let it go to "
			"a program, or write a file's name\n");
		return SL_EXIT_USAGE;
	} else {
		c->out = stdout;
	}
	setvbuf(c->out, NULL, _IOFBF, OUTPUT_BUFFER);
	return SL_EXIT_OK;
}

static int capture(struct sl_capture_loop *loop, struct capture *c)
{
	struct sl_frame_filter *filter = NULL;
	int status = SL_EXIT_OK;
	char why[256];

	if (c->expression && sl_frame_filter_create(c->expression, &filter, why, sizeof(why))) {
		fprintf(stderr, "sluice: capture: \"%s\" is not a filter: %s: see pcap-filter(7)\n",
			c->expression, why);
		return SL_EXIT_USAGE;
	}
	loop->filter = filter;
	status = open_output(c);
	if (status == SL_EXIT_OK && sl_capture_loop_run(loop, ended))
		status = SL_EXIT_FAILED;
	if (c->out && fflush(c->out) && errno != EPIPE)
		c->failed = true;
	if (c->out && c->out != stdout && fclose(c->out))
		c->failed = true;
	if (c->failed) {
		fprintf(stderr, "sluice: capture: not all could be written: is the disk full?\n");
		status = SL_EXIT_FAILED;
	}
	sl_frame_filter_destroy(filter);
	return status;
}

int sl_cmd_capture(const struct sl_cmd_options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "interface", required_argument, NULL, 'i' },
		{ "write", required_argument, NULL, 'w' },
		{ "count", required_argument, NULL, 'c' },
		{ "snap", required_argument, NULL, 's' },
		{ "buffer", required_argument, NULL, 'B' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	const char *ports[PORT_OPTIONS_MAX];
	struct capture c = { .json = options->json };
	struct sl_capture_loop loop = {
		.command = "capture",
		.ports = ports,
		.snap_bytes = SL_CAPTURE_SNAP_MAX,
		.ring_bytes = RING_KIB_DEFAULT * 1024,
		.seen = seen,
		.begun = begun,
		.shown = shown,
		.user = &c,
	};
	bool all = false;
	uint64_t value;
	char *expression;
	int option, status;

	optind = 0;
	argv--; /* getopt wants a name before the arguments; the command's is there */
	argc++;
	while ((option = getopt_long(argc, argv, "+i:w:c:s:B:jh", longs, NULL)) != -1) {
		switch (option) {
		case 'i':
			if (strcmp(optarg, "all") == 0)
				all = true;
			else if (loop.n_ports < PORT_OPTIONS_MAX)
				ports[loop.n_ports++] = optarg;
			else
				return wrong("-i", optarg, "one of 64 ports: write all");
			break;
		case 'w':
			c.path = optarg;
			break;
		case 'c':
			if (!number(optarg, 1, UINT64_MAX, &c.count))
				return wrong("-c", optarg, "a number of frames: write 1 or more");
			break;
		case 's':
			if (!number(optarg, 1, SL_CAPTURE_SNAP_MAX, &value))
				return wrong("-s", optarg, "a length: write bytes, 1 to 65000");
			loop.snap_bytes = (uint32_t)value;
			break;
		case 'B':
			if (!number(optarg, 64, RING_KIB_MAX, &value))
				return wrong("-B", optarg, "a size: write KiB, 64 to 1048576");
			loop.ring_bytes = (uint32_t)value * 1024;
			break;
		case 'j':
			c.json = true;
			break;
		default:
			return sl_cmd_other_option(option, usage, "capture");
		}
	}
	if (!all && !loop.n_ports) {
		fprintf(stderr, "sluice: capture: which port?: write -i PORT, or -i all\n");
		return SL_EXIT_USAGE;
	}
	if (all)
		loop.n_ports = 0;
	if (c.json && c.path) {
		fprintf(stderr,
			"sluice: capture: -w writes pcapng, and -j JSON: write one of them\n");
		return SL_EXIT_USAGE;
	}
	expression = sl_cmd_join(argc - optind, argv + optind);
	c.expression = expression;
	status = capture(&loop, &c);
	free(expression);
	return status;
}
