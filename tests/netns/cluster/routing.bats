#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# `sluice cluster routing`: BIRD and FRR run on what it prints, and agree with each other. Three
# nodes exchange real prefixes, which a neighbour behind a port of node 1 announces; the kernels'
# routes say whether the daemons found the right way, frames that they lead through the cluster do.
# Two to six minutes, as the machine's load goes, most of it BIRD's and FRR's timers.
# shellcheck disable=SC2154 # variables are set by `run`
bats_require_minimum_version 1.5.0

load cluster
. netns-lab/lib/bird.sh

PREFIXES4=2000 PREFIXES6=500
# A neighbour that is silent for 5 s is gone: on a busy machine, no other one is.
export BIRD_BFD="interval 1 s; multiplier 5;"

setup_file() {
	local n most
	cluster_begin 3 2
	for n in 4 6; do
		most=PREFIXES$n
		xz -dc "netns-lab/data/internet-v$n.txt.xz" |
			awk -v n="${!most}" '$1 != last && i < n { last = $1; i++; print $1 }' >"$LAB_DIR/prefixes$n"
		head -n 10 "$LAB_DIR/prefixes$n" >"$LAB_DIR/twice$n"
		tail -n +11 "$LAB_DIR/prefixes$n" >"$LAB_DIR/others$n"
	done
}

# End what a failed test has left running, say how it left the cluster, and start what it has stopped.
teardown() {
	local n
	daemons_end
	[ -z "$BATS_TEST_COMPLETED" ] || return 0
	for n in 1 2 3; do
		echo "node $n:" && tail -n 4 "$LAB_DIR/bridge-n$n.err" "$LAB_DIR/sluiced-n$n.err"
		bridge_ask $n peers | jq -c '[.node, .state]' || :
		on n$n ip -br link
	done
	kill -CONT "$(cat "$LAB_DIR/sluiced-n2.pid")"
	kill -0 "$(cat "$LAB_DIR/bridge-n1.pid")" || bridge_start 1
}

routing() { build/sluice cluster routing "$@"; }

# file_of NODES: a configuration of so many nodes with two ports each
file_of() {
	local i
	printf 'cluster:\n  node: 1\n  fabric: {device: fab0}\n  nodes:\n' >"$LAB_DIR/of$1.yaml"
	for ((i = 1; i <= $1; i++)); do
		cat <<-END
			    - id: $i
			      address: 10.9.0.$i
			      ports:
			        - {number: 1, name: eth1, addresses: 10.$i.1.1/24 fd00:0:$i:1::1/64}
			        - {number: 2, name: eth2, addresses: 10.$i.2.129/25 10.$i.2.1/25}
		END
	done >>"$LAB_DIR/of$1.yaml"
}

# --- Daemons ---

# outside DAEMON N P AS: what an operator adds for a neighbour behind port P of node N, by the template's text
outside() {
	local peer=10.$2.$3.2
	if [ "$1" = bird ]; then
		bird_outside "$2" "$3" "$4" | sed 's/}$/bfd on; ipv4 { export all; }; }/'
		echo "protocol bfd { interface \"eth$3\" { $BIRD_BFD }; }"
		return
	fi
	cat <<-END
		route-map all permit 10
		exit
		bfd
		 peer $peer interface eth$3
		  receive-interval 1000
		  transmit-interval 1000
		  detect-multiplier 5
		 exit
		exit
		router bgp 65000
		 neighbor $peer remote-as $4
		 neighbor $peer bfd
		 address-family ipv4 unicast
		  neighbor $peer activate
		  neighbor $peer route-map all in
		 exit-address-family
		 address-family ipv6 unicast
		  neighbor $peer activate
		  neighbor $peer route-map all in
		 exit-address-family
		exit
	END
}

