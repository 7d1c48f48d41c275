#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A cluster of three nodes whose configuration is in etcd of three members: it changes under traffic by
# `sluice cluster apply`; what is broken is refused everywhere; etcd dies member by member, altogether,
# hangs, stutters, is cut off, and comes back from an old snapshot. Nothing of that loses a packet. Takes 120 s.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. netns-lab/lib/etcd.sh

setup_file() {
	local n
	cluster_begin 3 2
	etcd_begin 3
	for n in 1 2 3; do
		etcd_join n$n $n
		cp "$LAB_DIR/n$n.yaml" "$LAB_DIR/first-n$n.yaml"
		agent_start $n
	done
	cp "$LAB_DIR/n2.yaml" "$LAB_DIR/all.yaml"
	hosts_meet
}

cluster() {
	local word=$1
	shift
	on "${at:-e1}" build/sluice cluster "$word" --settings "$LAB_DIR/etcd.yaml" "$@"
}
apply() { cluster apply --wait 100 "$1"; }
current() { cluster history -j | jq '.[-1].version // 0'; }

# files_are FILE: does each node have that text, with its own number in it? sed is the oracle.
files_are() {
	local n
	for n in 1 2 3; do sed "s/^  node: .*/  node: $n/" "$1" | cmp - "$LAB_DIR/n$n.yaml" || return; done
}
inodes() { stat -c %i:%y "$LAB_DIR"/n?.yaml; }
# What the daemons have logged about reloads
reloads() { cat "$LAB_DIR"/sluiced-n?.err "$LAB_DIR"/bridge-n?.err | grep -c "reload" || true; }
present() { etcdctl_at "${member:-1}" get --print-value-only "/sluice/present/$1"; }

all_present() { local n; for n in 1 2 3; do [ -n "$(member=2 present $n)" ] || return; done; }

@test "without a version, nodes go on with their files; the same as a version changes nothing" {
	local before reloads
	wait_for 20 agents_say '.current == 0 and .etcd.reached' 1 2 3
	before=$(inodes) reloads=$(reloads)
	run -0 apply "$LAB_DIR/all.yaml"
	echo "$output"
	[ "${lines[-1]}" = "3 of 3 nodes have version 1 in force" ]
	[ "$(inodes)" = "$before" ]
	[ "$(reloads)" = "$reloads" ]
	files_are "$LAB_DIR/all.yaml"
	[ "$(present 2 | jq -c '[.version, .state, .refused]')" = '[1,"in-force",null]' ]
	run -0 cluster status
	[ "$(grep -cE "^ +[123] +1  $(cat VERSION) +4-5 +in force\$" <<<"$output")" = 3 ]
	[ "$(present 2 | jq -c .release)" = "$(jq -nc --arg v "$(cat VERSION)" '{agent: $v, sluiced: $v, bridge: $v, protocol: [4, 5], away: []}')" ]
}

leave_and_join() {
	sed '/id: 3/,$d' "$LAB_DIR/all.yaml" >"$LAB_DIR/two.yaml"
	# Node 3 has no place in it, and keeps what it has.
	apply "$LAB_DIR/two.yaml" || return
	in_force 2 1 2 || return
	! on n1 ip link show n3p1 2>/dev/null || return
	agents_say '.version == 1 and .refused.version == 2 and (.refused.why | test("\"3\" is not among cluster.nodes"))' 3 || return
	cluster rollback --wait 100 && in_force 3 1 2 3 || return
	wait_for 20 carrier 1 3 1 && wait_for 20 carrier 3 1 1
}

@test "a node leaves and joins by apply and rollback under traffic, and nothing of the others' is lost" {
	arrives leave_and_join
	files_are "$LAB_DIR/all.yaml"
	hosts_meet
	send_all h1p1 n1:eth1 h3p1 500 --dst 10.3.1.2
}

