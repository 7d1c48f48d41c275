/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice-delay: the delay through a router, from captures of its links. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "delay/measure.h"
#include "delay/report.h"
#include "user/lib/answer.h"
#include "user/lib/clock.h"
#include "user/text/duration.h"
#include "user/text/quantity.h"

static const char usage_text[] =
	"usage: sluice-delay [OPTION]... -i LINK... -o LINK...\n"
	"\n"
	"Matches the packets in captures of a router's inputs and outputs (pcap, pcapng), and says how\n"
	"long the router took, and where the time went: least delay by size, queues, busy periods,\n"
	"microcongestion.\n"
	"\n"
	"  -i, --input LINK       a link by which packets enter; up to 63\n"
	"  -o, --output LINK      a link by which packets leave\n"
	"LINK is [NAME=]FILE[,rate=RATE][,overhead=BYTES][,stamp=end|start|BYTES][,filter=EXPRESSION]:\n"
	"  rate=RATE              of the link: 10gbit, 149760kbit; for an output, the model needs it\n"
	"                         unless gaps between packets tell\n"
	"  overhead=BYTES         on the wire, per packet, beyond IP (default: by link type)\n"
	"  stamp=end|start|BYTES  what was there when the time was taken: the whole packet (software;\n"
	"                         the default), its first bit (hardware), or BYTES of its IP packet\n"
	"  filter=EXPRESSION      only these packets, as tcpdump selects; takes the rest of LINK\n"
	"\n"
	"  -w, --window TIME      the longest that a packet may take (default: 1s)\n"
	"  -t, --interval TIME    of delay and load over time (default: 60s)\n"
	"  -e, --episode TIME     a queue's amplitude from which on it is microcongestion (default:\n"
	"                         sending ten packets of 1,500 bytes)\n"
	"  -L, --levels TIME,...  levels above which to measure time (default: 1us, 1.41us, 2us...)\n"
	"  -g, --guard TIME       busy periods closer than this are one (default: 0ns)\n"
	"  -c, --clock-error TIME how much the outputs' clock may be behind (default: 0ns)\n"
	"  -C, --no-checksums     know packets again without their TCP, UDP or ICMP checksum, which a\n"
	"                         sender's device may have filled in\n"
	"  -M, --no-model         read the captures once, without the two-stage model\n"
	"  -p, --partial          take a capture that breaks off as far as it goes\n"
	"  -j, --json             JSON, with everything; sluice-delay-plot draws it\n"
	"  -q, --quiet            no progress bar\n"
	"  -h, --help             this text\n"
	"  -V, --version          version\n";

static int wrong(const char *format, ...) __attribute__((format(printf, 1, 2)));

static int wrong(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	fputs("sluice-delay: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
	return 2;
}

/* A line that overwrites itself, not more than five times a second */
static void show_progress(const struct sl_progress *p)
{
	static uint64_t shown_ns, started_ns;
	static unsigned int pass;
	const uint64_t now_ns = sl_now_ns();
	const bool end = p->bytes_read >= p->bytes;
	const unsigned int width = 30;
	unsigned int part, percent;
	char packets[SL_QUANTITY_BYTES], speed[SL_QUANTITY_BYTES];

	if (p->pass != pass)
		started_ns = now_ns;
	if (p->pass == pass && !end && now_ns - shown_ns < 200000000)
		return;
	pass = p->pass;
	shown_ns = now_ns;
	part = p->bytes ? (unsigned int)(p->bytes_read * width / p->bytes) : width;
	percent = p->bytes ? (unsigned int)(p->bytes_read * 100 / p->bytes) : 100;
	fprintf(stderr, "\rpass %u of %u [%-*.*s] %3u %%, %spackets, %spackets/s  ", p->pass,
		p->passes, (int)width, (int)part, "##############################", percent,
		sl_quantity(p->packets, packets),
		sl_quantity(p->packets * 1000000000ULL / (now_ns - started_ns + 1), speed));
	if (end && p->pass == p->passes)
		fputs("\r\033[K", stderr);
}

static int parse_time(const char *option, const char *text, uint64_t least_ns, uint64_t *out_ns)
{
	uint64_t ns;

	if (sl_duration_parse(text, &ns) || ns < least_ns)
		return wrong("%s %s: a time from %" PRIu64 " ns on is wanted, as in 250us or 1.5s",
			     option, text, least_ns);
	*out_ns = ns;
	return 0;
}

/* TIME,... in any order; they are kept in rising order, each once. */
static int parse_levels(char *text, struct sl_measure_settings *settings)
{
	char *save = NULL;

	settings->n_levels = 0;
	for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
		uint32_t at = settings->n_levels;
		uint64_t ns = 0;

		if (parse_time("--levels", word, 1, &ns))
			return 2;
		if (at == SL_ABOVE_LEVELS_MAX)
			return wrong("--levels: at most %d levels", SL_ABOVE_LEVELS_MAX);
		for (; at && settings->level_ns[at - 1] > ns; at--)
			settings->level_ns[at] = settings->level_ns[at - 1];
		settings->level_ns[at] = ns;
		settings->n_levels++;
	}
	return settings->n_levels ? 0
				  : wrong("--levels: at least one time is wanted, as in 100us,1ms");
}

