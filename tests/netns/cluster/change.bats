#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# A cluster changes while it forwards: its key, node by node; nodes and their ports. Traffic of ports
# that have nothing to do with it loses nothing. Takes 60 s.
# shellcheck disable=SC2154
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/faults/faults.sh

setup_file() {
	local n
	cluster_lab
	# Each node has a key file of its own.
	topo_up --nodes 3 --ports 2
	for n in 1 2 3; do
		cp -p "$LAB_DIR/cluster.key" "$LAB_DIR/key$n"
		sed -i "s|key_file: .*|key_file: $LAB_DIR/key$n|" "$LAB_DIR/n$n.yaml"
		bridge_stop $n
		bridge_start $n
	done
	(umask 077 && head -c 32 /dev/urandom >"$LAB_DIR/new.key")
	for n in 1 2 3; do wait_for 30 cluster_is_up $n 2; done
	hosts_meet
}

# key N STEP...: on that node
key() {
	local n=$1
	shift
	on "n$n" build/sluice cluster key "$@" --config "$LAB_DIR/n$n.yaml"
}

# everywhere STEP...: on all nodes, one after the other
everywhere() { for n in 1 2 3; do key $n "$@" || return; done; }

# The names of the keys of a node's bridge; those that its peers have proven
keys_of() { bridge_ask "$1" fabric | jq -c .keys; }
proven() { bridge_ask "$1" peers | jq -r .key | sort -u | xargs; }
all_proven() { for n in 1 2 3; do [ "$(proven $n)" = "$1" ] || return; done; }
refusals() { bridge_ask 1 fabric | jq '.refused.key + .refused_us.key'; }

new_key() {
	everywhere add "$LAB_DIR/new.key"
	all_proven "$old"
	key 1 switch
	# The others take the new key already, and have not switched.
	wait_for 10 all_proven_by 1
	run ! key 1 remove
	key 2 switch
	key 3 switch
	wait_for 10 all_proven "$new"
	everywhere remove
}
# Node 1 opens to the others, which answer by the former key.
all_proven_by() { [ "$(proven "$1")" = "$old" ]; }

@test "the key changes in three steps without a packet lost, and no peer goes down" {
	old=$(keys_of 1 | jq -r '.[0]')
	[ "$(proven 1)" = "$old" ]
	new=$(key 1 add "$LAB_DIR/new.key" | sed "s/.*takes \(.*\), too/\1/")
	[[ $new =~ ^[0-9a-f]{8}$ && $new != "$old" ]]
	[ "$(keys_of 1)" = "[\"$old\",\"$new\"]" ]
	key 1 remove
	[ "$(keys_of 1)" = "[\"$old\"]" ]
	untouched new_key
	for n in 1 2 3; do
		[ "$(keys_of $n)" = "[\"$new\"]" ]
		[ "$(stat -c %a "$LAB_DIR/key$n")" = 600 ]
		cmp "$LAB_DIR/key$n" "$LAB_DIR/new.key"
		[ ! -e "$LAB_DIR/key$n.also" ]
	done
	[ "$(refusals)" = 0 ]
}

@test "after it, a node comes back by the new key, and one with the former key does not" {
	bridge_stop 3
	wait_for 30 no_carrier 1 3 1
	cp -p "$LAB_DIR/cluster.key" "$LAB_DIR/key3"
	bridge_start 3
	refused() { [ "$(refusals)" -ge 1 ]; }
	wait_for 10 refused
	no_carrier 1 3 1
	key 3 add "$LAB_DIR/new.key"
	key 3 switch
	wait_for 10 carrier 1 3 1
	key 3 remove
	send_all h1p1 n1:eth1 h3p1 500 --dst 10.3.1.2
}

