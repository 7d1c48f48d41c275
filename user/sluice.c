/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice, the command: a table of commands and the options they share. */
#include <ctype.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/ipc/control_client.h"
#include "user/cli/cmd.h"
#include "user/config/config.h"
#include "user/lib/answer.h"

static const struct command {
	const char *name, *arguments, *help;
	sl_cmd_run run;
} commands[] = {
	{ "status", "", "is the daemon well; without one, what still runs", sl_cmd_status },
	{ "show",
	  " ports|routes [PREFIX]|nexthops|neighbours|filters|counters|drops|\n"
	  "       system-ports|peers|voqs|express|egress-queues|delay|busy|fabric|cc",
	  "what the fast path holds and counts, and what the cluster does", sl_cmd_show },
	{ "explain", " ADDRESS [port=PORT KEY=VALUE...]",
	  "what the fast path does with packets to an address, and why", sl_cmd_explain },
	{ "filter",
	  " list [LIST]|counters [LIST]|add LIST [at N] KEY=VALUE...|\n"
	  "       delete LIST [RULE]|replace FILE|import FILE|\n"
	  "       flowspec LIST TABLE... [KEY=VALUE]...|\n"
	  "       flow list|count|add FLOW action=ACTION [KEY=VALUE]...|delete FLOW|load FILE|flush|\n"
	  "       explain ADDRESS port=PORT [KEY=VALUE]...",
	  "filter lists: show and change, take over nftables' rules, BGP flowspec; exact flows",
	  sl_cmd_filter },
	{ "reserve",
	  " list|ports|add FLOW rate RATE [port NETDEV] [refresh SECONDS] [pin]|\n"
	  "       delete FLOW",
	  "rates that are reserved for flows", sl_cmd_reserve },
	{ "element", " list|show [CHAIN]|install FILE|URL|remove CLASS|signals|signal ADDRESS ...",
	  "classes of elements, those of chains and installed ones; chains by packets",
	  sl_cmd_element },
	{ "flow", "", "chains as flows: processor time, packets", sl_cmd_flow },
	{ "attach", " PORT", "put the fast path on a port until the next reload", sl_cmd_attach },
	{ "detach", " PORT", "take the fast path off a port until the next reload", sl_cmd_detach },
	{ "cc",
	  " list [CONTROLLER]|set PORT CONTROLLER [NAME=VALUE]...|\n"
	  "       trace PORT [CLASS [AFTER_NS]]",
	  "congestion controllers of the cluster's ports", sl_cmd_cc },
	{ "top", "", "what happens now, on a live screen", sl_cmd_top },
	{ "capture", " -i PORT|all [-w FILE|-] [FILTER]", "frames that XDP takes in and sends out",
	  sl_cmd_capture },
	{ "trace", " FILTER", "follow packets through this node", sl_cmd_trace },
	{ "web", " [-t FILE] [-n ADDRESS:PORT]... [[ADDRESS:]PORT]",
	  "serve a page that shows all this, of this node and others, to browsers", sl_cmd_web },
	{ "sflow", " [-c FILE]", "send samples of frames, and counters, to collectors (sFlow)",
	  sl_cmd_sflow },
	{ "cluster",
	  " init [FILE]|token|join TOKEN|apply FILE|diff [FILE|A B]|history|rollback [N]|\n"
	  "       status|drain NODE|undrain NODE|leave NODE|upgrade NODE...|\n"
	  "       key add FILE|switch|remove|routing --bird|--frr [OPTION]... [FILE]",
	  "begin a cluster, its configuration in etcd, nodes that come and go, its key, what\n"
	  "        BIRD or FRR need of it",
	  sl_cmd_cluster },
	{ "check", " [FILE]", "check a configuration file", sl_cmd_check },
};
#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_options(FILE *out)
{
	fputs("\nOptions:\n"
	      "  -j, --json           answer in JSON\n"
	      "  -a, --all            show drops, voqs, egress-queues: what is zero, too;\n"
	      "                       explain: rules that do not match, too\n"
	      "  -s, --socket PATH    control socket (default " SL_CONFIG_DEFAULT_SOCKET ")\n"
	      "  -B, --bridge PATH    control socket of sluice-bridge (default: as sluiced says)\n"
	      "  -E, --elements PATH  control socket of sluice-elements\n"
	      "  -p, --pin-dir PATH   pinned maps (default " SL_CONFIG_DEFAULT_PINS ")\n"
	      "  -w, --wait SECONDS   how long for a daemon that is silent, 0.1 to 3600 (default 10)\n"
	      "  -b, --batch          top: print text, for scripts; with -j a JSON object a round\n"
	      "  -n, --rounds N       top: end after so many\n"
	      "  -d, --delay SECONDS  top: between two rounds, 0.1 to 3600 (default 1)\n"
	      "  -h, --help           this text, or a command's\n"
	      "  -V, --version        the version\n"
	      "\n"
	      "Exit status: 0 done; 1 failed; 2 bad arguments or configuration; 3 no daemon runs, or no bridge.\n"
	      "See sluice(8).\n",
	      out);
}

static void print_usage(FILE *out)
{
	fputs("Usage: sluice [OPTION]... COMMAND\n\n", out);
	for (size_t i = 0; i < N_COMMANDS; i++)
		fprintf(out, "  %s%s\n        %s\n", commands[i].name, commands[i].arguments,
			commands[i].help);
	print_options(out);
}

