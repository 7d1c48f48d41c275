#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# measure and bench: the search and the verdict on invented numbers, then both tools for real, and
# interrupted.
bats_require_minimum_version 1.5.0
. netns-lab/lib/jq.sh

setup() {
	LAB_ROOT=$(mktemp -d)
	export LAB_ROOT
}

teardown() {
	netns-lab/lab down --all
	rmdir "$LAB_ROOT"
}

assert_nothing_left() {
	[ -z "$(ls "$LAB_ROOT")" ]
	[ "$(grep -lzF "SLUICE_LAB=$LAB_ROOT/" /proc/[0-9]*/environ 2>/dev/null | wc -l)" = 0 ]
}

python() {
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=netns-lab/lib /usr/bin/python3 "$@"
}

@test "the search finds the rate above which a router loses, even far from the guess" {
	python - <<-'PY'
		from trials import Path

		class Made(Path):
		    """Loses what is over its limit."""
		    def __init__(self, limit):
		        self.limit, self.trials = limit, 0
		    def trial(self, packets, seconds, rate=None):
		        self.trials += 1
		        return {"loss": max(0, 1 - self.limit / rate), "offered_pps": rate, "delivered_pps": min(rate, self.limit)}

		for limit in (1e4, 3e5, 1e6, 1.25e6):
		    path = Made(limit)
		    found = path.no_drop([], 1, 0.001, 0.02, 1e6)["delivered_pps"]
		    assert 0.96 * limit <= found <= 1.001 * limit, (limit, found)
		    assert path.trials < 60
	PY
}

@test "a rate that the generator did not keep does not count as passed" {
	python - <<-'PY'
		from trials import Path

		class Starved(Path):
		    def __init__(self):
		        pass
		    def trial(self, packets, seconds, rate=None):
		        return {"loss": 0, "offered_pps": min(rate, 7e5), "delivered_pps": min(rate, 7e5)}

		found = Starved().no_drop([], 1, 0.001, 0.02, 1e6)["delivered_pps"]
		assert 0.95 * 7e5 <= found <= 7e5, found
	PY
}

@test "a difference that the A/A pair shows, too, is noise; a larger one is a number" {
	python - <<-'PY'
		from importlib.machinery import SourceFileLoader
		measure = SourceFileLoader("measure", "netns-lab/measure").load_module()

		def rounds(*rates):
		    return [{"flood": {"delivered": rate, "core_seconds": 1}} for rate in rates]

		quiet = {"kernel": rounds(100, 101, 99, 100, 100), "kernel again": rounds(100, 100, 101, 99, 100),
		         "a": rounds(110, 111, 109, 110, 110), "b": rounds(300, 303, 297, 300, 300)}
		noise = measure.noise_of(quiet, "kernel", "flood")
		assert noise < 0.03, noise
		assert measure.verdict(quiet, "a", "kernel", "flood", noise) == "1.10"
		assert measure.verdict(quiet, "b", "kernel", "flood", noise) == "3.00"

		loud = dict(quiet, **{"kernel again": rounds(70, 140, 120, 60, 130)})
		noise = measure.noise_of(loud, "kernel", "flood")
		assert noise > 0.1, noise
		assert measure.verdict(loud, "a", "kernel", "flood", noise) == "noise"
		assert measure.verdict(loud, "b", "kernel", "flood", noise) == "3.00"

		broken = dict(quiet, **{"kernel again": rounds(200, 202, 198, 200, 200)})
		noise = measure.noise_of(broken, "kernel", "flood")
		assert measure.verdict(broken, "a", "kernel", "flood", noise) == "noise"
	PY
}

