#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The views of a cluster: `sluice` shows what the kernels and the maps have and the packets did.
# shellcheck disable=SC2154 # variables are set by `run`
bats_require_minimum_version 1.5.0

load cluster

setup_file() {
	cluster_begin 2 2
	for p in 1 2; do # every node learns its hosts
		wait_for 10 on "h1p$p" ping -c 1 -W 1 "10.2.$p.2"
	done
}

# sluice N ...: the command on node N
sluice() {
	local n=$1
	shift
	on "n$n" build/sluice "$@"
}

# fits_80: no line of $output is longer than a terminal of 80 columns
fits_80() { ! grep -nE '^.{81}' <<<"$output"; }

port_state() { sluice "$1" -j show system-ports | jq -r --arg p "$2" '.[] | select(.port == $p) | .state'; }
port_is() { [ "$(port_state "$1" "$2")" = "$3" ]; }
peer_is() { [ "$(sluice "$1" -j show peers | jq -r ".[] | select(.node == $2) | .state")" = "$3" ]; }

@test "sluice web: its page shows members that the lists of a cluster have" {
	local list
	spawn n1 web build/sluice web 9180
	wait_for 10 grep -q listening "$LAB_DIR/web.err"
	for list in system-ports peers voqs egress-queues; do
		on n1 curl -sS -m 60 "http://127.0.0.1:9180/api/$list" >"$LAB_DIR/web.$list"
		[ "$(jq length "$LAB_DIR/web.$list")" = "$(sluice 1 -j show $list | jq length)" ]
	done
	on n1 curl -sS -m 60 http://127.0.0.1:9180/ >"$LAB_DIR/page"
	tests/tools/check_web_page.py "$LAB_DIR/page" "$LAB_DIR"/web.{system-ports,peers,voqs,egress-queues}
	kill "$(cat "$LAB_DIR/web.pid")"
}