# daemon_start DAEMON N [OPTION...]: on what the command prints, and the file $LAB_DIR/outside-nN
daemon_start() {
	local daemon=$1 n=$2 dir=$LAB_DIR/$1-n$2
	rm -rf "$dir" && mkdir "$dir" && : >"$dir/vtysh.conf" # sockets of an earlier one would seem to be this one's
	{ routing "--$daemon" "${@:3}" "$LAB_DIR/n$n.yaml" && cat "$LAB_DIR/outside-n$n"; } >"$dir/conf" || return
	"${daemon}_start" "$n" "$dir"
}

bird_start() { spawn "n$1" "bird-n$1" bird -f -c "$2/conf" -s "$2/bird.ctl"; }

# Each daemon of FRR has its sockets and its process id in a directory of the lab. vtysh gives each
# its part of the one file, as FRR's own start does.
frr_start() {
	local daemon
	chown frr:frr "$2"
	for daemon in zebra staticd bgpd bfdd; do
		frr_spawn "$1" "$2" "$daemon" && wait_for 30 test -S "$2/$daemon.vty" || return
	done
	frr_vtysh "$1" -f "$2/conf" >"$2/vtysh.out" 2>&1
	cat "$2/vtysh.out"
	[ -z "$(grep -v '^\[[0-9]*|' "$2/vtysh.out")" ]
}

frr_spawn() {
	local options=()
	[ "$3" != zebra ] || options=(-s 90000000)
	[ "$3" != bfdd ] || options=(--bfdctl "$2/bfdd.sock")
	spawn "n$1" "$3-n$1" "/usr/lib/frr/$3" --config_file /dev/null --pid_file "$2/$3.pid" --socket "$2/zserv.api" \
		--vty_socket "$2" --vty_port 0 --log stdout "${options[@]}"
}

frr_vtysh() { on "n$1" vtysh --vty_socket "$LAB_DIR/frr-n$1" --config_dir "$LAB_DIR/frr-n$1" "${@:2}"; }

# daemons_end: end all of them, and wait until no kernel has a route of theirs
daemons_end() {
	local file
	for file in "$LAB_DIR"/{bird,zebra,staticd,bgpd,bfdd}-*.pid; do
		[ -e "$file" ] || continue
		kill "$(cat "$file")" 2>/dev/null || :
		kill -CONT "$(cat "$file")" 2>/dev/null || : # a failed test may have halted it
		wait_for 60 no_processes "$(cat "$file")"
		rm "$file"
	done
	for n in 1 2 3; do
		for family in -4 -6; do
			on "n$n" ip "$family" route flush proto bird
			on "n$n" ip "$family" route flush proto bgp
		done
	done
}

# routes N: of BGP in the kernel of node N, as "prefix gateway netdev" with a line for each way. BIRD leads
# IPv6 to the neighbour's link-local address, which it tells beside the other; here both are one. Tests look
# often at thousands of routes, for which jq takes five times the processor time of awk.
routes() {
	local family host n same=()
	for n in 1 2; do
		same+=("$(on "h${n}p1" ip -o -6 addr show dev eth0 scope link | awk '{ sub("/.*", "", $4); print $4; exit }')")
	done
	for family in -4 -6; do
		host=/32
		[ $family = -4 ] || host=/128
		on "n$1" ip -o "$family" route show | awk -v host=$host -v one="${same[0]}" -v two="${same[1]}" '
			/ proto (bird|bgp) / {
				if ($1 == "unreachable") {
					print
					next
				}
				for (i = 2; i < NF; i++) {
					if ($i == "via")
						gateway = $(i + 1) == one ? "fd00:0:1:1::2" : $(i + 1) == two ? "fd00:0:2:1::2" : $(i + 1)
					else if ($i == "dev")
						print $1 ($1 ~ "/" ? "" : host), gateway, $(i + 1)
				}
				gateway = "-"
			}'
	done | sort
}

# expect N LIST OWNER: the prefixes of $LAB_DIR/LIST4 and LIST6 as node N should have them, by port 1 of node OWNER
expect() {
	local dev=n$3p1
	[ "$1" != "$3" ] || dev=eth1
	awk -v via4="10.$3.1.2" -v via6="fd00:0:$3:1::2" -v dev=$dev '{ print $1, ($1 ~ /:/ ? via6 : via4), dev }' "$LAB_DIR/${2}4" "$LAB_DIR/${2}6"
}

