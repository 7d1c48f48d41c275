/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Metrics as text, and the addresses at which they may be offered. tests/netns/metrics.bats has the
 * rest.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "user/text/listen_address.h"
#include "user/metrics/metrics_text.h"

static void addresses_are_read_or_refused(void **state)
{
	static const struct {
		const char *text, *address; /* NULL: refused */
		uint16_t port;
	} cases[] = {
		{ "9101", "127.0.0.1", 9101 },
		{ "1", "127.0.0.1", 1 },
		{ "65535", "127.0.0.1", 65535 },
		{ "0.0.0.0:80", "0.0.0.0", 80 },
		{ "192.0.2.1:9101", "192.0.2.1", 9101 },
		{ "[::1]:9101", "::1", 9101 },
		{ "[2001:db8::1]:9", "2001:db8::1", 9 },
		{ "", NULL, 0 },
		{ ":9101", NULL, 0 },
		{ "0", NULL, 0 },
		{ "65536", NULL, 0 },
		{ "+9101", NULL, 0 },
		{ " 9101", NULL, 0 },
		{ "9101 ", NULL, 0 },
		{ "127.0.0.1", NULL, 0 },
		{ "127.0.0.1:", NULL, 0 },
		{ "localhost:9101", NULL, 0 },
		{ "10.0.0.300:9101", NULL, 0 },
		{ "::1:9101", NULL, 0 },
		{ "[::1]", NULL, 0 },
		{ "[]:9101", NULL, 0 },
		{ "[127.0.0.1]:9101", NULL, 0 },
		{ "[::1:9101", NULL, 0 },
		{ "[::1]x:9101", NULL, 0 },
		{ "[1111:2222:3333:4444:5555:6666:7777:8888:9999:aaaa:bbbb]:9101", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct sockaddr_storage got = { .ss_family = 77 };
		const struct sockaddr_in *in = (const struct sockaddr_in *)&got;
		const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)&got;
		const int len = sl_listen_address_parse(cases[i].text, &got);
		char text[INET6_ADDRSTRLEN];

		print_message("\"%s\"\n", cases[i].text);
		if (!cases[i].address) {
			assert_int_equal(len, -EINVAL);
			assert_int_equal(got.ss_family, 77);
		} else if (strchr(cases[i].address, ':')) {
			assert_int_equal(len, sizeof(*in6));
			inet_ntop(AF_INET6, &in6->sin6_addr, text, sizeof(text));
			assert_string_equal(text, cases[i].address);
			assert_int_equal(ntohs(in6->sin6_port), cases[i].port);
		} else {
			assert_int_equal(len, sizeof(*in));
			inet_ntop(AF_INET, &in->sin_addr, text, sizeof(text));
			assert_string_equal(text, cases[i].address);
			assert_int_equal(ntohs(in->sin_port), cases[i].port);
		}
	}
}

static json_t *parse(const char *text)
{
	json_t *value = json_loads(text, 0, NULL);

	assert_non_null(value);
	return value;
}

static void assert_line(const char *text, const char *line)
{
	const size_t len = strlen(line);

	for (const char *at = text; (at = strstr(at, line)); at++)
		if ((at == text || at[-1] == '\n') && at[len] == '\n')
			return;
	fail_msg("no line %s in:\n%s", line, text);
}

static void numbers_labels_and_strange_names_are_written_as_the_format_wants(void **state)
{
	json_t *status =
		parse("{\"version\": \"1.2\", \"engine\": \"lpm\", \"uptime_s\": 7,"
		      " \"mirror\": {\"synced\": true, \"ipv4_policy\": false},"
		      " \"tables\": {\"ipv4_prefixes\": 564579, \"nexthops\": {\"used\": 3}}}");
	json_t *ports = parse("[{\"port\": \"a\\\"b\\\\c\\nd\", \"state\": \"on\", \"mode\":"
			      " \"native\", \"up\": true, \"transmits\": false}]");
	json_t *counters =
		parse("[{\"kind\": \"stage\", \"name\": \"rx\", \"packets\": 5, \"bytes\": 300},"
		      " {\"kind\": \"sum\", \"name\": \"drops\", \"packets\": 2, \"bytes\": 1}]");
	json_t *reasons = parse(
		"[{\"kind\": \"drop\", \"name\": \"blackhole\", \"packets\": 9007199254740993,"
		" \"bytes\": 1}, {\"kind\": \"punt\", \"name\": \"ttl\", \"packets\": 0,"
		" \"bytes\": 0}]");
	char *text = sl_metrics_text(status, ports, counters, reasons, NULL);

	(void)state;
	assert_non_null(text);
	assert_line(text, "sluice_build_info{version=\"1.2\",engine=\"lpm\"} 1");
	assert_line(text, "# TYPE sluice_uptime_seconds gauge");
	assert_line(text, "sluice_uptime_seconds 7");
	assert_line(text, "sluice_mirror_synced 1");
	assert_line(text, "sluice_mirror_policy{family=\"ipv4\"} 0");
	assert_line(text, "sluice_prefixes{family=\"ipv4\"} 564579");
	assert_line(text, "sluice_table_entries{table=\"nexthops\"} 3");
	assert_null(strstr(text, "sluice_table_entries{table=\"groups\"}"));
	assert_line(text, "sluice_port_up{port=\"a\\\"b\\\\c\\nd\"} 1");
	assert_line(text, "sluice_port_sends{port=\"a\\\"b\\\\c\\nd\"} 0");
	assert_line(text, "# TYPE sluice_drop_packets_total counter");
	assert_line(text, "sluice_drop_packets_total{reason=\"blackhole\"} 9007199254740993");
	assert_line(text, "sluice_punt_bytes_total{reason=\"ttl\"} 0");
	assert_line(text, "sluice_stage_bytes_total{stage=\"rx\"} 300");
	assert_null(strstr(text, "{stage=\"drops\"}"));
	free(text);
	json_decref(status);
	json_decref(ports);
	json_decref(counters);
	json_decref(reasons);
}

