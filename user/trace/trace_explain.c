/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "bpf/abi/classifier.h"
#include "user/capture/frame_text.h"
#include "user/ipc/control_client.h"
#include "user/lib/clock.h"
#include "user/trace/trace_explain.h"

static void take_row(void *arg, const json_t *row)
{
	json_t **kept = arg;

	if (!*kept)
		*kept = json_deep_copy(row);
}

static void put(json_t *packet, const char *key, uint32_t value)
{
	json_object_set_new(packet, key, json_sprintf("%u", value));
}

static void put_flags(json_t *packet, uint8_t flags)
{
	static const char *const names[] = {
		"fin", "syn", "rst", "psh", "ack", "urg", "ece", "cwr"
	};
	char text[64] = "";

	for (size_t i = 0, n = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (flags & 1u << i)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? "," : "",
					      names[i]);
	json_object_set_new(packet, "tcp_flags", json_string(text));
}

/*
 * The packet as a request of `explain` names it, without its length: each packet of a flow may have
 * another, and sluiced has more to do.
 */
static json_t *packet_of(const struct sl_frame_flow *flow, const char *port, bool left)
{
	json_t *packet =
		json_pack("{s:s, s:s, s:b}", "port", port, "source", flow->source, "left", left);

	put(packet, "protocol", flow->protocol);
	put(packet, "dscp", flow->dscp);
	if (flow->has_ports) {
		put(packet, "source_port", flow->source_port);
		put(packet, "destination_port", flow->destination_port);
	}
	if (flow->has_icmp) {
		put(packet, "icmp_type", flow->icmp_type);
		put(packet, "icmp_code", flow->icmp_code);
	}
	if (flow->tcp_flags)
		put_flags(packet, flow->tcp_flags);
	if (flow->fragment)
		json_object_set_new(
			packet, "fragment",
			json_string(flow->fragment == SL_FRAGMENT_FIRST ? "first" : "later"));
	if (flow->family == AF_INET6)
		put(packet, "flow_label", flow->flow_label);
	return packet;
}

#define ASK_AGAIN_NS 2000000000ULL

bool sl_trace_answers_may_ask(struct sl_trace_answers *answers,
			      const struct sl_cmd_options *options)
{
	char version[SL_CLIENT_VERSION_BYTES];

	if (answers->away || sl_now_ns() < answers->ask_again_ns)
		return false;
	if (sl_client_version(options->socket_path, SL_TRACE_PATIENCE_MS, version) != -ETIMEDOUT)
		return true;
	if (!answers->slow_said)
		fprintf(stderr,
			"sluice: trace: sluiced does not answer at \"%s\" within %g s: what decided is "
			"not shown until it does\n",
			options->socket_path, SL_TRACE_PATIENCE_MS / 1000.0);
	answers->slow_said = true;
	answers->ask_again_ns = sl_now_ns() + ASK_AGAIN_NS;
	return false;
}

const json_t *sl_trace_explain(struct sl_trace_answers *answers,
			       const struct sl_cmd_options *options, const char *port, bool left,
			       const uint8_t *bytes, uint32_t n)
{
	struct sl_trace_answer *answer;
	struct sl_frame_flow flow;
	json_t *request;
	struct sl_cmd_options quick = *options;

	sl_frame_flow(bytes, n, &flow);
	if (!flow.family || answers->away)
		return NULL;
	request = json_pack("{s:s, s:s, s:o}", "command", "explain", "address", flow.destination,
			    "packet", packet_of(&flow, port, left));
	for (uint32_t i = 0; i < answers->n && i < SL_TRACE_ANSWERS; i++)
		if (json_equal(answers->answer[i].request, request)) {
			json_decref(request);
			return answers->answer[i].row;
		}
	if (!sl_trace_answers_may_ask(answers, options)) {
		json_decref(request);
		return NULL;
	}
	answer = &answers->answer[answers->n++ % SL_TRACE_ANSWERS];
	json_decref(answer->request);
	json_decref(answer->row);
	*answer = (struct sl_trace_answer){ .request = json_incref(request) };
	quick.patience_ms = SL_TRACE_PATIENCE_MS;
	if (sl_cmd_ask(&quick, request, take_row, &answer->row) == SL_EXIT_NOT_RUNNING)
		answers->away = true;
	return answer->row;
}

void sl_trace_answers_fini(struct sl_trace_answers *answers)
{
	for (uint32_t i = 0; i < SL_TRACE_ANSWERS; i++) {
		json_decref(answers->answer[i].request);
		json_decref(answers->answer[i].row);
	}
}

static void print_set(const char *what, const char *value)
{
	if (*value)
		printf(", %s %s", what, value);
}

/* "rule 1 games or the default decides: ..." */
static void print_one_of(const json_t *one_of)
{
	const json_t *rule;
	size_t i;

	json_array_foreach(one_of, i, rule) {
		const char *name = sl_cmd_text(rule, "name");

		fputs(i ? " or " : "", stdout);
		if (json_is_integer(json_object_get(rule, "rule")))
			printf("rule %lld%s%s", sl_cmd_number(rule, "rule"), *name ? " " : "",
			       name);
		else
			fputs("the default", stdout);
	}
	puts(i ? " decided, by the DSCP that it entered with"
	       : "as it is now, it lets no such packet out");
}

void sl_trace_print_explanation(const json_t *row)
{
	static const char *const indent = "                      ";
	const json_t *route = json_object_get(row, "route"), *nexthop;
	const json_t *filter = json_object_get(row, "filter"),
		     *rule = json_object_get(filter, "rule"),
		     *one_of = json_object_get(filter, "one_of");

	if (json_is_true(json_object_get(filter, "exact_flow"))) {
		fputs(indent, stdout);
		sl_cmd_print_exact_flow(filter);
	} else if (one_of) {
		printf("%slist %s: ", indent, sl_cmd_text(filter, "list"));
		print_one_of(one_of);
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