# routes_are N: those of $LAB_DIR/expected-nN, and no others?
routes_are() {
	routes "$1" >"$LAB_DIR/routes-n$1"
	diff <(sort "$LAB_DIR/expected-n$1") "$LAB_DIR/routes-n$1" | sed -n "1,3p;\$p"
	[ "${PIPESTATUS[0]}" -eq 0 ]
}

all_have_them() {
	local n
	for n in 1 2 3; do
		LAB_LOOK_S=0.5 wait_for 60 routes_are $n || return
	done
}

# Node 1's neighbour has all prefixes, that of node 2 the first ones, too. Node 3 then has two ways to
# those; the other two nodes go out by themselves.
expect_both() {
	expect 1 prefixes 1 >"$LAB_DIR/expected-n1"
	{ expect 2 others 1 && expect 2 twice 2; } >"$LAB_DIR/expected-n2"
	{ expect 3 prefixes 1 && expect 3 twice 2; } >"$LAB_DIR/expected-n3"
}

expect_second() {
	local n
	for n in 1 2 3; do
		expect $n twice 2 >"$LAB_DIR/expected-n$n"
	done
}

# Without node 1's bridge, its sessions of BGP go on, but its ports have no carrier elsewhere.
expect_cut() {
	expect 1 prefixes 1 >"$LAB_DIR/expected-n1"
	expect 2 twice 2 >"$LAB_DIR/expected-n2"
	expect 3 twice 2 >"$LAB_DIR/expected-n3"
}

# frames_pass FROM: to prefixes of both families, as many as a burst has frames, from host FROM to the neighbour of node 1
frames_pass() {
	local family
	for family in 4 6; do
		send_all "$1" "n${1:1:1}:eth${1:3}" h1p1 $BURST_FRAMES --dst-file "$LAB_DIR/others$family" --dests $BURST_FRAMES || return
	done
}

# fast_path_follows N: has sluiced what the kernel has?
fast_path_follows() {
	[ "$(on "n$1" build/sluice -j show routes | jq '[.[] | select(.protocol == "bird" or .protocol == "bgp")] | length')" = \
		$((PREFIXES4 + PREFIXES6)) ]
}

# exchange DAEMON1 DAEMON2 DAEMON3 [OPTION...]: all nodes learn what both neighbours announce
exchange() {
	local n daemons=("$@")
	: >"$LAB_DIR/outside-n3"
	for n in 1 2; do
		outside "${daemons[n - 1]}" $n 1 65001 >"$LAB_DIR/outside-n$n"
	done
	for n in 1 2 3; do
		daemon_start "${daemons[n - 1]}" $n "${@:4}" || return
	done
	bird_host h1p1 65001 "$LAB_DIR/prefixes4" "$LAB_DIR/prefixes6" &&
		bird_host h2p1 65001 "$LAB_DIR/twice4" "$LAB_DIR/twice6" && expect_both && all_have_them
}

# frames_follow: what the daemons found is what frames do
frames_follow() {
	local n address
	for n in 1 2 3; do
		LAB_LOOK_S=0.5 wait_for 60 fast_path_follows $n || return
	done
	frames_pass h3p1 || return
	# What a node itself sends has an address of one of its ports, and gets there.
	address=$(tail -n 1 "$LAB_DIR/others4" | cut -d/ -f1)
	on h1p1 ip addr replace "$address/32" dev lo
	[[ $(on n3 ip route get "$address") == *"via 10.1.1.2 dev n1p1 src 10.3.1.1"* ]] &&
		wait_for 10 on n3 ping -c 1 -W 1 "$address"
}

