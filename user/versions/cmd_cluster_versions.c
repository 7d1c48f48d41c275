/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of the commands about versions: options, and which one it is. */
#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "user/versions/cluster_versions.h"
#include "user/versions/version_request.h"

#define WAIT_S	   30.0
#define WAIT_MAX_S 3600.0
#define REST_S	   300.0
#define NODES_MAX  255

static const char usage[] =
	"Usage: sluice [OPTION]... cluster apply FILE | diff [FILE | A B] | history | rollback [N] |\n"
	"           status | drain NODE | undrain NODE | leave NODE | upgrade NODE... [OPTION]...\n"
	"\n"
	"Versions of the whole cluster's configuration in etcd. sluice-cluster(8) brings the current\n"
	"one to each node.\n"
	"\n"
	"  apply FILE     check a configuration as every node would, write it as the next version,\n"
	"                 and wait for the nodes\n"
	"  diff           the keys that differ: from the current version to FILE (default: the\n"
	"                 configuration of this node), or from A to B, each a version or a file\n"
	"  history        the versions, the newest first\n"
	"  rollback [N]   write the text of version N (default: the one before the current one)\n"
	"                 as the next version\n"
	"  status         the members of etcd, and which version each node has in force\n"
	"  drain NODE     mark a node, so that others are preferred to it, and wait until nothing but\n"
	"                 control traffic uses its ports\n"
	"  undrain NODE   take the mark back\n"
	"  leave NODE     take a node that is drained and at rest out of the configuration\n"
	"  upgrade NODE...  one after the other: drain it, run a command that brings it to a release,\n"
	"                 wait until its daemons run that and it is in step, and undrain it; nodes\n"
	"                 that run the release are left alone\n"
	"\n"
	"Options:\n"
	"  -e, --etcd ENDPOINTS   https://HOST:PORT,...  (default: those of the settings)\n"
	"  -s, --settings FILE    how to reach etcd (default " SL_ETCD_DEFAULT_SETTINGS ")\n"
	"  -b, --based-on N       what writes a version: only if version N is current (0: none is)\n"
	"  -w, --wait SECONDS     likewise: for nodes that are present (default 30)\n"
	"  -t, --timeout SECONDS  drain, upgrade: for each thing that a node is waited for, as to come\n"
	"                         to rest (default 300)\n"
	"  -f, --force            leave: also if the node is not drained, or not at rest; upgrade: also\n"
	"                         if it does not come to rest\n"
	"  -a, --all              upgrade: all nodes of the configuration\n"
	"  -c, --command COMMAND  upgrade: what brings a node to the release, for sh, with %n for the\n"
	"                         node's id and %v for the release: 'ssh node%n apt-get install -y\n"
	"                         sluice=%v'\n"
	"  -r, --routing COMMAND  upgrade: what gives the node's routing daemon its configuration, after\n"
	"                         the node is marked, and after the mark is gone\n"
	"  -o, --to RELEASE       upgrade: which release (default " SL_VERSION
	", that of this command)\n"
	"  -j, --json             answer in JSON\n"
	"  -h, --help             this text\n"
	"\n"
	"Exit status: 0 done; 1 failed, a node refuses or does not come to rest; 2 bad arguments or\n"
	"configuration; 3 etcd does not answer.\n";

static const struct word {
	const char *name;
	int (*run)(struct sl_version_request *r);
	int least, most; /* further words */
	const char *write;
} words[] = {
	{ "apply", sl_version_apply, 1, 1, "write one file after apply" },
	{ "diff", sl_version_diff, 0, 2, "write at most two versions or files after diff" },
	{ "history", sl_version_history, 0, 0, "nothing goes after history" },
	{ "rollback", sl_version_rollback, 0, 1, "write at most one version after rollback" },
	{ "status", sl_version_status, 0, 0, "nothing goes after status" },
	{ "drain", sl_version_drain, 1, 1, "write one node's id after drain" },
	{ "undrain", sl_version_undrain, 1, 1, "write one node's id after undrain" },
	{ "leave", sl_version_leave, 1, 1, "write one node's id after leave" },
	{ "upgrade", sl_version_upgrade, 0, NODES_MAX, "write ids of nodes after upgrade" },
};
#define N_WORDS (sizeof(words) / sizeof(words[0]))

