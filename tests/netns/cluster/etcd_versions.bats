#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# `sluice cluster apply`, `diff`, `history`, `rollback` and `status` with three members of etcd, without nodes.
# The oracle is etcdctl: it reads what was written. Takes 25 s.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

. netns-lab/lib/lab.sh
. netns-lab/lib/etcd.sh

setup_file() {
	lab_begin
	etcd_begin 3
	configuration >"$LAB_DIR/one.yaml"
	sed 's/1gbit/2gbit/' "$LAB_DIR/one.yaml" >"$LAB_DIR/two.yaml"
}
teardown_file() { lab_end; }

configuration() {
	cat <<-END
		# The whole cluster: größer
		cluster:
		  node: 2     # of whom the file is
		  fabric: {device: fab0}
		  nodes:
		    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}, {number: 2, name: eth2, rate: 1gbit}]}
		    - {id: 2, address: 10.9.0.2, ports: [{number: 1, name: eth1}]}
		    - {id: 9, address: 10.9.0.9, ports: [{number: 4, name: "eth4"}]}
	END
}

cluster() {
	local word=$1
	shift
	on e1 build/sluice cluster "$word" --settings "$LAB_DIR/${settings:-etcd.yaml}" "$@"
}

# value KEY; revision: of etcd's whole content
value() { etcdctl_at "${member:-1}" get --print-value-only "/sluice/$1"; }
revision() { etcdctl_at 1 get /sluice/current -w json | jq .header.revision; }
current() { cluster history -j | jq '.[-1].version'; }

@test "a version in etcd is the file, byte for byte, and current names it" {
	run cluster status
	[[ $output == *"Nothing has been applied yet"* ]]
	run -0 cluster apply "$LAB_DIR/one.yaml"
	[ "${lines[0]}" = "version 1 is written, the first one" ]
	[ "${lines[1]}" = "0 of 3 nodes have version 1 in force" ]
	# etcdctl puts a newline behind a value.
	value versions/0000000001 | head -c -1 | cmp - "$LAB_DIR/one.yaml"
	[ "$(member=3 value current)" = 1 ]
	[ "$(value applied/0000000001 | jq -c '[.from, .bytes]')" = "[0,$(stat -c %s "$LAB_DIR/one.yaml")]" ]
	run -0 cluster apply "$LAB_DIR/one.yaml"
	[ "$output" = "nothing differs from version 1" ]
	[ "$(value current)" = 1 ]
}

@test "diff names the keys, history the versions, rollback writes the old text as a new version" {
	run -0 cluster apply --based-on 1 "$LAB_DIR/two.yaml"
	[ "${lines[0]}" = "version 2 is written; it differs from version 1 in 1 key" ]
	[ "${lines[1]}" = "  cluster.nodes[1].ports[2].rate: 2gbit, was 1gbit" ]
	# Other forms of the same, another node's file, and one that lacks a node and has another port
	/usr/bin/python3 -c 'import json, sys, yaml; json.dump(yaml.safe_load(sys.stdin), sys.stdout)' \
		<"$LAB_DIR/two.yaml" | jq '.cluster.node = 1' >"$LAB_DIR/two.json"
	run -0 cluster diff "$LAB_DIR/two.json"
	[ "$output" = "version 2 and $LAB_DIR/two.json say the same" ]
	jq '.heartbeat_s = 5 | del(.cluster.nodes[2]) | .cluster.nodes[1].ports[0].name = "eth7"' "$LAB_DIR/two.json" >"$LAB_DIR/three.json"
	run -0 cluster diff "$LAB_DIR/three.json"
	[ "${lines[0]}" = "from version 2 to $LAB_DIR/three.json:" ]
	[ "${lines[1]}" = "  cluster.nodes[2].ports[1].name: eth7, was eth1" ]
	[[ ${lines[2]} = '  cluster.nodes[9]: removed, was {"id": "9", '* ]]
	[ "${lines[3]}" = "  heartbeat_s: added: 5" ]
	cluster diff -j 2 1 | jq -e '. == [{key: "cluster.nodes[1].ports[2].rate", from: "2gbit", to: "1gbit"}]'
	run -0 cluster rollback
	[ "${lines[0]}" = "version 3 is written; it differs from version 2 in 1 key" ]
	value versions/0000000003 | head -c -1 | cmp - "$LAB_DIR/one.yaml"
	[ "$(cluster history -j | jq -c 'map([.version, .from, .rollback])')" = '[[1,0,null],[2,1,null],[3,2,1]]' ]
	run -0 cluster history
	[[ ${lines[1]} = *"  text of version 1, current" ]]
}