# carrier_counts: the port of node 1 loses carrier, and its routes leave all kernels. It returns, and so do they.
carrier_counts() {
	on h1p1 ip link set eth0 down
	expect_second
	all_have_them || return
	on h1p1 ip link set eth0 up
	on h1p1 ip addr replace fd00:0:1:1::2/64 dev eth0 nodad
	on h1p1 ip route replace default via 10.1.1.1
	expect_both
	all_have_them
}

# silence_counts: node 1's neighbour keeps its carrier and says nothing more. BFD tells the daemon in
# seconds; without it, the hold time would end after minutes.
silence_counts() {
	local pid
	pid=$(cat "$LAB_DIR/bird-h1p1.pid")
	wait_for 60 bfd_is_up "$1" || return
	kill -STOP "$pid"
	expect_second
	all_have_them || return
	kill -CONT "$pid"
	expect_both
	all_have_them
}

bfd_is_up() {
	if [ "$1" = bird ]; then
		on n1 birdc -s "$LAB_DIR/bird-n1/bird.ctl" show bfd sessions | grep -q '^10.1.1.2 .* Up '
	else
		frr_vtysh 1 -c "show bfd peers brief" | grep -q '10.1.1.2 .*up'
	fi
}

# drain N DAEMON true|false [OPTION...]: the daemon of node N takes what the command prints of a node with that mark, and goes on
drain() {
	local conf=$LAB_DIR/$2-n$1/conf
	sed "s/^    - id: $1\$/&\n      drain: $3/" "$LAB_DIR/n$1.yaml" >"$LAB_DIR/drain.yaml"
	{ routing "--$2" "${@:4}" "$LAB_DIR/drain.yaml" && cat "$LAB_DIR/outside-n$1"; } >"$conf" || return
	if [ "$2" = bird ]; then
		on "n$1" birdc -s "$LAB_DIR/bird-n$1/bird.ctl" configure | grep -q Reconfigured
	else
		frr_vtysh "$1" -f "$conf" >"$LAB_DIR/vtysh.out" 2>&1
	fi
}

# lowered PREFIX, usual PREFIX: BIRD on node 3 about the way by node 1
way() { on n3 birdc -s "$LAB_DIR/bird-n3/bird.ctl" show route all for "$1" protocol n1; }
lowered() { [[ $(way "$1") == *"BGP.local_pref: 0"*"BGP.community: (65535,0)"* ]]; }
usual() { [[ $(way "$1") == *"BGP.local_pref: 100"* && $(way "$1") != *65535* ]]; }

# told PREFIX: what the neighbour of node 1 has been told of it
told() { on h1p1 birdc -s "$LAB_DIR/bird-h1p1.ctl" show route all for "$1" protocol node; }
told_of_shutdown() { [[ $(told "$1") == *"BGP.community: (65535,0)"* ]]; }

# Node 1 is drained: all three prefer the other way to what both neighbours announce, and go on by node 1 to
# what its neighbour alone announces.
expect_drained() {
	{ expect 1 others 1 && expect 1 twice 2; } >"$LAB_DIR/expected-n1"
	{ expect 2 others 1 && expect 2 twice 2; } >"$LAB_DIR/expected-n2"
	{ expect 3 others 1 && expect 3 twice 2; } >"$LAB_DIR/expected-n3"
}

# drain_counts DAEMON: of node 1
drain_counts() {
	local alone both
	alone=$(tail -n 1 "$LAB_DIR/others4") both=$(head -n 1 "$LAB_DIR/twice4")
	usual "$alone" && drain 1 "$1" true && expect_drained && all_have_them && wait_for 60 lowered "$alone" || return
	[ "$1" = frr ] || wait_for 60 told_of_shutdown "$both" || return
	frames_follow && drain 1 "$1" false && expect_both && all_have_them && wait_for 60 usual "$alone" && usual "$both"
}

# bird_finds_no_way N: by any of the routes that node 1 announces
bird_finds_no_way() {
	on "n$1" birdc -s "$LAB_DIR/bird-n$1/bird.ctl" show route where dest = RTD_UNREACHABLE count |
		grep -q "^Total: $((PREFIXES4 + PREFIXES6)) of "
}

