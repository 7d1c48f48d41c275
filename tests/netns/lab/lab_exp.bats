#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# `lab exp`: what it refuses, its arithmetic on invented numbers, and the smallest experiment. How
# well controllers share is a matter of time and of the machine, so no test here asks for that.
bats_require_minimum_version 1.5.0

. netns-lab/lib/lab.sh # wait_for

setup() {
	LAB_ROOT=$BATS_TEST_TMPDIR/labs
	export LAB_ROOT
	mkdir "$LAB_ROOT"
}

assert_nothing_left() {
	[ -z "$(ls "$LAB_ROOT")" ]
	run ! grep -lzF "SLUICE_LAB=$LAB_ROOT/" /proc/[0-9]*/environ
}

python() {
	PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=netns-lab/lib:netns-lab/experiments /usr/bin/python3 "$@"
}

# refused_with MESSAGE OPTION...: as wrong use, and nothing is made
refused_with() {
	local message=$1
	shift
	run -2 netns-lab/lab exp --out "$BATS_TEST_TMPDIR/out" "$@"
	echo "$output"
	[ "${lines[-1]}" = "lab exp: error: $message" ]
	[ ! -e "$BATS_TEST_TMPDIR/out" ]
	assert_nothing_left
}

@test "exp refuses what is wrong with what would be right" {
	local names
	names=$(netns-lab/lab exp --list | cut -d' ' -f1 | xargs | sed 's/ /, /g')
	refused_with "\"table72\" is no experiment: write one of $names" table71 table72
	refused_with 'argument --rate: "999" is not a number from 1000 to 10000000' unequal --rate 999
	refused_with 'argument --rate: "1e4" is not a number from 1000 to 10000000' unequal --rate 1e4
	refused_with 'argument --interval-us: "99" is not a number from 100 to 1000000' unequal --interval-us 99
	refused_with 'argument --seconds: "nan" is not a number from 0.5 to 86400' unequal --seconds nan
	refused_with 'argument --warm-up: "-1" is not a number from 0 to 86400' unequal --warm-up=-1
	refused_with 'argument --queue-frames: "65537" is not a number from 1 to 65536' unequal --queue-frames 65537
	refused_with 'argument --burst-us: "0" is not a number from 1 to 1000000' unequal --burst-us 0
	refused_with "argument --controller: invalid choice: 'fixed' (choose from 'weights', 'price', 'aimd', 'qcn', 'asm', 'dq', 'credit', 'rcp', 'swift', 'hpcc', 'dcqcn')" \
		unequal --controller fixed
}

@test "the max-min shares are those of Table 7.1, and no source gets more than it offers" {
	python - <<-'PY'
		from experiments import max_min
		third = 739 / 3
		for capacity, offered, shares in (
		        (739, (299, 298, 74), (299, 298, 74)),      # all fits
		        (739, (299, 299, 149), (295, 295, 149)),
		        (739, (300, 299, 224), (257.5, 257.5, 224)),
		        (739, (299, 299, 299), (third, third, third)),
		        (100, (5, 500, 50), (5, 50 - 2.5, 50 - 2.5)),
		        (100, (0, 0, 10), (0, 0, 10))):
		    found = max_min(capacity, offered)
		    assert all(abs(f - s) < 1e-9 for f, s in zip(found, shares)), (offered, found)
	PY
}

@test "a step has settled when every limit stays near its share for as long as asked" {
	python - <<-'PY'
		from experiments import settled_after

		def voq(*rates):
		    return [{"end_ns": 10 * (i + 1), "rate": rate} for i, rate in enumerate(rates)]

		# begin, expected, limit, hold
		assert settled_after([voq(50, 96, 100, 104, 100, 100)], 0, 100, 60, 40) == 10
		assert settled_after([voq(50, 96, 100, 104, 100, 100), voq(100, 100, 106, 100, 100, 100)], 0, 100, 60, 30) == 30
		# it leaves again before it has held for long enough, or after
		assert settled_after([voq(50, 100, 100, 100, 100, 50)], 0, 100, 60, 55) is None
		assert settled_after([voq(50, 100, 100, 100, 100, 50)], 0, 100, 60, 40) == 10
		assert settled_after([voq(50, 50, 50, 50, 50, 50)], 0, 100, 60, 10) is None
	PY
}

@test "use, Jain's index and egress drops are asked of the controllers that promise them" {
	python - <<-'PY'
		from experiments import missed
		good = {"use": 0.99, "jain": 0.99, "dropped_at_egress": 0}
		assert missed({name: good for name in ("price", "aimd", "dq")}) == []
		assert missed({"qcn": {"use": 0.1, "jain": 0.1, "dropped_at_egress": 9}}) == []
		assert missed({"aimd": dict(good, dropped_at_egress=9)}) == []
		assert len(missed({"price": {"use": 0.989, "jain": 0.989, "dropped_at_egress": 1}})) == 3
	PY
}

@test "the smallest experiment says whether it holds, keeps its data, and leaves nothing" {
	local out=$BATS_TEST_TMPDIR/out
	run netns-lab/lab exp unequal --seconds 0.5 --warm-up 0 --rate 1000 --out "$out"
	echo "$output"
	case $status in
	0) [[ $output = "unequal: holds: rates "* ]] ;;
	1) [[ $output = "unequal: does not hold: rates "* ]] ;;
	*) false ;;
	esac
	[ "${#lines[@]}" = 1 ]
	jq -e --argjson good $((1 - status)) '.experiment == "unequal" and .options.rate == 1000 and .good == ($good == 1) and
		(.result.rates_pps | length) == 3 and .result.departed > 0 and .result.arrived > 0' "$out/unequal/result.json"
	# The VOQs of all sources and the queue have traced intervals.
	[ "$(awk -F, 'NR > 1 { node[$1] } END { for (n in node) print n }' "$out/unequal/unequal.csv" | sort | xargs)" = "1 2 3 4" ]
	[ "$(head -c 4 "$out/unequal/unequal.png" | tail -c 3)" = PNG ]
	grep -q '</svg>' "$out/unequal/unequal.svg"
	assert_nothing_left
}

@test "Ctrl-C while exp builds its lab says so, and leaves nothing" {
	setsid env --default-signal=INT netns-lab/lab exp unequal --out "$BATS_TEST_TMPDIR/out" >"$BATS_TEST_TMPDIR/said" 2>&1 3>&- &
	local exp=$! status=0
	wait_for 30 compgen -G "$LAB_ROOT/sluice-lab.*/node/n2"
	kill -INT -- "-$exp"
	wait "$exp" || status=$?
	cat "$BATS_TEST_TMPDIR/said"
	[ "$status" = 130 ]
	[[ $(tail -n 1 "$BATS_TEST_TMPDIR/said") = "exp: unequal: interrupted; its lab is gone, "* ]]
	assert_nothing_left
}
