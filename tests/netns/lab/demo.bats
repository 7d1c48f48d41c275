#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The demo shows what it promises, says so if it cannot, and leaves nothing behind, however it ends.
bats_require_minimum_version 1.5.0
. netns-lab/lib/jq.sh
# shellcheck source=tests/lib/interrupt.bash disable=SC1091
. tests/lib/interrupt.bash

setup() {
	LAB_ROOT=$(mktemp -d)
	export LAB_ROOT CLUSTER_LIVENESS_MS=5000 # a bridge that waits long for a processor is not dead
	links=$(ip -o link | wc -l)
	pins=$(find /sys/fs/bpf | wc -l)
}

teardown() {
	netns-lab/lab down --all
	rmdir "$LAB_ROOT"
}

assert_nothing_left() {
	[ -z "$(ls "$LAB_ROOT")" ]
	[ "$(grep -lzF "SLUICE_LAB=$LAB_ROOT/" /proc/[0-9]*/environ 2>/dev/null | wc -l)" = 0 ]
	[ "$(ip -o link | wc -l)" = "$links" ]
	[ "$(find /sys/fs/bpf | wc -l)" = "$pins" ]
}

# Start the demo in a session of its own and with SIGINT enabled, as from a terminal.
start_demo() {
	setsid env --default-signal=INT netns-lab/demo --quick >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	DEMO=$!
}

# reached TEXT: the demo has shown it
reached() {
	local deadline=$((SECONDS + 600))
	until grep -q -- "$1" "$BATS_TEST_TMPDIR/out" 2>/dev/null; do
		[ $SECONDS -lt $deadline ] && kill -0 "$DEMO" || return
		sleep 0.05
	done
}

# ends_with STATUS: does the demo end so, soon, and leave nothing, not even a helper process
# (zombies aside)?
ends_with() {
	local status=0 deadline=$((SECONDS + 60 * ${LAB_PATIENCE:-1}))
	tail -n 15 "$BATS_TEST_TMPDIR/out"
	wait "$DEMO" || status=$?
	[ $SECONDS -le $deadline ]
	[ "$status" = "$1" ]
	while ps -o stat= -s "$DEMO" | awk '/^[^Z]/ { alive = 1 } END { exit !alive }'; do
		[ $SECONDS -lt $deadline ]
		sleep 0.05
	done
	grep -qx 'All removed.' "$BATS_TEST_TMPDIR/out"
	assert_nothing_left
}

interrupt_at() {
	start_demo
	reached "$1"
	press_ctrl_c "$DEMO"
	ends_with 130
}