@test "what needs a restart, and what a host lacks, is refused by name; the file is as before" {
	local before sum
	before=$(inodes)
	sed 's/liveness_ms: .*/liveness_ms: 77/' "$LAB_DIR/all.yaml" >"$LAB_DIR/restart.yaml"
	run -1 apply "$LAB_DIR/restart.yaml"
	echo "$output"
	[ "$(grep -cE '^node [123]: refuses version 4: sluice-bridge: reload: `liveness_ms` changed, which takes a restart of sluice-bridge$' <<<"$output")" = 3 ]
	[ "${lines[-1]}" = "0 of 3 nodes have version 4 in force" ]
	files_are "$LAB_DIR/all.yaml"
	sed "s/^  node: .*/  node: 1/" "$LAB_DIR/restart.yaml" | cmp - "$LAB_DIR/n1.yaml.refused"
	[ ! -e "$LAB_DIR/n1.yaml.former" ]
	in_force 3 1 2 3
	# The bridges take this, which only sluiced refuses: they go back with the file.
	sum=$(bridge_ask 1 configuration | jq -r .sum)
	sed 's/^heartbeat_s: .*/&\nmetrics: "192.0.2.77:9101"/' "$LAB_DIR/all.yaml" >"$LAB_DIR/metrics.yaml"
	run -1 apply "$LAB_DIR/metrics.yaml"
	echo "$output"
	[ "$(grep -cF ': refuses version 5: sluiced: cannot offer metrics at "192.0.2.77:9101": Cannot assign requested address' <<<"$output")" = 3 ]
	grep -q 'configuration .* reloaded' "$LAB_DIR/bridge-n1.err"
	wait_for 10 in_force 3 1 2 3
	files_are "$LAB_DIR/all.yaml"
	[ "$(bridge_ask 1 configuration | jq -r .sum)" = "$sum" ]
	# Then a version that all take is taken, whatever was refused before.
	sed '/id: 2/,/id: 3/s/number: 2, name: eth2/number: 2, name: eth2, optional: true/' "$LAB_DIR/all.yaml" >"$LAB_DIR/optional.yaml"
	run -0 apply "$LAB_DIR/optional.yaml"
	files_are "$LAB_DIR/optional.yaml"
	run -0 apply "$LAB_DIR/all.yaml"
	files_are "$LAB_DIR/all.yaml"
}

# --- etcd away ---

say() { echo "$@" >>"$LAB_DIR/table"; }
stands() {
	local n
	for n in 1 2 3; do say "  node $n: $(agent_ask $n | jq -c '[.version, .state, .etcd.reached, .note]')"; done
}
away() { agents_say '.etcd.reached | not' 1 2 3; }
heard() { agents_say '.etcd.reached' 1 2 3; }

one_by_one() {
	local m
	for m in 1 2; do
		member_stop $m
		# With two of three all goes on; with one, it hears of no change.
		if [ $m = 1 ]; then
			sed 's/^heartbeat_s: .*/heartbeat_s: 500/' "$LAB_DIR/all.yaml" >"$LAB_DIR/change.yaml"
			at=e2 apply "$LAB_DIR/change.yaml" || return
			files_are "$LAB_DIR/change.yaml" || return
		else
			wait_for 40 away || return
		fi
		say "member $m killed:" && stands
	done
	member_stop 3
	# The agents' daemons and files stay; one node's daemons start anew with what is on disk.
	say "all killed:" && stands
	run -3 --separate-stderr cluster status
	at=n2 run -3 --separate-stderr cluster status
	[[ $output == *"This node, 2: version $(agent_ask 2 | jq .version); its agent has not heard etcd for "* ]] || return
	files_are "$LAB_DIR/change.yaml" || return
	for m in 1 2 3; do member_start $m existing || return; done
	wait_for 60 heard || return
	say "all back:" && stands
}

@test "members die one by one and come back: nodes go on, no packet is lost" {
	: >"$LAB_DIR/table"
	untouched one_by_one
	cat "$LAB_DIR/table"
	in_force "$(current)" 1 2 3
	wait_for 20 all_present
	at=e3 run -0 apply "$LAB_DIR/all.yaml"
	files_are "$LAB_DIR/all.yaml"
}

