/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice cluster routing; the others are in user/join/, user/keys/ and user/versions/ */
#include <ctype.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "user/cli/cmd.h"
#include "user/join/cluster_join.h"
#include "user/keys/cluster_key.h"
#include "user/routing/routing.h"
#include "user/versions/cluster_versions.h"

static const char usage[] =
	"Usage: sluice [OPTION]... cluster routing --bird|--frr [OPTION]... [FILE]\n"
	"\n"
	"Print the configuration of BIRD 2 or FRR on a node, from that of the cluster\n"
	"(by default " SL_CONFIG_DEFAULT_PATH "). No daemon is asked.\n"
	"\n"
	"Options:\n"
	"  -b, --bird           bird.conf of BIRD 2\n"
	"  -f, --frr            frr.conf of FRR\n"
	"  -n, --node N         for that node (default: the one whose configuration it is)\n"
	"  -a, --as AS          the cluster is that AS (default 65000)\n"
	"  -r, --reflector N    that node reflects routes; may be given again (default: a full mesh of\n"
	"                       up to 16 nodes; of more, the first two reflect)\n"
	"  -h, --help           this text\n";

static const char words[] =
	"Usage: sluice [OPTION]... cluster WORD [OPTION]...\n"
	"\n"
	"  init, token, join                        begin a cluster, and bring nodes to it\n"
	"  apply, diff, history, rollback, status   versions of the configuration in etcd\n"
	"  drain, undrain, leave                    take a node out of service\n"
	"  upgrade                                  bring nodes to another release, one by one\n"
	"  key                                      change the key while the nodes forward\n"
	"  routing                                  configurations of BIRD and FRR\n"
	"\n"
	"See `sluice cluster WORD --help`.\n";

struct request {
	bool bird, frr;
	uint32_t node; /* 0: the one of the file */
	struct sl_routing routing;
};

static int wrong(const char *option, const char *text, const char *what)
{
	fprintf(stderr, "sluice: cluster: %s: \"%s\" is not %s\n", option, text, what);
	return SL_EXIT_USAGE;
}

static bool number(const char *text, uint32_t max, uint32_t *out)
{
	unsigned long long value;
	char *end;

	value = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end || value < 1 || value > max)
		return false;
	*out = (uint32_t)value;
	return true;
}

static int unknown_node(const struct sl_routing *routing, const char *option, uint32_t id)
{
	fprintf(stderr,
		"sluice: cluster: %s: \"%u\" is none of the %u nodes of %s: write the id of one\n",
		option, id, routing->settings->cluster.nodes.n, routing->settings->file_name);
	return SL_EXIT_USAGE;
}

/* Daemons read names in their own languages, which have no quotes for these characters. */
static bool plain_name(const char *name)
{
	return strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@-") ==
	       strlen(name);
}

/* A port without `addresses` is one behind which no next hop is found: say so, and how many. */
static int check_ports(const struct sl_routing *routing)
{
	const struct sl_cluster_settings *cluster = &routing->settings->cluster;
	uint32_t without = 0, ports = 0;
	char first[IF_NAMESIZE] = "";

	for (uint32_t i = 0; i < cluster->nodes.n; i++) {
		const struct sl_cluster_node *node = sl_cluster_node(cluster, i);

		for (uint32_t p = 0; p < node->ports.n; p++, ports++) {
			const struct sl_cluster_port *port = sl_cluster_port(node, p);

			if (!port->addresses && !without++)
				snprintf(first, sizeof(first), "n%up%u", node->id, port->number);
			if (node != routing->self || plain_name(port->name))
				continue;
			fprintf(stderr,
				"sluice: cluster: port \"%s\" of node %u: routing daemons take no such "
				"name: write letters, digits, and . _ @ -\n",
				port->name, node->id);
			return SL_EXIT_USAGE;
		}
	}
	if (!without)
		return SL_EXIT_OK;
	fprintf(stderr,
		"sluice: %s: %u of %u ports (the first is %s) have no `addresses`: no next hop is "
		"found behind them; write those of the netdev, as in \"addresses: 10.1.1.1/24\"\n",
		routing->settings->file_name, without, ports, first);
	return without < ports ? SL_EXIT_OK : SL_EXIT_USAGE;
}