@test "measure compares contenders, and keeps everything as JSON" {
	run netns-lab/measure --tables one --contenders kernel,fib-lookup,bare,fast,wire --flood-only \
		--trial 0.05 --runs 2 --core 0 -o "$BATS_TEST_TMPDIR/out.json"
	[ "$status" -eq 0 ]
	for row in kernel 'kernel again' fib-lookup bare fast wire A/A; do
		grep -q "^$row " <<<"$output"
	done
	[ "$(jq -c '[.tables[0].rows[].contender]' "$BATS_TEST_TMPDIR/out.json")" = \
		'["kernel","kernel again","fib-lookup","bare","fast","wire"]' ]
	# no contender lost a packet that it did not report, and none reordered
	[ "$(jq '[.tables[0].rounds[][].flood | select(.reordered > 0 or .duplicates > 0)] | length' "$BATS_TEST_TMPDIR/out.json")" = 0 ]
	[ "$(jq '[.tables[0].rounds[][].flood | select(.delivered > .offered or .delivered == 0)] | length' "$BATS_TEST_TMPDIR/out.json")" = 0 ]
	assert_nothing_left
}

@test "Ctrl-C in a measurement leaves nothing" {
	setsid env --default-signal=INT netns-lab/measure --tables one --contenders kernel,wire --trial 0.2 \
		--runs 100 --core 0 >/dev/null 2>&1 3>&- &
	local measure=$! deadline=$((SECONDS + 30 * ${LAB_PATIENCE:-1}))
	until [ "$(find "$LAB_ROOT" -mindepth 1 -maxdepth 1 | wc -l)" = 3 ]; do
		[ $SECONDS -lt $deadline ]
		sleep 0.05
	done
	kill -INT -- "-$measure"
	local status=0
	wait "$measure" || status=$?
	[ "$status" = 130 ]
	assert_nothing_left
}

@test "bench measures a cluster and the kernel in the same namespaces" {
	run netns-lab/bench --quick cluster --contenders "vxlan,af_xdp 255,inject 16"
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(jq -r '[.rows[].contender] | join(",")' build/bench/cluster.json)" = "vxlan,af_xdp 255,inject 16" ]
	jq -e '.rounds | all(length == 1 and all(.flood.delivered > 0 and .flood.duplicates == 0 and .light.delivered > 0))' \
		build/bench/cluster.json
	jq -e '.rows[1].frames_per_message >= 1 and .rows[2].frames_per_message <= 16' build/bench/cluster.json
	[ -s build/bench/cluster.png ]
}

@test "bench reports a contender that fails, and measures the others" {
	run netns-lab/bench --quick cluster --contenders "turbo,kernel"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *'FAILED: turbo, round 1: contender turbo: '*'no contender "turbo"'* ]]
	[[ "$output" == *"bench: cluster: 1 of 2 measurements failed" ]]
	grep -q "^kernel " <<<"$output"
	jq -e '(.failures | map(.contender)) == ["turbo"] and .rounds.turbo == []' build/bench/cluster.json
	jq -e '.rounds.kernel | length == 1 and all(.flood.delivered > 0 and .loaded.delivered > 0)' build/bench/cluster.json
	assert_nothing_left
}

@test "two nodes on a veth carry many destinations and TCP, by the shortest XDP router and past the bridges" {
	run netns-lab/bench --quick cluster --contenders "fib-lookup,af_xdp 255 header" --wire veth --destinations 4096 --tcp
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"fabric a veth, 60-byte frames, 4,096 destinations"* ]]
	jq -e '.wire == "veth" and .destinations == 4096 and (.rounds | length == 2) and
		all(.rounds[][]; .flood.delivered > 0 and .lone.delivered > 0 and .lone.reordered == 0 and .tcp["1"].bps > 0 and .tcp["8"].bps > 0)' \
		build/bench/cluster.json
	assert_nothing_left
}

@test "an interrupted measurement keeps its finished rounds" {
	rm -f build/bench/cluster.json
	setsid env --default-signal=INT netns-lab/bench cluster --contenders "kernel,vxlan" --runs 99 --trial 0.1 \
		>"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	local bench=$! deadline=$((SECONDS + 60 * ${LAB_PATIENCE:-1}))
	until jq -e '.rounds.kernel | length == 1' build/bench/cluster.json 2>/dev/null; do
		[ $SECONDS -lt $deadline ]
		sleep 0.05
	done
	kill -INT -- "-$bench"
	local status=0
	wait "$bench" || status=$?
	cat "$BATS_TEST_TMPDIR/out"
	[ "$status" = 130 ]
	grep -q "^kernel " "$BATS_TEST_TMPDIR/out"
	assert_nothing_left
}