@test "system-ports: MAC, MTU and state are those of the netdevs, seen from either node" {
	for n in 1 2; do
		for port in n1p1 n1p2 n2p1 n2p2; do
			netdev=eth${port#n?p} owner=${port%p?}
			here=$port
			[ "$owner" != "n$n" ] || here=$netdev
			want="$netdev $here up $(mac_of "$owner" "$netdev") $(on "$owner" cat "/sys/class/net/$netdev/mtu")"
			got=$(sluice $n -j show system-ports | jq -r --arg p $port \
				'.[] | select(.port == $p) | "\(.netdev) \(.dev) \(.state) \(.mac) \(.mtu_bytes)"')
			echo "node $n: $got, not $want"
			[ "$got" = "$want" ]
			[ "$(mac_of "n$n" "$here")" = "$(mac_of "$owner" "$netdev")" ]
		done
	done
	run -0 sluice 1 show system-ports
	[[ ${lines[0]} = "port  netdev  here  state "* ]]
	[ ${#lines[@]} = 5 ]
	fits_80
}

@test "system-ports: a port that goes down at its owner is down everywhere" {
	on n2 ip link set eth2 down
	wait_for 5 port_is 2 n2p2 down
	wait_for 5 port_is 1 n2p2 down
	port_is 1 n2p1 up
	on n2 ip link set eth2 up
	wait_for 5 port_is 1 n2p2 up
}

@test "peers: epoch, address and messages" {
	run -0 sluice 1 show peers
	fits_80
	jq -ne --argjson a "$(sluice 1 -j show peers)" --argjson b "$(sluice 2 -j show peers)" '$a, $b,
		($a[0].node == 2 and $a[0].address == "10.9.0.2" and $a[0].state == "up" and $a[0].lost == 0 and
		 $a[0].heard_ms < 60000 and $a[0].epoch != $b[0].epoch)'
	# the messages that one node sends, the other receives
	sent=$(sluice 1 -j show peers | jq '.[0].data_sent + .[0].hellos_sent')
	heard() { [ "$(sluice 2 -j show peers | jq '.[0].received')" -ge "$sent" ]; }
	wait_for 5 heard
}

@test "fabric: device, MTU and the frames that crossed" {
	run -0 sluice 1 show fabric
	fits_80
	[[ $output = *"transport  roce-xdp on fab0"* ]]
	jq -ne --argjson f "$(sluice 1 -j show fabric)" --argjson mbps "$(on n1 cat /sys/class/net/fab0/speed)" '$f,
		($f.mtu_bytes == 3500 and $f.device == "fab0" and $f.speed_Bps == $mbps * 125000 and $f.chunks * 4096 == $f.memory_bytes and
		 ([$f.packing[].messages] | add) == $f.data_messages_sent and
		 $f.frames_sent >= $f.data_messages_sent)'
	before=$(sluice 2 -j show fabric | jq .frames_received)
	on h1p1 ping -q -c 20 -i 0.01 10.2.1.2
	crossed() { [ $(($(sluice 2 -j show fabric | jq .frames_received) - before)) -ge 20 ]; }
	wait_for 10 crossed
}

# entered_voqs: frames that XDP of node 1 has put into VOQs
entered_voqs() { sluice 1 -j show counters | jq '.[] | select(.name == "voq").packets'; }

# voq PORT CLASS FILTER, queue PORT CLASS FILTER: of node 1's VOQs, of node 2's egress queues
voq() { sluice 1 -j show voqs | jq -c ".[] | select(.port == \"$1\" and .class == $2) | $3"; }
queue() { sluice 2 -j show egress-queues | jq -c ".[] | select(.port == \"$1\" and .class == $2) | $3"; }

@test "voqs and egress-queues count by class what XDP took in and sink received, and equal the map" {
	local entered departed in_xdp
	for class in 0 1 2 3; do
		in_xdp=$(entered_voqs)
		entered=$(voq n2p1 $class .enqueued_frames)
		departed=$(queue n2p1 $class .departed_frames)
		send_all h1p1 n1:eth1 h2p1 $((1000 + class)) --dst 10.2.1.2 --dscp $((class * 16 + 5))
		voq n2p1 $class .
		queue n2p1 $class .
		entered=$(($(voq n2p1 $class .enqueued_frames) - entered))
		departed=$(($(queue n2p1 $class .departed_frames) - departed))
		in_xdp=$(($(entered_voqs) - in_xdp))
		echo "class $class: XDP $in_xdp, entered $entered, departed $departed"
		# hosts and kernels send a few frames themselves, mostly in class 0
		[ $entered -le $in_xdp ]
		[ $((entered + 20)) -ge $in_xdp ]
		[ $departed -ge $((1000 + class)) ]
		[ $departed -le $((1000 + class + 20)) ]
		jq -ne --argjson q "$(queue n2p1 $class .)" '$q | .arrived_frames == .departed_frames + .dropped_frames and
			.arrived_bytes == .departed_bytes + .dropped_bytes and .waiting_bytes == 0'
	done
	in_map=$(on n1 bpftool -j map dump pinned /sys/fs/bpf/sluice/sl_backlog |
		jq -c '[.[] | .formatted | select(.value.system_port != 0) | {key: .key | tostring, value: .value}] | from_entries')
	jq -ne --argjson map "$in_map" --argjson voqs "$(sluice 1 -j show voqs)" '$voqs | all(
		$map[.voq | tostring] as $m | .enqueued_frames == $m.enqueued.frames and .enqueued_bytes == $m.enqueued.bytes and
		.dequeued_frames == $m.dequeued.frames and .marked_frames == $m.marked and .dropped.missed == $m.missed)'
}

# in_fast_path ADDRESS: does XDP of node 1 have a next hop for it?
in_fast_path() { [ "$(sluice 1 -j explain "$1" | jq -r .verdict)" = forward ]; }

@test "explain: the queues of a remote port, and the node at their other end" {
	wait_for 10 on h1p1 ping -c 1 -W 1 10.2.2.2
	wait_for 10 in_fast_path 10.2.2.2
	sluice 1 -j explain 10.2.2.2 | jq .
	[ "$(sluice 1 -j explain 10.2.2.2 | jq -c '.nexthop | [.port, .node, .node_address, .peer]')" = '["n2p2",2,"10.9.0.2","up"]' ]
	for class in 0 1 2 3; do
		[ "$(sluice 1 -j explain 10.2.2.2 | jq ".nexthop.voqs[] | select(.class == $class).voq")" = "$(voq n2p2 $class .voq)" ]
	done
	run sluice 1 explain 10.2.2.2
	echo "$output"
	[[ $output = *"queues VOQ $(voq n2p2 0 .voq) to $(voq n2p2 3 .voq), for class 0 to 3; node 2 at 10.9.0.2 is up"* ]]
}

@test "voqs: rate and limits are those of the map; drops have reasons, and add up with the frames that arrived" {
	wait_for 10 on h1p1 ping -c 1 -W 1 10.2.2.2
	wait_for 10 in_fast_path 10.2.2.2
	id=$(voq n2p2 2 .voq)
	set_voq "$id" 2000 0 5 50 0 10
	[ "$(voq n2p2 2 '[.rate, .unit, .burst, .limit_frames, .ecn_frames, .controller]')" = '[2000,"frames",5,50,10,"fixed"]' ]
	send h1p1 n1:eth1 h2p2 --dst 10.2.2.2 --dscp 40 --count 3000 --rate 20000
	full=$(voq n2p2 2 '.dropped["voq-full"]')
	voq n2p2 2 .
	[ "$full" -gt 0 ]
	[ "$full" = "$(jq '.drops["voq-full"]' "$LAB_DIR/ledger.json")" ]
	[ "$(voq n2p2 2 '.enqueued_frames - .dropped.missed')" = "$(received packets)" ]
	set_voq "$id" 0 0 5 50 0 0
	send h1p1 n1:eth1 h2p2 --dst 10.2.2.2 --dscp 40 --count 100 --rate 5000
	[ "$(received packets)" = 0 ]
	stopped=$(voq n2p2 2 '.dropped["voq-stopped"]')
	[ "$stopped" = 100 ]
	[ "$stopped" = "$(jq '.drops["voq-stopped"]' "$LAB_DIR/ledger.json")" ]
	set_voq "$id" 18446744073709551615 0 16 1024 0 0
	[ "$(voq n2p2 2 .rate)" = null ]
	run -0 sluice 1 show voqs
	echo "$output"
	fits_80
	grep -qE "^n2p2/2 +fixed +- +0 .* voq-full$" <<<"$output"
	grep -qE "^ +$stopped +voq-stopped$" <<<"$output"
	# only --all shows a queue that never had a frame
	[ "$(sluice 1 show voqs --all | grep -c /)" = 8 ]
	[ "$(grep -c / <<<"$output")" -lt 8 ]
	run -0 sluice 2 show egress-queues --all
	[ "$(grep -c / <<<"$output")" = 8 ]
	fits_80
}

# metrics N: the metrics of node N as JSON, if its configuration offers them
metrics() { on "n$1" curl -sS -m 60 http://127.0.0.1:9101/metrics | tests/tools/prometheus_samples.py; }

# in_step: node 1's metrics in $LAB_DIR/metrics equal what its bridge says at the same time, but for
# counters of hellos
in_step() {
	local before after
	before=$(in_words)
	metrics 1 >"$LAB_DIR/metrics"
	after=$(in_words)
	[ "$before" = "$after" ] &&
		[ "$(jq 'with_entries(select(.key | test("^sluice_(voq|egress_queue|busy|peer_(up|ups|downs|sent_m|sent_b|lost)|bridge_f|bridge_by|bridge_up|fabric_(message_|no_b|ref)|controller_(price|rate|signal|wei|sou)|system)")) |
			.key |= sub("(?<label>le|above)=(?<s>[0-9][0-9.e-]*)"; "\(.label)=\(.s | tonumber)"))' "$LAB_DIR/metrics")" = "$after" ]
}

# in_words: the same, from the control sockets
in_words() {
	{
		bridge_ask 1 voqs | jq -c '"{class=\(.class)}{node=\(.node)}{port=\(.port)}" as $id |
			("enqueued", "taken", "express") as $k | ("frames", "bytes") as $u | {("sluice_voq_\($k)_\($u)_total\($id)"): .["\($k)_\($u)"]},
			{("sluice_voq_waiting_frames\($id)"): .waiting_frames, ("sluice_voq_waiting_bytes\($id)"): .waiting_bytes,
			 ("sluice_voq_limit_frames\($id)"): .limit_frames, ("sluice_voq_marked_frames_total\($id)"): .marked_frames,
			 ("sluice_voq_rate_\(.unit)_per_second\($id)"): .rate, ("sluice_voq_express\($id)"): (if .express == "yes" then 1 else 0 end)},
			("\(.class)" as $c | .node as $n | .port as $p | .dropped | to_entries[] |
			 {("sluice_voq_dropped_frames_total{class=\($c)}{node=\($n)}{port=\($p)}{reason=\(.key)}"): .value})'
		bridge_ask 1 egress-queues | jq -c '"{class=\(.class)}{netdev=\(.netdev)}{port=\(.port)}" as $id |
			("arrived", "departed", "express", "dropped") as $k | ("frames", "bytes") as $u |
			{("sluice_egress_queue_\($k)_\($u)_total\($id)"): .["\($k)_\($u)"],
			 ("sluice_egress_queue_waiting_\($u)\($id)"): .["waiting_\($u)"],
			 ("sluice_egress_queue_limit_frames\($id)"): .limit_frames}'
		bridge_ask 1 delay | jq -c 'select(.measured_frames > 0) | "{port=\(.port)}{stage=\(.stage)}" as $rest | "{class=\(.class)}" as $class |
			"sluice_egress_queue_delay_seconds" as $name | {("\($name)_count\($class)\($rest)"): .measured_frames,
			 ("\($name)_sum\($class)\($rest)"): (.sum_ns / 1e9), ("\($name)_bucket\($class){le=+Inf}\($rest)"): .measured_frames},
			(.buckets[] | {("\($name)_bucket\($class){le=\(.below_ns / 1e9)}\($rest)"): .frames})'
		bridge_ask 1 busy | jq -c '.port as $port | .levels[] | "{above=\(.above_ns / 1e9)}{port=\($port)}" as $id |
			{("sluice_busy_periods_total\($id)"): .periods, ("sluice_busy_seconds_total\($id)"): (.time_ns / 1e9)}'
		bridge_ask 1 peers | jq -c '"{node=\(.node)}" as $id |
			{("sluice_peer_up\($id)"): (if .state == "up" then 1 else 0 end), ("sluice_peer_ups_total\($id)"): .ups,
			 ("sluice_peer_downs_total\($id)"): .downs, ("sluice_peer_sent_messages_total\($id)"): .data_sent,
			 ("sluice_peer_sent_bytes_total\($id)"): .data_bytes_sent, ("sluice_peer_lost_messages_total\($id)"): .lost}'
		bridge_ask 1 status | jq -c '.frames | to_entries[] | {("sluice_bridge_frames_total{counter=\(.key)}"): .value.packets,
			("sluice_bridge_bytes_total{counter=\(.key)}"): .value.bytes}'
		bridge_ask 1 fabric | jq -c '{sluice_fabric_no_buffer_total: .no_buffer, sluice_fabric_message_frames_sum: .frames_sent,
			sluice_fabric_message_frames_count: .data_messages_sent,
			"sluice_fabric_message_frames_bucket{le=+Inf}": .data_messages_sent, sluice_bridge_up: 1},
			(.packing as $p | range($p | length) | {("sluice_fabric_message_frames_bucket{le=\($p[.].most)}"): ([$p[:. + 1][].messages] | add)}),
			(.refused | to_entries[] | {("sluice_fabric_refusals_total{reason=\(.key)}"): .value}),
			(.refused_us | to_entries[] | {("sluice_fabric_refusals_received_total{reason=\(.key)}"): .value})'
		bridge_ask 1 cc | jq -c 'select(.side != "totals") |
			"{class=\(.class)}{controller=\(.controller)}{port=\(.port)}{side=\(.side)}" as $id |
			{("sluice_controller_rate_\(.unit)_per_second\($id)"): .rate},
			(("price", "signal", "weight", "sources") as $k | select(.[$k]) | {("sluice_controller_\($k)\($id)"): .[$k]})'
		sluice 1 -j show system-ports | jq -c '.[] | {("sluice_system_port_up{node=\(.node)}{port=\(.port)}"):
			(if .state == "up" then 1 else 0 end)},
			(. as $p | .refused | to_entries[] |
			 {("sluice_system_port_refused_routes{node=\($p.node)}{port=\($p.port)}{reason=\(.key)}"): .value})'
	} | jq -s add
}

