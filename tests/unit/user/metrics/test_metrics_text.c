/* SPDX-License-Identifier: BSD-2-Clause */
/* Metrics as text. tests/netns/router/metrics.bats has the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "user/metrics/metrics_text.h"

static const struct sl_metrics_elements no_elements;

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

static void numbers_and_labels_are_written_and_strange_names_escaped(void **state)
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
	char *text =
		sl_metrics_text(status, ports, counters, reasons, NULL, &no_elements, NULL, NULL);

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

/* Each number of the status is a sample, once: a sample that shows another's number shows it twice.
 */
static void every_number_of_the_status_is_one_sample(void **state)
{
	enum { FIRST = 101, N = 37 };
	json_t *status = parse(
		"{\"uptime_s\": 101, \"process_bytes\": 102, \"tables\": {\"map_bytes\": 103,"
		" \"ipv4_prefixes\": 104, \"ipv6_prefixes\": 105, \"ipv4_overflow\": 106,"
		" \"ipv6_overflow\": 107, \"inserts\": 108, \"replaces\": 109, \"deletes\": 110,"
		" \"nexthops\": {\"used\": 111, \"size\": 112},"
		" \"adjacencies\": {\"used\": 113, \"size\": 114},"
		" \"groups\": {\"used\": 115, \"size\": 116},"
		" \"ipv4_pages\": {\"used\": 117, \"size\": 118},"
		" \"ipv6_pages\": {\"used\": 119, \"size\": 120}}, \"mirror\": {\"synced\": 121,"
		" \"ipv4_policy\": 122, \"ipv6_policy\": 123, \"ipv4_routes\": 124,"
		" \"ipv6_routes\": 125, \"links\": 126, \"addresses\": 127, \"neighbours\": 128,"
		" \"nexthop_objects\": 129, \"rules\": 130, \"events\": 131, \"overruns\": 132,"
		" \"resyncs\": 133, \"resync_changes\": 134, \"parse_errors\": 135,"
		" \"neighbour_probes\": 136, \"starved\": 137}}");
	json_t *none = json_array();
	char *text = sl_metrics_text(status, none, none, none, none, &no_elements, NULL, NULL),
	     *line, *rest;
	uint32_t times[N] = { 0 };

	(void)state;
	assert_non_null(text);
	assert_line(text, "sluice_prefixes_overflowed{family=\"ipv6\"} 107");
	assert_line(text, "sluice_prefix_changes_total{change=\"delete\"} 110");
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		const char *number = strrchr(line, ' ');
		unsigned long value = number ? strtoul(number, NULL, 10) : 0;

		if (line[0] != '#' && value >= FIRST && value < FIRST + N)
			times[value - FIRST]++;
	}
	for (int i = 0; i < N; i++)
		if (times[i] != 1)
			fail_msg("%d is in %u samples", FIRST + i, times[i]);
	free(text);
	json_decref(status);
	json_decref(none);
}

/*
 * The rows are as the bridge answers, with the values that it may leave open: a null is no number,
 * except as a rate, where it means that there is no limit.
 */
