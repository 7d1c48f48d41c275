#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# sluice web: its lists are those of `sluice show`, it changes nothing, and other names than this
# host's do not reach it.
# shellcheck disable=SC2154 # variables are set by `run`
bats_require_minimum_version 1.5.0

setup_file() {
	load router
	router_up
	daemon
	warm_up
	spawn n1 web build/sluice web 9180
	wait_for 10 grep -q listening "$LAB_DIR/web.err"
	export CONFIG DAEMON
}

teardown_file() {
	load router
	lab_end
}

setup() { load router; }

ask() { on n1 curl -sS -m 60 "$@"; }
status_of() { ask -o /dev/null -w '%{http_code}' "$@"; }

@test "by default only this host reaches it" {
	[ "$(on n1 ss -Hltn | awk '{ print $4 }' | grep 9180)" = 127.0.0.1:9180 ]
	grep -qx 'sluice: web: listening at 127.0.0.1:9180' "$LAB_DIR/web.err"
}

@test "each list below /api/ is that of sluice show" {
	local list
	for list in ports counters drops system-ports; do
		same() { [ "$(ask "http://127.0.0.1:9180/api/$list" | jq .)" = "$(sluice -j -a show "$list" | jq .)" ]; }
		wait_for 10 same
	done
	[ "$(ask http://127.0.0.1:9180/api/status | jq -r .version)" = "$(cat VERSION)" ]
	[[ $(ask http://127.0.0.1:9180/api/voqs) = "this node is in no cluster"* ]]
	[ "$(status_of http://127.0.0.1:9180/api/voqs)" = 503 ]
	[ "$(status_of http://127.0.0.1:9180/api/routes)" = 404 ]
}

@test "the page asks nobody else, and names only members that the lists have" {
	ask http://127.0.0.1:9180/ >"$LAB_DIR/page"
	run ! grep -qE 'https?://|src=|innerHTML' "$LAB_DIR/page"
	ask -o /dev/null -D - http://127.0.0.1:9180/ | tr -d '\r' >"$LAB_DIR/head"
	grep -qx "Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; form-action 'self'" "$LAB_DIR/head"
	grep -qx 'X-Frame-Options: DENY' "$LAB_DIR/head"
	for list in ports counters drops; do ask "http://127.0.0.1:9180/api/$list" >"$LAB_DIR/list.$list"; done
	tests/tools/check_web_page.py "$LAB_DIR/page" "$LAB_DIR"/list.*
}

@test "it only answers GET and HEAD, and no request that a foreign page could make a browser send" {
	[ "$(status_of -d x=1 http://127.0.0.1:9180/api/ports)" = 405 ]
	[ "$(status_of -X DELETE http://127.0.0.1:9180/)" = 405 ]
	[ "$(status_of -I http://127.0.0.1:9180/)" = 200 ]
	local host
	for host in evil.example evil.example:9180 127.0.0.1.evil.example '[::1' '' "$(printf 'a%.0s' {1..100})"; do
		echo "$host"
		[ "$(status_of -H "Host: $host" http://127.0.0.1:9180/api/ports)" != 200 ]
	done
	for host in localhost LOCALHOST:80 127.0.0.1 192.0.2.1:9180 '[::1]' '[::1]:9180'; do
		echo "$host"
		[ "$(status_of -H "Host: $host" http://127.0.0.1:9180/api/ports)" = 200 ]
	done
}

@test "a wrong address, one that is taken, and too many arguments end with a line that says so" {
	run --separate-stderr sluice web 70000
	[ "$status" -eq 2 ]
	[ "$stderr" = 'sluice: web: "70000" is not where to listen: write PORT, ADDRESS:PORT or [ADDRESS]:PORT' ]
	run --separate-stderr sluice web 9180 9181
	[ "$status" -eq 2 ]
	[ "$stderr" = 'sluice: web: "9181" is one argument too many' ]
	run --separate-stderr sluice web 127.0.0.1:9180
	[ "$status" -eq 1 ]
	[ "$stderr" = 'sluice: web: cannot listen at "127.0.0.1:9180": Address already in use' ]
}

# shown N: what the page has after N events of `sluice web` at port 9182, with the lists of a node at 9191
shown() { on n1 timeout 20 curl -sSN http://127.0.0.1:9182/events | sed -un 's/^data: //p' | head -n "$1" | tail -n 1 | jq '.[1]'; }
answers() { [ "$(shown 3 | jq -c "$1")" = "$2" ]; }

@test "what another node sends in a shape that it should not have is left out, and said once" {
	local at=$LAB_DIR/other/api/node
	mkdir -p "${at%/*}"
	spawn n1 other /usr/bin/python3 -m http.server --bind 127.0.0.1 --directory "$LAB_DIR/other" 9191
	spawn n1 web2 build/sluice web -n 127.0.0.1:9191 9182
	wait_for 10 grep -q listening "$LAB_DIR/web2.err"
	jq -nc '{status: {version: "1"}, ports: {port: "eth1"}, counters: "none now", drops: [1], fabric: [{}], cluster: null,
		voqs: [{port: "n1p1"}], delay: [{buckets: {}}], busy: [{levels: [], episodes: [3]}], other: 1, __proto__: {cc: 1}}' >"$at"
	wait_for 20 answers '.lists' '{"busy":"its \"busy\" has a row without the list \"episodes\"","cluster":"its \"cluster\" is not an object","counters":"none now","delay":"its \"delay\" has a row without the list \"buckets\"","drops":"its \"drops\" is not a list of objects","fabric":"its \"fabric\" is not an object","ports":"its \"ports\" is not a list of objects","status":{"version":"1"},"voqs":[{"port":"n1p1"}]}'
	answers '[.from, .odd]' '["127.0.0.1:9191","its \"ports\" is not a list of objects"]'
	[ "$(grep -c 'left out' "$LAB_DIR/web2.err")" = 1 ]
	grep -qx 'sluice: web: 127.0.0.1:9191: its "ports" is not a list of objects: left out' "$LAB_DIR/web2.err"
	# What it sends as it should is shown again.
	ask http://127.0.0.1:9180/api/node >"$at.new"
	mv "$at.new" "$at"
	wait_for 20 answers '[.odd, .lists.status.engine, (.lists.ports | type)]' '[null,"fast","array"]'
}

@test "without a daemon it says so and goes on; it ends with status 0 on SIGTERM" {
	kill -KILL "$DAEMON"
	wait_for 5 daemon_gone
	[ "$(status_of http://127.0.0.1:9180/api/status)" = 503 ]
	[[ $(ask http://127.0.0.1:9180/api/status) = *sluiced*"not running"* ]]
	[ "$(status_of http://127.0.0.1:9180/)" = 200 ]
	kill -TERM "$(cat "$LAB_DIR/web.pid")"
	ended() { [ ! -e "/proc/$(cat "$LAB_DIR/web.pid")" ]; }
	wait_for 10 ended
}
