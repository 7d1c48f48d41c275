# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# The counters of router n1 before and after traffic: the accounts of tests/lib/traffic.bash.

. tests/lib/traffic.bash

PINS=/sys/fs/bpf/sluice # where the maps are pinned; without sluiced, /sys/fs/bpf/tc/globals

# counters: print the packets of every slot as {"stats": [...], "drops": [...], "punts": [...]},
# CPUs added up, once they stand still, since the maps are read one after the other
counters() {
	local last now deadline=$((SECONDS + 10 * ${LAB_PATIENCE:-1}))
	now=$(counters_now)
	until [ "$now" = "${last:-}" ] || [ $SECONDS -gt $deadline ]; do
		last=$now
		now=$(counters_now)
	done
	echo "$now"
}

# What XDP counts in one slot for each frame that goes on, added up as sl_stats_complete has it: the slots
# of IPv6 are the two behind those of the list.
counters_now() {
	printf 'map dump pinned %s\n' "$PINS"/sl_{stats,drops,punts} | on n1 bpftool -j batch file - |
		jq -c --argjson RX "$(slot stats rx)" --argjson RX_IP4 "$(slot stats rx-ip4)" --argjson RX_IP6 "$(slot stats rx-ip6)" \
			--argjson FORWARD "$(slot stats forward)" --argjson VOQ "$(slot stats voq)" '
			def complete: .[-2:] as [$forward6, $voq6] | .[$RX_IP4] += .[$FORWARD] + .[$VOQ] | .[$RX_IP6] += $forward6 + $voq6 |
				.[$FORWARD] += $forward6 | .[$VOQ] += $voq6 | .[$RX] += .[$FORWARD] + .[$VOQ] | .[:-2];
			map([.output[].formatted | [.values[].value.packets] | add]) | {stats: (.[0] | complete), drops: .[1], punts: .[2]}'
}

# slot stats|drops|punts NAME: its number, from the lists in bpf/abi/reasons.h
slot() {
	local list
	case $1 in
	stats) list=SL_STATS ;;
	drops) list=SL_DROP_REASONS ;;
	punts) list=SL_PUNT_REASONS ;;
	esac
	awk -v list="define $list(X)" -v name="\"$2\"" '
		index($0, list) { inside = 1 }
		inside && index($0, name) { print n + 0 }
		inside && /X\([A-Z0-9_]+, "/ { n++ }
		/^$/ { inside = 0 }' bpf/abi/reasons.h
}

# change stats|drops|punts NAME: how much this counter has grown in the last traffic, or up to now
# while it lasts. all_changes drops|punts: all counters of the list together
change() { jq -n "(${COUNTERS_AFTER:-$(counters_now)} | .$1[$(slot "$1" "$2")]) - ($COUNTERS_BEFORE | .$1[$(slot "$1" "$2")])"; }
all_changes() { jq -n "(${COUNTERS_AFTER:-$(counters_now)} | .$1 | add) - ($COUNTERS_BEFORE | .$1 | add)"; }

accounts_open() {
	COUNTERS_AFTER=
	COUNTERS_BEFORE=$(counters)
}

accounts_settle() {
	wait_for 10 have_entered "$1" && COUNTERS_AFTER=$(counters)
}
have_entered() { [ "$(change stats rx)" -ge "$1" ]; }

# The sums of bpf/abi/reasons.h. More frames enter than the generator's, such as neighbour discovery.
accounted() {
	jq -ne --argjson before "$COUNTERS_BEFORE" --argjson after "$COUNTERS_AFTER" --argjson sent "$1" --argjson received "$2" \
		--argjson RX "$(slot stats rx)" --argjson FORWARD "$(slot stats forward)" \
		--argjson TX_RING "$(slot drops tx-ring)" --argjson TX_ERROR "$(slot drops tx-error)" '
		def change(f): ($after | f) - ($before | f);
		change(.stats[$RX]) as $rx | change(.stats[$FORWARD]) as $forward | change(.punts | add) as $punts |
		change(.drops[$TX_RING] + .drops[$TX_ERROR]) as $unsent |
		(change(.drops | add) - $unsent) as $dropped |
		"sent \($sent): rx \($rx), forward \($forward) (\($unsent) not taken by the driver), dropped \($dropped), " +
			"punts \($punts); received \($received)",
		($rx == $forward + $dropped + $punts and $rx >= $sent and $received <= $forward - $unsent + $punts)'
}

# assert_forwarded N: N frames were sent, and each arrived, once, in order, intact, by XDP
assert_forwarded() { assert_arrived "$1" && [ "$(change stats forward)" = "$1" ]; }

# forwarded_more N: has XDP forwarded more than N frames since accounts_open?
forwarded_more() { [ "$(change stats forward)" -gt "$1" ]; }
