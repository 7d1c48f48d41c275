#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Nodes of two releases are one cluster while they are upgraded one by one under traffic: no frame of ports that nobody
# touches is lost or misdelivered. The last release, this one and the next one are the same sources with another version
# of the protocol and of the software (tests/build.mk): `former` speaks version 4 alone, byte for byte what the release
# before this one sent, by the hash in test_exchange.c; `next` speaks 5 and 6, and has given up 4. So former and next are
# two releases that are not adjacent. What the three share is all else: a change of messages between releases is not here
# before there is one. The oracle of the loss is generator and sink. Takes 130 s.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. netns-lab/lib/etcd.sh

setup_file() {
	local n
	cluster_lab
	CLUSTER_PROGRAM=$PWD/build/sluice-bridge-former ROUTER_PROGRAM=$PWD/build/sluiced-former topo_up --nodes 3 --ports 2
	etcd_begin 1
	for n in 1 2 3; do
		etcd_join n$n $n
		agent_start $n
	done
	cp "$LAB_DIR/n2.yaml" "$LAB_DIR/all.yaml"
	restart_program >"$LAB_DIR/restart"
	chmod +x "$LAB_DIR/restart"
	hosts_meet
	cluster apply --wait 100 "$LAB_DIR/all.yaml"
}

cluster() {
	local word=$1
	shift
	on e1 build/sluice cluster "$word" --settings "$LAB_DIR/etcd.yaml" "$@"
}
upgrade() { cluster upgrade --wait 100 --timeout 60 --command "$LAB_DIR/restart %n %v" "$@" 3>&-; }

# What the agents say of node N's release, protocol, and the nodes that it does not reach
release() { etcdctl_at 1 get --print-value-only "/sluice/present/$1" | jq -c "[.release | .sluiced, .bridge, .protocol, [.away[] | .node, .why]]"; }
release_is() { [ "$(release "$1")" = "$2" ]; }
# The versions of the protocol that node N uses with the others
protocols() { bridge_ask "$1" peers | jq .protocol | xargs; }
lives() { local n; for n; do bridge_ask "$n" status | jq .epoch; done; }
# 1: node N is drained, as its agent says
drained() { etcdctl_at 1 get --print-value-only "/sluice/present/$1" | jq 'if .drain then 1 else 0 end'; }

# between N M COMMAND...: run it under traffic both ways between nodes N and M, all of which arrives; neither restarts
between() {
	local n=$1 m=$2 before
	shift 2
	before=$(lives "$n" "$m")
	cluster_counts
	flows_bear "there h${n}p1 n$n:eth1 10.$m.1.2 2000 h${m}p1" "back h${m}p2 n$m:eth2 10.$n.2.2 2000 h${n}p2" -- "$@" || return
	[ $FLOWS_SENT -gt 4000 ] && [ "$(lives "$n" "$m")" = "$before" ] && cluster_ledger $FLOWS_SENT $FLOWS_RECEIVED
}

# all_arrives: a burst of frames from each node to each other one
all_arrives() {
	local n m
	for n in 1 2 3; do
		for m in 1 2 3; do
			[ $n = $m ] || send_all h${n}p1 n$n:eth1 h${m}p1 250 --dst 10.$m.1.2 || return
		done
	done
}

@test "words that make no sense are refused, and touch nothing" {
	refused() { # STATUS MESSAGE ARGUMENT...
		run -"$1" --separate-stderr cluster upgrade "${@:3}"
		echo "$stderr"
		[[ $stderr == "sluice: cluster"*"$2"* ]]
	}
	refused 2 'write the ids of nodes, or --all' --command true
	refused 2 'write the ids of nodes, or --all' --command true --all 3
	refused 2 '--command: write what brings node %n to the release' --all
	refused 2 '"7" is none of the 3 nodes of version 1: write the id of one' --command true 7
	refused 2 '"x" is not a node id: write 1 to 255' --command true 1 x
	[ "$(etcdctl_at 1 get --print-value-only /sluice/current)" = 1 ]
}

@test "nodes are upgraded one by one under traffic, and are one cluster all the while" {
	local n others v
	v=$(cat VERSION)
	wait_for 20 release_is 1 '["0.0.9","0.0.9",[4,4],[]]'
	[ "$(protocols 2)" = "4 4" ]
	for n in 1 2 3; do
		others=(1 2 3)
		unset "others[n - 1]"
		between "${others[@]}" upgrade --routing "grep -c 'drain: true' $LAB_DIR/n%n.yaml >>$LAB_DIR/routing-%n; true" $n
		[ "$(release $n)" = "[\"$v\",\"$v\",[4,5],[]]" ]
		[ "$(xargs <"$LAB_DIR/routing-$n")" = "1 0" ]
		all_arrives
		[ $n = 3 ] || [ "$(protocols 3)" = "4 4" ]
		if [ $n = 2 ]; then
			[ "$(protocols 1)" = "5 4" ]
			run -0 cluster status
			echo "$output"
			grep -qE "^ +2 +5  $v +4-5 +in force\$" <<<"$output"
			grep -qE '^ +3 +5  0.0.9 +4-4 +in force$' <<<"$output"
			grep -qxF "Nodes run different releases: $v on 1 2, 0.0.9 on 3." <<<"$output"
			[ "$(wc -L <<<"$output")" -le 80 ]
		fi
	done
	for n in 1 2 3; do [ "$(protocols $n)" = "5 5" ]; done
	[ "$(cluster status | grep -c "different releases")" = 0 ]
	run -0 cluster history
	[[ ${lines[1]} == *"  undrain of node 3, current" ]]
	[[ ${lines[2]} == *"  upgrade of node 3" ]]
	# Again, nothing is left to do.
	run -0 upgrade --all
	[ "$output" = "$(printf "node %d runs $v already\n" 1 2 3)" ]
}

