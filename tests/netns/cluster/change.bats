#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A cluster changes while it forwards: its key, node by node. Traffic of ports that have nothing to
# do with it loses nothing. Takes 25 s.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh

setup_file() {
	local n
	cluster_lab
	# Each node has a key file of its own.
	topo_up --nodes 3 --ports 2
	for n in 1 2 3; do
		cp -p "$LAB_DIR/cluster.key" "$LAB_DIR/key$n"
		sed -i "s|key_file: .*|key_file: $LAB_DIR/key$n|" "$LAB_DIR/n$n.yaml"
		bridge_stop $n
		bridge_start $n
	done
	(umask 077 && head -c 32 /dev/urandom >"$LAB_DIR/new.key")
	for n in 1 2 3; do wait_for 30 cluster_is_up $n 2; done
	hosts_meet
}

# key N STEP...: on that node
key() {
	local n=$1
	shift
	on "n$n" build/sluice cluster key "$@" --config "$LAB_DIR/n$n.yaml"
}

# everywhere STEP...: on all nodes, one after the other
everywhere() { for n in 1 2 3; do key $n "$@" || return; done; }

# The names of the keys of a node's bridge; those that its peers have proven
keys_of() { bridge_ask "$1" fabric | jq -c .keys; }
proven() { bridge_ask "$1" peers | jq -r .key | sort -u | xargs; }
all_proven() { for n in 1 2 3; do [ "$(proven $n)" = "$1" ] || return; done; }
refusals() { bridge_ask 1 fabric | jq '.refused.key + .refused_us.key'; }

new_key() {
	everywhere add "$LAB_DIR/new.key"
	all_proven "$old"
	key 1 switch
	# The others take the new key already, and have not switched.
	wait_for 10 all_proven_by 1
	run ! key 1 remove
	key 2 switch
	key 3 switch
	wait_for 10 all_proven "$new"
	everywhere remove
}
# Node 1 opens to the others, which answer by the former key.
all_proven_by() { [ "$(proven "$1")" = "$old" ]; }

@test "the key changes in three steps without a packet lost, and no peer goes down" {
	old=$(keys_of 1 | jq -r '.[0]')
	[ "$(proven 1)" = "$old" ]
	new=$(key 1 add "$LAB_DIR/new.key" | sed "s/.*takes \(.*\), too/\1/")
	[[ $new =~ ^[0-9a-f]{8}$ && $new != "$old" ]]
	[ "$(keys_of 1)" = "[\"$old\",\"$new\"]" ]
	key 1 remove
	[ "$(keys_of 1)" = "[\"$old\"]" ]
	untouched new_key
	for n in 1 2 3; do
		[ "$(keys_of $n)" = "[\"$new\"]" ]
		[ "$(stat -c %a "$LAB_DIR/key$n")" = 600 ]
		cmp "$LAB_DIR/key$n" "$LAB_DIR/new.key"
		[ ! -e "$LAB_DIR/key$n.also" ]
	done
	[ "$(refusals)" = 0 ]
}

@test "after it, a node comes back by the new key, and one with the former key does not" {
	bridge_stop 3
	wait_for 30 no_carrier 1 3 1
	cp -p "$LAB_DIR/cluster.key" "$LAB_DIR/key3"
	bridge_start 3
	refused() { [ "$(refusals)" -ge 1 ]; }
	wait_for 10 refused
	no_carrier 1 3 1
	key 3 add "$LAB_DIR/new.key"
	key 3 switch
	wait_for 10 carrier 1 3 1
	key 3 remove
	send_all h1p1 n1:eth1 h3p1 500 --dst 10.3.1.2
}

@test "a step that cannot be taken says why, and changes nothing" {
	before=$(sha256sum "$LAB_DIR"/key?)
	run -1 --separate-stderr key 1 switch
	[[ $stderr == *"there is no second key \"$LAB_DIR/key1.also\": begin with \`add\`"* ]]
	run -1 --separate-stderr key 1 remove
	[[ $stderr == *"there is no second key"* ]]
	echo short >"$LAB_DIR/short.key"
	run -1 --separate-stderr key 1 add "$LAB_DIR/short.key"
	[[ $stderr == *"\"$LAB_DIR/short.key\" is no key: a key has 16 to 1024 bytes"* ]]
	run -1 --separate-stderr key 1 add "$LAB_DIR/none.key"
	[[ $stderr == *"\"$LAB_DIR/none.key\": No such file or directory"* ]]
	key 1 add "$LAB_DIR/cluster.key"
	run -1 --separate-stderr key 1 add "$LAB_DIR/new.key"
	[[ $stderr == *"there is a second key already"* ]]
	key 1 remove
	run -2 --separate-stderr key 1 rotate
	[[ $stderr == *"which step?: write add FILE, switch or remove"* ]]
	run -2 --separate-stderr key 1 switch now
	[[ $stderr == *"nothing goes after that step"* ]]
	[ "$before" = "$(sha256sum "$LAB_DIR"/key?)" ]
}

knows_of_others() { [ "$(bridge_ask 1 peers | jq -c .same_ports | xargs)" = "false false" ]; }

@test "where one node knows of a port that another one lacks, all other ports work" {
	sed -i '/id: 2/,/id: 3/ s/.*number: 2, name: eth2.*/&\n        - {number: 9, name: eth9, optional: true}/' "$LAB_DIR/n1.yaml"
	bridge_stop 1
	bridge_start 1
	on n1 kill -HUP "$(cat "$LAB_DIR/sluiced-n1.pid")"
	wait_for 30 cluster_is_up 1 2
	wait_for 30 cluster_is_up 2 2
	wait_for 10 knows_of_others
	[ "$(bridge_ask 3 peers | jq -c 'select(.node == 2).same_ports')" = true ]
	grep -q "node 2 knows of other system ports than we do" "$LAB_DIR/bridge-n1.err"
	no_carrier 1 2 9
	send_all h1p1 n1:eth1 h2p1 500 --dst 10.2.1.2
	send_all h2p2 n2:eth2 h1p2 500 --dst 10.1.2.2
	send_all h3p1 n3:eth1 h1p1 500 --dst fd00:0:1:1::2
}