# Through all of a call to the members, which takes 18 s, an agent answers, as to sluiced, which has metrics of it.
answers() {
	local first
	first=$(agent_ask 1 | jq .etcd.failures)
	called() {
		local failures
		failures=$(on n1 timeout 5 socat -t 60 - UNIX:/run/sluice/sluice-cluster.sock <<<'{"command": "status"}' | jq 'select(.etcd).etcd.failures')
		[ -n "$failures" ] || { touch "$LAB_DIR/unanswered" && return 0; }
		[ "$failures" -gt "$first" ]
	}
	wait_for 60 called && [ ! -e "$LAB_DIR/unanswered" ]
}

hang() {
	local m
	for m in 1 2 3; do kill -STOP "$(cat "$LAB_DIR/etcd$m.pid")"; done
	wait_for 60 away || return
	stands
	answers || return
	for m in 1 2 3; do kill -CONT "$(cat "$LAB_DIR/etcd$m.pid")"; done
	wait_for 60 heard
}

@test "members that hang are as members that are away" {
	local files reloads
	files=$(inodes) reloads=$(reloads)
	untouched hang
	[ "$(inodes)" = "$files" ]
	[ "$(reloads)" = "$reloads" ]
}

# Member 1, which all agents ask first, is cut off from the others, not from the nodes.
cut_off() {
	on e1 nft -f - <<-'END'
		table ip cut {
			chain in { type filter hook input priority 0; ip saddr { 10.8.0.102, 10.8.0.103 } drop; }
		}
	END
	# Their leases, of 3 s, may end before they have given the member up.
	wait_for 60 agents_say '.etcd.reached and .etcd.endpoint != "https://10.8.0.101:2379"' 1 2 3 || return
	wait_for 20 all_present || return
	sed 's/^heartbeat_s: .*/heartbeat_s: 507/' "$LAB_DIR/all.yaml" >"$LAB_DIR/change.yaml"
	at=e2 apply "$LAB_DIR/change.yaml" && files_are "$LAB_DIR/change.yaml" || return
	say "member 1 cut off from the others:" && stands
	on e1 nft delete table ip cut
	wait_for 60 members_agree 3
}

@test "a member that is cut off from the others is left for one that is not" {
	: >"$LAB_DIR/table"
	untouched cut_off
	cat "$LAB_DIR/table"
	wait_for 20 all_present
	run -0 apply "$LAB_DIR/all.yaml"
}

# All members stand still for half of the time, in turns of 0.4 s, until a line comes on descriptor 9.
stutter() {
	local signal=CONT
	signal_all STOP
	until read -r -t 0.4 -u 9; do
		signal_all $signal
		[ $signal = STOP ] && signal=CONT || signal=STOP
	done
	signal_all CONT
}
signal_all() { for m in 1 2 3; do kill -"$1" "$(cat "$LAB_DIR/etcd$m.pid")"; done; }

slow() {
	local pid status=0
	mkfifo "$LAB_DIR/enough"
	exec 9<>"$LAB_DIR/enough"
	stutter 3>&- &
	pid=$!
	sed 's/^heartbeat_s: .*/heartbeat_s: 508/' "$LAB_DIR/all.yaml" >"$LAB_DIR/change.yaml"
	apply "$LAB_DIR/change.yaml" || status=1
	wait_for 60 files_are "$LAB_DIR/change.yaml" || status=1
	echo >&9
	wait $pid || status=1
	exec 9>&-
	return $status
}

@test "through members that stand still half of the time, a change comes to the nodes all the same" {
	untouched slow
	wait_for 20 all_present
	run -0 apply "$LAB_DIR/all.yaml"
}

@test "without etcd, a node starts anew with the last good configuration" {
	local m
	for m in 1 2 3; do member_stop $m; done
	bridge_stop 3
	kill "$(cat "$LAB_DIR/sluiced-n3.pid")"
	await_end sluiced-n3
	wait_for 40 agents_say '.waits | test("does not run")' 3
	cluster_start 3
	wait_for 60 cluster_is_up 3 2
	wait_for 60 carrier 1 3 1
	wait_for 20 in_force "$(agent_ask 1 | jq .version)" 3
	hosts_meet
	send_all h1p1 n1:eth1 h3p1 500 --dst 10.3.1.2
	for m in 1 2 3; do member_start $m existing; done
	wait_for 60 heard
}