@test "what a node could not read is refused with its line, and nothing is written" {
	local before
	before=$(revision)
	refused() { # SED-SCRIPT MESSAGE
		sed "$1" "$LAB_DIR/one.yaml" >"$LAB_DIR/bad.yaml"
		run -2 --separate-stderr cluster apply "$LAB_DIR/bad.yaml"
		echo "$stderr"
		[ "$stderr" = "sluice: cluster: $LAB_DIR/bad.yaml:$2" ]
	}
	refused 's/eth2/eth1/' '6: cluster.nodes[0].ports[1].name: "eth1" is named twice: write each port of a node once'
	refused 's/node: 2 /node: 3 /' '3: cluster.node: "3" is not among cluster.nodes: write the id of this node, and its entry there'
	# Only node 1 has it wrong, and this is the file of node 2.
	refused 's/name: eth1}, {/name: fab0}, {/' '3: cluster.fabric.device: "fab0" is an edge port of this node, too: the fabric needs its own netdev'
	refused 's/1gbit/fast/' '6: cluster.nodes[0].ports[1].rate: "fast" is not a rate: write bits a second as 10gbit or 500mbit, or frames a second as 2mpps'
	echo 'ports: [{name: eth1}]' >"$LAB_DIR/bad.yaml"
	run -2 --separate-stderr cluster apply "$LAB_DIR/bad.yaml"
	[[ $stderr == *"there is no \`cluster:\`: a node alone keeps its configuration in its file" ]]
	printf 'cluster:\n  nodes:\n    - {id: &one 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n  node: *one\n  fabric: {device: fab0}\n' >"$LAB_DIR/bad.yaml"
	run -2 --separate-stderr cluster apply "$LAB_DIR/bad.yaml"
	[[ $stderr == *"cluster.node: is not in its own place: write \"node: NUMBER\"" ]]
	run -2 --separate-stderr cluster apply "$LAB_DIR/none.yaml"
	[[ $stderr == *"$LAB_DIR/none.yaml: cannot read it: No such file or directory" ]]
	run -1 --separate-stderr cluster rollback 77
	[[ $stderr == *"etcd has no version 77: write one that \`sluice cluster history\` shows" ]]
	run -1 --separate-stderr cluster apply --based-on 1 "$LAB_DIR/two.yaml"
	[[ $stderr == *"--based-on: version 3 is current, not 1, so nothing is written"* ]]
	run -2 --separate-stderr cluster rollback yesterday
	[[ $stderr == *"write the number of a version"* ]]
	[ "$(revision)" = "$before" ]
}

# One of six wins; each other one is told, by --based-on if it came later, or by the transaction.
race() {
	local n before won=0 pids=()
	before=$(current)
	for n in 1 2 3 4 5 6; do
		sed "s/1gbit/$((before * 10 + n))mbit/" "$LAB_DIR/one.yaml" >"$LAB_DIR/at$n.yaml"
		on "e$((n % 3 + 1))" build/sluice cluster apply --settings "$LAB_DIR/etcd.yaml" --based-on "$before" "$LAB_DIR/at$n.yaml" \
			>"$LAB_DIR/at$n.out" 2>"$LAB_DIR/at$n.err" 3>&- &
		pids+=($!)
	done
	for n in 1 2 3 4 5 6; do
		if wait "${pids[n - 1]}"; then
			won=$((won + 1))
			value "versions/$(printf %010d $((before + 1)))" | head -c -1 | cmp - "$LAB_DIR/at$n.yaml" || return
		else
			cat "$LAB_DIR/at$n.err"
			grep -q "so nothing is written: see \`sluice cluster diff $before $((before + 1))\`" "$LAB_DIR/at$n.err" || return
		fi
	done
	[ $won = 1 ]
	[ "$(current)" = $((before + 1)) ]
}

