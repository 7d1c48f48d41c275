#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# sluice top on a terminal and in scripts: on a node of a cluster, and on one that is alone.
# shellcheck disable=SC2154 # variables are set by `run`
bats_require_minimum_version 1.5.0

load cluster

setup_file() {
	cluster_begin 2 1
	wait_for 10 on h1p1 ping -c 1 -W 1 10.2.1.2
	node_up alone
	link alone:eth1 fabric:alone
	printf 'ports:\n  - name: eth1\n' >"$LAB_DIR/alone.yaml"
	router_start alone
}

# terminal NODE SIZE ACTION...: sluice top on this node, on a terminal of this size
terminal() {
	local node=$1 size=$2
	shift 2
	on "$node" tests/tools/terminal.py "$size" "$@" -- build/sluice top -d 0.3
}

@test "80 columns: views by number and by tab, the fabric, the keys at the bottom, and the end" {
	terminal n1 80x24 'expect:^node 1 of 2 +every 0.3 s' 'expect:^xdp +in .*pps +here .* away .* kernel .* drop ' \
		'expect:^fabric out .*a msg +in .*peers 1/1' 'expect:^port +state +in pps' 'expect:^eth1 +up +[0-9]' \
		keys:2 'expect:^queue +control +limit +out pps' 'expect:^n2p1/0 +fixed' 'absent:^n2p1/1' \
		keys:a 'expect:^n2p1/1 +fixed' \
		"keys:$(printf '\t')" 'expect:^queue +netdev' 'expect:^n1p1/3 +eth1' \
		keys:4 'expect:^node +state +since' 'expect:^2 +up' \
		keys:5 'expect:^what and why' 'expect:^drop ip4-martian-source ' keys:a 'expect:^punt ' \
		keys:s 'expect:sort: rate' 'expect:^q quit  p pause'
	terminal n1 80x24 'expect:^q quit' keys:q end
}

@test "a terminal that is resized is filled, from 200 columns to 60 and back" {
	terminal n1 200x50 keys:2 'expect:^queue .* out +marked +bytes +frames *$' \
		resize:60x10 'absent:marked' 'expect:^queue +control' 'absent:drop/s' keys:a \
		resize:60x8 'expect:^ 1-2 of 4 ' "keys:$(printf '\033[6~')" 'expect:^ 3-4 of 4 +q quit' \
		resize:200x50 'expect:^queue .* out +marked +bytes +frames *$' keys:q end
}

@test "a slow terminal that is resized while it reads gets the whole screen" {
	terminal n1 200x50 'expect:^q quit' blocked resize:190x50 blocked resize:180x50 blocked resize:170x50 'expect:^q quit' keys:q end
}

@test "a paused screen does not change, and goes on after the pause" {
	terminal n1 80x24 'expect:^q quit' keys:p 'expect: paused ' still:1 keys:p 'absent: paused ' keys:q end
}

@test "a bridge that ends shows, and the screen goes on" {
	spawn n2 screen tests/tools/terminal.py 80x24 'expect:peers 1/1' 'expect:^fabric sluice-bridge is not running' \
		'expect:peers 1/1' keys:q end -- build/sluice top -d 0.3
	pid=$SPAWNED
	seen() { grep -q "^done expect:$1" "$LAB_DIR/screen.err"; }
	wait_for 10 seen 'peers 1/1'
	kill "$(cat "$LAB_DIR/bridge-n2.pid")"
	wait_for 10 seen '^fabric sluice-bridge is not running'
	bridge_start 2
	wait "$pid" || {
		cat "$LAB_DIR/screen.out" "$LAB_DIR/screen.err"
		false
	}
}

@test "a node alone has ports and drops, and says why the other views are empty" {
	terminal alone 80x24 'expect:^one node' 'absent:^fabric' 'expect:^eth1 +up' keys:2 \
		'expect:this node is in no cluster' keys:5 'expect:^what and why' keys:q end
	run -0 on alone build/sluice top -b -n 1 -d 0.1
	[ "$(grep -c '^one node' <<<"$output")" = 2 ]
	[ "$(grep -c '^eth1 ' <<<"$output")" = 1 ]
}

@test "batch: the figures are those of show, no line is longer than 80 columns" {
	run -0 on n1 build/sluice top -b -n 2 -d 0.1
	[ "$(grep -c '^node 1 of 2' <<<"$output")" = 10 ]
	batch=$output
	run -1 grep -nE '^.{81}' <<<"$batch"
	run -1 grep $'\033' <<<"$batch"
	COLUMNS=200 run -0 on n1 build/sluice top -b -n 1 -d 0.1
	grep -qE '^queue .* out +marked +bytes +frames *$' <<<"$output"
}

@test "batch in JSON: a line a round; counters rise by their rates, and are those of show" {
	on h1p1 build/lab/gen eth0 --json --dst-mac "$(mac_of n1 eth1)" --dst 10.2.1.2 --count 2000 --rate 2000 >"$LAB_DIR/gen.json" &
	run -0 on n1 build/sluice top -j -n 4 -d 0.5
	wait
	[ "${#lines[@]}" = 4 ]
	jq -ne --argjson r "$(printf '%s\n' "${lines[@]}" | jq -cs .)" '
		[$r[] | .voqs[] | select(.id == "n2p1/0")] as $q |
		$q[] | {taken_frames, taken_frames_per_s}, ([range(1; 4)] | all(. as $i |
			($q[$i].taken_frames - $q[$i - 1].taken_frames) as $d | $q[$i].taken_frames_per_s as $rate |
			# only top knows how long the interval was: about half a second on a busy machine
			$d == 0 and $rate == 0 or $d > 0 and $rate > 0 and $rate <= $d / 0.1))' >"$LAB_DIR/rates"
	cat "$LAB_DIR/rates"
	run -1 grep false "$LAB_DIR/rates"
	show_equals_top() {
		[ "$(on n1 build/sluice -j show voqs | jq -c '[.[] | [.port, .class, .enqueued_frames, .taken_frames]]')" = \
			"$(on n1 build/sluice top -j -n 1 -d 0.1 | jq -c '[.voqs[] | [.port, .class, .enqueued_frames, .taken_frames]]')" ]
	}
	wait_for 10 show_equals_top
}

@test "bad options are refused in one line" {
	for arguments in "top -n 0" "top -n x" "top -d 0" "top -d 1s" "top more" "-n 3 status"; do
		# shellcheck disable=SC2086 # words
		run -2 --separate-stderr on n1 build/sluice $arguments
		echo "$arguments: $stderr"
		[ "$(wc -l <<<"$stderr")" = 1 ]
	done
	run -2 --separate-stderr on n1 build/sluice top </dev/null
	[[ $stderr = *"is no terminal"* ]]
	run -3 on n1 build/sluice -s /run/nothing -B /run/nothing top -b -n 1 -d 0.1
}