# carrier_counts_remotely DAEMON: the same for remote ports, while nobody withdraws a route. The daemons need
# not wait until sluiced has removed its routes to these ports, after a minute: here it cannot. What BIRD finds
# no way to, it does not withdraw, and does not give to the kernel as unreachable.
carrier_counts_remotely() {
	local n
	kill -STOP "$(cat "$LAB_DIR/sluiced-n2.pid")"
	bridge_stop 1
	for n in 2 3; do
		[ "$1" = frr ] || wait_for 60 bird_finds_no_way $n || return
	done
	expect_cut
	all_have_them || return
	kill -CONT "$(cat "$LAB_DIR/sluiced-n2.pid")"
	bridge_start 1
	expect_both
	all_have_them
}

# --- Tests ---

@test "each of 1, 3, 16 and 255 nodes: BIRD and FRR take every line" {
	: >"$LAB_DIR/vtysh.conf"
	local n option
	for n in 1 3 16 255 drained; do
		if [ $n = drained ]; then
			n=3
			sed -i 's/^    - id: 3$/&\n      drain: true/' "$LAB_DIR/of3.yaml"
		else
			file_of $n
		fi
		for option in "" "--reflector $n"; do
			# shellcheck disable=SC2086
			routing --bird --node $n $option "$LAB_DIR/of$n.yaml" >"$LAB_DIR/bird.conf"
			run bird -p -c "$LAB_DIR/bird.conf"
			echo "BIRD, node $n of $n $option: $status $output"
			[ "$status $output" = "0 " ]
			# shellcheck disable=SC2086
			routing --frr --node $n $option "$LAB_DIR/of$n.yaml" >"$LAB_DIR/frr.conf"
			run vtysh -C -f "$LAB_DIR/frr.conf" --config_dir "$LAB_DIR"
			echo "FRR, node $n of $n $option: $status $output"
			[ "$status $output" = "0 " ]
		done
	done
	# Both find a mistake.
	echo "no such line" | tee -a "$LAB_DIR/bird.conf" >>"$LAB_DIR/frr.conf"
	run -1 bird -p -c "$LAB_DIR/bird.conf"
	run ! vtysh -C -f "$LAB_DIR/frr.conf" --config_dir "$LAB_DIR"
}

# sessions NODES NODE [OPTION...]: with whom node NODE has one, in the words of either file
sessions() {
	file_of "$1"
	bird=$(routing --bird --node "$2" "${@:3}" "$LAB_DIR/of$1.yaml" | sed -n 's/^protocol bgp n.* neighbor 10.9.0.\([0-9]*\) .*/\1/p' | xargs)
	frr=$(routing --frr --node "$2" "${@:3}" "$LAB_DIR/of$1.yaml" | sed -n 's/^ neighbor 10.9.0.\([0-9]*\) peer-group .*/\1/p' | xargs)
	[ "$bird" = "$frr" ] && echo "$bird"
}

@test "up to 16 nodes all have sessions with all; of more, and with --reflector, only with reflectors" {
	[ "$(sessions 1 1)" = "" ]
	[ "$(sessions 3 2)" = "1 3" ]
	[ "$(sessions 16 5)" = "1 2 3 4 6 7 8 9 10 11 12 13 14 15 16" ]
	[ "$(sessions 17 5)" = "1 2" ]
	[ "$(sessions 17 2)" = "1 $(seq -s ' ' 3 17)" ]
	[ "$(sessions 5 4 --reflector 2 --reflector 3)" = "2 3" ]
	[ "$(sessions 5 2 --reflector 2 --reflector 3)" = "1 3 4 5" ]
	[ "$(sessions 255 255 -r 9)" = "9" ]
}

# refuses MESSAGE ARGUMENT...: exit status 2, that line, and nothing else
refuses() {
	run --separate-stderr routing "${@:2}"
	echo "$status: $stderr"
	[ "$status $output" = "2 " ]
	[ "$stderr" = "sluice: $1" ]
}