@test "of several that apply at once one wins, the others are told" {
	# Until the transaction has judged one that read before the winner wrote.
	for _ in {1..20}; do
		race
		! grep -q "version .* has come since version" "$LAB_DIR"/at?.err || return 0
	done
	false
}

@test "with a member dead the others do, without a majority it says so and writes nothing" {
	local before
	before=$(current)
	member_stop 1
	run -0 cluster apply "$LAB_DIR/two.yaml"
	[ "$(member=2 value current)" = $((before + 1)) ]
	run -0 cluster status
	[[ ${lines[1]} = "https://10.8.0.101:2379"*"does not answer: "* ]]
	member_stop 2
	run -3 --separate-stderr cluster apply "$LAB_DIR/one.yaml"
	echo "$stderr"
	[[ $stderr = "sluice: cluster: etcd does not answer: "*"; https://10.8.0.103:2379: "*"timed out"* ]]
	member_start 1 existing
	member_start 2 existing
	wait_for 60 members_agree 3
	[ "$(current)" = $((before + 1)) ]
}

# goes_for PID: etcd goes until the command PID has failed for it, and comes back; node 1 is gone
goes_for() {
	local status=0
	member_stop 1
	member_stop 2
	wait "$1" || status=$?
	cat "$LAB_DIR/gone.out" "$LAB_DIR/gone.err"
	member_start 1 existing
	member_start 2 existing
	wait_for 60 members_agree 3
	etcdctl_at 3 del /sluice/present/1
	[ $status = 3 ]
}

@test "where etcd goes once a version is written, nobody claims to know which nodes have it" {
	local before pid
	written() { grep -q "^version $((before + 1)) is written" "$LAB_DIR/gone.out"; }
	before=$(current)
	sed 's/1gbit/3gbit/' "$LAB_DIR/one.yaml" >"$LAB_DIR/three.yaml"
	# A node that will not take it: the command waits.
	etcdctl_at 3 put /sluice/present/1 "{\"version\": $before, \"state\": \"in-force\"}"
	cluster apply --wait 5 "$LAB_DIR/three.yaml" >"$LAB_DIR/gone.out" 2>"$LAB_DIR/gone.err" 3>&- &
	pid=$!
	wait_for 20 written
	goes_for $pid
	run ! grep "in force$" "$LAB_DIR/gone.out"
	grep -qx "sluice: cluster: version $((before + 1)) is written, but which nodes have it in force is not known" "$LAB_DIR/gone.err"
	grep -q "^sluice: cluster: etcd does not answer: " "$LAB_DIR/gone.err"
	cluster rollback --wait 0
}

@test "where etcd goes while a node comes to rest, that is said, and not how the node stood before" {
	local pid
	waits() { grep -q "^node 1 is drained since an earlier version" "$LAB_DIR/gone.out"; }
	etcdctl_at 3 put /sluice/present/1 "{\"version\": $(($(current) + 1)), \"state\": \"in-force\", \"drain\": {\"at_rest\": false}}"
	run -1 cluster drain --wait 0 --timeout 1 1
	cluster drain --timeout 5 1 >"$LAB_DIR/gone.out" 2>"$LAB_DIR/gone.err" 3>&- &
	pid=$!
	wait_for 20 waits
	goes_for $pid
	grep -q "^sluice: cluster: etcd does not answer: " "$LAB_DIR/gone.err"
	cluster undrain --wait 0 1
}