static void print_command_usage(FILE *out, const struct command *command)
{
	fprintf(out, "Usage: sluice [OPTION]... %s%s\n\n%s.\n", command->name, command->arguments,
		command->help);
	print_options(out);
}

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < N_COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static bool parse_rounds(const char *text, uint32_t *out)
{
	unsigned long value;
	char *end;

	value = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || value < 1 || value > 1000000000) {
		fprintf(stderr, "sluice: -n: \"%s\" is not a number of rounds: write 1 or more\n",
			text);
		return false;
	}
	*out = (uint32_t)value;
	return true;
}

static bool parse_seconds(const char *option, const char *text, double *out)
{
	char *end;
	double value = strtod(text, &end);

	if (!isdigit((unsigned char)text[0]) || *end || !(value >= 0.1 && value <= 3600)) {
		fprintf(stderr, "sluice: %s: \"%s\" is not a time: write seconds, 0.1 to 3600\n",
			option, text);
		return false;
	}
	*out = value;
	return true;
}

/* What follows the command's name is for it alone. */
static bool has_own_options(const struct command *command)
{
	return command->run == sl_cmd_capture || command->run == sl_cmd_trace ||
	       command->run == sl_cmd_cluster || command->run == sl_cmd_web ||
	       command->run == sl_cmd_sflow;
}

#define OPTIONS "jas:B:E:p:w:bn:d:hV"

/*
 * How many arguments are options of sluice's own, and the command: all, unless the command has its
 * own options.
 */
static int arguments_for_us(int argc, char **argv, const struct option *longs)
{
	const struct command *command;

	opterr = 0;
	while (getopt_long(argc, argv, "+" OPTIONS, longs, NULL) != -1)
		;
	command = optind < argc ? find_command(argv[optind]) : NULL;
	if (command && has_own_options(command))
		argc = optind + 1;
	opterr = 1;
	optind = 0;
	return argc;
}

static int run(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "all", no_argument, NULL, 'a' },
		{ "socket", required_argument, NULL, 's' },
		{ "bridge", required_argument, NULL, 'B' },
		{ "elements", required_argument, NULL, 'E' },
		{ "pin-dir", required_argument, NULL, 'p' },
		{ "wait", required_argument, NULL, 'w' },
		{ "batch", no_argument, NULL, 'b' },
		{ "rounds", required_argument, NULL, 'n' },
		{ "delay", required_argument, NULL, 'd' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ NULL, 0, NULL, 0 },
	};
	struct sl_cmd_options options = {
		.socket_path = SL_CONFIG_DEFAULT_SOCKET,
		.elements_path = SL_CONFIG_DEFAULT_ELEMENTS_CONTROL,
		.pin_dir = SL_CONFIG_DEFAULT_PINS,
		.patience_ms = SL_CLIENT_PATIENCE_MS,
		.delay_s = 1,
	};
	const struct command *command;
	bool help = false, of_top = false;
	double wait_s;
	int c, n_ours = arguments_for_us(argc, argv, longs);

	while ((c = getopt_long(n_ours, argv, OPTIONS, longs, NULL)) != -1) {
		switch (c) {
		case 'j':
			options.json = true;
			break;
		case 'a':
			options.all = true;
			break;
		case 's':
			options.socket_path = optarg;
			break;
		case 'B':
			options.bridge_path = optarg;
			break;
		case 'E':
			options.elements_path = optarg;
			break;
		case 'p':
			options.pin_dir = optarg;
			break;
		case 'w':
			if (!parse_seconds("-w", optarg, &wait_s))
				return SL_EXIT_USAGE;
			options.patience_ms = (uint32_t)(wait_s * 1000);
			break;
		case 'b':
			options.batch = of_top = true;
			break;
		case 'n':
			of_top = true;
			if (!parse_rounds(optarg, &options.rounds))
				return SL_EXIT_USAGE;
			break;
		case 'd':
			of_top = true;
			if (!parse_seconds("-d", optarg, &options.delay_s))
				return SL_EXIT_USAGE;
			break;
		case 'h':
			help = true;
			break;
		case 'V':
			puts("sluice " SL_VERSION);
			return SL_EXIT_OK;
		default:
			fputs("Try 'sluice --help'.\n", stderr);
			return SL_EXIT_USAGE;
		}
	}
	command = optind < argc ? find_command(argv[optind]) : NULL;
	if (help && (command || optind == argc)) {
		if (command)
			print_command_usage(stdout, command);
		else
			print_usage(stdout);
		return SL_EXIT_OK;
	}
	if (!command) {
		if (optind < argc)
			fprintf(stderr, "sluice: \"%s\" is not a command\n", argv[optind]);
		print_usage(stderr);
		return SL_EXIT_USAGE;
	}
	if (of_top && command->run != sl_cmd_top) {
		fprintf(stderr, "sluice: %s: -b, -n and -d are for top\n", command->name);
		return SL_EXIT_USAGE;
	}
	return command->run(&options, argc - optind - 1, argv + optind + 1);
}

int main(int argc, char **argv)
{
	const int status = run(argc, argv);

	return !sl_answer_flush("sluice") && status == SL_EXIT_OK ? SL_EXIT_FAILED : status;
}
