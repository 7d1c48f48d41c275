/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice explain ADDRESS [KEY=VALUE]... */
#include <stdio.h>
#include <string.h>

#include "user/cli/cmd.h"
#include "user/text/prefix.h"

static void print_remote(const json_t *nh)
{
	const json_t *voqs = json_object_get(nh, "voqs"), *first = json_array_get(voqs, 0);
	const json_t *last = json_array_get(voqs, json_array_size(voqs) - 1);

	if (!first)
		return;
	printf("\n           queues VOQ %lld to %lld, for class %lld to %lld",
	       sl_cmd_number(first, "voq"), sl_cmd_number(last, "voq"),
	       sl_cmd_number(first, "class"), sl_cmd_number(last, "class"));
	if (json_object_get(nh, "node"))
		printf("; node %lld at %s is %s", sl_cmd_number(nh, "node"),
		       sl_cmd_text(nh, "node_address"), sl_cmd_text(nh, "peer"));
}

static void print_nexthop(const char *label, const json_t *nh)
{
	const char *kind = sl_cmd_text(nh, "kind"), *via = sl_cmd_text(nh, "via");
	const json_t *members = json_object_get(nh, "members"), *vlans, *member;
	size_t i;

	printf("%s%lld: ", label, sl_cmd_number(nh, "id"));
	if (json_object_get(nh, "buckets"))
		printf("%lld/128 of the flows, ", sl_cmd_number(nh, "buckets"));
	if (strcmp(kind, "forward") == 0) {
		printf("%s%sport %s, %s -> %s, MTU %lld", via, *via ? ", " : "",
		       sl_cmd_text(nh, "port"), sl_cmd_text(nh, "source_mac"),
		       sl_cmd_text(nh, "mac"), sl_cmd_number(nh, "mtu_bytes"));
		vlans = json_object_get(nh, "vlans");
		json_array_foreach(vlans, i, member)
			printf(", VLAN %lld", (long long)json_integer_value(member));
		print_remote(nh);
	} else if (strcmp(kind, "group") == 0) {
		printf("group of %zu", json_array_size(members));
	} else {
		printf("%s%s%s", kind, *sl_cmd_text(nh, "reason") ? " " : "",
		       sl_cmd_text(nh, "reason"));
	}
	putchar('\n');
	json_array_foreach(members, i, member)
		print_nexthop("           ", member);
}

static void print_explanation(void *arg, const json_t *row)
{
	const json_t *route = json_object_get(row, "route");

	(void)arg;
	printf("address    %s\n", sl_cmd_text(row, "address"));
	printf("engine     %s\n", sl_cmd_text(row, "engine"));
	fputs("route      ", stdout);
	if (json_is_object(route))
		sl_cmd_print_route(route);
	else
		puts("none");
	if (json_is_object(route) &&
	    strcmp(sl_cmd_text(row, "entry"), sl_cmd_text(route, "prefix")))
		printf("entry      %s, a neighbour\n", sl_cmd_text(row, "entry"));
	print_nexthop("next hop   ", json_object_get(row, "nexthop"));
	if (json_object_get(row, "filter"))
		sl_cmd_print_filter(json_object_get(row, "filter"));
	printf("verdict    %s: %s\n", sl_cmd_text(row, "verdict"), sl_cmd_text(row, "why"));
}

int sl_cmd_explain(const struct sl_cmd_options *options, int argc, char **argv)
{
	uint8_t family, addr[16];
	json_t *request, *packet = NULL;

	if (argc < 1) {
		fprintf(stderr, "sluice: explain: write one IPv4 or IPv6 address\n");
		return SL_EXIT_USAGE;
	}
	if (sl_addr_parse(argv[0], &family, addr)) {
		fprintf(stderr, "sluice: \"%s\" is not an IPv4 or IPv6 address\n", argv[0]);
		return SL_EXIT_USAGE;
	}
	if (argc > 1) {
		packet = sl_cmd_packet(options, "explain", argc - 1, argv + 1);
		if (!packet)
			return SL_EXIT_USAGE;
	}
	request = json_pack("{s:s, s:s, s:o*}", "command", "explain", "address", argv[0], "packet",
			    packet);
	if (options->json)
		return sl_cmd_print_json(options, request, false);
	return sl_cmd_ask(options, request, print_explanation, NULL);
}
