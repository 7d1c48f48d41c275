/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of init, token and join: options, and which one it is. */
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/join/cluster_join.h"
#include "user/join/join_request.h"
#include "user/text/duration.h"

#define NODE_MAX   255
#define WAIT_S	   30.0
#define WAIT_MAX_S 3600.0
#define NS_PER_S   1000000000ULL
#define TTL_NS	   (3600 * NS_PER_S)
#define TTL_MIN_NS (5 * NS_PER_S)
#define TTL_MAX_NS (7 * 24 * 3600 * NS_PER_S)

static const char usage[] =
	"Usage: sluice [OPTION]... cluster init [FILE] | token | join TOKEN [OPTION]...\n"
	"\n"
	"Begin a cluster whose configuration is in etcd, and bring nodes to it.\n"
	"\n"
	"  init [FILE]   on the first node: a new key, the first version of the configuration, from\n"
	"                FILE or from options, and the files with which this node starts\n"
	"  token         on a node of the cluster: print a token with which one node may join, once;\n"
	"                etcd keeps the cluster's key for it, sealed by the second half of the token\n"
	"  join TOKEN    on a new node: fetch key and configuration, add the node to that, by options\n"
	"                or a file, unless it is in it, and write the files with which it starts;\n"
	"                TOKEN -: read it from standard input\n"
	"\n"
	"Options:\n"
	"  -n, --node N            init, join: the id of this node\n"
	"  -a, --address ADDRESS   init, join: of this node on the fabric\n"
	"  -p, --port [N=]NETDEV   init, join: a port of this node, which may be given again; without\n"
	"                          N, the number after that of the port before\n"
	"  -f, --file FILE         join: the entry of this node, as under cluster.nodes, in place of\n"
	"                          --address and --port\n"
	"      --fabric NETDEV     init: the netdev of the fabric, the same on all nodes\n"
	"      --transport NAME    init: of the fabric (default roce-xdp)\n"
	"  -t, --ttl TIME          token: how long it is valid, as 30min or 2h, from 5s to 168h\n"
	"                          (default 1h)\n"
	"  -w, --wait SECONDS      join: for nodes that are present to take it (default 30)\n"
	"  -e, --etcd ENDPOINTS    https://HOST:PORT,...  (default: those of the settings)\n"
	"  -s, --settings FILE     how to reach etcd (default " SL_ETCD_DEFAULT_SETTINGS
	"); init and\n"
	"                          join write it if it is not there, with these:\n"
	"      --ca, --certificate, --key FILE, --user NAME, --password-file FILE, --prefix PREFIX\n"
	"  -j, --json              answer in JSON\n"
	"  -h, --help              this text\n"
	"\n"
	"If a step fails, nothing is written. Exit status: 0 done; 1 failed; 2 bad arguments or\n"
	"configuration; 3 etcd does not answer.\n";

/* Options by the letters that getopt_long returns; capitals have no short form. */
#define TO_ETCD	 "esjh"
#define OF_START "napPCXKUW"

static const struct word {
	const char *name;
	int (*run)(struct sl_join_request *r);
	const char *options;
	int least, most; /* further words */
	const char *write;
} words[] = {
	{ "init", sl_join_init, TO_ETCD OF_START "FT", 0, 1, "write at most one file after init" },
	{ "token", sl_join_make_token, TO_ETCD "t", 0, 0, "nothing goes after token" },
	{ "join", sl_join_node, TO_ETCD OF_START "fw", 1, 1, "write one token after join" },
};
#define N_WORDS (sizeof(words) / sizeof(words[0]))

static const struct word *find(const char *name)
{
	for (size_t i = 0; i < N_WORDS; i++)
		if (strcmp(words[i].name, name) == 0)
			return &words[i];
	return NULL;
}

bool sl_cluster_join_has(const char *word)
{
	return find(word);
}

static int wrong(const char *word, const char *text)
{
	fprintf(stderr, "sluice: cluster %s: %s\nTry 'sluice cluster %s --help'.\n", word, text,
		word);
	return SL_EXIT_USAGE;
}

/* NULL, or what would be right. */
static const char *take_number(struct sl_join_request *r, int option, const char *text)
{
	long long number;
	uint64_t ns;
	char *end;
	int err;

	switch (option) {
	case 'n':
		if (!sl_version_number(text, &number) || number < 1 || number > NODE_MAX)
			return "--node: write an id, 1 to 255";
		r->options.node = (uint32_t)number;
		break;
	case 'p':
		err = sl_start_port_add(&r->options, text);
		if (err)
			return err == -ENOSPC ? "--port: write more than 64 ports in a file"
					      : "--port: write NETDEV or NUMBER=NETDEV";
		break;
	case 't':
		if (sl_duration_parse(text, &ns) || ns < TTL_MIN_NS || ns > TTL_MAX_NS)
			return "--ttl: write a time as 30min or 2h, from 5s to 168h";
		r->ttl_ns = ns;
		break;
	case 'w':
		r->version.wait_s = strtod(text, &end);
		if (!isdigit((unsigned char)text[0]) || *end || !(r->version.wait_s <= WAIT_MAX_S))
			return "--wait: write seconds, 0 to 3600";
		break;
	}
	return NULL;
}

