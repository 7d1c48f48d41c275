#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# tests/run itself, on a tree of invented suites: it fails when it must, and Ctrl-C leaves nothing.

bats_require_minimum_version 1.5.0

setup() {
	. netns-lab/lib/lab.sh
	TREE=$(mktemp -d)
	mkdir -p "$TREE/tests/oracle" "$TREE/netns-lab/lib"
	cp tests/run tests/suite "$TREE/tests/"
	cp netns-lab/lib/lab.sh "$TREE/netns-lab/lib/"
}

teardown() { rm -rf "$TREE"; }

# suite NAME: a suite from standard input, Python that prints TAP.
suite() { cat >"$TREE/tests/oracle/test_$1.py"; }

good() { suite good <<<'print("1..1\nok 1 - good")'; }

run_tree() { run env LAB_PATIENCE=1 "$TREE/tests/run" "$@"; }

@test "run: suites that pass give status 0 and one closing line with the counts" {
	good
	run_tree
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = "1 passed, 0 failed, 0 skipped" ]
}

@test "run: a test that fails is counted and shown" {
	good
	suite bad <<<'print("1..2\nok 1 - a\nnot ok 2 - b\n#   because")'
	run_tree
	[ "$status" -eq 1 ]
	[ "${lines[-1]}" = "2 passed, 1 failed, 0 skipped" ]
	[[ $output == *because* ]]
}

@test "run: all suites together fail if a test that docs/CONFORMANCE.md names did not pass, and only all" {
	good
	mkdir -p "$TREE/tests/lint" "$TREE/tests/bpf" "$TREE/docs"
	cp tests/lint/check-conformance "$TREE/tests/lint/"
	printf '%s\n' '| `ip4_` | `tests/bpf/test_x.c` |' '| 1 | it is so | drop | `ip4_x_drops` | pass |' >"$TREE/docs/CONFORMANCE.md"
	echo '	{ "ip4_x_drops", {} },' >"$TREE/tests/bpf/test_x.c"
	run_tree
	[ "$status" -eq 1 ]
	[ "${lines[-2]}" = "docs/CONFORMANCE.md: tests/bpf/test_x.c: ip4_x_drops did not run" ]
	[ "${lines[-1]}" = "1 passed, 1 failed, 0 skipped" ]
	run_tree good
	[ "$status" -eq 0 ]
	mkdir -p "$TREE/build/tests/bpf"
	printf '#!/bin/sh\necho 1..1\necho ok 1 - fast/sl_edge/ip4_x_drops\n' >"$TREE/build/tests/bpf/test_x"
	chmod +x "$TREE/build/tests/bpf/test_x"
	run_tree
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = "2 passed, 0 failed, 0 skipped" ]
}

@test "run: a summary of each failed test comes before the closing line" {
	good
	suite bad <<'PYTHON'
print("1..3\nnot ok 1 - a\n# in line 7\n#   `false'")
print(*(f"# line {i}" for i in range(50)), "not ok 2 - b", "# because", "ok 3 - c", "# of c", sep="\n")
PYTHON
	suite crash <<<'import sys; print("1..1\nok 1 - a"); sys.exit("it broke")'
	run_tree
	[ "${lines[-1]}" = "3 passed, 3 failed, 0 skipped" ]
	diff <(sed -n '/^What failed:/,$p' <<<"$output") - <<-END
		What failed:
		tests/oracle/test_bad.py: not ok 1 - a
		# in line 7
		#   \`false'
		# ...
		$(printf '# line %d\n' {40..49})
		tests/oracle/test_bad.py: not ok 2 - b
		# because
		not ok - tests/oracle/test_crash.py ended with status 1 after 1 tests of 1 planned
		it broke
		3 passed, 3 failed, 0 skipped
	END
}

# barrier NAME N: a suite that passes only if N suites of this kind run at the same time. They see
# each other's files here, but each has a /run of its own.
barrier() {
	suite "$1" <<PYTHON
import os, sys, time
here = os.path.dirname(sys.argv[0])
open("/run/$1", "w").close()
open(f"{here}/$1.started", "w").close()
deadline = time.monotonic() + 60
while sum(name.endswith(".started") for name in os.listdir(here)) < $2 and time.monotonic() < deadline:
    time.sleep(0.01)
print("1..1\n" + ("ok" if time.monotonic() < deadline and os.listdir("/run") == ["$1", "mount", "netns"] else "not ok") + " 1 - met")
os.remove("/run/$1")
PYTHON
}

@test "run: suites run side by side, each with a /run and process ids of its own" {
	local name
	for name in a b c; do barrier "$name" 3; done
	run_tree --lanes 3
	[ "${lines[-1]}" = "3 passed, 0 failed, 0 skipped" ]
}

