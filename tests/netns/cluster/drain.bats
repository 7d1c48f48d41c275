#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A node of three, with BIRD on each and the configuration in etcd, is drained under traffic that has a second
# way, and leaves: no packet is lost, neither then nor of others'. Neighbours behind nodes 2 and 3 announce the
# same prefix to both. The oracle of what is written is sed, that of the loss is generator and sink. Takes 90 s.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. netns-lab/lib/bird.sh
. netns-lab/lib/etcd.sh

setup_file() {
	local n
	cluster_begin 3 2
	etcd_begin 1
	for n in 1 2 3; do
		etcd_join n$n $n
		agent_start $n
		bird_node_start $n
	done
	cp "$LAB_DIR/n2.yaml" "$LAB_DIR/all.yaml"
	echo 192.0.2.0/24 >"$LAB_DIR/both4"
	echo 2001:db8:b::/48 >"$LAB_DIR/both6"
	for n in 2 3; do
		on h${n}p1 ip addr add 192.0.2.1/32 dev lo
		bird_host h${n}p1 65001 "$LAB_DIR/both4" "$LAB_DIR/both6"
	done
	on n1 sysctl -qw net.ipv4.fib_multipath_hash_policy=1 # by ports, too
	hosts_meet
	wait_for 60 ways_are "n2p1 n3p1"
	cluster apply --wait 100 "$LAB_DIR/all.yaml"
}

cluster() {
	local word=$1
	shift
	on e1 build/sluice cluster "$word" --settings "$LAB_DIR/etcd.yaml" "$@"
}
version() { etcdctl_at 1 get --print-value-only "/sluice/versions/$(printf %010d "$1")" | head -c -1; }
current() { etcdctl_at 1 get --print-value-only /sluice/current; }
revision() { etcdctl_at 1 get /sluice/current -w json | jq .header.revision; }

# bird_of N: what the operator gives to BIRD on node N, from its file
bird_of() {
	build/sluice cluster routing --bird "$LAB_DIR/n$1.yaml" && { [ "$1" = 1 ] || bird_outside "$1" 1 65001; }
}
bird_node_start() {
	bird_of "$1" >"$LAB_DIR/bird-n$1.conf" && spawn "n$1" "bird-n$1" bird -f -c "$LAB_DIR/bird-n$1.conf" -s "$LAB_DIR/bird-n$1.ctl"
}
bird_again() {
	bird_of "$1" >"$LAB_DIR/bird-n$1.conf" && on "n$1" birdc -s "$LAB_DIR/bird-n$1.ctl" configure | grep -q "^Reconfig"
}

# ways_are "NETDEV...": those of node 1 to the prefix of both neighbours
ways_are() {
	[ "$(on n1 ip -j route show 192.0.2.0/24 | jq -r '.[] | (.nexthops // [.])[].dev' | sort | xargs)" = "$1" ]
}

# What sed would have written
drained_text() { sed "s/^    - id: $1\$/&\\n      drain: true/" "$2"; }
without() { sed '/id: 3/,$d' "$1"; }

# both COMMAND...: run it under two flows from node 1, all of which arrives: one to what both neighbours announce, in
# many flows, and one that leaves by node 2. Every frame is accounted for.
both() {
	cluster_counts
	FLOW_OPTIONS="--flows 500" flows_bear "two h1p1 n1:eth1 192.0.2.1 2000 h2p1 h3p1" "beside h1p2 n1:eth2 10.2.2.2 500 h2p2" -- "$@" || return
	[ $FLOWS_SENT -gt 1000 ] && cluster_conserves $FLOWS_SENT $FLOWS_RECEIVED
}

says() { grep -q "$2" "$LAB_DIR/$1"; }

# The mark, then what the operator does, and the command ends by itself once all goes by node 2.
drain_3() {
	local pid status=0
	cluster drain --timeout 200 3 >"$LAB_DIR/drain.out" 2>"$LAB_DIR/drain.err" 3>&- &
	pid=$!
	wait_for 60 says drain.out 'packets/s: .* [1-9][0-9]* leave.*eth1 .* out' || return
	bird_again 3 || return
	wait $pid || status=$?
	cat "$LAB_DIR/drain.out" "$LAB_DIR/drain.err"
	[ $status = 0 ] && says drain.out '^node 3 is at rest: nothing but control traffic uses its ports$' && ways_are n2p1
}

