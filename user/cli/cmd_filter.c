/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sluice filter list|counters|add|delete|replace|import|explain; flowspec is in cmd_flowspec.c,
 * flow in user/flows
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/cli/cmd.h"
#include "user/import/nft_import.h"
#include "user/text/yaml.h"

/* --- Changes --- */

static void print_change(void *arg, const json_t *row)
{
	const json_t *rules = json_object_get(row, "rules");

	(void)arg;
	if (json_is_null(rules))
		printf("%s: deleted\n", sl_cmd_text(row, "list"));
	else
		printf("%s: %lld rules in force\n", sl_cmd_text(row, "list"),
		       (long long)json_integer_value(rules));
}

static int change(const struct sl_cmd_options *options, json_t *request)
{
	if (options->json)
		return sl_cmd_print_json(options, request, true);
	return sl_cmd_ask(options, request, print_change, NULL);
}

/*
 * Read a file, "-" for standard input, that has at most SL_YAML_FILE_MAX bytes. NULL after a
 * message. The caller frees it.
 */
static char *read_text(const char *path)
{
	FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
	char *text = file ? malloc(SL_YAML_FILE_MAX + 2) : NULL;
	size_t n = text ? fread(text, 1, SL_YAML_FILE_MAX + 1, file) : 0;

	if (!text || ferror(file) || n > SL_YAML_FILE_MAX) {
		fprintf(stderr, "sluice: cannot read \"%s\": %s\n", path,
			n > SL_YAML_FILE_MAX ? "it is longer than 8 MiB" : strerror(errno));
		free(text);
		text = NULL;
	} else {
		text[n] = '\0';
	}
	if (file && file != stdin)
		fclose(file);
	return text;
}

static int replace(const struct sl_cmd_options *options, const char *path)
{
	char *text = read_text(path);
	json_t *request;

	if (!text)
		return SL_EXIT_FAILED;
	request = json_pack("{s:s, s:s, s:s, s:s}", "command", "filter", "do", "replace", "name",
			    strcmp(path, "-") == 0 ? "standard input" : path, "text", text);
	free(text);
	if (!request) {
		fprintf(stderr, "sluice: \"%s\" is not text in UTF-8\n", path);
		return SL_EXIT_FAILED;
	}
	return change(options, request);
}

json_t *sl_cmd_object(const char *command, int argc, char **argv)
{
	json_t *object = json_object();

	for (int i = 0; i < argc; i++) {
		char *equals = strchr(argv[i], '=');
		char *key = equals && equals > argv[i]
				    ? strndup(argv[i], (size_t)(equals - argv[i]))
				    : NULL;

		if (!key || json_object_get(object, key)) {
			fprintf(stderr,
				"sluice: %s: \"%s\" is not KEY=VALUE, or a key that came "
				"before: write such as destination_port=80\n",
				command, argv[i]);
			free(key);
			json_decref(object);
			return NULL;
		}
		json_object_set_new(object, key, json_string(equals + 1));
		free(key);
	}
	return object;
}

static int add(const struct sl_cmd_options *options, int argc, char **argv)
{
	json_int_t at = -1;
	const char *list = argv[0];
	json_t *rule;

	argc--, argv++;
	if (argc > 1 && strcmp(argv[0], "at") == 0) {
		char *end;

		at = strtoll(argv[1], &end, 10);
		if (!isdigit((unsigned char)*argv[1]) || *end) {
			fprintf(stderr, "sluice: filter add: \"%s\" is not the number of a rule\n",
				argv[1]);
			return SL_EXIT_USAGE;
		}
		argc -= 2, argv += 2;
	}
	rule = sl_cmd_object("filter add", argc, argv);
	if (!rule)
		return SL_EXIT_USAGE;
	return change(options, json_pack("{s:s, s:s, s:s, s:o, s:I}", "command", "filter", "do",
					 "add", "list", list, "rule", rule, "at", at));
}

static int delete (const struct sl_cmd_options *options, const char *list, const char *rule)
{
	return change(options, json_pack("{s:s, s:s, s:s, s:s*}", "command", "filter", "do",
					 "delete", "list", list, "rule", rule));
}

/* --- Views --- */

static void collect(void *lists, const json_t *row)
{
	json_array_append(lists, (json_t *)row);
}

/* {"filters": [...]}, as `replace` and the configuration take it. */
static int list_json(const struct sl_cmd_options *options, const char *name)
{
	json_t *lists = json_array(), *root;
	int status = sl_cmd_ask(options,
				json_pack("{s:s, s:s, s:s*}", "command", "list", "what",
					  "filter-lists", "list", name),
				collect, lists);

	root = json_pack("{s:o}", "filters", lists);
	if (status == SL_EXIT_OK)
		sl_cmd_dump(root);
	json_decref(root);
	return status;
}

static void print_list(void *arg, const json_t *row)
{
	const json_t *ports, *port;
	size_t i;

	if (json_is_integer(json_object_get(row, "rule"))) {
		++*(long long *)arg;
		return;
	}
	/* the default is the last row of its list */
	printf("%s: %lld rules, default %s, ports", sl_cmd_text(row, "list"), *(long long *)arg,
	       sl_cmd_text(row, "action"));
	ports = json_object_get(row, "ports");
	json_array_foreach(ports, i, port)
		printf(" %s", json_string_value(port));
	printf("%s, of %s\n",
	       json_is_true(json_object_get(row, "flows")) ? " none, for flows"
	       : json_array_size(ports)			   ? ""
							   : " all others",
	       sl_cmd_text(row, "origin"));
	*(long long *)arg = 0;
}