static int add_link(struct sl_tapped_link *links, uint32_t *n, const char *text, bool output)
{
	char why[512];
	int err;

	if (*n == SL_LINKS_MAX)
		return wrong("at most %d links", SL_LINKS_MAX);
	err = sl_tapped_link_parse(text, output, &links[*n], why, sizeof(why));
	++*n;
	if (err)
		return wrong("%s", err == -ENOMEM ? "out of memory" : why);
	for (uint32_t i = 0; i + 1 < *n; i++)
		if (strcmp(links[i].name, links[*n - 1].name) == 0)
			return wrong("two links are called %s: name one, as in NAME=%s",
				     links[i].name, links[*n - 1].path);
	return 0;
}

struct options {
	struct sl_measure_settings settings;
	bool json, quiet;
	bool done; /* --help or --version has been answered */
};

static int parse_option(int c, struct options *o, struct sl_tapped_link *links)
{
	struct sl_measure_settings *s = &o->settings;

	switch (c) {
	case 'i':
	case 'o':
		return add_link(links, &s->n_links, optarg, c == 'o');
	case 'w':
		return parse_time("--window", optarg, 1, &s->window_ns);
	case 't':
		return parse_time("--interval", optarg, 1, &s->interval_ns);
	case 'e':
		return parse_time("--episode", optarg, 1, &s->episode_ns);
	case 'g':
		return parse_time("--guard", optarg, 0, &s->guard_ns);
	case 'c':
		return parse_time("--clock-error", optarg, 0, &s->clock_error_ns);
	case 'L':
		return parse_levels(optarg, s);
	case 'C':
		s->no_checksums = true;
		return 0;
	case 'M':
		s->no_model = true;
		return 0;
	case 'p':
		s->partial = true;
		return 0;
	case 'j':
		o->json = true;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'h':
		fputs(usage_text, stdout);
		o->done = true;
		return 0;
	case 'V':
		puts("sluice-delay " SL_VERSION);
		o->done = true;
		return 0;
	default:
		fputs("sluice-delay --help lists the options\n", stderr);
		return 2;
	}
}