static void cluster_rows_become_samples_and_unknown_values_do_not(void **state)
{
	json_t *status = parse("{\"version\": \"1\", \"engine\": \"fast\"}"), *none = json_array();
	struct sl_metrics_cluster cluster = { {
		[SL_METRICS_RESERVE_PORTS] =
			parse("[{\"port\": \"n1p1\", \"netdev\": \"eth1\", \"limit_bps\": 80,"
			      " \"reserved_bps\": 32, \"flows\": 2}]"),
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
		[SL_METRICS_DELAY] =
			parse("[{\"port\": \"n1p1\", \"class\": 3, \"stage\": \"total\","
			      " \"measured_frames\": 4, \"sum_ns\": 6000001500,"
			      " \"buckets\": [{\"below_ns\": 1024, \"frames\": 1},"
			      " {\"below_ns\": 17179869184, \"frames\": 3}]},"
			      " {\"port\": \"n1p2\", \"class\": 0, \"stage\": \"total\","
			      " \"measured_frames\": 0, \"sum_ns\": 0, \"buckets\": []}]"),
		[SL_METRICS_BUSY] =
			parse("[{\"port\": \"n1p1\", \"levels\": ["
			      "{\"above_ns\": 0, \"periods\": 9, \"time_ns\": 2500000000},"
			      "{\"above_ns\": 4096000, \"periods\": 2, \"time_ns\": 1}]}]"),
		[SL_METRICS_CC] =
			parse("[{\"side\": \"egress\", \"port\": \"n1p1\", \"class\": 0,"
			      " \"controller\": \"price\", \"unit\": \"bytes\", \"rate\": 8,"
			      " \"price\": 0.125}]"),
	} };
	char *text = sl_metrics_text(status, none, none, none, none, &no_elements, &cluster, NULL);

	(void)state;
	assert_non_null(text);
	assert_line(text, "sluice_bridge_up 1");
	assert_line(text,
		    "sluice_reserve_limit_bytes_per_second{port=\"n1p1\",netdev=\"eth1\"} 10");
	assert_line(text,
		    "sluice_reserve_reserved_bytes_per_second{port=\"n1p1\",netdev=\"eth1\"} 4");
	assert_line(text, "sluice_reserve_flows{port=\"n1p1\",netdev=\"eth1\"} 2");
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
	assert_line(text, "# TYPE sluice_egress_queue_delay_seconds histogram");
#define DELAY "sluice_egress_queue_delay_seconds"
#define TOTAL "{port=\"n1p1\",class=\"3\",stage=\"total\""
	assert_line(text, DELAY "_bucket" TOTAL ",le=\"1.024e-06\"} 1");
	assert_line(text, DELAY "_bucket" TOTAL ",le=\"17.179869184\"} 3");
	assert_line(text, DELAY "_bucket" TOTAL ",le=\"+Inf\"} 4");
	assert_line(text, DELAY "_sum" TOTAL "} 6.000001500");
	assert_line(text, DELAY "_count" TOTAL "} 4");
	assert_line(text, "# TYPE sluice_busy_seconds_total counter");
	assert_line(text, "sluice_busy_periods_total{port=\"n1p1\",above=\"0\"} 9");
	assert_line(text, "sluice_busy_periods_total{port=\"n1p1\",above=\"0.004096\"} 2");
	assert_line(text, "sluice_busy_seconds_total{port=\"n1p1\",above=\"0\"} 2.5");
	assert_line(text, "sluice_busy_seconds_total{port=\"n1p1\",above=\"0.004096\"} 1e-09");
	assert_null(strstr(text, "port=\"n1p2\",class=\"0\",stage"));
	assert_null(strstr(text, "sluice_egress_queue_arrived"));
	free(text);
	json_decref(status);
	json_decref(none);
	for (int i = 0; i < SL_METRICS_LISTS; i++)
		json_decref(cluster.rows[i]);
}

/* A rule without a name is in the sum of its list, and one that does not police nowhere. */
static void policers_are_counted_by_result_and_unnamed_ones_summed(void **state)
{
	json_t *status = parse("{\"version\": \"1\", \"engine\": \"fast\"}"), *none = json_array();
	json_t *filters = parse(
		"[{\"list\": \"a\", \"rule\": 0, \"name\": \"dns\", \"packets\": 6, \"bytes\": 60,"
		"  \"policer\": {\"conformed\": {\"packets\": 1, \"bytes\": 10},"
		"  \"exceeded\": {\"packets\": 2, \"bytes\": 20},"
		"  \"violated\": {\"packets\": 3, \"bytes\": 30}}},"
		" {\"list\": \"a\", \"rule\": 1, \"packets\": 7, \"bytes\": 70,"
		"  \"policer\": {\"conformed\": {\"packets\": 7, \"bytes\": 70}}},"
		" {\"list\": \"a\", \"rule\": 2, \"packets\": 8, \"bytes\": 80,"
		"  \"policer\": {\"conformed\": {\"packets\": 8, \"bytes\": 80}}},"
		" {\"list\": \"a\", \"rule\": 3, \"name\": \"web\", \"packets\": 9, \"bytes\": 90},"
		" {\"list\": \"a\", \"rule\": null, \"packets\": 0, \"bytes\": 0},"
		" {\"list\": \"b\", \"rule\": 0, \"packets\": 4, \"bytes\": 40},"
		" {\"list\": \"b\", \"rule\": null, \"packets\": 0, \"bytes\": 0}]");
	char *text = sl_metrics_text(status, none, none, none, filters, &no_elements, NULL, NULL);

	(void)state;
	assert_non_null(text);
	assert_line(text, "# TYPE sluice_filter_policed_packets_total counter");
	assert_line(text, "sluice_filter_packets_total{list=\"a\",rule=\"dns\"} 6");
	assert_line(
		text,
		"sluice_filter_policed_packets_total{list=\"a\",rule=\"dns\",result=\"conformed\"} 1");
	assert_line(
		text,
		"sluice_filter_policed_packets_total{list=\"a\",rule=\"dns\",result=\"exceeded\"} 2");
	assert_line(
		text,
		"sluice_filter_policed_bytes_total{list=\"a\",rule=\"dns\",result=\"violated\"} 30");
	assert_line(
		text,
		"sluice_filter_policed_bytes_total{list=\"a\",rule=\"unnamed\",result=\"conformed\"} 150");
	assert_null(strstr(text, "rule=\"web\",result"));
	assert_null(strstr(text, "list=\"b\",rule=\"unnamed\",result"));
	free(text);
	json_decref(filters);
	filters = parse("[{\"list\": \"b\", \"rule\": null, \"packets\": 0, \"bytes\": 0}]");
	text = sl_metrics_text(status, none, none, none, filters, &no_elements, NULL, NULL);
	assert_null(strstr(text, "policed"));
	free(text);
	json_decref(filters);
	json_decref(status);
	json_decref(none);
}

