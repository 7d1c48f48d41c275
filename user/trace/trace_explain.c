/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/capture/frame_text.h"
#include "user/trace/trace_explain.h"

static void take_row(void *arg, const json_t *row)
{
	json_t **kept = arg;

	if (!*kept)
		*kept = json_deep_copy(row);
}

static json_t *request_of(const struct sl_frame_flow *flow, const char *port)
{
	char text[16];
	json_t *packet = json_pack("{s:s, s:s}", "port", port, "source", flow->source);

	snprintf(text, sizeof(text), "%u", flow->protocol);
	json_object_set_new(packet, "protocol", json_string(text));
	if (flow->has_ports) {
		snprintf(text, sizeof(text), "%u", flow->source_port);
		json_object_set_new(packet, "source_port", json_string(text));
		snprintf(text, sizeof(text), "%u", flow->destination_port);
		json_object_set_new(packet, "destination_port", json_string(text));
	}
	return json_pack("{s:s, s:s, s:o}", "command", "explain", "address", flow->destination,
			 "packet", packet);
}

const json_t *sl_trace_explain(struct sl_trace_answers *answers,
			       const struct sl_cmd_options *options, const char *port,
			       const uint8_t *bytes, uint32_t n)
{
	char key[SL_TRACE_FLOW_TEXT];
	struct sl_trace_answer *answer;
	struct sl_frame_flow flow;

	sl_frame_flow(bytes, n, &flow);
	if (!flow.family || answers->away)
		return NULL;
	snprintf(key, sizeof(key), "%s %s %s %u %u %u", port, flow.source, flow.destination,
		 flow.protocol, flow.source_port, flow.destination_port);
	for (uint32_t i = 0; i < answers->n && i < SL_TRACE_ANSWERS; i++)
		if (strcmp(answers->answer[i].flow, key) == 0)
			return answers->answer[i].row;
	answer = &answers->answer[answers->n++ % SL_TRACE_ANSWERS];
	json_decref(answer->row);
	*answer = (struct sl_trace_answer){ 0 };
	memcpy(answer->flow, key, sizeof(key));
	if (sl_cmd_ask(options, request_of(&flow, port), take_row, &answer->row) ==
	    SL_EXIT_NOT_RUNNING)
		answers->away = true;
	return answer->row;
}

void sl_trace_answers_fini(struct sl_trace_answers *answers)
{
	for (uint32_t i = 0; i < SL_TRACE_ANSWERS; i++)
		json_decref(answers->answer[i].row);
}

static void print_set(const char *what, const char *value)
{
	if (*value)
		printf(", %s %s", what, value);
}

void sl_trace_print_explanation(const json_t *row)
{
	static const char *const indent = "                      ";
	const json_t *route = json_object_get(row, "route"), *nexthop;
	const json_t *filter = json_object_get(row, "filter"),
		     *rule = json_object_get(filter, "rule");

	if (json_is_true(json_object_get(filter, "exact_flow"))) {
		printf("%san exact flow decides: %s\n", indent, sl_cmd_text(filter, "action"));
	} else if (*sl_cmd_text(filter, "list") && json_is_integer(rule)) {
		const char *name = sl_cmd_text(filter, "name");

		printf("%slist %s: rule %lld%s%s decides: %s", indent, sl_cmd_text(filter, "list"),
		       (long long)json_integer_value(rule), *name ? " " : "", name,
		       sl_cmd_text(filter, "action"));
		print_set("class", sl_cmd_text(filter, "class"));
		print_set("DSCP", sl_cmd_text(filter, "set_dscp"));
		putchar('\n');
	} else if (*sl_cmd_text(filter, "list"))
		printf("%slist %s: the default decides: %s\n", indent, sl_cmd_text(filter, "list"),
		       sl_cmd_text(filter, "action"));
	if (json_is_object(route)) {
		printf("%sroute ", indent);
		sl_cmd_print_route(route);
	} else {
		printf("%sno route\n", indent);
	}
	nexthop = json_object_get(row, "nexthop");
	if (strcmp(sl_cmd_text(nexthop, "kind"), "forward") == 0)
		printf("%snext hop %lld: port %s, %s -> %s, MTU %lld\n", indent,
		       sl_cmd_number(nexthop, "id"), sl_cmd_text(nexthop, "port"),
		       sl_cmd_text(nexthop, "source_mac"), sl_cmd_text(nexthop, "mac"),
		       sl_cmd_number(nexthop, "mtu_bytes"));
	else
		printf("%snext hop %lld: %s %s\n", indent, sl_cmd_number(nexthop, "id"),
		       sl_cmd_text(nexthop, "kind"), sl_cmd_text(nexthop, "reason"));
}

bool sl_trace_node_add(struct sl_trace_nodes *nodes, const char *text)
{
	char *end;
	const unsigned long id = strtoul(text, &end, 10);

	if (text[0] < '1' || text[0] > '9' || id > 255 || *end != '=' || !end[1]) {
		fprintf(stderr,
			"sluice: trace: -n: \"%s\" is not NODE=SOCKET: write such as "
			"1=/run/n1.sock\n",
			text);
		return false;
	}
	for (uint32_t i = 0; i < nodes->n; i++)
		if (nodes->node[i].id == id) {
			fprintf(stderr, "sluice: trace: -n: node %lu has a socket already\n", id);
			return false;
		}
	nodes->node[nodes->n].id = (uint32_t)id;
	nodes->node[nodes->n++].socket_path = end + 1;
	return true;
}
