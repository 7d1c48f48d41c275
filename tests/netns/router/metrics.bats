#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The metrics of sluiced, as Prometheus' own Python library reads them.
# shellcheck disable=SC2154,SC2317 # variables are set by `run`, and used in router.bash; functions go to wait_for
bats_require_minimum_version 1.5.0

setup() {
	load router
	router_up
}

teardown() { lab_end; }

ask() { on n1 curl -sS -m 60 "$@"; }

# samples: http://127.0.0.1:9101/metrics as a JSON object
samples() { ask http://127.0.0.1:9101/metrics | tests/tools/prometheus_samples.py; }
# sample NAME: its value in the output of `samples`
sample() { jq --arg name "$1" '.[$name]' "$LAB_DIR/samples"; }

answers() { ask -o /dev/null http://127.0.0.1:9101/metrics; }

@test "unless the configuration asks for it nothing listens" {
	daemon
	[ -z "$(on n1 ss -Hltn)" ]
}

@test "metrics at a port number are for this host only, and equal status and show drops" {
	configure "metrics: 9101"
	daemon
	[ "$(on n1 ss -Hltn | awk '{ print $4 }')" = 127.0.0.1:9101 ]
	warm_up
	on n1 ip route add blackhole 10.7.0.0/16
	in_fast_path() { [ "$(sluice -j explain 10.7.0.1 | jq -r .verdict)" = drop ]; }
	wait_for 5 in_fast_path
	on h1 ping -c 3 -i 0.01 -W 1 10.7.0.1 || :
	same() {
		samples >"$LAB_DIR/samples"
		sluice -j show drops >"$LAB_DIR/drops"
		sluice -j show counters >"$LAB_DIR/counters"
		sluice -j status >"$LAB_DIR/status"
		[ "$(jq 'with_entries(select(.key | test("^sluice_(drop|punt|stage)_")))' "$LAB_DIR/samples")" = \
			"$(jq -s 'add | map(select(.kind != "sum") |
				(if .kind == "stage" then "stage" else "reason" end) as $by |
				{ "sluice_\(.kind)_packets_total{\($by)=\(.name)}": .packets,
				  "sluice_\(.kind)_bytes_total{\($by)=\(.name)}": .bytes }) | add' \
				"$LAB_DIR/drops" "$LAB_DIR/counters")" ] &&
			[ "$(sample 'sluice_prefixes{family=ipv4}')" = "$(jq .tables.ipv4_prefixes "$LAB_DIR/status")" ] &&
			[ "$(sample 'sluice_mirror_entries{kind=ipv6_routes}')" = "$(jq .mirror.ipv6_routes "$LAB_DIR/status")" ] &&
			[ "$(sample 'sluice_mirror_events_total')" = "$(jq .mirror.events "$LAB_DIR/status")" ]
	}
	wait_for 10 same
	[ "$(sample 'sluice_drop_packets_total{reason=blackhole}')" = 3 ]
	# By the port where they entered, in the view and in the metrics
	on h2 ping -c 2 -i 0.01 -W 1 10.7.0.1 || :
	sluice -j show ports >"$LAB_DIR/ports"
	[ "$(jq -c 'map([.port, .dropped_packets, .dropped_bytes])' "$LAB_DIR/ports")" = '[["eth1",3,294],["eth2",2,196]]' ]
	samples >"$LAB_DIR/samples"
	[ "$(jq -c 'with_entries(select(.key | test("^sluice_port_dropped_")))' "$LAB_DIR/samples")" = \
		"$(jq -c 'map({ "sluice_port_dropped_packets_total{port=\(.port)}": .dropped_packets }) + map({
			"sluice_port_dropped_bytes_total{port=\(.port)}": .dropped_bytes }) | add' "$LAB_DIR/ports")" ]
	[ "$(jq '[.[].dropped_packets] | add' "$LAB_DIR/ports")" = "$(sluice -j show drops | jq 'map(select(.kind == "drop").packets) | add')" ]
	[ "$(sample "sluice_build_info{engine=fast}{version=$(cat VERSION)}")" = 1 ]
	[ "$(sample 'sluice_port_up{port=eth1}')" = 1 ]
	[ "$(sample 'sluice_table_size{table=nexthops}')" = 65536 ]
	# Each sample of the table is there: the status has a value under each of its names.
	[ "$(grep -cE '^	\{ "[a-z_]+", (NULL|"[a-z0-9_]+"), "[a-z0-9_.]+" \},' user/metrics/metrics_text.c)" = \
		"$(jq '[keys[] | select(test("^sluice_(build|port|stage|drop|punt)_") | not)] | length' "$LAB_DIR/samples")" ]
}

@test "IPv6 and HEAD work, other pages and methods are refused" {
	configure 'metrics: "[::1]:9101"'
	daemon
	[ "$(ask -o /dev/null -w '%{http_code} %{content_type}' 'http://[::1]:9101/metrics')" = "200 text/plain; version=0.0.4; charset=utf-8" ]
	[ "$(ask -I 'http://[::1]:9101/metrics' | grep -c '^HTTP/1.1 200')" = 1 ]
	[ "$(ask -w ' %{http_code}' 'http://[::1]:9101/')" = "see /metrics
 404" ]
	[ "$(ask -o /dev/null -w '%{http_code}' -d x=1 'http://[::1]:9101/metrics')" = 405 ]
}

@test "silent clients do not hold up others" {
	configure "metrics: 9101"
	daemon
	local i
	for i in {1..8}; do spawn n1 "silent$i" socat -u TCP:127.0.0.1:9101 STDOUT; done
	silent() { [ "$(on n1 ss -Htn state established dport = :9101 | wc -l)" -ge 8 ]; }
	wait_for 5 silent
	answers
	sluice status
	on n1 ip route add 10.9.0.0/16 via 10.0.2.2
	follows() { [ "$(sluice -j explain 10.9.0.1 | jq -r .route.prefix)" = 10.9.0.0/16 ]; }
	wait_for 5 follows
}

@test "a reload opens, moves and closes the listener; an address that is taken changes nothing" {
	reload() {
		kill -HUP "$DAEMON"
		wait_for 5 log_lines "$1" "$2"
	}
	log_lines() { [ "$(grep -c "$2" "$LAB_DIR/sluiced.err")" = "$1" ]; }
	daemon
	configure "metrics: 9101"
	reload 1 reloaded
	answers
	spawn n1 other socat TCP-LISTEN:9102,fork STDOUT
	taken() { on n1 ss -Hltn | grep -q :9102; }
	wait_for 5 taken
	configure "metrics: 9102"
	reload 1 'reload refused'
	log_says 'cannot offer metrics at "9102": Address already in use'
	answers
	run_daemon --config "$CONFIG"
	[ "$status" -eq 1 ]
	configure
	reload 2 reloaded
	run ! answers
	[ "$(on n1 ss -Hltn | wc -l)" = 1 ]
}

@test "if the address is taken at start, sluiced ends before it changes anything" {
	spawn n1 other socat TCP-LISTEN:9101,fork STDOUT
	taken() { on n1 ss -Hltn | grep -q :9101; }
	wait_for 5 taken
	configure "metrics: 9101"
	run_daemon --config "$CONFIG"
	[ "$status" -eq 1 ]
	[ "$stderr" = 'sluiced: error: cannot offer metrics at "9101": Address already in use' ]
	nothing_was_changed
}