@test "bench loses nothing however many VOQs share a queue" {
	run netns-lab/bench --quick voqs
	echo "$output"
	[ "$status" -eq 0 ]
	jq -e '[.runs[].voqs] == [1, 2, 16, 1] and (.runs | all(.received == .sent and .sent > 10000))' build/bench/voqs.json
}

@test "bench measures how sluiced follows the kernel, and writes JSON" {
	run netns-lab/bench --quick mirror
	[ "$status" -eq 0 ]
	[[ "$output" == *"10000 routes in the kernel"*"mirrored"* ]]
	[ "$(jq '.churn | length > 2 and all(.changes >= 20000 and .sent > 0)' build/bench/mirror.json)" = true ]
	[ "$(jq '.churn | all(.sent == .received + .dropped)' build/bench/mirror.json)" = true ]
	[ "$(jq .equal build/bench/mirror.json)" = true ]
	assert_nothing_left
}

@test "wrong use is refused" {
	run -2 netns-lab/bench cluster --destinations 0
	[[ "$output" == *'"0" is not a number from 1 to 65536'* ]]
	run -2 netns-lab/bench cluster --size 59
	[[ "$output" == *'"59" is not a number from 60 to 3384'* ]]
	run netns-lab/measure --contenders kernel,turbo
	[ "$status" -eq 2 ]
	[[ "$output" == *'"turbo" is none of kernel, fib-lookup, bare, lpm, fast, wire'* ]]
	run netns-lab/bench everything
	[ "$status" -eq 2 ]
	[[ "$output" == *'"everything" is none of lookup, mirror, forwarding'* ]]
}

@test "stages follows lone frames through both bridges and back" {
	[ -d /sys/kernel/tracing ] || skip "a kernel without tracefs"
	netns-lab/benchmarks/stages --count 100 -j >"$BATS_TEST_TMPDIR/stages.json"
	jq -c '.rows[]' "$BATS_TEST_TMPDIR/stages.json"
	# Most of the frames meet all stages but those of waking, and the stages add up to the whole.
	jq -e '.rows | map(select(.stage | test("until sendto|in sendto"))) | length == 8 and all(.frames >= 50 and .p50_us > 0)' \
		"$BATS_TEST_TMPDIR/stages.json"
	jq -e '(.rows[] | select(.stage == "all of these")).p50_us as $whole | [.rows[] | select(.stage | test("until sendto|in sendto")).p50_us] |
		add < $whole * 1.5' "$BATS_TEST_TMPDIR/stages.json"
	assert_nothing_left
}

@test "side-by-side compares clusters that are up together, the first one with its double" {
	netns-lab/benchmarks/side-by-side "af_xdp 255 unmeasured" "af_xdp 255" --rounds 2 --trial 0.05 -j >"$BATS_TEST_TMPDIR/sides.json"
	cat "$BATS_TEST_TMPDIR/sides.json"
	jq -e '[.rows[].contender] == ["af_xdp 255 unmeasured", "af_xdp 255 unmeasured+again", "af_xdp 255"] and .rows[0].ratio == 1 and
		all(.rows[]; .core_ns > 0 and .quartiles[0] <= .ratio and .ratio <= .quartiles[1])' "$BATS_TEST_TMPDIR/sides.json"
	run -1 netns-lab/benchmarks/side-by-side turbo --rounds 2
	[[ "$output" == *'no contender "turbo"'* ]]
	assert_nothing_left
}

@test "bench installs an element under load, and sends through chains and their buffers" {
	run netns-lab/bench --quick elements
	echo "$output"
	[ "$status" -eq 0 ]
	jq -e '[.rows[] | select(.experiment == "x3" and .what == "install").ms | length >= 2 and all(. > 1)] | length == 7 and all' build/bench/elements.json
	jq -e '[.rows[] | select(.experiment == "x7")] | map(.what) == [10, 100, 1000] and all(.[]; .delivered > 0 and .delivered <= .entered and .entered <= .made)' build/bench/elements.json
	[ "$(grep -c "ms for each packet/s, R = " <<<"$output")" = 3 ]
}