restore() {
	local m
	for m in 1 2 3; do member_stop $m; done
	for m in 1 2 3; do
		rm -r "$LAB_DIR/e$m.etcd"
		ETCDCTL_API=3 etcdctl snapshot restore "$LAB_DIR/hour-old.db" --name "e$m" --data-dir "$LAB_DIR/e$m.etcd" \
			--initial-cluster "$ETCD_CLUSTER" --initial-cluster-token restored \
			--initial-advertise-peer-urls "https://10.8.0.$((100 + m)):2380" >/dev/null 2>&1 || return
	done
	for m in 1 2 3; do ETCD_TOKEN=restored member_start $m || return; done
	wait_for 60 members_agree 3
	wait_for 60 heard || return
	wait_for 60 agents_say ".note | test(\"older than version $1 here: was it restored from a backup\")" 1 2 3 || return
	say "restored from a snapshot of version $2:" && stands
}

@test "etcd restored from an old snapshot: nodes keep the newer version until one with a higher number" {
	local old files reloads
	old=$(current)
	etcdctl_at 1 snapshot save "$LAB_DIR/hour-old.db"
	sed 's/^heartbeat_s: .*/heartbeat_s: 501/' "$LAB_DIR/all.yaml" >"$LAB_DIR/change.yaml"
	apply "$LAB_DIR/change.yaml"
	sed 's/^heartbeat_s: .*/heartbeat_s: 502/' "$LAB_DIR/all.yaml" >"$LAB_DIR/change.yaml"
	apply "$LAB_DIR/change.yaml"
	files=$(inodes) reloads=$(reloads)
	: >"$LAB_DIR/table"
	untouched restore $((old + 2)) "$old"
	cat "$LAB_DIR/table"
	[ "$(current)" = "$old" ]
	[ "$(inodes)" = "$files" ]
	[ "$(reloads)" = "$reloads" ]
	files_are "$LAB_DIR/change.yaml"
	run -0 cluster status
	[[ $output == *"Nodes have version $((old + 2)) in force, which etcd does not know: was it restored from a backup?"* ]]
	# An agent that starts meanwhile believes what is beside the file, not etcd.
	kill -9 "$(cat "$LAB_DIR/agent-n3.pid")"
	agent_start 3
	wait_for 20 agents_say ".version == $((old + 2)) and (.note | test(\"older than\"))" 3
	wait_for 20 all_present
	# The very text that etcd has as current is one that nodes do not have: it gets a number that they take.
	run -0 apply "$LAB_DIR/all.yaml"
	[ "${lines[-1]}" = "3 of 3 nodes have version $((old + 3)) in force" ]
	files_are "$LAB_DIR/all.yaml"
	in_force $((old + 3)) 1 2 3
}

@test "an agent that dies is no longer present, changes nothing, and takes what it missed" {
	local before
	gone() { [ -z "$(present 2)" ]; }
	before=$(current)
	kill -9 "$(cat "$LAB_DIR/agent-n2.pid")"
	wait_for 20 gone
	run -0 cluster status
	grep -qE '^ +2 +- +- +- +no agent is present$' <<<"$output"
	sed 's/^heartbeat_s: .*/heartbeat_s: 503/' "$LAB_DIR/all.yaml" >"$LAB_DIR/change.yaml"
	run -0 apply "$LAB_DIR/change.yaml"
	[ "${lines[-1]}" = "2 of 3 nodes have version $((before + 1)) in force" ]
	run ! files_are "$LAB_DIR/change.yaml"
	agent_start 2
	wait_for 20 in_force $((before + 1)) 2
	files_are "$LAB_DIR/change.yaml"
	# Ended in peace, it says so at once.
	kill "$(cat "$LAB_DIR/agent-n2.pid")"
	await_end agent-n2
	gone
}