# A bridge of a large cluster, of whose peers 12 have not proven the key 0a0b0c0d: it answers twice,
# and greets as the real one does.
large_bridge() {
	on n1 /usr/bin/python3 - "$1" <<-'END'
		import json, socket, sys
		with socket.socket(socket.AF_UNIX) as bridge:
		    bridge.connect("/run/sluice/sluice-bridge.sock")
		    hello = json.loads(bridge.makefile().readline())
		s = socket.socket(socket.AF_UNIX)
		s.bind(sys.argv[1])
		s.listen()
		print("listens", flush=True)
		for rows in [{"keys": ["0a0b0c0d", "01020304"]}], [{"node": n, "key": ""} for n in range(201, 213)]:
		    with s.accept()[0] as client:
		        lines = client.makefile("rw")
		        for line in [hello, None, *rows, {"end": {}}]:
		            if line:
		                print(json.dumps(line), file=lines, flush=True)
		            else:
		                lines.readline()
	END
}

@test "a step that cannot be taken says why, and changes nothing" {
	before=$(sha256sum "$LAB_DIR"/key?)
	run -1 --separate-stderr key 1 switch
	[[ $stderr == *"there is no second key \"$LAB_DIR/key1.also\": begin with \`add\`"* ]]
	run -1 --separate-stderr key 1 remove
	[[ $stderr == *"there is no second key"* ]]
	echo short >"$LAB_DIR/short.key"
	run -1 --separate-stderr key 1 add "$LAB_DIR/short.key"
	[[ $stderr == *"\"$LAB_DIR/short.key\" is no key: a key has 16 to 1024 bytes"* ]]
	run -1 --separate-stderr key 1 add "$LAB_DIR/none.key"
	[[ $stderr == *"\"$LAB_DIR/none.key\": No such file or directory"* ]]
	# The folder of the key file is what is wrong here, and not the new key.
	sed "s|key_file: .*|key_file: $LAB_DIR/nowhere/key1|" "$LAB_DIR/n1.yaml" >"$LAB_DIR/nowhere.yaml"
	run -1 --separate-stderr build/sluice cluster key add "$LAB_DIR/new.key" --config "$LAB_DIR/nowhere.yaml"
	[ "$stderr" = "sluice: cluster: \"$LAB_DIR/nowhere/key1.also\": No such file or directory" ]
	large_bridge "$LAB_DIR/large.sock" >"$LAB_DIR/large.out" 3>&- &
	wait_for 10 grep -q listens "$LAB_DIR/large.out"
	# Without a second key that is the reason, whatever the peers have proven.
	remove() { build/sluice -B "$LAB_DIR/large.sock" cluster key remove --config "$LAB_DIR/n1.yaml"; }
	run -1 --separate-stderr remove
	[[ $stderr == *"there is no second key"* ]]
	key 1 add "$LAB_DIR/cluster.key"
	run -1 --separate-stderr remove
	[[ $stderr == *"12 peers have not proven the key 0a0b0c0d (node 201, 202, 203, 204, 205, 206, 207, 208, 209, 210, ...):"* ]]
	wait $!
	[ -e "$LAB_DIR/key1.also" ]
	run -1 --separate-stderr key 1 add "$LAB_DIR/new.key"
	[[ $stderr == *"there is a second key already"* ]]
	key 1 remove
	run -2 --separate-stderr key 1 rotate
	[[ $stderr == *"which step?: write add FILE, switch or remove"* ]]
	run -2 --separate-stderr key 1 switch now
	[[ $stderr == *"nothing goes after that step"* ]]
	[ "$before" = "$(sha256sum "$LAB_DIR"/key?)" ]
}

# What node 1 holds of node 2: the same life all the time?
pair() { bridge_ask 1 peers | jq -c 'select(.node == 2) | [.epoch, .downs]'; }
voq_of() { bridge_ask 1 voqs | jq "select(.port == \"$1\" and .class == 0).voq"; }
maps() { on n1 bpftool -j map show pinned /sys/fs/bpf/sluice/sl_xsk | jq .id; }

leave_and_join() {
	for n in 1 2; do sed -i '/id: 3/,$d' "$LAB_DIR/n$n.yaml"; done
	reload 1 2
	[ "$(bridge_ask 1 peers | jq .node | xargs)" = 2 ]
	[ "$(bridge_ask 1 voqs | jq -r .port | sort -u | xargs)" = "n2p1 n2p2" ]
	run ! on n1 ip link show n3p1
	run ! on n1 ip route get 10.3.1.2
	# It calls, and is a stranger.
	wait_for 20 stranger
	for n in 1 2; do cp "$LAB_DIR/all-n$n.yaml" "$LAB_DIR/n$n.yaml"; done
	reload 1 2
	wait_for 20 carrier 1 3 1
	wait_for 20 carrier 3 1 1
}
stranger() { [ "$(bridge_ask 3 fabric | jq '.refused_us["node-unknown"]')" -gt 0 ]; }

