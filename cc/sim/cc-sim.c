/* SPDX-License-Identifier: BSD-2-Clause */
/* cc-sim: run a scenario file on the discrete-time model. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cc/sim/cost.h"
#include "cc/sim/run.h"

static const char usage_text[] =
	"usage: cc-sim [-j N] [-o FILE] [-s SEED] SCENARIO.yaml\n"
	"       cc-sim --list | --cost\n"
	"\n"
	"Runs controllers on a discrete-time model and writes CSV: a row per interval, or, if the\n"
	"scenario has a sweep, a row per point of its grid. A summary goes to standard error.\n"
	"\n"
	"  -j, --jobs N     threads of a sweep (default: the processors at hand)\n"
	"  -o, --output F   CSV into file F (default: standard output)\n"
	"  -s, --seed N     random seed, 1.. (default: the scenario's)\n"
	"  -l, --list       controllers and their parameters: default, range, unit, source\n"
	"  -c, --cost       processor time of each controller with 250 sources, on this machine\n"
	"  -h, --help       this text\n"
	"  -V, --version    version\n"
	"\n"
	"Scenario files and plots: cc/sim/scenarios/README.md, cc/sim/plot --help.\n";

static void list(void)
{
	for (const struct cc_ops *const *ops = cc_algorithms; *ops; ops++) {
		printf("%s\n", (*ops)->name);
		for (unsigned int i = 0; i < (*ops)->n_params; i++) {
			const struct cc_param *p = &(*ops)->params[i];

			printf("  %-20s %12" PRId64 "  in %" PRId64 "..%" PRId64 "  [%s]  %s\n",
			       p->name, p->value, p->min, p->max, p->unit, p->source);
		}
	}
}

/* The exit status after printing: 1 if standard output did not take all of it. */
static int printed(void)
{
	if (!fflush(stdout) && !ferror(stdout))
		return 0;
	fputs("cc-sim: standard output did not take all of it: is its disk full?\n", stderr);
	return 1;
}

static void show_progress(uint32_t done, uint32_t total)
{
	static uint32_t shown;
	uint32_t width = 50, part = (uint32_t)((uint64_t)done * width / total);

	if (part == shown && done != total && done != 1)
		return;
	shown = part;
	fprintf(stderr, "\r[%-*.*s] %u/%u", (int)width, (int)part,
		"##################################################", done, total);
	if (done == total)
		fputc('\n', stderr);
}

static void show_summary(const struct sim_scenario *sc, const struct sim_summary *r)
{
	double unit = cc_frame_units(&sc->setup.config.port);

	fprintf(stderr, "%s: %s, seed %u, from interval %u of %u\n", sc->name,
		sc->setup.config.ops->name, sc->setup.seed, sc->measure_from, sc->intervals);
	fprintf(stderr, "  settled to 5 / 1 / 0.1 %%: %u / %u / %u intervals, last error %.3f %%\n",
		r->settle_5, r->settle_1, r->settle_01, r->error * 100);
	fprintf(stderr, "  utilisation %.2f %%, Jain %.4f, dropped at the egress %.3f %%\n",
		r->utilisation * 100, r->jain, r->egress_drop_share * 100);
	if (!isnan(r->second_jain))
		fprintf(stderr, "  worst second: Jain %.4f, least share %.1f %%\n", r->second_jain,
			r->second_least * 100);
	fprintf(stderr, "  queue mean / p99 / max: %.1f / %.1f / %.1f frames\n",
		r->queue_mean_units / unit, r->queue_p99_units / unit, r->queue_max_units / unit);
	if (r->flows)
		fprintf(stderr,
			"  %u of %u flows done, median / 99 / 99.9 %%: %.2f / %.2f / %.2f ms\n",
			r->flows_done, r->flows, r->flow_p50_s * 1e3, r->flow_p99_s * 1e3,
			r->flow_p999_s * 1e3);
	for (uint32_t i = 0; i < sc->setup.n_sources && i < 16; i++)
		fprintf(stderr, "  source %u to output 0: %.0f frames/s (share %.0f)\n", i,
			r->rate_ups[i] / unit, r->share_ups[i] / unit);
}

static int parse_number(const char *text, uint32_t max, uint32_t *out)
{
	char *end;
	unsigned long long v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || end == text || *end || text[0] == '-' || v < 1 || v > max)
		return -EINVAL;
	*out = (uint32_t)v;
	return 0;
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "jobs", required_argument, NULL, 'j' },
						 { "output", required_argument, NULL, 'o' },
						 { "seed", required_argument, NULL, 's' },
						 { "list", no_argument, NULL, 'l' },
						 { "cost", no_argument, NULL, 'c' },
						 { "help", no_argument, NULL, 'h' },
						 { "version", no_argument, NULL, 'V' },
						 { NULL, 0, NULL, 0 } };
	static struct sim_scenario scenario;
	struct sim_summary summary;
	const char *output = NULL;
	uint32_t jobs = 0, seed = 0;
	char why[512];
	FILE *csv = stdout;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	int c, err;

	while ((c = getopt_long(argc, argv, "j:o:s:lchV", options, NULL)) != -1) {
		switch (c) {
		case 'j':
			if (parse_number(optarg, 1024, &jobs)) {
				fprintf(stderr, "cc-sim: -j %s: a number in 1..1024 is wanted\n",
					optarg);
				return 2;
			}
			break;
		case 's':
			if (parse_number(optarg, UINT32_MAX, &seed)) {
				fprintf(stderr, "cc-sim: -s %s: a number in 1..%u is wanted\n",
					optarg, UINT32_MAX);
				return 2;
			}
			break;
		case 'o':
			output = optarg;
			break;
		case 'l':
			list();
			return printed();
		case 'c':
			sim_cost(250);
			return printed();
		case 'h':
			fputs(usage_text, stdout);
			return printed();
		case 'V':
			puts("cc-sim " SL_VERSION);
			return printed();
		default:
			fputs(usage_text, stderr);
			return 2;
		}
	}
	if (argc - optind != 1) {
		fputs("cc-sim: name one scenario file; there are some in cc/sim/scenarios\n",
		      stderr);
		fputs(usage_text, stderr);
		return 2;
	}
	if (sim_scenario_load(&scenario, argv[optind], why)) {
		fprintf(stderr, "cc-sim: %s\n", why);
		return 1;
	}
	if (seed) {
		scenario.setup.seed = seed;
		scenario.setup.config.port.seed = (uint16_t)seed;
	}
	if (output) {
		csv = fopen(output, "w");
		if (!csv) {
			fprintf(stderr, "cc-sim: %s: %s\n", output, strerror(errno));
			return 1;
		}
	}
	if (scenario.n_axes)
		err = sim_sweep(&scenario,
				jobs	   ? jobs
				: cpus > 0 ? (uint32_t)cpus
					   : 1,
				csv, isatty(STDERR_FILENO) ? show_progress : NULL);
	else
		err = sim_run(&scenario, csv, &summary);
	if (fflush(csv) == EOF || (output && fclose(csv) == EOF)) {
		fprintf(stderr, "cc-sim: %s: %s\n", output ? output : "standard output",
			strerror(errno));
		return 1;
	}
	if (err) {
		fprintf(stderr, "cc-sim: %s: %s\n", argv[optind], strerror(-err));
		return 1;
	}
	if (!scenario.n_axes)
		show_summary(&scenario, &summary);
	return 0;
}