/* The rows are as sluice-elements answers; input and output have no packets, built-in classes no
 * key.
 */
static void rows_of_elements_become_samples(void **state)
{
	json_t *status = parse("{\"version\": \"1\", \"engine\": \"fast\"}"), *none = json_array();
	struct sl_metrics_elements
		elements = { .rows = {
				     [SL_METRICS_WORKER] = parse(
					     "[{\"chains\": 1, \"up_ns\": 2000000001, \"idle_ns\": 999999999,"
					     " \"received\": 11, \"sent\": 12, \"drop_ring\": 13,"
					     " \"drop_malformed\": 14, \"drop_no_chain\": 15,"
					     " \"drop_output_full\": 16, \"drop_closed\": 17}]"),
				     [SL_METRICS_FLOWS] = parse(
					     "[{\"flow\": \"input\", \"global\": true, \"cpu_ns\": 5,"
					     " \"slices\": 6, \"weight\": 7},"
					     " {\"flow\": \"a\", \"global\": false, \"rate_percent\": 5,"
					     " \"weight\": 50000000, \"cpu_ns\": 3000000000, \"entered\": 9,"
					     " \"ceiling_percent\": 12}]"),
				     [SL_METRICS_ELEMENT] = parse(
					     "[{\"chain\": \"a\", \"element\": \"p\", \"class\": \"Police\","
					     " \"packets\": 4, \"dropped\": 3, \"drop\": \"policed\"},"
					     " {\"chain\": \"a\", \"element\": \"c\", \"class\": \"Counter\","
					     " \"packets\": 1, \"dropped\": 0, \"drop\": null}]"),
				     [SL_METRICS_CLASSES] = parse(
					     "[{\"class\": \"Counter\", \"version\": 1, \"key\": null,"
					     " \"fault\": null},"
					     " {\"class\": \"HopLimit\", \"version\": 2, \"key\": \"me\","
					     " \"fault\": \"it crashed\"}]"),
				     [SL_METRICS_SIGNALS] = parse(
					     "[{\"key\": \"me\", \"outcome\": \"done\", \"signals\": 6},"
					     " {\"key\": null, \"outcome\": \"unanswered\", \"signals\": 7}]"),
			     } };
#define POLICED "sluice_element_dropped_packets_total{chain=\"a\",element=\"p\",class=\"Police\","
	static const char *const lines[] = {
		"sluice_elements_up 1",
		"sluice_elements_uptime_seconds 2.000000001",
		"sluice_elements_idle_seconds_total 0.999999999",
		"sluice_elements_received_packets_total 11",
		"sluice_elements_sent_packets_total 12",
		"sluice_elements_dropped_packets_total{reason=\"ring\"} 13",
		"sluice_elements_dropped_packets_total{reason=\"malformed\"} 14",
		"sluice_elements_dropped_packets_total{reason=\"no-chain\"} 15",
		"sluice_elements_dropped_packets_total{reason=\"output-full\"} 16",
		"sluice_elements_dropped_packets_total{reason=\"closed\"} 17",
		"# TYPE sluice_element_flow_cpu_seconds_total counter",
		"sluice_element_flow_cpu_seconds_total{flow=\"input\"} 0.000000005",
		"sluice_element_flow_cpu_seconds_total{flow=\"a\"} 3.000000000",
		"sluice_element_flow_rate_ratio{flow=\"a\"} 0.05",
		"sluice_element_flow_ceiling_ratio{flow=\"a\"} 0.12",
		"sluice_element_flow_entered_packets_total{flow=\"a\"} 9",
		"sluice_element_packets_total{chain=\"a\",element=\"c\",class=\"Counter\"} 1",
		POLICED "reason=\"policed\"} 3",
		"sluice_element_package_info{class=\"HopLimit\",key=\"me\",version=\"2\"} 1",
		"sluice_element_package_quarantined{class=\"HopLimit\",key=\"me\"} 1",
		"sluice_element_signals_total{key=\"me\",outcome=\"done\"} 6",
		"sluice_element_signals_total{key=\"\",outcome=\"unanswered\"} 7",
	};
	static const char *const absent[] = {
		"sluice_element_flow_entered_packets_total{flow=\"input\"}",
		"sluice_element_flow_share{",
		"sluice_element_dropped_packets_total{chain=\"a\",element=\"c\"",
		"sluice_element_package_info{class=\"Counter\"",
	};
	char *text = sl_metrics_text(status, none, none, none, none, &elements, NULL, NULL);

	(void)state;
	assert_non_null(text);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_line(text, lines[i]);
	for (size_t i = 0; i < sizeof(absent) / sizeof(absent[0]); i++)
		assert_null(strstr(text, absent[i]));
	free(text);
	for (int i = 0; i < SL_METRICS_ELEMENTS_LISTS; i++) {
		json_decref(elements.rows[i]);
		elements.rows[i] = NULL;
	}

	text = sl_metrics_text(status, none, none, none, none, &elements, NULL, NULL);
	assert_null(strstr(text, "sluice_element"));
	free(text);
	elements.wanted = true;
	text = sl_metrics_text(status, none, none, none, none, &elements, NULL, NULL);
	assert_line(text, "sluice_elements_up 0");
	assert_null(strstr(text, "sluice_elements_uptime"));
	free(text);
	json_decref(status);
	json_decref(none);
}