@test "metrics of the cluster are what the bridge counts and the kernel sees" {
	echo "metrics: 9101" >>"$LAB_DIR/n1.yaml"
	kill -HUP "$(cat "$LAB_DIR/sluiced-n1.pid")"
	offered() { metrics 1 >"$LAB_DIR/metrics" && jq -e .sluice_bridge_up==1 "$LAB_DIR/metrics"; }
	wait_for 30 offered
	# the controller price has a figure to show
	sluice 2 cc set eth1 price
	before=$(jq '[.["sluice_voq_enqueued_frames_total{class=0}{node=2}{port=n2p1}"], .sluice_fabric_message_frames_sum]' "$LAB_DIR/metrics")
	send_all h1p1 n1:eth1 h2p1 1000 --dst 10.2.1.2
	wait_for 60 in_step
	jq -ne --argjson a "$before" --slurpfile now "$LAB_DIR/metrics" '$now[0] as $b | {
		enqueued: ($b["sluice_voq_enqueued_frames_total{class=0}{node=2}{port=n2p1}"] - $a[0] >= 1000),
		packed: ($b.sluice_fabric_message_frames_sum - $a[1] >= 1000),
		heard: ($b["sluice_peer_silence_seconds{node=2}"] < 60),
		received: ($b["sluice_peer_received_messages_total{node=2}"] > 0),
		checked: ($b["sluice_fabric_checked_messages_total{verdict=ok}"] > 0),
		memory: ($b.sluice_bridge_chunks > $b.sluice_bridge_chunks_free),
		feedback: ($b.sluice_controller_feedback_received_total > 0),
		bytes: ($b.sluice_fabric_sent_bytes_total > 0)} | ., all'
	# the controller's price reaches this node
	priced() { metrics 1 | jq -e '[keys[] | select(test("^sluice_controller_price.class=0..controller=price..port=n2p1"))] == [
		"sluice_controller_price{class=0}{controller=price}{port=n2p1}{side=ingress}"]'; }
	wait_for 30 priced
	sluice 2 cc set eth1 fixed
}