@test "run: --lanes 1 runs one suite at a time" {
	local name wrong
	for name in a b c; do
		suite "$name" <<'PYTHON'
import glob, os, sys
open(sys.argv[0] + ".runs", "w").close()
alone = len(glob.glob(os.path.dirname(sys.argv[0]) + "/*.runs")) == 1
print("1..1\n" + ("ok" if alone else "not ok") + " 1 - alone")
os.remove(sys.argv[0] + ".runs")
PYTHON
	done
	run_tree --lanes 1
	[ "${lines[-1]}" = "3 passed, 0 failed, 0 skipped" ]
	for wrong in 0 x ''; do
		run_tree --lanes "$wrong"
		[ "$status" -eq 2 ]
		[[ $output == *"--lanes: \"$wrong\" is not a number from 1 to 99"* ]]
	done
}

@test "run: a second run in the same checkout is refused, and harms nothing" {
	suite slow <<'PYTHON'
import os, sys, time
open(sys.argv[0] + ".started", "w").close()
deadline = time.monotonic() + 60
while not os.path.exists(sys.argv[0] + ".go") and time.monotonic() < deadline:
    time.sleep(0.01)
print("1..1\nok 1 - slow")
PYTHON
	env LAB_PATIENCE=1 "$TREE/tests/run" >"$TREE/out" 2>&1 3>&- &
	local runner=$!
	wait_for 60 test -e "$TREE/tests/oracle/test_slow.py.started"
	run_tree
	[ "$status" -eq 1 ]
	[[ $output == *"process $runner runs the tests of this checkout"* ]]
	touch "$TREE/tests/oracle/test_slow.py.go"
	wait "$runner"
	[ "$(tail -n 1 "$TREE/out")" = "1 passed, 0 failed, 0 skipped" ]
	run_tree
	[ "${lines[-1]}" = "1 passed, 0 failed, 0 skipped" ]
}

@test "run: a run without any suite fails" {
	run_tree
	[ "$status" -eq 1 ]
}

@test "run: a suite without tests fails" {
	good
	suite empty <<<'print("1..0")'
	run_tree
	[ "${lines[-1]}" = "1 passed, 1 failed, 0 skipped" ]
}

@test "run: a suite that is killed after its tests fails" {
	good
	suite crash <<<'import os; print("ok 1 - a", flush=True); os.kill(os.getpid(), 11)'
	run_tree
	[ "${lines[-1]}" = "2 passed, 1 failed, 0 skipped" ]
	[[ $output == *"status 139"* ]]
}

@test "run: a suite that ends before its plan with status 0 fails" {
	good
	suite short <<<'print("1..3\nok 1 - a")'
	run_tree
	[ "${lines[-1]}" = "2 passed, 1 failed, 0 skipped" ]
	[[ $output == *"1 tests of 3 planned"* ]]
}

@test "run: a skip that tests/skips does not name fails, one that it names does not" {
	good
	suite skip <<<'print("1..1\nok 1 - a # SKIP no such device")'
	run_tree
	[ "${lines[-1]}" = "1 passed, 1 failed, 1 skipped" ]
	echo 'tests/oracle/test_skip.py: no such device' >"$TREE/tests/skips"
	run_tree
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = "1 passed, 0 failed, 1 skipped" ]
}

@test "run: a process, namespace, link, pin or file of /run that a suite leaves fails and is named" {
	good
	suite messy <<'PYTHON'
import subprocess
run = lambda *argv: subprocess.run(argv, check=True)
subprocess.Popen(["sleep", "97"], start_new_session=True)
run("ip", "netns", "add", "left-ns")
run("ip", "link", "add", "left-link", "type", "bridge")
run("bpftool", "map", "create", "/sys/fs/bpf/left_pin", "type", "array", "key", "4", "value", "4",
    "entries", "1", "name", "left")
open("/run/left-file", "w").close()
print("1..1\nok 1 - a")
PYTHON
	run_tree messy
	[ "$status" -eq 1 ]
	for left in "sleep 97" left-ns left-link left_pin left-file; do
		[[ $output == *"$left"* ]]
	done
	run ! pgrep -x -f 'sleep 97'
}

@test "run: Ctrl-C ends suites that catch it, that ignore it, and their children" {
	suite slow <<'PYTHON'
import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
subprocess.Popen(["sleep", "98"], start_new_session=True)
open(sys.argv[0] + ".started", "w").close()
signal.pause()
PYTHON
	setsid env LAB_PATIENCE=1 "$TREE/tests/run" >"$TREE/out" 2>&1 &
	local runner=$!
	wait_for 60 test -e "$TREE/tests/oracle/test_slow.py.started"
	kill -TERM "$runner"
	wait "$runner" && return 1
	grep -q interrupted "$TREE/out"
	run ! pgrep -x -f 'sleep 98'
	run ! pgrep -f "$TREE"
}