static void the_agent_has_its_version_and_etcd(void **state)
{
	json_t *status = json_object(), *none = json_array();
	json_t *agent = json_pack("{s:i, s:i, s:s, s:{s:i, s:s}, s:{s:b, s:i, s:i}}", "version", 7,
				  "current", 8, "state", "in-force", "refused", "version", 8, "why",
				  "no", "etcd", "reached", 0, "away_s", 12, "failures", 3);
	static const char *const lines[] = {
		"sluice_config_version 7",
		"sluice_config_current_version 8",
		"sluice_config_in_force 1",
		"sluice_config_refused_version 8",
		"sluice_config_drained 0",
		"sluice_config_at_rest 0",
		"sluice_config_etcd_reached 0",
		"sluice_config_etcd_away_seconds 12",
		"sluice_config_etcd_failures_total 3",
	};
	char *text = sl_metrics_text(status, none, none, none, none, &no_elements, NULL, agent);

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		assert_line(text, lines[i]);
	free(text);
	json_object_set_new(agent, "drain", json_pack("{s:b}", "at_rest", 1));
	text = sl_metrics_text(status, none, none, none, none, &no_elements, NULL, agent);
	assert_line(text, "sluice_config_drained 1");
	assert_line(text, "sluice_config_at_rest 1");
	free(text);
	text = sl_metrics_text(status, none, none, none, none, &no_elements, NULL, NULL);
	assert_null(strstr(text, "sluice_config_"));
	free(text);
	json_decref(agent);
	json_decref(status);
	json_decref(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_and_labels_are_written_and_strange_names_escaped),
		cmocka_unit_test(every_number_of_the_status_is_one_sample),
		cmocka_unit_test(cluster_rows_become_samples_and_unknown_values_do_not),
		cmocka_unit_test(policers_are_counted_by_result_and_unnamed_ones_summed),
		cmocka_unit_test(rows_of_elements_become_samples),
		cmocka_unit_test(the_agent_has_its_version_and_etcd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