@test "a node leaves and joins again by reloads of the others, whose traffic loses nothing" {
	local pair voq
	for n in 1 2; do cp "$LAB_DIR/n$n.yaml" "$LAB_DIR/all-n$n.yaml"; done
	pair=$(pair) voq=$(voq_of n2p1) maps=$(maps)
	# The counters of a remote port's netdev go with it, so sums over netdevs cannot hold.
	arrives leave_and_join
	[ "$(pair)" = "$pair" ]
	[ "$(voq_of n2p1)" = "$voq" ]
	[ "$(maps)" = "$maps" ]
	hosts_meet
	send_all h1p1 n1:eth1 h3p1 1000 --dst 10.3.1.2
	send_all h3p2 n3:eth2 h1p2 1000 --dst fd00:0:1:2::2
	[ "$(bridge_ask 1 status | jq .violations)" = 0 ]
}

come_and_go_again() {
	for _ in 1 2 3 4 5; do
		sed -i '/id: 3/,$d' "$LAB_DIR/n1.yaml"
		reload 1
		cp "$LAB_DIR/all-n1.yaml" "$LAB_DIR/n1.yaml"
		reload 1
	done
	wait_for 20 carrier 1 3 1
	wait_for 20 carrier 3 1 1
}
holds() {
	local pid
	pid=$(cat "$LAB_DIR/bridge-n1.pid")
	ls "/proc/$pid/fd" | wc -l
	bridge_ask 1 fabric | jq .chunks_free
}

@test "after a node has come and gone again and again, the bridge holds as much as before" {
	local before
	# What is there once, with the first change, stays.
	come_and_go_again
	before=$(holds)
	echo "$before"
	come_and_go_again
	holds
	as_before() { [ "$(holds)" = "$before" ]; }
	wait_for 10 as_before
	hosts_meet
}

# bridge_keys "KEY: VALUE, ..." [FABRIC-KEY...]: node 1's file, with these keys of bridge and fabric besides
bridge_keys() {
	sed -e "s|^  bridge: {|&$1|" -e "s|^  fabric: {|&${2:+$2, }|" "$LAB_DIR/all-n1.yaml" >"$LAB_DIR/n1.yaml"
}
# How many data messages node 1 has sent that held less than, and at least so many frames, a power of two
messages() { bridge_ask 1 fabric | jq -c "[.packing | (map(select(.most < $1)), map(select(.least >= $1))) | map(.messages) | add // 0]"; }
# limits WHAT: those of the VOQs, or egress queues, of node 1
limits() { bridge_ask 1 "$1" | jq -s -c 'map(.limit_frames) | unique'; }
in_bursts() { send_all h1p1 n1:eth1 h2p1 1000 --dst 10.2.1.2; }

values_change() {
	local was
	bridge_keys "packing: 1, pack_delay_us: 300, poll: busy, voq_frames: 700, queue_frames: 512" "rate: 8gbit"
	reload 1 || return
	[ "$(bridge_ask 1 fabric | jq -c '[.packing_limit, .poll, .speed_Bps]')" = '[1,"busy",1000000000]' ] || return
	[ "$(limits voqs) $(limits egress-queues)" = "[700] [512]" ] || return
	was=$(messages 2)
	bridge_keys "packing: 64, pack_delay_us: 20000, voq_frames: 1500"
	reload 1 || return
	[ "$(bridge_ask 1 fabric | jq -c '[.packing_limit, .poll]')" = '[64,"adaptive"]' ] || return
	[ "$(limits voqs) $(limits egress-queues)" = "[1500] [1024]" ] || return
	# With one frame a message no message has had more, until now.
	grew() { [ "$(messages 2 | jq '.[1]')" -gt "$(jq '.[1]' <<<"$was")" ]; }
	wait_for 20 grew
}