static const char *take_option(struct sl_join_request *r, int option, const char *text)
{
	struct sl_start_options *o = &r->options;

	switch (option) {
	case 'e':
		r->version.endpoints = o->endpoints = text;
		break;
	case 's':
		r->version.settings_path = text;
		break;
	case 'j':
		r->version.json = true;
		break;
	case 'a':
		o->address = text;
		break;
	case 'f':
		r->file = text;
		break;
	case 'F':
		o->fabric = text;
		break;
	case 'T':
		o->transport = text;
		break;
	case 'P':
		o->prefix = text;
		break;
	case 'X':
		o->ca = text;
		break;
	case 'C':
		o->certificate = text;
		break;
	case 'K':
		o->key = text;
		break;
	case 'U':
		o->user = text;
		break;
	case 'W':
		o->password_file = text;
		break;
	default:
		return take_number(r, option, text);
	}
	return NULL;
}

/* Options that go together. NULL, or what would be right. */
static const char *check(const struct word *word, const struct sl_join_request *r)
{
	const struct sl_start_options *o = &r->options;
	const bool has_node = o->address || o->ports;

	if (word->run == sl_join_init && r->version.argc)
		return has_node || o->fabric || o->transport
			       ? "--address, --port, --fabric and --transport are for a cluster without "
				 "FILE"
			       : NULL;
	if (word->run == sl_join_init && !(o->node && o->address && o->ports && o->fabric))
		return "write a FILE, or --node, --address, --fabric and --port";
	if (word->run == sl_join_node && !o->node)
		return "write the id of this node, --node N";
	if (word->run == sl_join_node && r->file && has_node)
		return "write --file, or --address and --port";
	if (word->run == sl_join_node && !o->address != !o->ports)
		return "write both --address and --port";
	return NULL;
}

static int run(const struct word *word, struct sl_join_request *r)
{
	char line[SL_JOIN_TOKEN_CHARS + 3], *argument = line;
	const char *why = check(word, r);
	int status;

	if (why)
		return wrong(word->name, why);
	/* Arguments are there for all to see who may list processes. */
	if (word->run == sl_join_node && strcmp(r->version.argv[0], "-") == 0) {
		if (!fgets(line, sizeof(line), stdin))
			line[0] = '\0';
		line[strcspn(line, "\r\n")] = '\0';
		r->version.argv = &argument;
	}
	status = sl_version_close(&r->version, word->run(r));
	sl_start_files_close(&r->files);
	explicit_bzero(line, sizeof(line));
	free(r->settings);
	free(r->former);
	free(r->key_file);
	free(r->also);
	free(r->own);
	return status;
}

int sl_cmd_cluster_join(const struct sl_cmd_options *options, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "etcd", required_argument, NULL, 'e' },
		{ "settings", required_argument, NULL, 's' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ "node", required_argument, NULL, 'n' },
		{ "address", required_argument, NULL, 'a' },
		{ "port", required_argument, NULL, 'p' },
		{ "file", required_argument, NULL, 'f' },
		{ "fabric", required_argument, NULL, 'F' },
		{ "transport", required_argument, NULL, 'T' },
		{ "ttl", required_argument, NULL, 't' },
		{ "wait", required_argument, NULL, 'w' },
		{ "prefix", required_argument, NULL, 'P' },
		{ "ca", required_argument, NULL, 'X' },
		{ "certificate", required_argument, NULL, 'C' },
		{ "key", required_argument, NULL, 'K' },
		{ "user", required_argument, NULL, 'U' },
		{ "password-file", required_argument, NULL, 'W' },
		{ NULL, 0, NULL, 0 },
	};
	const struct word *word = find(argv[0]);
	struct sl_join_request r = { .version = { .settings_path = SL_ETCD_DEFAULT_SETTINGS,
						  .based_on = -1,
						  .wait_s = WAIT_S,
						  .json = options->json },
				     .ttl_ns = TTL_NS };
	char command[32];
	const char *why;
	int option;

	snprintf(command, sizeof(command), "cluster %s", word->name);
	optind = 0;
	while ((option = getopt_long(argc, argv, "e:s:jhn:a:p:f:t:w:", longs, NULL)) != -1) {
		if (option == 'h' || option == '?')
			return sl_cmd_other_option(option, usage, command);
		if (!strchr(word->options, option))
			return wrong(word->name, "has no such option");
		why = take_option(&r, option, optarg);
		if (why)
			return wrong(word->name, why);
	}
	r.version.argc = argc - optind;
	r.version.argv = argv + optind;
	if (r.version.argc < word->least || r.version.argc > word->most)
		return wrong(word->name, word->write);
	return run(word, &r);
}