static const struct word *find(const char *name)
{
	for (size_t i = 0; i < N_WORDS; i++)
		if (strcmp(words[i].name, name) == 0)
			return &words[i];
	return NULL;
}

bool sl_cluster_versions_has(const char *word)
{
	return find(word);
}

static int wrong(const char *word, const char *text)
{
	fprintf(stderr, "sluice: cluster %s: %s\nTry 'sluice cluster %s --help'.\n", word, text,
		word);
	return SL_EXIT_USAGE;
}

static bool parse_wait(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return isdigit((unsigned char)text[0]) && !*end && *out >= 0 && *out <= WAIT_MAX_S;
}

static int run(const struct word *word, struct sl_version_request *r)
{
	long long number;

	if (r->argc < word->least || r->argc > word->most)
		return wrong(word->name, word->write);
	if (word->run == sl_version_rollback && r->argc && !sl_version_number(r->argv[0], &number))
		return wrong(word->name, "write the number of a version");
	if (word->run == sl_version_upgrade && r->all == (r->argc > 0))
		return wrong(word->name, "write the ids of nodes, or --all");
	if (word->run == sl_version_upgrade && !r->command)
		return wrong(word->name, "--command: write what brings node %n to the release");
	return sl_version_close(r, word->run(r));
}

int sl_cmd_cluster_versions(const struct sl_cmd_options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "etcd", required_argument, NULL, 'e' },
		{ "settings", required_argument, NULL, 's' },
		{ "based-on", required_argument, NULL, 'b' },
		{ "wait", required_argument, NULL, 'w' },
		{ "timeout", required_argument, NULL, 't' },
		{ "force", no_argument, NULL, 'f' },
		{ "all", no_argument, NULL, 'a' },
		{ "command", required_argument, NULL, 'c' },
		{ "routing", required_argument, NULL, 'r' },
		{ "to", required_argument, NULL, 'o' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct sl_version_request r = { .settings_path = SL_ETCD_DEFAULT_SETTINGS,
					.based_on = -1,
					.wait_s = WAIT_S,
					.timeout_s = REST_S,
					.to = SL_VERSION,
					.json = options->json };
	const struct word *word = find(argv[0]);
	int option;

	optind = 0;
	while ((option = getopt_long(argc, argv, "e:s:b:w:t:fac:r:o:jh", longs, NULL)) != -1) {
		switch (option) {
		case 'e':
			r.endpoints = optarg;
			break;
		case 's':
			r.settings_path = optarg;
			break;
		case 'b':
			if (!sl_version_number(optarg, &r.based_on))
				return wrong(word->name,
					     "--based-on: write the number of a version");
			break;
		case 'w':
			if (!parse_wait(optarg, &r.wait_s))
				return wrong(word->name, "--wait: write seconds, 0 to 3600");
			break;
		case 't':
			if (!parse_wait(optarg, &r.timeout_s))
				return wrong(word->name, "--timeout: write seconds, 0 to 3600");
			break;
		case 'f':
			r.force = true;
			break;
		case 'a':
			r.all = true;
			break;
		case 'c':
			r.command = optarg;
			break;
		case 'r':
			r.routing = optarg;
			break;
		case 'o':
			r.to = optarg;
			break;
		case 'j':
			r.json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return SL_EXIT_OK;
		default:
			fprintf(stderr, "Try 'sluice cluster %s --help'.\n", word->name);
			return SL_EXIT_USAGE;
		}
	}
	r.argc = argc - optind;
	r.argv = argv + optind;
	return run(word, &r);
}