# With --stay, as far as Enter, since whatever holds then holds without.
@test "the demo runs to its end, fits 80 columns, reports, and leaves its cluster to a browser until Enter" {
	local page status=0
	rm -rf build/demo
	mkfifo "$BATS_TEST_TMPDIR/keys"
	setsid netns-lab/demo --quick --stay <"$BATS_TEST_TMPDIR/keys" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	DEMO=$!
	exec 9>"$BATS_TEST_TMPDIR/keys"
	reached 'The page: '
	page=$(grep -o 'http://127.0.0.1:[^[:space:]]*token=.*' "$BATS_TEST_TMPDIR/out")
	curl -sS --fail --location --cookie "" "$page" | grep -q '<title>'
	curl -sS --fail --header "Authorization: Bearer ${page#*token=}" "${page%/\?*}/api/node" |
		jq -e '(.status | type) == "object" and (.peers | map(.state)) == ["up", "up"]'
	grep -q "netns-lab/lab exec $(netns-lab/lab list -j | jq -r '.[0].id'):n1 bash" "$BATS_TEST_TMPDIR/out"
	echo >&9
	exec 9>&-
	wait "$DEMO" || status=$?
	[ $status -eq 0 ]
	output=$(cat "$BATS_TEST_TMPDIR/out")
	mapfile -t lines < <(grep . <<<"$output")
	tail -n 15 <<<"$output"
	[ "${lines[-1]}" = "All removed." ]
	[[ "${lines[-2]}" == "All of it held, in "* ]]
	[ -z "$(awk 'length > 80' <<<"$output")" ]
	[ "$(grep -ciE 'error|killed +env|not found' <<<"$output")" = 0 ]

	# every pair of hosts, both families, one hop; and the summary of these pings
	[ "$(awk '$4 == 3 && $5 == 63' build/demo/pings.txt | wc -l)" = 60 ]
	[[ "$output" == *"30 pairs, both families, 3 of 3 answers, TTL 63"* ]]
	# the whole table on all nodes
	tail -n 1 build/demo/table.txt | awk '{ exit !($2 >= 25000 && $3 >= 25000 && $4 >= 25000) }'
	# ICMP errors are those of the node where the packet entered
	[[ "$output" == *"From 10.3.1.1 icmp_seq=1 Frag needed and DF set (mtu = 1500)"* ]]
	[[ "$output" == *"From fd00:0:3:1::1 icmp_seq=1 Packet too big: mtu=1500"* ]]
	[[ "$output" == *"200, 20000000 bytes"*"200, 20000000 bytes"* ]]
	# the live views, while traffic flows
	[[ "$output" == *'n2$ sluice top'*'n2$ sluice show voqs'*'n3$ sluice show egress-queues'* ]]
	# measured: frames shared messages, kernel and sluice were compared, nothing was lost
	# without a name
	jq -e '.flood.packing > 1.5 and (.trials | length) >= 3 and .ledger.wrong == []' build/demo/load.json
	jq -e '.runs.sluice[0].flood_pps > 0 and (.runs.kernel | length) == 1' build/demo/rates.json
	jq -e '.wrong == [] and .restarted == [] and (.nodes | length) == 3' build/demo/conservation.json
	# the failure: in this order, and only what went between nodes was lost
	jq -e '.times | .killed < .noticed and .noticed <= .healed and .healed < .started and .started < .back and
		.back <= .home and .started < .whole' build/demo/failure.json
	jq -e '.lost > 0 and .within_lost <= .within_refused and .came.h2p2 > 0 and .came.h3p2 > 0' build/demo/failure.json

	# the page in a browser, and how to look at it
	[ "$(head -c 4 build/demo/page.png | tail -c 3)" = PNG ]
	[ "$(grep -c 'src="data:image/png;base64,' build/demo/report.html)" = 1 ]
	[[ "$output" == *"Look at it: open "*report.html*http://127.0.0.1:9180/* ]]
	for picture in table forwarded load rates failure; do
		grep -q '</svg>' build/demo/$picture.svg
		[ "$(head -c 4 build/demo/$picture.png | tail -c 3)" = PNG ]
	done
	[ "$(grep -c '<svg' build/demo/report.html)" = 5 ]
	assert_nothing_left
}

@test "a promise that does not hold ends the demo with one line that says so" {
	mkdir "$BATS_TEST_TMPDIR/bin"
	# a traceroute that sees two hops instead of one
	printf '#!/bin/sh\n/usr/sbin/traceroute "$@" 2>/dev/null || /usr/bin/traceroute "$@"\necho " 3  192.0.2.1  1 ms"\n' \
		>"$BATS_TEST_TMPDIR/bin/traceroute"
	chmod +x "$BATS_TEST_TMPDIR/bin/traceroute"
	PATH=$BATS_TEST_TMPDIR/bin:$PATH run netns-lab/demo --quick
	tail -n 15 <<<"$output"
	[ "$status" -eq 1 ]
	[ "$(grep -c 'demo: not as promised: the cluster is one hop: ' <<<"$output")" = 1 ]
	[ "${lines[-1]}" = "All removed." ]
	assert_nothing_left
}

@test "Ctrl-C while the demo builds its cluster leaves nothing" { interrupt_at '^1\. '; }

@test "Ctrl-C while all hosts ping leaves nothing" { interrupt_at '^4\. '; }

@test "Ctrl-C while the demo measures leaves nothing" { interrupt_at '^7\. '; }

@test "SIGTERM while the demo runs a command ends it at once and leaves nothing" {
	start_demo
	reached 'iperf3 -c '
	kill -TERM "$DEMO"
	ends_with 143
}

@test "the demo refuses an unknown option" {
	run netns-lab/demo --fast
	[ "$status" -eq 2 ]
	[ "$output" = 'lab: demo: unknown option "--fast"; see demo --help' ]
}