KERNEL_TRACE="import os, signal, sys; sys.path.insert(0, 'netns-lab/lib'); import kernel_trace as k"
# kernel_trace CODE [ARGUMENT...]: Python that has netns-lab/lib/kernel_trace.py as k
kernel_trace() { /usr/bin/python3 -Bc "$KERNEL_TRACE; $1" "${@:2}"; }
# hold_trace: start a process that has an instance of the kernel's trace, and set TRACER and INSTANCE
hold_trace() {
	[ -p "$BATS_TEST_TMPDIR/instance" ] || mkfifo "$BATS_TEST_TMPDIR/instance"
	# A signal writes into the pipe, so one that comes before the read is not missed.
	/usr/bin/python3 -Bc "$KERNEL_TRACE; signal.signal(signal.SIGINT, signal.default_int_handler); t = k.Trace()
r, w = os.pipe(); os.set_blocking(w, False); signal.set_wakeup_fd(w)
t.start('xdp/xdp_redirect'); print(os.path.basename(t.dir), flush=True); os.read(r, 1)" \
		>"$BATS_TEST_TMPDIR/instance" 2>/dev/null 3>&- &
	TRACER=$!
	read -r INSTANCE <"$BATS_TEST_TMPDIR/instance"
}
# ends_by SIGNAL: end the process
ends_by() {
	kill -"$1" "$TRACER"
	wait "$TRACER" || :
}
exists() { kernel_trace 'sys.exit(not os.path.isdir(f"{k.tracefs()}/instances/{sys.argv[1]}"))' "$1"; }

@test "an instance of the kernel's trace goes with its process or with the next one, and tracefs is not mounted for it" {
	local signal mounts killed living
	mounts=$(grep -c tracefs /proc/mounts || :)
	if ! kernel_trace 'sys.exit(not k.is_there())'; then return; fi
	for signal in TERM INT HUP; do
		hold_trace
		exists "$INSTANCE"
		ends_by "$signal"
		run ! exists "$INSTANCE"
	done
	hold_trace
	killed=$INSTANCE
	ends_by KILL
	exists "$killed"
	hold_trace
	run ! exists "$killed"
	living=$INSTANCE
	kernel_trace 'k.Trace()'
	exists "$living"
	[ "$(grep -c tracefs /proc/mounts || :)" = "$mounts" ]
	ends_by TERM
}

@test "check-delay compares delays on line with stamps, and finds every frame measured and accounted for" {
	# What the figures say depends on the machine; that they are there does not. XDP records no frame for which it finds
	# no room until the bridge has read the former ones.
	netns-lab/check-delay --count 500 --rounds 2 -j >"$LAB_ROOT.json"
	jq -c '.rows[] | del(.faults)' "$LAB_ROOT.json"
	jq -e '.rows | map({(.case): .}) | add |
		([.[] | select(.packets == 1000 and .faults == [] and .true_p50_ns > 0 and .true_p50_ns <= .true_p99_ns)] | length == 7) and
		([.[] | select(.measured == 1000 or .express > 0 and .measured > 300)] | map(select(.online_p50_ns > 0 and .online_p50_ns <= .online_p99_ns and
			[.p50_is, .p99_is] - ["ok", "cables", "no"] == [])) | length == 5) and
		."express, lone".express > 0.9 and ."message, lone".express == 0 and .queue.express == 0 and
		.queue.online_p50_ns > 0.5 * .queue.true_p50_ns' "$LAB_ROOT.json"
	# The kernel's trace has the frames, too, and none of them took longer between the cables than between the stamps.
	if kernel_trace 'sys.exit(not k.is_there())'; then
		jq -e '.rows | map(select(.measured)) | length == 5 and all(.[]; .traced > 0 and .to_router_p50_ns > 0 and
			.router_p50_ns < .true_p50_ns and .differs_p50_ns < .router_p50_ns)' "$LAB_ROOT.json"
		jq -e '.rows | map(select(.from_router_p50_ns > 0) | .case) == ["express, lone", "express, 20 kpps"]' "$LAB_ROOT.json"
	fi
	rm "$LAB_ROOT.json"
	run -2 netns-lab/check-delay --count 7
	assert_nothing_left
}
