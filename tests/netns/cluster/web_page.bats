#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The page of `sluice web` in a browser, of a node of a cluster and of the whole: at rest, under congestion, and with a
# node down. axe-core judges contrast, names and structure; the pictures stay in the lab's folder until the end, or in
# PICTURES. 60 s.
# shellcheck disable=SC2154 # variables are set by `run`
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh
. tests/lib/shaped.bash

setup_file() {
	export CLUSTER_PORT_n2p1="rate: 10mbit, controller: price" CLUSTER_BRIDGE="delay_sample: 1"
	cluster_begin 2 2
	wait_for 30 on h1p1 ping -c 1 -W 1 10.2.1.2
	wait_for 30 on h2p2 ping -c 1 -W 1 10.2.1.2
	(umask 077 && echo "$TOKEN" >"$LAB_DIR/token")
	spawn n2 web2 build/sluice web -t "$LAB_DIR/token" 10.9.0.2:9180
	wait_for 10 grep -q listening "$LAB_DIR/web2.err"
	spawn n1 web1 build/sluice web --token-file="$LAB_DIR/token" --node=10.9.0.2:9180 9180
	wait_for 10 grep -q listening "$LAB_DIR/web1.err"
}

TOKEN=0123456789abcdef
ask() { on n1 curl -sS -m 10 "$@"; }
status_of() { ask -o /dev/null -w '%{http_code}' "$@"; }

teardown() { flows_kill; }

none_waits() { ! holds n2p1 0 1; }
has_episode() { bridge_ask 2 busy | jq -se 'any(.port == "n2p1" and .episodes != [])'; }

# look NAME WORD...: the page of the cluster at PORT in a browser, once it shows these words
look() { on n1 env HOME="$LAB_DIR" tests/tools/browse_page.py "http://127.0.0.1:${PORT:-9180}/?token=$TOKEN" "${PICTURES:-$LAB_DIR}/$1" "${@:2}"; }

@test "what other hosts reach wants a token" {
	run -2 --separate-stderr on n2 build/sluice web 0.0.0.0:9181
	[ "$stderr" = 'sluice: web: other hosts would reach "0.0.0.0:9181": give a token by --token-file, or listen at 127.0.0.1 or [::1]' ]
	local at=http://10.9.0.2:9180 path
	for path in / /api/node /api/ports /events "/api/ports?token=$TOKEN" "/?token=${TOKEN%?}" "/?token=${TOKEN}0" '/?token='; do
		echo "$path"
		[ "$(status_of "$at$path")" = 401 ]
		[ "$(status_of -H "Authorization: Bearer ${TOKEN%?}g" "$at$path")" = 401 ]
		[ "$(status_of -H "Authorization: $TOKEN" "$at$path")" = 401 ]
	done
	[ "$(status_of -H "Authorization: Bearer $TOKEN" $at/)" = 200 ]
	ask "$at/" | grep -q "<label for='token'>"
	ask -c "$LAB_DIR/cookies" -o /dev/null -D "$LAB_DIR/head" "$at/?token=$TOKEN"
	grep -q '^HTTP/1.1 303' "$LAB_DIR/head"
	grep -qi '^Set-Cookie: .*HttpOnly; SameSite=Lax' "$LAB_DIR/head"
	[ "$(ask -b "$LAB_DIR/cookies" $at/api/cluster | jq .node)" = 2 ]
}

@test "a token file that others can read, or that holds no token, is refused" {
	chmod 640 "$LAB_DIR/token"
	run -2 --separate-stderr on n1 build/sluice web -t "$LAB_DIR/token" 9182
	[ "$stderr" = "sluice: web: -t: $LAB_DIR/token: others can read it: chmod 600" ]
	chmod 600 "$LAB_DIR/token"
	for word in short "with a blank 0123456789" "$(printf 'a%.0s' {1..129})"; do
		(umask 077 && echo "$word" >"$LAB_DIR/other")
		run -2 --separate-stderr on n1 build/sluice web -t "$LAB_DIR/other" 9182
		[[ $stderr = *'a token is one line of 16 to 128 letters, digits, - and _'* ]]
	done
	run -2 --separate-stderr on n1 build/sluice web -n nowhere 9182
	[ "$stderr" = 'sluice: web: -n: "nowhere" is not where another node listens: write ADDRESS:PORT or [ADDRESS]:PORT' ]
}

# events N: the first N events of node 1, as JSON
events() {
	on n1 timeout 20 curl -sSN -H "Authorization: Bearer $TOKEN" http://127.0.0.1:9180/events |
		sed -un 's/^data: //p' | head -n "$1"
}

@test "events bring the lists of both nodes, again and again" {
	events 3 >"$LAB_DIR/events"
	[ "$(jq -c '[.[].from]' "$LAB_DIR/events" | uniq)" = '[null,"10.9.0.2:9180"]' ]
	[ "$(tail -n 1 "$LAB_DIR/events" | jq -c '[.[].lists.cluster.node]')" = '[1,2]' ]
	same() {
		[ "$(events 2 | tail -n 1 | jq '.[1].lists["system-ports"]')" = "$(on n2 build/sluice -j -a show system-ports | jq .)" ]
	}
	wait_for 20 same
}

@test "at rest" {
	look rest "cluster, from n1" "Where frames waited" "Frames that wait, by node of entry" "Links between nodes"
}

@test "under congestion, the map shows where frames entered and where they leave" {
	# A busy period becomes an episode when it ends, which it need not do while frames come.
	flow 0 1 3000 --size 1000
	wait_for 30 holds n2p1 0 20
	interrupt gen0
	wait_for 60 none_waits
	wait_for 60 has_episode
	flow 0 1 3000 --size 1000
	wait_for 30 holds n2p1 0 20
	look congestion "n2p1/0 queue" "n2p1, busy now" "Rates of controllers" "Episodes: the longest delays" "n1 to n2p1/0 price"
	interrupt gen0
}

@test "with a node that answers wrongly, the page shows the others" {
	mkdir -p "$LAB_DIR/wrong/api"
	ask -H "Authorization: Bearer $TOKEN" http://10.9.0.2:9180/api/node |
		jq '.drops = .status | .voqs = {} | .delay = [1] | .busy[].levels = 0' >"$LAB_DIR/wrong/api/node"
	spawn n1 wrong /usr/bin/python3 -m http.server --bind 127.0.0.1 --directory "$LAB_DIR/wrong" 9191
	spawn n1 web3 build/sluice web -t "$LAB_DIR/token" -n 127.0.0.1:9191 -n 10.9.0.2:9180 9183
	wait_for 10 grep -q listening "$LAB_DIR/web3.err"
	PORT=9183 look wrong "answers wrongly" 'its "drops" is not a list of objects' "Frames that wait, by node of entry"
}

@test "with a node down, and the page of another silent" {
	kill -KILL "$(cat "$LAB_DIR/bridge-n2.pid")" "$(cat "$LAB_DIR/web2.pid")"
	look down "node 2 is down" "Connection refused"
}
