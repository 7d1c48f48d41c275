# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Functions that the forwarding tests share. n1 has h1 and h3 behind jumbo ports (eth1, eth3), and
# h2 behind eth2. Needs netns-lab/lib/lab.sh; PINS is where the node's maps are pinned.
#
# The generator runs on one core, which then processes the whole path between its bursts. So a ring
# overflows only if the router is too slow, not because another core was busy elsewhere.
GEN=(taskset -c 0 build/lab/gen eth0 --json)

forward_lab() {
	local i
	node_up n1
	for i in 1 2 3; do
		host_up "h$i"
		link "n1:eth$i" "h$i:eth0" $((i == 2 ? 1500 : 3384))
		on n1 ip addr add "10.0.$i.1/24" dev "eth$i"
		on n1 ip addr add "fd00:0:0:$i::1/64" dev "eth$i"
		on "h$i" ip addr add "10.0.$i.2/24" dev eth0
		on "h$i" ip addr add "fd00:0:0:$i::2/64" dev eth0
		on "h$i" ip route add default via "10.0.$i.1"
		on "h$i" ip route add default via "fd00:0:0:$i::1"
	done
	for i in 1 2 3; do # so that n1 learns its neighbours
		wait_for 5 on "h$i" ping -c 1 -W 1 "10.0.$i.1"
		wait_for 5 on "h$i" ping -c 1 -W 1 "fd00:0:0:$i::1"
	done
}

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

counters_now() {
	printf 'map dump pinned %s\n' "$PINS"/sl_{stats,drops,punts} | on n1 bpftool -j batch file - |
		jq -c 'map([.output[].formatted | [.values[].value.packets] | add]) | {stats: .[0], drops: .[1], punts: .[2]}'
}

# slot stats|drops|punts NAME: its number, from the lists in bpf/sluice.h
slot() {
	local list
	case $1 in
	stats) list=SL_STATS ;;
	drops) list=SL_DROP_REASONS ;;
	punts) list=SL_PUNT_REASONS ;;
	esac
	sed -n "/define $list(X)/,/^\$/p" bpf/sluice.h | grep -oE 'X\([A-Z0-9_]+, "[a-z0-9-]+"' |
		grep -nF "\"$2\"" | awk -F: '{ print $1 - 1 }'
}

# change MAP NAME: the difference between the counters kept in `before` and `after`
change() {
	jq -n "$after.$1[$(slot "$1" "$2")] - $before.$1[$(slot "$1" "$2")]"
}

# change_now: frames forwarded since `before`
change_now() {
	local after
	after=$(counters_now)
	change stats forward
}

# sink_start HOST LABEL; sink_stop LABEL leaves the report in $LAB_DIR/LABEL.json
sink_start() {
	spawn "$1" "$2" build/lab/sink eth0 --json --verify
	wait_for 5 grep -q ready "$LAB_DIR/$2.err"
}

sink_stop() {
	local pid
	pid=$(cat "$LAB_DIR/$1.pid")
	kill -INT "$pid"
	wait "$pid"
	cp "$LAB_DIR/$1.out" "$LAB_DIR/$1.json"
}

# all_entered: has n1 seen as many frames since `before` as the generator has sent?
all_entered() {
	local after
	after=$(counters_now)
	[ "$(jq -n "$after.stats[0] - $before.stats[0]")" -ge "$(jq .sent "$LAB_DIR/gen.json")" ]
}

# send FROM PORT TO GEN-OPTIONS...: send from a host into a port of n1, and count at another host
send() {
	local from=$1 port=$2 to=$3
	shift 3
	sink_start "$to" received
	before=$(counters)
	on "$from" "${GEN[@]}" --dst-mac "$(mac_of n1 "$port")" "$@" >"$LAB_DIR/gen.json"
	wait_for 10 all_entered
	sink_stop received
	after=$(counters)
}

# traffic_start FROM PORT TO GEN-OPTIONS...: as send, in the background, until traffic_stop
traffic_start() {
	local from=$1 port=$2 to=$3
	shift 3
	sink_start "$to" received
	before=$(counters)
	spawn "$from" gen "${GEN[@]}" --dst-mac "$(mac_of n1 "$port")" "$@"
	flows_now() { [ "$(change_now)" -gt 0 ]; }
	wait_for 5 flows_now
}

traffic_stop() {
	local pid
	pid=$(cat "$LAB_DIR/gen.pid")
	kill -INT "$pid"
	wait "$pid"
	cp "$LAB_DIR/gen.out" "$LAB_DIR/gen.json"
	sink_stop received
	after=$(counters)
}

received() { jq ".$1" "$LAB_DIR/received.json"; }

# assert_conserved N: at least N frames entered, and each frame that entered was forwarded, dropped
# or punted
assert_conserved() {
	jq -ne --argjson before "$before" --argjson after "$after" --argjson n "$1" '
		($after.stats[0] - $before.stats[0]) as $rx |
		($after.stats[1] - $before.stats[1]) as $forward |
		(($after.drops | add) - ($before.drops | add)) as $drops |
		(($after.punts | add) - ($before.punts | add)) as $punts |
		"rx \($rx) = forward \($forward) + drops \($drops) + punts \($punts)",
		($rx == $forward + $drops + $punts and $rx >= $n)'
}

# assert_forwarded N: N packets were sent, and arrived once, in order, intact, one hop older
assert_forwarded() {
	local got
	[ "$(jq .sent "$LAB_DIR/gen.json")" = "$1" ] || return
	got=$(jq -c '[.packets, .lost, .reordered, .duplicates, .late, .bad_checksum, .bad_payload,
		.wrong_mac, .ttl_min, .ttl_max]' "$LAB_DIR/received.json")
	echo "received $got, tx-ring $(change drops tx-ring)"
	[ "$got" = "[$1,0,0,0,0,0,0,0,63,63]" ] || return
	[ "$(change stats forward)" -ge "$1" ] || return
	assert_conserved "$1"
}