static int print(struct request *request, const char *path)
{
	struct sl_routing *routing = &request->routing;
	char error[SL_YAML_ERROR_BYTES] = "";
	struct sl_settings *settings = NULL;
	int status = SL_EXIT_USAGE;

	if (sl_settings_load(path, &settings, error)) {
		fprintf(stderr, "sluice: %s\n", error);
		goto out;
	}
	routing->settings = settings;
	if (!sl_cluster_has_fabric(&settings->cluster)) {
		fprintf(stderr,
			"sluice: %s: there is no `cluster:`, and a node alone has no other to exchange "
			"routes with\n",
			path);
		goto out;
	}
	if (!request->node)
		request->node = settings->cluster.node;
	routing->self = sl_cluster_find_node(&settings->cluster, request->node);
	if (!routing->self) {
		status = unknown_node(routing, "--node", request->node);
		goto out;
	}
	for (uint32_t id = 1; id < SL_ROUTING_NODES; id++) {
		if (routing->reflects[id] && !sl_cluster_find_node(&settings->cluster, id)) {
			status = unknown_node(routing, "--reflector", id);
			goto out;
		}
	}
	status = check_ports(routing);
	if (status != SL_EXIT_OK)
		goto out;
	sl_routing_choose_reflectors(routing);
	if (request->bird)
		sl_routing_print_bird(routing, stdout);
	else
		sl_routing_print_frr(routing, stdout);
out:
	sl_settings_free(settings);
	return status;
}

static int routing_command(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "bird", no_argument, NULL, 'b' },
		{ "frr", no_argument, NULL, 'f' },
		{ "node", required_argument, NULL, 'n' },
		{ "as", required_argument, NULL, 'a' },
		{ "reflector", required_argument, NULL, 'r' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct request request = { .routing.as = SL_ROUTING_AS_DEFAULT };
	uint32_t id;
	int option;

	optind = 0;
	while ((option = getopt_long(argc, argv, "bfn:a:r:h", longs, NULL)) != -1) {
		switch (option) {
		case 'b':
			request.bird = true;
			break;
		case 'f':
			request.frr = true;
			break;
		case 'n':
			if (!number(optarg, SL_ROUTING_NODES - 1, &request.node))
				return wrong("--node", optarg, "a node id: write 1 to 255");
			break;
		case 'a':
			if (!number(optarg, UINT32_MAX - 1, &request.routing.as))
				return wrong("--as", optarg, "an AS: write 1 to 4294967294");
			break;
		case 'r':
			if (!number(optarg, SL_ROUTING_NODES - 1, &id))
				return wrong("--reflector", optarg, "a node id: write 1 to 255");
			request.routing.has_reflectors = request.routing.reflects[id] = true;
			break;
		default:
			return sl_cmd_other_option(option, usage, "cluster routing");
		}
	}
	if (request.bird == request.frr) {
		fprintf(stderr, "sluice: cluster: for which daemon?: write --bird or --frr\n");
		return SL_EXIT_USAGE;
	}
	if (argc - optind > 1) {
		fprintf(stderr, "sluice: cluster: write one file\n");
		return SL_EXIT_USAGE;
	}
	return print(&request, optind < argc ? argv[optind] : SL_CONFIG_DEFAULT_PATH);
}

int sl_cmd_cluster(const struct sl_cmd_options *options, int argc, char **argv)
{
	if (argc > 0 && strcmp(argv[0], "routing") == 0)
		return routing_command(argc, argv);
	if (argc > 0 && strcmp(argv[0], "key") == 0)
		return sl_cmd_cluster_key(options, argc, argv);
	if (argc > 0 && sl_cluster_join_has(argv[0]))
		return sl_cmd_cluster_join(options, argc, argv);
	if (argc > 0 && sl_cluster_versions_has(argv[0]))
		return sl_cmd_cluster_versions(options, argc, argv);
	if (argc > 0 && (strcmp(argv[0], "--help") == 0 || strcmp(argv[0], "-h") == 0)) {
		fputs(words, stdout);
		return SL_EXIT_OK;
	}
	fprintf(stderr,
		"sluice: cluster: \"%s\" is not known: write apply, diff, drain, history, init, join, "
		"key, leave, rollback, routing, status, token, undrain or upgrade\n",
		argc > 0 ? argv[0] : "");
	return SL_EXIT_USAGE;
}