static int parse_options(int argc, char **argv, struct options *o, struct sl_tapped_link *links)
{
	static const struct option options[] = { { "input", required_argument, NULL, 'i' },
						 { "output", required_argument, NULL, 'o' },
						 { "window", required_argument, NULL, 'w' },
						 { "interval", required_argument, NULL, 't' },
						 { "episode", required_argument, NULL, 'e' },
						 { "levels", required_argument, NULL, 'L' },
						 { "guard", required_argument, NULL, 'g' },
						 { "clock-error", required_argument, NULL, 'c' },
						 { "no-checksums", no_argument, NULL, 'C' },
						 { "no-model", no_argument, NULL, 'M' },
						 { "partial", no_argument, NULL, 'p' },
						 { "json", no_argument, NULL, 'j' },
						 { "quiet", no_argument, NULL, 'q' },
						 { "help", no_argument, NULL, 'h' },
						 { "version", no_argument, NULL, 'V' },
						 { NULL, 0, NULL, 0 } };
	uint32_t outputs = 0;
	int c, status;

	while ((c = getopt_long(argc, argv, "i:o:w:t:e:L:g:c:CMpjqhV", options, NULL)) != -1) {
		status = parse_option(c, o, links);
		if (status || o->done)
			return status;
	}
	if (optind < argc)
		return wrong("%s: is it an input or an output? Put -i or -o before it",
			     argv[optind]);
	for (uint32_t i = 0; i < o->settings.n_links; i++)
		outputs += links[i].output;
	if (!outputs || outputs == o->settings.n_links)
		return wrong(
			"%s: captures of at least one input (-i) and one output (-o) are wanted",
			outputs ? "no -i" : "no -o");
	return 0;
}

/* Say on standard error what a reader of the report should know. */
static void warn(const struct sl_measure *m)
{
	uint64_t finest_ns = UINT64_MAX, coarsest_ns = 0, matched = 0, packets = 0;

	for (uint32_t i = 0; i < m->settings.n_links; i++) {
		const struct sl_link_result *r = &m->link[i];

		matched += r->fate[SL_FATE_MATCHED];
		packets += r->capture.packets;
		if (r->capture.ended_early)
			fprintf(stderr,
				"sluice-delay: warning: %s breaks off behind record %" PRIu64 "\n",
				m->settings.links[i].path, r->capture.records);
		if (r->capture.cut)
			fprintf(stderr,
				"sluice-delay: warning: %s: %" PRIu64
				" packets are cut too short to be known again: capture 128 bytes or more\n",
				m->settings.links[i].path, r->capture.cut);
		if (!r->capture.packets)
			continue;
		finest_ns =
			r->capture.resolution_ns < finest_ns ? r->capture.resolution_ns : finest_ns;
		coarsest_ns = r->capture.resolution_ns > coarsest_ns ? r->capture.resolution_ns
								     : coarsest_ns;
	}
	if (packets > 1000 && finest_ns < coarsest_ns)
		fprintf(stderr,
			"sluice-delay: warning: some captures count time in %" PRIu64
			" ns, others in %" PRIu64 " ns: delays are wrong by up to the latter\n",
			finest_ns, coarsest_ns);
	if (!matched)
		fprintf(stderr,
			"sluice-delay: warning: no packet was found on both an input and an "
			"output: is each file given for the right side, are the clocks one, and does "
			"--no-checksums help?\n");
}

int main(int argc, char **argv)
{
	static struct sl_tapped_link links[SL_LINKS_MAX];
	struct options o = {
		.settings = { .links = links, .window_ns = 1000000000, .interval_ns = 60000000000 }
	};
	struct sl_measure *measure = NULL;
	char why[1024];
	int status, err;

	status = parse_options(argc, argv, &o, links);
	if (status || o.done)
		goto out;
	if (!o.quiet && isatty(STDERR_FILENO))
		o.settings.progress = show_progress;
	err = sl_measure_create(&o.settings, &measure, why, sizeof(why));
	if (err) {
		fprintf(stderr, "%ssluice-delay: %s\n", o.settings.progress ? "\n" : "", why);
		status = 1;
		goto out;
	}
	warn(measure);
	err = o.json ? sl_report_json(measure, stdout) : sl_report_text(measure, stdout);
	if (err) {
		fprintf(stderr, "sluice-delay: cannot write the report: %s\n", strerror(-err));
		status = 1;
	}
out:
	sl_measure_destroy(measure);
	for (uint32_t i = 0; i < o.settings.n_links; i++)
		sl_tapped_link_fini(&links[i]);
	if (!sl_answer_flush("sluice-delay"))
		status = 1;
	return status;
}