@test "what is wrong is said in a line" {
	local file=$LAB_DIR/of3.yaml
	file_of 3
	refuses "cluster: for which daemon?: write --bird or --frr" "$file"
	refuses "cluster: for which daemon?: write --bird or --frr" --bird --frr "$file"
	refuses "cluster: --node: \"4\" is none of the 3 nodes of $file: write the id of one" --bird --node 4 "$file"
	refuses "cluster: --node: \"x\" is not a node id: write 1 to 255" --bird --node x "$file"
	refuses "cluster: --reflector: \"9\" is none of the 3 nodes of $file: write the id of one" --frr --reflector 9 "$file"
	refuses "cluster: --as: \"0\" is not an AS: write 1 to 4294967294" --frr --as 0 "$file"
	refuses "cluster: write one file" --frr "$file" "$file"
	printf 'ports:\n  - name: eth1\n' >"$LAB_DIR/alone.yaml"
	refuses "$LAB_DIR/alone.yaml: there is no \`cluster:\`, and a node alone has no other to exchange routes with" --bird "$LAB_DIR/alone.yaml"
	sed 's/, addresses:[^}]*//' "$file" >"$LAB_DIR/none.yaml"
	refuses "$LAB_DIR/none.yaml: 6 of 6 ports (the first is n1p1) have no \`addresses\`: no next hop is found behind them; write those of the netdev, as in \"addresses: 10.1.1.1/24\"" --bird "$LAB_DIR/none.yaml"
	sed 's/name: eth1,/name: "et*",/' "$file" >"$LAB_DIR/star.yaml"
	refuses "cluster: port \"et*\" of node 1: routing daemons take no such name: write letters, digits, and . _ @ -" --frr "$LAB_DIR/star.yaml"
	run --separate-stderr build/sluice cluster
	[ "$status" -eq 2 ]
	[ "$stderr" = 'sluice: cluster: "" is not known: write apply, diff, drain, history, init, join, key, leave, rollback, routing, status, token, undrain or upgrade' ]
	# Some ports without addresses: a warning.
	sed '0,/, addresses:[^}]*/s///' "$file" >"$LAB_DIR/some.yaml"
	run --separate-stderr routing --bird "$LAB_DIR/some.yaml"
	[ "$status" -eq 0 ]
	[[ "$stderr" == *"1 of 6 ports (the first is n1p1) have no"* ]]
}

@test "BIRD: all nodes have neighbours' prefixes by their ports; they leave with a port's carrier or a silent neighbour, and return" {
	exchange bird bird bird
	frames_follow
	carrier_counts
	silence_counts bird
	carrier_counts_remotely bird
}

@test "FRR: the same" {
	exchange frr frr frr
	frames_follow
	carrier_counts
	silence_counts frr
	carrier_counts_remotely frr
}

@test "FRR reflects the routes of nodes with BIRD: the same" {
	exchange bird frr bird --reflector 2
	frames_follow
	carrier_counts
}

@test "BIRD reflects the routes of nodes with FRR: all have them" {
	exchange frr bird frr --reflector 2
}

@test "BIRD: all go out by others than a drained node where there are some, and its neighbour is told to" {
	exchange bird bird bird
	drain_counts bird
}

@test "FRR: all go out by others than a drained node where there are some" {
	exchange frr bird bird
	drain_counts frr
}

@test "a drained reflector lowers its own ways, and not those that it passes on" {
	exchange bird bird bird --reflector 1
	drain 1 bird true --reflector 1
	expect_drained
	all_have_them
	wait_for 60 lowered "$(tail -n 1 "$LAB_DIR/others4")"
	run -0 way "$(head -n 1 "$LAB_DIR/twice4")"
	echo "$output"
	[ "$(grep -c 'BGP.local_pref: 100' <<<"$output")" = 1 ]
	[ "$(grep -c 'BGP.community: (65535,0)' <<<"$output")" = 1 ]
	drain 1 bird false --reflector 1
	expect_both
	all_have_them
}