/*
 * As the bridge answers, with what it may leave open: null is no number, and no rate is no limit.
 */
static void a_cluster_is_told_by_labels_units_and_what_is_known(void **state)
{
	json_t *status = parse("{\"version\": \"1\", \"engine\": \"fast\"}"), *none = json_array();
	struct sl_metrics_cluster cluster = { {
		[SL_METRICS_BRIDGE] =
			parse("[{\"frames\": {\"sent\": {\"packets\": 3, \"bytes\": 180}}}]"),
		[SL_METRICS_FABRIC] =
			parse("[{\"frames_sent\": 9, \"messages\": {\"ok\": 2},"
			      " \"packing\": [{\"least\": 1, \"most\": 1, \"messages\": 2},"
			      " {\"least\": 2, \"most\": 3, \"messages\": 3}]}]"),
		[SL_METRICS_PEERS] =
			parse("[{\"node\": 2, \"state\": \"one-way\", \"heard_ms\": 1500,"
			      " \"lost\": 4}, {\"node\": 3, \"state\": \"up\","
			      " \"heard_ms\": null}]"),
		[SL_METRICS_VOQS] = parse(
			"[{\"port\": \"n2p1\", \"node\": 2, \"class\": 1, \"unit\": \"bytes\","
			" \"rate\": null, \"dropped\": {\"voq-full\": 7}},"
			" {\"port\": \"n3p1\", \"node\": 3, \"class\": 0,"
			" \"unit\": \"frames\", \"rate\": 5000}]"),
		[SL_METRICS_CC] =
			parse("[{\"side\": \"egress\", \"port\": \"n1p1\", \"class\": 0,"
			      " \"controller\": \"price\", \"unit\": \"bytes\", \"rate\": 8,"
			      " \"price\": 0.125}]"),
	} };
	char *text = sl_metrics_text(status, none, none, none, &cluster);

	(void)state;
	assert_non_null(text);
	assert_line(text, "sluice_bridge_up 1");
	assert_line(text, "sluice_bridge_frames_total{counter=\"sent\"} 3");
	assert_line(text, "sluice_bridge_bytes_total{counter=\"sent\"} 180");
	assert_line(text, "# TYPE sluice_fabric_message_frames histogram");
	assert_line(text, "sluice_fabric_message_frames_bucket{le=\"1\"} 2");
	assert_line(text, "sluice_fabric_message_frames_bucket{le=\"3\"} 5");
	assert_line(text, "sluice_fabric_message_frames_bucket{le=\"+Inf\"} 5");
	assert_line(text, "sluice_fabric_message_frames_sum 9");
	assert_line(text, "sluice_fabric_message_frames_count 5");
	assert_line(text, "sluice_fabric_checked_messages_total{verdict=\"ok\"} 2");
	assert_line(text, "sluice_peer_up{node=\"2\"} 0");
	assert_line(text, "sluice_peer_up{node=\"3\"} 1");
	assert_line(text, "sluice_peer_silence_seconds{node=\"2\"} 1.500");
	assert_null(strstr(text, "sluice_peer_silence_seconds{node=\"3\"}"));
	assert_line(text, "# TYPE sluice_peer_lost_messages_total counter");
	assert_line(text, "sluice_peer_lost_messages_total{node=\"2\"} 4");
	assert_line(text,
		    "sluice_voq_rate_bytes_per_second{port=\"n2p1\",node=\"2\",class=\"1\"} +Inf");
	assert_line(text,
		    "sluice_voq_rate_frames_per_second{port=\"n3p1\",node=\"3\",class=\"0\"} 5000");
	assert_null(strstr(text, "sluice_voq_rate_frames_per_second{port=\"n2p1\""));
	assert_line(
		text,
		"sluice_voq_dropped_frames_total{port=\"n2p1\",node=\"2\",class=\"1\",reason=\"voq-full\"} 7");
	assert_line(
		text,
		"sluice_controller_price{side=\"egress\",port=\"n1p1\",class=\"0\",controller=\"price\"} 0.125");
	assert_line(text, "sluice_controller_rate_bytes_per_second{side=\"egress\",port=\"n1p1\","
			  "class=\"0\",controller=\"price\"} 8");
	assert_null(strstr(text, "sluice_egress_queue_"));
	free(text);
	json_decref(status);
	json_decref(none);
	for (int i = 0; i < SL_METRICS_LISTS; i++)
		json_decref(cluster.rows[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_read_or_refused),
		cmocka_unit_test(numbers_labels_and_strange_names_are_written_as_the_format_wants),
		cmocka_unit_test(a_cluster_is_told_by_labels_units_and_what_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