@test "metrics: a bridge that hangs or does not run is down, and does not hold up the daemon" {
	kill -STOP "$(cat "$LAB_DIR/bridge-n1.pid")"
	down() { metrics 1 | jq -e '.sluice_bridge_up == 0 and has("sluice_prefixes{family=ipv4}") and
		([keys[] | select(test("^sluice_(voq|peer|fabric)_"))] == [])'; }
	run down
	kill -CONT "$(cat "$LAB_DIR/bridge-n1.pid")"
	[ "$status" -eq 0 ]
	up() { metrics 1 | jq -e .sluice_bridge_up==1; }
	wait_for 30 up
	kill "$(cat "$LAB_DIR/bridge-n1.pid")"
	wait_for 30 down
	bridge_start 1
	wait_for 30 peer_is 1 2 up
	wait_for 30 port_is 2 n1p1 up
	wait_for 30 up
}

@test "one line says that the bridge does not run" {
	kill "$(cat "$LAB_DIR/bridge-n2.pid")"
	wait_for 10 peer_is 1 2 down
	wait_for 10 port_is 1 n2p1 unreachable
	run -3 --separate-stderr sluice 2 show peers
	[ "$stderr" = 'sluice: sluice-bridge is not running: nothing listens at "/run/sluice/sluice-bridge.sock"' ]
	[ -z "$output" ]
	# the daemon still shows what it knows
	wait_for 10 port_is 2 n1p1 unreachable
	port_is 2 n2p1 up
	bridge_start 2
	wait_for 10 peer_is 1 2 up
	wait_for 10 port_is 1 n2p1 up
}

@test "attach refuses the fabric's netdev, with the bridge's program on it or without" {
	refused() {
		for name in fab0 the-fabric; do
			run -1 --separate-stderr sluice 2 attach "$name"
			[ "$stderr" = "sluice: $name is the fabric of this cluster, which needs it for itself" ]
		done
	}
	on n2 ip link property add dev fab0 altname the-fabric
	refused
	bridge_stop 2
	refused
	bridge_start 2
	wait_for 10 peer_is 1 2 up
}

@test "without a daemon the command asks the bridge at its usual place" {
	run -3 --separate-stderr sluice 1 -s /run/nothing.sock show system-ports
	[ "$(sluice 1 -s /run/nothing.sock -j show peers | jq '.[0].node')" = 2 ]
	[ "$(sluice 1 -B /run/sluice/sluice-bridge.sock -j show peers | jq '.[0].node')" = 2 ]
	run -3 --separate-stderr sluice 1 -B /run/nothing.sock show fabric
	[[ $stderr = *'nothing listens at "/run/nothing.sock"'* ]]
}

@test "a node alone says that it is in no cluster" {
	node_up alone
	link alone:eth1 fabric:alone
	printf 'ports:\n  - name: eth1\n' >"$LAB_DIR/alone.yaml"
	router_start alone
	for what in system-ports peers fabric; do
		run -1 --separate-stderr on alone build/sluice show "$what"
		[[ $stderr = "sluice: this node is in no cluster: "*" has no \`cluster:\`" ]]
		[ -z "$output" ]
	done
}

@test "a bridge that is stopped: every command says so, and none waits for it for ever" {
	local bridge
	bridge=$(cat "$LAB_DIR/bridge-n2.pid")
	kill -STOP "$bridge"
	for what in "show peers" "-j show voqs" "cc trace n2p1" "cc set eth1 fixed"; do
		# shellcheck disable=SC2086
		run --separate-stderr sluice 2 -w 0.2 -B /run/sluice/sluice-bridge.sock $what
		echo "$what: $status $stderr"
		[ "$status" -eq 1 ]
		[[ $stderr = 'sluice: sluice-bridge does not answer at "'*'" within 0.2 s: '* ]]
	done
	kill -CONT "$bridge"
	answers() { sluice 2 show peers; }
	wait_for 10 answers
}