static int list(const struct sl_cmd_options *options, const char *name)
{
	long long rules = 0;

	if (options->json)
		return list_json(options, name);
	return sl_cmd_ask(
		options,
		json_pack("{s:s, s:s, s:s*}", "command", "list", "what", "filters", "list", name),
		print_list, &rules);
}

/* --- explain --- */

json_t *sl_cmd_packet(const struct sl_cmd_options *options, const char *command, int argc,
		      char **argv)
{
	static const char *const keys[] = {
		"port",	     "source",	  "protocol",	      "tcp_flags",
		"icmp_type", "icmp_code", "destination_port", "source_port",
		"fragment",  "dscp",	  "length",	      "flow_label"
	};
	json_t *packet = sl_cmd_object(command, argc, argv);
	const char *key;
	json_t *value;

	json_object_foreach(packet, key, value) {
		bool known = false;

		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			known = known || strcmp(keys[i], key) == 0;
		if (!known) {
			fprintf(stderr,
				"sluice: %s: \"%s\" is not a field of a packet: write port, "
				"source, protocol, source_port, destination_port, icmp_type, "
				"icmp_code, tcp_flags, fragment, dscp, length or flow_label\n",
				command, key);
			json_decref(packet);
			return NULL;
		}
	}
	if (packet && options->all)
		json_object_set_new(packet, "all", json_true());
	return packet;
}

void sl_cmd_print_exact_flow(const json_t *filter)
{
	static const char *const sets[][2] = { { "class", "class" },
					       { "set_dscp", "DSCP" },
					       { "next_hop", "next hop" },
					       { "table", "table" },
					       { "chain", "chain" } };
	const char *as = sl_cmd_text(filter, "as");

	printf("an exact flow decides%s%s: %s", *as ? ", as rule " : "", as,
	       sl_cmd_text(filter, "action"));
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (*sl_cmd_text(filter, sets[i][0]))
			printf(", %s %s", sets[i][1], sl_cmd_text(filter, sets[i][0]));
	putchar('\n');
}

void sl_cmd_print_filter(const json_t *filter)
{
	const json_t *rules = json_object_get(filter, "rules"), *rule, *condition;
	const json_t *decides = json_object_get(filter, "rule");
	size_t i, j;

	printf("filter     ");
	if (json_is_true(json_object_get(filter, "exact_flow"))) {
		sl_cmd_print_exact_flow(filter);
		return;
	}
	if (!*sl_cmd_text(filter, "list")) {
		printf("%s has no list\n", sl_cmd_text(filter, "port"));
		return;
	}
	printf("list %s of %s: ", sl_cmd_text(filter, "list"), sl_cmd_text(filter, "port"));
	if (json_is_integer(decides))
		printf("rule %lld decides: %s\n", (long long)json_integer_value(decides),
		       sl_cmd_text(filter, "action"));
	else
		printf("no rule matches, the default decides: %s\n", sl_cmd_text(filter, "action"));
	json_array_foreach(rules, i, rule) {
		const char *name = sl_cmd_text(rule, "name"), *between = "";

		printf("           rule %lld%s%s %s: %s (", sl_cmd_number(rule, "rule"),
		       *name ? " " : "", name,
		       json_is_true(json_object_get(rule, "matches")) ? "matches"
								      : "does not match",
		       sl_cmd_text(rule, "action"));
		json_array_foreach(json_object_get(rule, "because"), j, condition) {
			printf("%s%s", between, json_string_value(condition));
			between = ", ";
		}
		printf("%s)\n", *between ? "" : "any packet");
	}
}

static int import(const char *path)
{
	char *text = read_text(path);
	json_t *lists = NULL;
	int err = text ? sl_nft_import(path, text, &lists) : -EIO;

	if (!err)
		sl_cmd_dump(lists);
	json_decref(lists);
	free(text);
	return err ? SL_EXIT_FAILED : SL_EXIT_OK;
}

/* --- The command --- */

int sl_cmd_filter(const struct sl_cmd_options *options, int argc, char **argv)
{
	const char *what = argc ? argv[0] : "";

	if (strcmp(what, "list") == 0 && argc <= 2)
		return list(options, argc == 2 ? argv[1] : NULL);
	if (strcmp(what, "counters") == 0 && argc <= 2)
		return sl_cmd_show_filters(options, argc == 2 ? argv[1] : NULL);
	if (strcmp(what, "add") == 0 && argc >= 3)
		return add(options, argc - 1, argv + 1);
	if (strcmp(what, "delete") == 0 && (argc == 2 || argc == 3))
		return delete (options, argv[1], argc == 3 ? argv[2] : NULL);
	if (strcmp(what, "replace") == 0 && argc == 2)
		return replace(options, argv[1]);
	if (strcmp(what, "explain") == 0 && argc >= 2)
		return sl_cmd_explain(options, argc - 1, argv + 1);
	if (strcmp(what, "import") == 0 && argc == 2)
		return import(argv[1]);
	if (strcmp(what, "flow") == 0)
		return sl_cmd_filter_flow(options, argc - 1, argv + 1);
	if (strcmp(what, "flowspec") == 0)
		return sl_cmd_flowspec(options, argc - 1, argv + 1);
	fprintf(stderr, "sluice: filter: write `list [LIST]`, `counters [LIST]`, `add LIST [at N] "
			"KEY=VALUE...`, `delete LIST [RULE]`, `replace FILE`, `import FILE`, "
			"`flowspec LIST TABLE... [KEY=VALUE]...`, "
			"`flow add|delete|load|list|count|flush` or "
			"`explain ADDRESS port=PORT [KEY=VALUE]...`\n");
	return SL_EXIT_USAGE;
}