@test "packing, limits of queues, polling and the fabric's rate change by a reload, and nothing is lost" {
	local one more
	untouched values_change
	bridge_keys "packing: 1"
	reload 1
	read -r one more < <(messages 2 | jq -r '@tsv')
	in_bursts
	# A message a frame; what kernels send meanwhile is more.
	[ "$(messages 2 | jq '.[0]')" -ge $((one + 1000)) ]
	[ "$(messages 2 | jq '.[1]')" = "$more" ]
	bridge_keys ""
	reload 1
	send_all h1p1 n1:eth1 h3p1 500 --dst 10.3.1.2
}

@test "what needs a restart is refused with its name, and changes nothing" {
	local before values
	values="$(bridge_ask 1 fabric | jq -c '[.packing_limit, .poll]') $(limits voqs)"
	refused() { [ "$(grep -c "reload refused" "$LAB_DIR/bridge-n1.err")" = "$1" ]; }
	before=$(bridge_ask 1 peers | jq -c '[.node, .epoch, .downs]')
	sed -i 's/liveness_ms: .*/liveness_ms: 77/' "$LAB_DIR/n1.yaml"
	on n1 kill -HUP "$(cat "$LAB_DIR/bridge-n1.pid")"
	wait_for 10 refused 1
	grep -q 'reload: `liveness_ms` changed, which takes a restart of sluice-bridge' "$LAB_DIR/bridge-n1.err"
	refused_key() { # NAME BRIDGE-KEYS FABRIC-KEYS
		local n
		bridge_keys "$2" "$3"
		n=$(($(grep -c "reload refused" "$LAB_DIR/bridge-n1.err") + 1))
		on n1 kill -HUP "$(cat "$LAB_DIR/bridge-n1.pid")"
		wait_for 10 refused $n
		tail -2 "$LAB_DIR/bridge-n1.err" | grep -q "reload: \`$1\` changed, which takes a restart of sluice-bridge"
	}
	# The first that needs a restart is named, and the others beside it change nothing.
	refused_key "bridge: workers" "packing: 3, workers: 2"
	refused_key "bridge: cores" "cores: '1', voq_frames: 99"
	refused_key "bridge: realtime" "realtime: 5"
	refused_key "bridge: memory_mib" "memory_mib: 999"
	refused_key "bridge: delay_sample" "delay_sample: 7"
	refused_key "bridge: control" "control: /run/sluice/other.sock"
	refused_key "fabric: dscp" "" "dscp: 7, rate: 1gbit"
	refused_key "fabric: service_level" "" "service_level: 3"
	refused_key "fabric: express_check" "" "express_check: icrc"
	[ "$(bridge_ask 1 fabric | jq -c '[.packing_limit, .poll]') $(limits voqs)" = "$values" ]
	echo "cluster: {" >"$LAB_DIR/n1.yaml"
	on n1 kill -HUP "$(cat "$LAB_DIR/bridge-n1.pid")"
	wait_for 10 refused 11
	[ "$(bridge_ask 1 peers | jq -c '[.node, .epoch, .downs]')" = "$before" ]
	cp "$LAB_DIR/all-n1.yaml" "$LAB_DIR/n1.yaml"
	send_all h1p1 n1:eth1 h3p1 500 --dst 10.3.1.2
}

knows_of_others() { [ "$(bridge_ask 1 peers | jq -c .same_ports | xargs)" = "false false" ]; }

@test "where one node knows of a port that another one lacks, all other ports work" {
	more="        - {number: 9, name: eth9, optional: true}"
	sed -i "/id: 2/,/id: 3/ s/.*number: 2, name: eth2.*/&\n$more/" "$LAB_DIR/n1.yaml"
	reload 1
	wait_for 30 cluster_is_up 1 2
	wait_for 10 knows_of_others
	[ "$(bridge_ask 3 peers | jq -c 'select(.node == 2).same_ports')" = true ]
	no_carrier 1 2 9
	send_all h1p1 n1:eth1 h2p1 500 --dst 10.2.1.2
	send_all h2p2 n2:eth2 h1p2 500 --dst 10.1.2.2
	send_all h3p1 n3:eth1 h1p1 500 --dst fd00:0:1:1::2
}