@test "without a certificate, or with that of a stranger's CA, nobody reads or writes" {
	local before
	before=$(revision)
	grep -v 'certificate\|key' "$LAB_DIR/etcd.yaml" >"$LAB_DIR/bare.yaml"
	settings=bare.yaml run -3 --separate-stderr cluster apply "$LAB_DIR/one.yaml"
	echo "$stderr"
	[[ $stderr == *"https://10.8.0.103:2379: "*" (does it want a certificate, or another one?)" ]]
	sed 's|/client\.|/stranger.|' "$LAB_DIR/etcd.yaml" >"$LAB_DIR/stranger.yaml"
	settings=stranger.yaml run -3 --separate-stderr cluster history
	echo "$stderr"
	[[ $stderr == *"https://10.8.0.103:2379: "*" (does it want a certificate, or another one?)" ]]
	# A member whose certificate another CA has signed is not believed.
	sed 's|/ca\.pem|/strange-ca.pem|' "$LAB_DIR/etcd.yaml" >"$LAB_DIR/wrong-ca.yaml"
	settings=wrong-ca.yaml run -1 --separate-stderr cluster history
	[[ $stderr = "sluice: cluster: etcd does not let us in: SSL certificate problem: "*": see ca, certificate, key, user and password_file in $LAB_DIR/wrong-ca.yaml" ]]
	[ "$(revision)" = "$before" ]
}

@test "a user writes where its role lets it, with its password alone" {
	local before
	etcdctl_at 1 user add root:secret
	etcdctl_at 1 user grant-role root root
	etcdctl_at 1 role add writer
	etcdctl_at 1 role grant-permission writer --prefix=true readwrite /sluice/
	etcdctl_at 1 user add operator:swordfish
	etcdctl_at 1 user grant-role operator writer
	before=$(current)
	etcdctl_at 1 auth enable
	echo swordfish >"$LAB_DIR/password"
	echo perch >"$LAB_DIR/wrong-password"
	{ cat "$LAB_DIR/etcd.yaml" && printf 'user: operator\npassword_file: %s\n' "$LAB_DIR/password"; } >"$LAB_DIR/user.yaml"
	sed 's|/password$|/wrong-password|' "$LAB_DIR/user.yaml" >"$LAB_DIR/wrong-user.yaml"
	run -1 --separate-stderr cluster apply "$LAB_DIR/one.yaml"
	[[ $stderr = "sluice: cluster: etcd does not let us in: etcdserver: user name is empty: see "* ]]
	settings=wrong-user.yaml run -1 --separate-stderr cluster apply "$LAB_DIR/one.yaml"
	[[ $stderr = "sluice: cluster: etcd does not let us in: etcdserver: authentication failed, "* ]]
	settings=user.yaml run -0 cluster apply "$LAB_DIR/one.yaml"
	export ETCD_USER=root:secret
	[ "$(value current)" = $((before + 1)) ]
	{ cat "$LAB_DIR/user.yaml" && echo 'prefix: /other/'; } >"$LAB_DIR/elsewhere.yaml"
	settings=elsewhere.yaml run -1 --separate-stderr cluster apply "$LAB_DIR/one.yaml"
	[[ $stderr = "sluice: cluster: etcd does not let us in: etcdserver: permission denied: "* ]]
	sed 's/^user: .*//' "$LAB_DIR/user.yaml" >"$LAB_DIR/half.yaml"
	settings=half.yaml run -2 --separate-stderr cluster history
	[[ $stderr == *"/half.yaml:1: \"user\" is missing beside password_file: write \"user: ...\"" ]]
}

@test "the last hundred versions stay" {
	local n before
	before=$(settings=user.yaml current)
	for n in $(seq 97); do
		sed "s/1gbit/${n}kbit/" "$LAB_DIR/one.yaml" >"$LAB_DIR/more.yaml"
		settings=user.yaml cluster apply --wait 0 "$LAB_DIR/more.yaml" >/dev/null
	done
	[ "$(settings=user.yaml cluster history -j | jq -c '[length, .[0].version, .[-1].version]')" = "[100,$((before - 2)),$((before + 97))]" ]
	[ "$(ETCD_USER=root:secret etcdctl_at 1 get --prefix --keys-only /sluice/versions/ | grep -c versions)" = 100 ]
}
