#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The views of a cluster: what `sluice` shows is what the kernels, the packets and the maps say.
# shellcheck disable=SC2154 # variables are set by `run`
bats_require_minimum_version 1.5.0

setup_file() {
	. netns-lab/lib.sh
	. netns-lab/topo/cluster.sh
	# shellcheck disable=SC2119
	lab_begin
	TOPO_ENGINE=fast
	topo_up --nodes 2 --ports 2
	for p in 1 2; do # so that every node knows its hosts
		wait_for 10 on "h1p$p" ping -c 1 -W 1 "10.2.$p.2"
	done
}

teardown_file() {
	. netns-lab/lib.sh
	lab_end
}

setup() {
	. netns-lab/lib.sh
	. netns-lab/topo/cluster.sh
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
	# what one has sent, the other receives
	sent=$(sluice 1 -j show peers | jq '.[0].data_sent + .[0].hellos_sent')
	heard() { [ "$(sluice 2 -j show peers | jq '.[0].received')" -ge "$sent" ]; }
	wait_for 5 heard
}

@test "fabric: device, MTU and the frames that crossed" {
	run -0 sluice 1 show fabric
	fits_80
	[[ $output = *"transport  roce-xdp on fab0"* ]]
	jq -ne --argjson f "$(sluice 1 -j show fabric)" '$f,
		($f.mtu_bytes == 3500 and $f.device == "fab0" and $f.chunks * 4096 == $f.memory_bytes and
		 ([$f.packing[].messages] | add) == $f.data_messages_sent and
		 $f.frames_sent >= $f.data_messages_sent)'
	before=$(sluice 2 -j show fabric | jq .frames_received)
	on h1p1 ping -q -c 20 -i 0.01 10.2.1.2
	[ $(($(sluice 2 -j show fabric | jq .frames_received) - before)) -ge 20 ]
}

@test "a bridge that does not run is said so in one line" {
	kill "$(cat "$LAB_DIR/bridge-n2.pid")"
	wait_for 5 peer_is 1 2 down
	wait_for 5 port_is 1 n2p1 unreachable
	run -3 --separate-stderr sluice 2 show peers
	[ "$stderr" = 'sluice: sluice-bridge is not running: nothing listens at "/run/sluice/sluice-bridge.sock"' ]
	[ -z "$output" ]
	# what the daemon knows, it still shows
	wait_for 5 port_is 2 n1p1 unreachable
	port_is 2 n2p1 up
	bridge_start 2
	wait_for 10 peer_is 1 2 up
	wait_for 10 port_is 1 n2p1 up
}

@test "without a daemon the bridge is asked where it usually is" {
	run -3 --separate-stderr sluice 1 -s /run/nothing.sock show system-ports
	[ "$(sluice 1 -s /run/nothing.sock -j show peers | jq '.[0].node')" = 2 ]
	[ "$(sluice 1 -B /run/sluice/sluice-bridge.sock -j show peers | jq '.[0].node')" = 2 ]
	run -3 --separate-stderr sluice 1 -B /run/nothing.sock show fabric
	[[ $stderr = *'nothing listens at "/run/nothing.sock"'* ]]
}

@test "a node that is in no cluster says so" {
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