@test "an upgrade that fails at a node stops there, and the same command goes on with those that are left" {
	local first v
	v=$(cat VERSION)
	# A command that succeeds and changes nothing is found out.
	run -1 --separate-stderr cluster upgrade --wait 100 --timeout 20 --command true --to 0.2.0 3
	[[ $stderr == *"node 3: not within 20 s: sluiced is $v, sluice-bridge $v, and not 0.2.0"*"left: 3; "* ]]
	touch "$LAB_DIR/fails-2"
	run -1 --separate-stderr upgrade --all --to 0.2.0
	echo "$output $stderr"
	[[ $stderr == *"node 2: the command ended with status 100: $LAB_DIR/restart 2 0.2.0"*"upgrade: left: 2 3; the same command goes on with them" ]]
	[ "$(release 1)" = '["0.2.0","0.2.0",[5,6],[]]' ]
	[ "$(for n in 1 2 3; do drained $n; done | xargs)" = "0 1 1" ]
	rm "$LAB_DIR/fails-2"
	first=$(lives 1)
	run -0 --separate-stderr upgrade --all --to 0.2.0 --json
	echo "$output $stderr"
	[ "$(jq -c '[.to, .upgraded, .skipped, .left]' <<<"$output")" = '["0.2.0",[2,3],[1],[]]' ]
	[ "$(lives 1)" = "$first" ]
	for n in 1 2 3; do [ "$(release $n)" = '["0.2.0","0.2.0",[5,6],[]]' ]; done
	[ "$(for n in 1 2 3; do drained $n; done | xargs)" = "0 0 0" ]
	[ "$(protocols 1)" = "6 6" ]
	all_arrives
}

too_old() {
	wait_for 30 release_is 3 '["0.0.9","0.0.9",[4,4],[1,"version",2,"version"]]' && wait_for 30 release_is 1 '["0.2.0","0.2.0",[5,6],[3,"version"]]'
}

@test "a node two releases away is refused by name, the others go on, and its upgrade brings it back" {
	"$LAB_DIR/restart" 3 0.0.9 3>&-
	between 1 2 too_old
	grep -q 'node 3 at 10.9.0.3 speaks version 4 of the protocol, we speak versions 5 to 6' "$LAB_DIR/bridge-n1.err"
	run -0 cluster status
	echo "$output"
	grep -qE '^ +1 .* in force; does not reach node 3 \(version\)$' <<<"$output"
	grep -qE '^ +3 .* in force; does not reach node 1 \(version\), 2 \(version\)$' <<<"$output"
	# Another node is not touched while the rest is not whole.
	run -1 --separate-stderr cluster upgrade --timeout 2 --command false --to 0.3.0 2
	[[ $stderr == *"node 2: not within 2 s: node "[13]" does not reach node "[13]" (version)"* ]]
	[ "$(drained 2)" = 0 ]
	between 1 2 upgrade --to 0.2.0 3
	[ "$(release 3)" = '["0.2.0","0.2.0",[5,6],[]]' ]
	all_arrives
}

@test "a node that the operator has drained stays drained, and one that stays busy is upgraded with --force" {
	busy() {
		local status stderr output lines # of run: `between` has a status of its own
		run -1 --separate-stderr upgrade --timeout 6 --to 0.0.9 1
		echo "$output $stderr"
		[[ $stderr == *"node 1: not within 6 s: drained, packets/s: "*"left: 1; the same command goes on with them"* ]] || return
		[ "$(release 1)" = '["0.2.0","0.2.0",[5,6],[]]' ] && cluster undrain --wait 100 1
	}
	between 1 2 busy
	cluster drain --wait 100 --timeout 60 3
	run -0 upgrade --to "$(cat VERSION)" 3
	echo "$output"
	[ "${lines[-1]}" = "node 3 runs $(cat VERSION), and is drained as it was before" ]
	[ "$(drained 3)" = 1 ]
	flow_start there h1p1 n1:eth1 10.2.1.2 500 h2p1
	run -0 upgrade --timeout 20 --force --to "$(cat VERSION)" 1
	flow_end there h2p1
	echo "$output; sent $FLOW_SENT, received $FLOW_RECEIVED"
	[ "$FLOW_WRONG" = 0 ]
	[ "$(drained 1)" = 0 ]
}

@test "a node that has left, whose agent still runs and which reaches nobody, holds up no upgrade of the others" {
	alone() { [ "$(etcdctl_at 1 get --print-value-only /sluice/present/3 | jq -c '[.release.away[].node]')" = '[1,2]' ]; }
	silent() { [ "$(etcdctl_at 1 get --print-value-only /sluice/present/1 | jq -c '.release | [.bridge, .away]')" = '[null,null]' ]; }
	cluster drain --timeout 60 3
	cluster leave --wait 100 3
	wait_for 30 alone
	run -0 --separate-stderr upgrade --to "$(cat VERSION)" 2
	echo "$output $stderr"
	[ "$(release 2)" = "[\"$(cat VERSION)\",\"$(cat VERSION)\",[4,5],[]]" ]
	# Of a bridge that does not run nobody knows whom it reaches: that is not nobody.
	kill "$(cat "$LAB_DIR/bridge-n1.pid")"
	wait_for 30 silent
}
