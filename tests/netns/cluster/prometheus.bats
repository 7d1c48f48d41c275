#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Debian's Prometheus scrapes a cluster of three nodes: its counters are those of `sluice show`, and
# the alerts and the dashboard of docs/grafana are valid and ask for nothing that does not exist.
bats_require_minimum_version 1.5.0

load cluster

setup_file() {
	cluster_lab
	cluster_fabric
	for n in 1 2 3; do
		cluster_node $n 1
		{
			cluster_config $n 3 1 "$TOPO_ENGINE"
			echo "metrics: 10.9.0.$n:9101"
		} >"$LAB_DIR/n$n.yaml"
	done
	for n in 1 2 3; do cluster_start $n; done
	for n in 1 2 3; do wait_for 20 cluster_is_up $n 2; done
	on fabric ip addr add 10.9.0.250/24 dev br0
	cp docs/grafana/sluice-alerts.yaml "$LAB_DIR/"
	cat >"$LAB_DIR/prometheus.yml" <<-'END'
		global: {scrape_interval: 1s, evaluation_interval: 1s}
		rule_files: [sluice-alerts.yaml]
		scrape_configs:
		  - job_name: sluice
		    static_configs: [{targets: ["10.9.0.1:9101", "10.9.0.2:9101", "10.9.0.3:9101"]}]
	END
	spawn fabric prometheus prometheus --config.file="$LAB_DIR/prometheus.yml" --storage.tsdb.path="$LAB_DIR/tsdb" \
		--web.listen-address=127.0.0.1:9090
	wait_for 30 scraped 3
}

# query EXPRESSION: the answer of Prometheus; fails unless the expression is valid
query() {
	on fabric curl -sS -m 60 --data-urlencode "query=$1" http://127.0.0.1:9090/api/v1/query |
		jq -e 'if .status == "success" then .data.result else error(.error) end'
}
scraped() { [ "$(query 'sum(up{job="sluice"})' | jq -r '.[0].value[1]')" = "$1" ]; }

# values NODE METRIC LABEL: what Prometheus has of a node, as {LABEL'S VALUE: NUMBER}
values() {
	query "sum by ($3) ($2{instance=\"10.9.0.$1:9101\"})" |
		jq --arg by "$3" 'map({(.metric[$by]): (.value[1] | tonumber)}) | add'
}

@test "the metrics of every node are what promtool wants" {
	for n in 1 2 3; do
		on fabric curl -sS -m 60 "http://10.9.0.$n:9101/metrics" >"$LAB_DIR/metrics"
		promtool check metrics <"$LAB_DIR/metrics"
	done
}

@test "at rest, counters of every node in Prometheus are those of sluice show" {
	local n
	for n in 1 2 3; do wait_for 10 on "h${n}p1" ping -c 1 -W 1 "10.$((n % 3 + 1)).1.2"; done
	send h1p1 n1:eth1 h2p1 --dst 10.2.1.2 --count 3000 --rate 5000 --imix
	on h1p1 ping -c 2 -i 0.01 -W 1 203.0.113.1 || :
	equal() {
		local n
		for n in 1 2 3; do
			[ "$(values $n sluice_stage_packets_total stage)" = \
				"$(on n$n build/sluice -j show counters | jq 'map(select(.kind == "stage") | {(.name): .packets}) | add')" ] &&
				[ "$(values $n sluice_punt_packets_total reason)" = \
					"$(on n$n build/sluice -j show drops -a | jq 'map(select(.kind == "punt") | {(.name): .packets}) | add')" ] &&
				[ "$(values $n sluice_drop_bytes_total reason)" = \
					"$(on n$n build/sluice -j show drops -a | jq 'map(select(.kind == "drop") | {(.name): .bytes}) | add')" ] &&
				[ "$(values $n sluice_egress_queue_departed_frames_total class)" = \
					"$(on n$n build/sluice -j show egress-queues -a | jq 'group_by(.class) | map({(.[0].class | tostring): (map(.departed_frames) | add)}) | add')" ] || return
		done
	}
	wait_for 30 equal
	[ "$(values 1 sluice_stage_packets_total stage | jq .rx)" -ge 3000 ]
	[ "$(values 1 sluice_punt_packets_total reason | jq '."no-route"')" -ge 2 ]
}

@test "the alerts are valid, fire when they should and only then" {
	promtool check rules docs/grafana/sluice-alerts.yaml
	promtool test rules docs/grafana/sluice-alerts-test.yaml
	[ "$(on fabric curl -sS -m 60 http://127.0.0.1:9090/api/v1/rules | jq '[.data.groups[].rules[] | select(.health != "ok" and .health != "unknown")] | length')" = 0 ]
	# nothing is wrong with this cluster
	[ "$(query 'ALERTS{alertname!="SluicePortDown"}' | jq length)" = 0 ]
}

@test "each expression of alerts and dashboard is valid, and each metric in them is one that sluice offers" {
	local expression name unknown=
	jq -r '.panels[].targets[]?.expr' docs/grafana/sluice-dashboard.json |
		sed 's/\$__rate_interval/1m/g; s/\$instance/.*/g' >"$LAB_DIR/expressions"
	[ "$(wc -l <"$LAB_DIR/expressions")" -ge 20 ]
	/usr/bin/python3 -c 'import sys, yaml
for rule in yaml.safe_load(open(sys.argv[1]))["groups"][0]["rules"]:
    print(" ".join(rule["expr"].split()))' docs/grafana/sluice-alerts.yaml >>"$LAB_DIR/expressions"
	while read -r expression; do
		echo "$expression"
		query "$expression" >"$LAB_DIR/answer"
	done <"$LAB_DIR/expressions"
	# etcd_agent.bats shows the metrics of sluice_config_, which only a node with an agent has.
	{
		on fabric curl -sS -m 60 http://10.9.0.1:9101/metrics | sed -n 's/^# TYPE \([a-z_]*\) .*/\1/p'
		sed -n 's/^\tput(f, "\(config_[a-z_]*\)", .*/sluice_\1/p' user/metrics/metrics_agent.c
	} | sort >"$LAB_DIR/names"
	for name in $(grep -oE 'sluice_[a-z_]+' "$LAB_DIR/expressions" | sort -u); do
		grep -qxE "${name}|${name%_sum}|${name%_count}" "$LAB_DIR/names" || unknown+=" $name"
	done
	echo "unknown:$unknown"
	[ -z "$unknown" ]
	jq -e '[.panels[].id] | (unique | length) == length' docs/grafana/sluice-dashboard.json
}

@test "a bridge that ends shows as down, and its peers show it" {
	bridge_stop 3
	down() {
		[ "$(query 'sluice_bridge_up == 0' | jq -r 'map(.metric.instance) | join(" ")')" = 10.9.0.3:9101 ] &&
			[ "$(query 'sluice_peer_up{node="3"} == 0' | jq length)" = 2 ] &&
			[ "$(query 'ALERTS{alertname="SluiceBridgeDown",alertstate="pending"}' | jq length)" = 1 ]
	}
	wait_for 40 down
}