@test "an agent that died between file and daemons goes on where it was; a change by hand is left alone" {
	local before
	before=$(current)
	sed 's/^heartbeat_s: .*/heartbeat_s: 504/' "$LAB_DIR/all.yaml" >"$LAB_DIR/change.yaml"
	apply "$LAB_DIR/change.yaml"
	# As it would lie there after a crash: the former file, and the new one, which nobody has read.
	ln "$LAB_DIR/n2.yaml" "$LAB_DIR/n2.yaml.former"
	sed "s/^  node: .*/  node: 2/" "$LAB_DIR/change.yaml" >"$LAB_DIR/new"
	mv "$LAB_DIR/new" "$LAB_DIR/n2.yaml"
	agent_start 2
	wait_for 20 in_force $((before + 1)) 2
	[ ! -e "$LAB_DIR/n2.yaml.former" ]
	sed -i 's/^heartbeat_s: .*/heartbeat_s: 505/' "$LAB_DIR/n2.yaml"
	wait_for 20 agents_say '.note | test("changed by hand since version")' 2
	grep -q 'heartbeat_s: 505' "$LAB_DIR/n2.yaml"
	run -0 apply "$LAB_DIR/all.yaml"
	files_are "$LAB_DIR/all.yaml"
}

@test "a version in force whose text etcd has lost stays in force, and is told once" {
	local now
	refused() { grep -c "version $now is refused: etcd names it as current, and does not have it" "$LAB_DIR/agent-n2.err"; }
	now=$(current)
	kill "$(cat "$LAB_DIR/agent-n2.pid")"
	await_end agent-n2
	etcdctl_at 1 del "/sluice/versions/$(printf %010d "$now")"
	agent_start 2
	wait_for 20 agents_say ".refused.version == $now" 2
	# Two more looks, each of which sees something else
	on n2 mv /run/sluice/sluiced.sock /run/sluice/aside.sock
	wait_for 20 agents_say '.state == "waiting"' 2
	on n2 mv /run/sluice/aside.sock /run/sluice/sluiced.sock
	wait_for 20 in_force "$now" 2
	[ "$(refused)" = 1 ]
	files_are "$LAB_DIR/all.yaml"
	sed 's/^heartbeat_s: .*/heartbeat_s: 506/' "$LAB_DIR/all.yaml" >"$LAB_DIR/change.yaml"
	apply "$LAB_DIR/change.yaml"
	apply "$LAB_DIR/all.yaml"
}

@test "with users, agents go on after all members have forgotten their tokens" {
	local n m before
	export ETCD_USER=root:secret
	etcdctl_at 1 user add root:secret
	etcdctl_at 1 user grant-role root root
	etcdctl_at 1 role add node
	etcdctl_at 1 role grant-permission node --prefix=true readwrite /sluice/
	etcdctl_at 1 user add node:carp
	etcdctl_at 1 user grant-role node node
	before=$(current)
	etcdctl_at 1 auth enable
	# Those without a password are shut out, and keep what they have.
	wait_for 40 agents_say '.etcd.why | test("user name is empty")' 1 2 3
	files_are "$LAB_DIR/all.yaml"
	echo carp >"$LAB_DIR/password"
	printf 'user: node\npassword_file: %s\n' "$LAB_DIR/password" >>"$LAB_DIR/etcd.yaml"
	for n in 1 2 3; do
		kill "$(cat "$LAB_DIR/agent-n$n.pid")"
		AGENT_SETTINGS=$(printf 'user: node\npassword_file: %s' "$LAB_DIR/password") agent_start $n
	done
	wait_for 20 heard
	for m in 1 2 3; do member_stop $m; done
	for m in 1 2 3; do ETCD_TOKEN=restored member_start $m existing; done
	wait_for 60 heard
	sed 's/^heartbeat_s: .*/heartbeat_s: 506/' "$LAB_DIR/all.yaml" >"$LAB_DIR/change.yaml"
	run -0 apply "$LAB_DIR/change.yaml"
	[ "${lines[-1]}" = "3 of 3 nodes have version $((before + 1)) in force" ]
	files_are "$LAB_DIR/change.yaml"
}
