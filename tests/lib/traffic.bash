# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Frames from host to host of a lab: sent, counted at both ends, accounted for on the way. For bats
# files, after netns-lab/lib/lab.sh.
#
#   send h1 n1:eth1 h2 --dst 10.0.2.2 --count 1000 --rate 20000
#   assert_arrived 1000
#
#   send_all h1 n1:eth1 h2 1000 --dst 10.0.2.2      with daemons on the way, which may have to wait
#
# Whoever forwards keeps the accounts; three functions of the file that sources this one read them:
#
#   accounts_open             count from now on
#   accounts_settle SENT      wait until so many frames have entered, and none is under way
#   accounted SENT RECEIVED   has every frame since then gone on, or been counted by name?
#
# A generator keeps to one processor, which then processes the whole path between its bursts. So a
# ring overflows only if the router is too slow, not because another processor was busy elsewhere.

# send FROM NODE:PORT TO GEN-OPTION...: host FROM sends frames into that port, host TO counts what
# arrives; every frame must be accounted for. The reports are those of `gen` and `received`.
send() {
	local to=$3
	sink_start received "$to" && accounts_open && gen gen "$1" "$2" "${@:4}" && sends_end
}

# A burst is so small that every ring and queue on the way holds it, even if none of its frames moves
# on for a while: the ring of a veth, the smallest, has 256 places.
BURST_FRAMES=250

# send_all FROM NODE:PORT TO COUNT GEN-OPTION...: as send, but so many frames in bursts, each with its
# own flows, and each when the one before has arrived. So nothing may be dropped, however busy the
# machine is: all of them arrive, once, in order, intact.
send_all() {
	local to=$3 count=$4 sent=0 burst before
	sink_start received "$to" && accounts_open && before=$(netdev_in "$to") || return
	while [ $sent -lt "$count" ]; do
		burst=$((count - sent < BURST_FRAMES ? count - sent : BURST_FRAMES))
		gen gen "$1" "$2" --rate 100000 --count $burst --first-flow $sent "${@:5}" && [ "$(sent)" = $burst ] || return
		sent=$((sent + burst))
		wait_for 60 netdev_in_since "$to" $((before + sent)) || return
	done
	accounts_settle "$count" && finish received && echo "sent $count, lost $(received lost)" && came_whole &&
		[ "$(received packets)" = "$count" ] && [ "$(received lost)" = 0 ] && accounted "$count" "$count"
}

# netdev_in HOST: frames that its netdev got; those of kernels are among them
netdev_in() { on "$1" cat /sys/class/net/eth0/statistics/rx_packets; }
netdev_in_since() { [ "$(netdev_in "$1")" -ge "$2" ]; }

# send_start FROM NODE:PORT TO GEN-OPTION...: as send, in the background, until send_stop; returns
# when frames arrive
send_start() {
	local to=$3 came
	sink_start received "$to" && accounts_open && came=$(xdp_in "$to") &&
		gen_start gen "$1" "$2" "${@:4}" --duration 3600 && wait_for 10 xdp_in_since "$to" "$came"
}
send_stop() { finish gen && sends_end; }

sends_end() {
	accounts_settle "$(sent)" && finish received && accounted "$(sent)" "$(received packets)"
}

# gen LABEL FROM NODE:PORT GEN-OPTION...: send until --count or --duration; gen_start: in the
# background, until `finish LABEL`
gen() {
	local label=$1 from=$2 command
	gen_command "${@:3}" && on "$from" "${command[@]}" >"$LAB_DIR/$label.out"
}
gen_start() {
	local label=$1 from=$2 command
	gen_command "${@:3}" && spawn "$from" "$label" "${command[@]}"
}
gen_command() {
	local mac
	mac=$(mac_of "${1%%:*}" "${1#*:}") &&
		command=(taskset -c "${GEN_CPU:-0}" build/lab/gen eth0 --json --dst-mac "$mac" "${@:2}")
}

# sink_start LABEL HOST: count the frames of generators that come to HOST, until `finish LABEL`
sink_start() {
	spawn "$2" "$1" build/lab/sink eth0 --json --verify && wait_for 10 grep -q ready "$LAB_DIR/$1.err"
}

# finish LABEL: end this generator or sink of the background; its report is then complete
finish() {
	local pid
	pid=$(cat "$LAB_DIR/$1.pid") && kill -INT "$pid" && wait "$pid"
}

# report LABEL FIELD: from the report of a generator or sink that has ended
report() { jq -c ".$2" "$LAB_DIR/$1.out"; }
sent() { report gen sent; }
received() { report received "$1"; }

# came_whole [LABEL]: the frames that arrived came once, in order, intact, and after HOPS routers (1)
# shellcheck disable=SC2120 # tests with several sinks name one
came_whole() {
	local label=${1:-received} ttl=$((64 - ${HOPS:-1})) got
	got=$(report "$label" '| [.reordered, .duplicates, .late, .bad_checksum, .bad_payload, .wrong_mac, .ttl_min, .ttl_max]')
	echo "$label: $(report "$label" packets) frames; reordered, duplicates, late, bad checksum, bad payload, wrong MAC, TTL: $got"
	[ "$got" = "[0,0,0,0,0,0,$ttl,$ttl]" ]
}

# assert_arrived N: N frames were sent, and each arrived, once, in order, intact
assert_arrived() {
	echo "sent $(sent), lost $(received lost)"
	came_whole && [ "$(sent)" = "$1" ] && [ "$(received packets)" = "$1" ] && [ "$(received lost)" = 0 ]
}

# xdp_in_since HOST N: have more than N frames come?
xdp_in_since() { [ "$(xdp_in "$1")" -gt "$2" ]; }