@test "wrong words and nodes are refused, and write nothing" {
	local before
	before=$(revision)
	refused() { # STATUS MESSAGE ARGUMENT...
		run -"$1" --separate-stderr cluster "${@:3}"
		echo "$stderr"
		[[ $stderr == "sluice: cluster"*"$2"* ]]
	}
	refused 2 '"7" is none of the 3 nodes of version 1: write the id of one' drain 7
	refused 2 '"7" is none of the 3 nodes of version 1: write the id of one' leave --force 7
	refused 2 '"x" is not a node id: write 1 to 255' undrain x
	refused 2 '"0" is not a node id: write 1 to 255' leave 0
	refused 2 "write one node's id after drain" drain
	refused 2 "write one node's id after leave" leave 1 2
	refused 2 '--timeout: write seconds, 0 to 3600' drain --timeout soon 3
	refused 1 'node 3 is not drained in version 1' undrain 3
	refused 1 'node 3 is not drained: `sluice cluster drain 3` moves its traffic away first' leave 3
	refused 1 '--based-on: version 1 is current, not 9, so nothing is written' drain --based-on 9 3
	[ "$(revision)" -ge "$before" ]
	[ "$(current)" = 1 ]
}

@test "a node that traffic still uses does not come to rest: its ports and packets are told, and it may not leave" {
	stuck() {
		run -1 --separate-stderr cluster drain --timeout 8 2
		echo "$output $stderr"
		[[ $stderr =~ ^"sluice: cluster: node 2 has not come to rest within 8 s: drained, packets/s: "[0-9]+" enter, "([0-9]+)" leave, "[0-9]+" by the kernel; ".*"eth2 ".*([0-9]+)" out" ]] || return
		[ "${BASH_REMATCH[1]}" -ge 100 ] || return
		run -1 --separate-stderr cluster leave 2
		[[ $stderr == "sluice: cluster: node 2 is not at rest: drained, packets/s: "*"--force takes it out all the same" ]] || return
		run -0 cluster status
		[[ $output == *"in force; drained, packets/s: "* ]]
	}
	both stuck
	[ "$(current)" = 2 ]
	version 2 | cmp - <(drained_text 2 "$LAB_DIR/all.yaml")
	run -0 cluster history
	[[ ${lines[1]} == *"  drain of node 2, current" ]]
	run -0 cluster undrain 2
	[ "${lines[1]}" = "  cluster.nodes[2].drain: removed, was true" ]
	version 3 | cmp - "$LAB_DIR/all.yaml"
	in_force 3 1 2 3
	agents_say '.drain == null' 2
}

@test "a node is drained under traffic, whose flows all take the other way, and none is lost" {
	both drain_3
	[ "$(current)" = 4 ]
	version 4 | cmp - <(drained_text 3 "$LAB_DIR/all.yaml")
	run -0 cluster status
	grep -qE '^ +3 +4  [0-9.]+ +4-5 +in force; drained, at rest$' <<<"$output"
	# Again, it only waits; in JSON, one object tells all.
	[ "$(cluster drain --json 3 | jq -s -c 'map([.node, .version, .at_rest, .stand])')" = '[[3,4,true,"drained, at rest"]]' ]
	run -0 cluster drain 3
	[ "${lines[0]}" = "node 3 is drained since an earlier version" ]
	[ "$(current)" = 4 ]
}

leaves() {
	cluster leave --wait 100 3 || return
	in_force 5 1 2 || return
	! on n1 ip link show n3p1 2>/dev/null || return
	bird_again 1 && bird_again 2
}

@test "it leaves in one version, and nothing of the others is lost; rollback brings it back, and undrain its traffic" {
	local bridges
	bridges() { cat "$LAB_DIR"/bridge-n?.pid; }
	bridges=$(bridges)
	both leaves
	version 5 | cmp - <(without "$LAB_DIR/all.yaml")
	agents_say '.refused.version == 5 and .drain.at_rest' 3
	returns() {
		cluster rollback --wait 100 && in_force 6 1 2 3 && bird_again 1 && bird_again 2 &&
			wait_for 20 carrier 1 3 1 && cluster undrain --wait 100 3 && bird_again 3 && wait_for 60 ways_are "n2p1 n3p1"
	}
	both returns
	version 7 | cmp - "$LAB_DIR/all.yaml"
	[ "$(bridges)" = "$bridges" ]
	run -0 cluster history
	[[ ${lines[1]} == *"  undrain of node 3, current" ]]
	[[ ${lines[3]} == *"  leave of node 3" ]]
}

@test "with --force a node leaves that is not drained; one without an agent leaves if it is drained" {
	run -0 cluster leave --force --wait 100 3
	version 8 | cmp - <(without "$LAB_DIR/all.yaml")
	run -0 cluster rollback --wait 100
	gone() { [ -z "$(etcdctl_at 1 get --print-value-only /sluice/present/3)" ]; }
	kill "$(cat "$LAB_DIR/agent-n3.pid")"
	wait_for 20 gone
	run -1 --separate-stderr cluster drain --timeout 1 --json 3
	[ "$(jq -s -c 'map([.node, .version, .from, .in_force, .changes[].key, .at_rest])' <<<"$output")" = '[[3,10,9,2,"cluster.nodes[3].drain",false]]' ]
	[[ $stderr == *"node 3 has not come to rest within 1 s: no agent is present, which would tell" ]]
	run -0 cluster leave --wait 100 3
	version 11 | cmp - <(without "$LAB_DIR/all.yaml")
}
