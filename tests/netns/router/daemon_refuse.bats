#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# Whatever sluiced refuses, it says what and why in one line and changes nothing. So one router
# serves all tests.
# shellcheck disable=SC2154 # variables are set by `run`, and used in router.bash
bats_require_minimum_version 1.5.0

setup_file() {
	load router
	router_up
	export CONFIG
}

teardown_file() {
	load router
	lab_end
}

setup() {
	load router
	configure
}

# refused STATUS LINE: sluiced ended with this status, and wrote this line and nothing else.
refused() {
	[ "$status" -eq "$1" ]
	[ "$stderr" = "sluiced: error: $2" ]
	nothing_was_changed
}

@test "configuration: each mistake is one line with file, line, value and remedy; status 2; nothing changed" {
	keys=$(printf 'x: 1\n' >"$CONFIG" && build/sluice check "$CONFIG" 2>&1 | grep -o 'write .*')
	[[ $keys = "write engine, ports, "* ]]
	while IFS='|' read -r text expected; do
		printf '%b' "$text" >"$CONFIG"
		run_daemon --config "$CONFIG"
		echo "$text: $stderr"
		refused 2 "$CONFIG:$expected"
	done <<-LIST
		ports: []\nprots: 1\n|2: "prots" is not a key here: $keys
		ports: eth1\n|1: ports: "eth1" is not a list: write one item a line, each after "- "
		ports:\n  - name: eth1\n    optional: 1\n|3: ports[0].optional: "1" is not a truth value: write true or false
		ports:\n  - name: eth1\n  - name: eth1\n|3: ports[1].name: "eth1" is named twice: write each port once
		engine: turbo\nports: []\n|1: engine: "turbo" is not an engine: write fast, lpm or kernel
		ports: [\n|2: "" is not YAML (did not find expected node content): write "key: value", indented by spaces
	LIST
	run_daemon --config /nonexistent.yaml
	refused 2 "/nonexistent.yaml: cannot read the configuration file: No such file or directory"
}

@test "a port whose netdev may come later has a status after which systemd starts it again" {
	local line
	printf 'ports:\n  - name: eth1\n  - name: eth9\n' >"$CONFIG"
	line="$CONFIG:3: ports[1].name: \"eth9\" is not a netdev here: write one that \`ip link\` shows, or \"optional: true\" if it comes later"
	run_daemon --config "$CONFIG"
	refused 1 "$line"
	run grep -c "RestartPreventExitStatus=.*1" dist/sluiced.service
	[ "$output" = 0 ]
	run_daemon --check --config "$CONFIG"
	refused 2 "$line"
}

@test "without privileges it names the missing capability" {
	run --separate-stderr on n1 setpriv --bounding-set -bpf,-sys_admin --inh-caps=-bpf,-sys_admin build/sluiced --config "$CONFIG"
	refused 1 "not allowed: this process lacks CAP_BPF (load programs and maps); run it as root, or give it these capabilities"
	run --separate-stderr on n1 setpriv --bounding-set -net_admin --inh-caps=-net_admin build/sluiced --config "$CONFIG"
	refused 1 "not allowed: this process lacks CAP_NET_ADMIN (attach XDP, follow routes); run it as root, or give it these capabilities"
}

@test "without a BPF file system it prints the mount command" {
	run --separate-stderr on n1 unshare --mount sh -c "umount /sys/fs/bpf && build/sluiced --config $CONFIG"
	[ "$status" -eq 1 ]
	[ "$stderr" = 'sluiced: error: pin_dir "/sys/fs/bpf/sluice" is not in a BPF file system: mount -t bpf bpf /sys/fs/bpf' ]
	[ "$(xdp_program eth1)" = none ]
}

@test "without its object it says where it looked" {
	run_daemon --config "$CONFIG" --object /nonexistent/sluice.bpf.o
	[ "$status" -eq 1 ]
	[[ $stderr = *'no BPF object at "/nonexistent/sluice.bpf.o"'* ]]
	nothing_was_changed
}

@test "--log json: the line that refuses a file is an object; another form is refused" {
	echo "engine: turbo" >"$BATS_TEST_TMPDIR/wrong.yaml"
	local daemon
	for daemon in sluiced sluice-bridge; do
		run -2 --separate-stderr "build/$daemon" --log json --config "$BATS_TEST_TMPDIR/wrong.yaml"
		jq -es --arg daemon "$daemon" 'length == 1 and (.[0] | .daemon == $daemon and .level == "error" and
			(.message | contains("turbo")) and (.time | sub("[.][0-9]+"; "") | fromdateiso8601 > 0))' <<<"$stderr"
		run -2 --separate-stderr "build/$daemon" --log xml
		[[ "$stderr" == "$daemon: --log \"xml\": write text or json"* ]]
	done
}
