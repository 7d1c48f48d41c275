#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Chains of elements at a node of a cluster: what leaves by another node's port, in the fast path and by the worker; an
# element that is installed while frames cross. 10 seconds of processor time.
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh

setup_file() {
	cluster_lab
	cluster_fabric
	export CHAINS=$LAB_DIR/chains
	mkdir "$LAB_DIR/keys"
	openssl genpkey -algorithm ed25519 -out "$LAB_DIR/operator.pem"
	openssl pkey -in "$LAB_DIR/operator.pem" -pubout -out "$LAB_DIR/keys/operator.pub"
	cp -r dist/element "$LAB_DIR/element"
	make -s -f "$PWD/dist/element/element.mk" -C "$LAB_DIR/element" SLUICE="$PWD" CFLAGS="-O1 -w" hop_limit.so
	openssl pkeyutl -sign -rawin -inkey "$LAB_DIR/operator.pem" -in "$LAB_DIR/element/hop_limit.so" -out "$LAB_DIR/element/hop_limit.so.sig"
	chains 'chain quick fast { input -> Counter -> output; }'
	for n in 1 2 3; do
		cluster_node $n 2
		cluster_config $n 3 2 "$TOPO_ENGINE" >"$LAB_DIR/n$n.yaml"
	done
	cat >>"$LAB_DIR/n1.yaml" <<-'END'
		filters:
		- name: in
		  ports: [{name: eth1}]
		  default: permit
		  rules:
		  - {action: permit, name: slow, protocol: udp, destination_port: 7000, chain: slow}
		  - {action: permit, name: nat, destination: 10.8.0.0/24, chain: nat}
		  - {action: permit, name: swift, protocol: udp, destination_port: 7001, chain: swift}
		  - {action: permit, name: quick, protocol: udp, chain: quick}
	END
	for n in 1 2 3; do cluster_start $n; done
	for n in 1 2 3; do wait_for 20 cluster_is_up $n 2; done
	hosts_meet
	spawn n1 elements build/sluice-elements --chains "$CHAINS" --keys "$LAB_DIR/keys" --store "$LAB_DIR/store"
	export ELEMENTS=$SPAWNED
	wait_for 10 chains_are "slow nat swift quick"
}

# chains QUICK: the file of chains; the last one is as a test wants it
chains() {
	printf '%s\n' 'chain slow { input -> Dscp(dscp=ef) -> output; }' \
		'chain nat { input -> Nat44(side=destination, from=10.8.0.0/24, to=10.2.1.0/24) -> output; }' \
		'chain swift fast { input -> Dscp(dscp=ef) -> output; }' "$1" >"$CHAINS"
}
chain() { on n1 build/sluice -j flow | jq ".[] | select(.flow == \"$1\").$2"; }
chains_are() { [ "$(on n1 build/sluice -j flow | jq -r '[.[].flow] | map(select(. != "input" and . != "output")) | join(" ")')" = "$1" ]; }
# to_voq: frames that XDP has put into virtual output queues, or sent past them
to_voq() { on n1 build/sluice -j show counters | jq '[.[] | select(.name == "voq" or .name == "express").packets] | add'; }

# sends PORT N [DESTINATION]: scapy's UDP packets from h1p1 to another node's host, whose tcpdump has seen them by the
# end of it. Then `came` has how many came as scapy says that they must: one hop older, and marked by DSCP $DSCP.
sends() {
	spawn h2p1 watch tcpdump -i eth0 -Q in -U -c "$2" -w "$LAB_DIR/watch.pcap" "udp port $1"
	watching() { grep -q "listening on" "$LAB_DIR/watch.err"; }
	wait_for 10 watching
	on h1p1 /usr/bin/python3 -B - "$(mac_of n1 eth1)" "$1" "$2" "${3:-10.2.1.2}" <<-'END'
		import sys
		from scapy.all import Ether, IP, UDP, Raw, sendp
		mac, port, n, to = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
		sendp([Ether(dst=mac) / IP(dst=to, id=i, ttl=64) / UDP(sport=20000 + i, dport=port) / Raw(bytes(i * 37 % 1400))
		       for i in range(n)], iface="eth0", verbose=False)
	END
	await_end watch
	came=$(/usr/bin/python3 -B - "$LAB_DIR/watch.pcap" "$1" "$2" "$DSCP" <<-'END'
		import sys
		from scapy.all import IP, UDP, Raw, rdpcap
		port, n, dscp = map(int, sys.argv[2:5])
		wanted = {bytes(IP(src="10.1.1.2", dst="10.2.1.2", id=i, ttl=63, tos=dscp << 2) / UDP(sport=20000 + i, dport=port)
		                / Raw(bytes(i * 37 % 1400))) for i in range(n)}
		seen = [bytes(p[IP])[:p[IP].len] for p in rdpcap(sys.argv[1])]
		print(len(wanted & set(seen)) if len(seen) == n else f"{len(seen)} packets")
	END
	)
}

@test "a fast chain at one node: what leaves by another one's port has the bytes that scapy expects, by way of the queues" {
	local before
	before=$(to_voq)
	DSCP=46 sends 7001 100
	[ "$came" = 100 ]
	[ "$(chain swift fast_packets)" = 100 ]
	[ "$(($(to_voq) - before))" -ge 100 ]
}

@test "a chain of the worker: the kernel routes what comes back, and it leaves by another node's port" {
	DSCP=46 sends 7000 100
	[ "$came" = 100 ]
	[ "$(chain slow entered)" = 100 ]
	[ "$(chain slow left)" = 100 ]
}

@test "a chain that changes the destination leads to another node's port" {
	DSCP=0 sends 7009 50 10.8.0.2
	[ "$came" = 50 ]
	[ "$(chain nat left)" = 50 ]
}

# quick CHAIN: sluice-elements has taken this one as "quick", and 200 frames have gone through it in the fast path
quick() {
	chains "chain quick fast { $1 }"
	kill -HUP "$ELEMENTS"
	taken() { [ "$(elements_of_quick)" = "$1" ]; }
	wait_for 20 taken "$2"
	crosses() { [ "$(chain quick fast_packets)" -ge 200 ]; }
	wait_for 20 crosses
}
elements_of_quick() { on n1 build/sluice -j element show quick | jq -r '[.[].class] - ["Input", "Output", "Discard"] | join(" ")'; }

element_comes_and_goes() {
	for _ in 1 2; do
		on n1 build/sluice element install "$LAB_DIR/element/hop_limit.so"
		quick 'h :: HopLimit(least=2); input -> h -> output; h[1] -> drop;' HopLimit
		quick 'input -> Counter -> output;' Counter
		on n1 build/sluice element remove HopLimit
	done
}

@test "an element is installed and removed while frames cross its chain to another node: none is lost, no bridge notices" {
	untouched element_comes_and_goes
}
