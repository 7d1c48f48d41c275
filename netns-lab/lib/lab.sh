# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Nodes and hosts in namespaces, as `lab`, `demo` and the bats tests use them. Source it:
#
#   . netns-lab/lib/lab.sh
#   lab_begin                           # names the lab, makes its run directory
#   trap lab_end EXIT                   # (in bats: teardown_file; see below)
#   node_up n1; host_up h1; host_up h2
#   link n1:eth1 h1:eth0; link n1:eth2 h2:eth0 3400
#   on n1 ip addr add 10.0.1.1/24 dev eth1
#   spawn h2 sink build/lab/sink eth0   # background; output in $LAB_DIR/sink.out and sink.err
#   wait_for 5 on h1 ping -c1 -W1 10.0.2.2
#
# A node is a network and a mount namespace with its own /sys, /sys/fs/bpf and /run; one sleeping
# process (lib/holder) holds them. Names are per lab, so any number of labs run side by side, and
# nothing appears in the caller's namespaces. Every process of a lab carries SLUICE_LAB=$LAB_DIR in
# its environment. lab_end ends exactly those, and with the last of them the kernel removes links,
# pins and programs.
#
# All functions return 0, or 1 with one line on stderr. LAB_ID and LAB_DIR are exported, so a lab
# that bats' setup_file began serves all tests of the file.

LAB_SOURCE=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
LAB_ROOT=${LAB_ROOT:-/run}
export LAB_SOURCE LAB_ROOT

# shellcheck source=netns-lab/lib/jq.sh disable=SC1091
. "$LAB_SOURCE/netns-lab/lib/jq.sh"

lab_error() {
	echo "lab: $*" >&2
	return 1
}

# wait_for SECONDS COMMAND...: repeat the command until it succeeds; show its output only if it
# never does. LAB_PATIENCE multiplies the seconds, for slow machines. Between two tries it waits a
# tenth of the time that has passed, since a try costs others their processor: 0.05 s at least, 0.25 s
# at most; or LAB_LOOK_S, where a try costs much.
wait_for() {
	local seconds=$(($1 * ${LAB_PATIENCE:-1})) began_us=${EPOCHREALTIME/./} passed_us pause_s output
	shift
	until output=$("$@" 2>&1); do
		passed_us=$((${EPOCHREALTIME/./} - began_us))
		if [ $passed_us -ge $((seconds * 1000000)) ]; then
			lab_error "not within $seconds s: $*${output:+ ($output)}"
			return 1
		fi
		# not $(printf), which would start a process for each look
		printf -v pause_s '0.%06d' $((passed_us < 500000 ? 50000 : passed_us < 2500000 ? passed_us / 10 : 250000))
		sleep "${LAB_LOOK_S:-$pause_s}"
	done
}

# lab_begin [ID]: a new lab; the ID is random if none is given.
lab_begin() {
	[ "$(id -u)" -eq 0 ] || lab_error "namespaces need root" || return
	if [ $# -gt 0 ]; then
		[[ $1 =~ ^[A-Za-z0-9_-]{1,32}$ ]] ||
			lab_error "\"$1\" is no lab name: 1 to 32 letters, digits, _ or -" || return
		LAB_DIR=$LAB_ROOT/sluice-lab.$1
		[ ! -e "$LAB_DIR" ] || lab_error "a lab named \"$1\" exists: end it with 'lab down $1'" || return
	else
		LAB_DIR=$(mktemp --dry-run "$LAB_ROOT/sluice-lab.XXXXXX") || return
	fi
	# whole or not at all, also when Ctrl-C reaches mkdir
	(trap "" INT TERM HUP && mkdir "$LAB_DIR" && mkdir "$LAB_DIR/node" "$LAB_DIR/host") || return
	LAB_ID=${LAB_DIR##*/sluice-lab.}
	export LAB_ID LAB_DIR
}

# The ids of all processes of this lab: those it started, and those that entered its namespaces by
# hand. Returns 1 if some process showed no environment, which may then be one of the lab's: each is
# like that for an instant while it starts a program.
lab_processes() {
	local holder file found="" environment lines unknown=0
	for file in /proc/[0-9]*/environ; do
		{ mapfile -d '' -t environment <"$file"; } 2>/dev/null || continue
		printf -v lines '\n%s' "${environment[@]}"
		if [ ${#environment[@]} -eq 0 ]; then
			runs_program "${file%/environ}" && unknown=1
		elif [[ "$lines"$'\n' == *$'\n'"SLUICE_LAB=$LAB_DIR"$'\n'* ]]; then
			found+=$file$'\n'
		fi
	done
	for holder in $(lab_holders); do
		found+=$(find -L /proc/[0-9]*/ns/net -maxdepth 0 -samefile "/proc/$holder/ns/net" 2>/dev/null)$'\n'
	done
	cut -s -d/ -f3 <<<"$found" | sort -un
	return $unknown
}

# runs_program /proc/PID: is it neither a zombie nor a thread of the kernel?
runs_program() {
	local stat kernel_thread=0x200000
	{ stat=$(<"$1/stat"); } 2>/dev/null || return 1
	read -ra stat <<<"${stat##*) }"
	[ "${stat[0]}" != Z ] && [ $((stat[6] & kernel_thread)) -eq 0 ]
}

# Holders that are alive, not zombies, and still the process that was recorded (the kernel reuses
# process ids).
lab_holders() {
	local file pid born
	for file in "$LAB_DIR"/{node,host}/*; do
		[ -f "$file" ] && read -r pid born <"$file" &&
			[ "$(process_born "$pid")" = "$born" ] && [ -e "/proc/$pid/ns/net" ] && echo "$pid"
	done
	return 0
}

process_born() { cut -d' ' -f22 "/proc/$1/stat" 2>/dev/null; }

# Has every process of the lab ended? Looks twice, since a process may start while the list is read.
# Looks again while some process shows no environment, for up to a second: processes of others may
# never have one.
no_lab_processes() {
	local deadline=$((${EPOCHREALTIME/./} + 1000000)) found times=0 known
	while [ $times -lt 2 ]; do
		known=0
		found=$(lab_processes) || known=$?
		[ -z "$found" ] || return 1 # a plain return in a trap would give the status from before it
		[ $known -eq 0 ] || [ "${EPOCHREALTIME/./}" -gt $deadline ] && times=$((times + 1))
	done
	return 0
}

# lab_end: end every process of the lab, which removes its namespaces; then remove its run
# directory.
lab_end() {
	local signal patience=3
	[ -n "${LAB_DIR:-}" ] && [ -d "$LAB_DIR" ] || return 0
	for signal in TERM KILL; do
		# shellcheck disable=SC2046
		no_lab_processes || kill -$signal -- $(lab_processes) 2>/dev/null
		wait_for $patience no_lab_processes 2>/dev/null && break
		patience=30 # a process that is killed may have gigabytes of tables to give back
	done
	no_lab_processes || lab_error "cannot end $(lab_processes | tr '\n' ' ')" || return 1
	rm -rf "$LAB_DIR"
}

# namespaces_up KIND NAME [NAMESPACE...]: start a holder in a new network and mount namespace, or in
# new ones of these kinds only (options of unshare). The holder has a session of its own, so Ctrl-C
# does not reach it.
namespaces_up() {
	local kind=$1 name=$2 namespaces=("${@:3}")
	[ ${#namespaces[@]} -gt 0 ] || namespaces=(--net --mount)
	[[ $name =~ ^[a-z][a-z0-9]{0,14}$ ]] || lab_error "\"$name\" is no node name" || return
	[ ! -e "$LAB_DIR/node/$name" ] && [ ! -e "$LAB_DIR/host/$name" ] ||
		lab_error "$name exists already" || return
	env SLUICE_LAB="$LAB_DIR" setsid --fork unshare "${namespaces[@]}" --propagation private \
		"$LAB_SOURCE/netns-lab/lib/holder" "$kind" "$LAB_DIR" "$name" \
		</dev/null >"$LAB_DIR/$name.log" 2>&1 3>&-
	wait_for 60 test -s "$LAB_DIR/$kind/$name" ||
		lab_error "$name did not start: $(cat "$LAB_DIR/$name.log")"
}

node_up() { namespaces_up node "$1"; } # forwards IPv4 and IPv6
host_up() { namespaces_up host "$1"; }
machine_up() { namespaces_up node "$1" --mount; } # a node in the network namespace of the machine itself

# namespaces_down NAME: as in a power failure, end every process of the node or host at once; its
# netdevs and pins go with them. The other ends of its links go a moment later. The name can be used
# again.
namespaces_down() {
	local name=$1 holder pid pids=()
	holder=$(holder_of "$name") || return
	while read -r pid; do
		pids+=("$pid")
	done < <(find -L /proc/[0-9]*/ns/net -maxdepth 0 -samefile "/proc/$holder/ns/net" 2>/dev/null | cut -d/ -f3)
	kill -KILL "${pids[@]}" 2>/dev/null
	rm -f "$LAB_DIR/node/$name" "$LAB_DIR/host/$name"
	wait_for 60 no_processes "${pids[@]}"
}

no_processes() {
	local pid
	for pid in "$@"; do
		! [ -e "/proc/$pid/ns/net" ] || return
	done
}

# find_holder NAME: set HOLDER to its process id, without starting a process, which an emulated
# machine would feel
find_holder() {
	local file=$LAB_DIR/node/$1
	[ -e "$file" ] || file=$LAB_DIR/host/$1
	{ read -r HOLDER _ <"$file"; } 2>/dev/null || lab_error "no node or host \"$1\" in lab $LAB_ID"
}

holder_of() {
	local HOLDER
	find_holder "$1" && echo "$HOLDER"
}

# on NAME COMMAND...: run it there; the working directory stays. (`ip netns exec` would remount /sys
# and lose the pins.)
on() {
	local HOLDER
	if [ -e "$LAB_DIR/inside/$1" ]; then # a virtual machine holds it
		vm_in "$@"
		return
	fi
	find_holder "$1" || return
	shift
	SLUICE_LAB=$LAB_DIR nsenter --target "$HOLDER" --net --mount --wdns="$PWD" -- "$@"
}

# spawn NAME LABEL COMMAND...: run it there in the background, out of reach of Ctrl-C. Sets SPAWNED
# to its process id, which is also in $LAB_DIR/LABEL.pid; output goes to $LAB_DIR/LABEL.out and
# LABEL.err.
spawn() {
	local HOLDER label=$2
	find_holder "$1" || return
	shift 2
	# Emptied here and not by the child, so that nobody reads what an earlier process of this
	# label wrote.
	: >"$LAB_DIR/$label.out" 2>"$LAB_DIR/$label.err"
	SLUICE_LAB=$LAB_DIR setsid nsenter --target "$HOLDER" --net --mount --wdns="$PWD" -- "$@" \
		</dev/null >"$LAB_DIR/$label.out" 2>"$LAB_DIR/$label.err" 3>&- &
	SPAWNED=$!
	echo $SPAWNED >"$LAB_DIR/$label.pid"
}

# await_end LABEL: wait until the process last spawned as LABEL has ended, if any was. A killed
# process holds its locks, sockets and queues until it gets a processor once more.
await_end() {
	local pid
	[ -e "$LAB_DIR/$1.pid" ] || return 0
	pid=$(cat "$LAB_DIR/$1.pid")
	has_ended() { ! runs_program "/proc/$pid"; }
	wait_for 60 has_ended
}

# link NAME:DEV NAME:DEV [MTU]: a veth pair, up at both ends, with the offloads of any veth, and with
# NAPI, without which a veth takes no redirected frames.
link() {
	local a=${1%%:*} a_dev=${1#*:} b=${2%%:*} b_dev=${2#*:} mtu=${3:-1500} a_pid b_pid
	a_pid=$(holder_of "$a") && b_pid=$(holder_of "$b") || return
	ip link add name "$a_dev" mtu "$mtu" netns "$a_pid" type veth \
		peer name "$b_dev" mtu "$mtu" netns "$b_pid" || return
	on "$a" ip link set dev "$a_dev" up && on "$b" ip link set dev "$b_dev" up || return
	# GRO switched on before a veth is up does not let its peer redirect to it.
	on "$a" ethtool -K "$a_dev" gro on >/dev/null && on "$b" ethtool -K "$b_dev" gro on >/dev/null
}

# xdp_out NAME: frames that programs have redirected out of its eth0; xdp_in NAME: frames that came
# to a program there
xdp_out() { xdp_sum "$1" 'tx_queue_*_xdp_xmit:'; }
xdp_in() { xdp_sum "$1" 'rx_queue_*_xdp_packets:'; }
xdp_sum() {
	local name n sum=0
	while read -r name n; do
		# shellcheck disable=SC2053
		[[ $name != $2 ]] || sum=$((sum + n))
	done < <(on "$1" ethtool -S eth0)
	echo $sum
}
# xdp_out_since NAME N: have more than N gone out?
xdp_out_since() { [ "$(xdp_out "$1")" -gt "$2" ]; }

mac_of() { on "$1" cat "/sys/class/net/$2/address"; }

# router_up NODE ENGINE DEV...: attach sluice to these ports.
#   none               attach nothing: the kernel forwards
#   bare               `ip link ... xdp obj`, no daemon
#   kernel, lpm, fast  sluiced with this engine; label sluiced-NODE, file $LAB_DIR/NODE.yaml
router_up() {
	local node=$1 engine=$2 dev
	shift 2
	case $engine in
	none) ;;
	bare)
		for dev in "$@"; do
			on "$node" ip link set dev "$dev" xdp obj "$LAB_SOURCE/build/sluice.bpf.o" section xdp ||
				return
		done
		;;
	kernel | lpm | fast)
		{
			echo "engine: $engine"
			echo "heartbeat_s: 600" # a busy machine may take long to start a daemon again
			echo "ports:"
			printf '  - name: %s\n' "$@"
		} >"$LAB_DIR/$node.yaml"
		router_start "$node"
		;;
	*) lab_error "\"$engine\" is no engine: none, bare, kernel, lpm or fast" ;;
	esac
}

# router_start NODE: start sluiced with the file that router_up wrote, and wait until it answers.
# The caller has told the sluiced before it to end. ROUTER_PROGRAM is a program to run instead.
router_start() {
	local node=$1
	await_end "sluiced-$node" || return
	spawn "$node" "sluiced-$node" "${ROUTER_PROGRAM:-$LAB_SOURCE/build/sluiced}" --config "$LAB_DIR/$node.yaml" || return
	wait_for 60 router_answers_or_died "$node" && kill -0 "$SPAWNED" 2>/dev/null && return
	lab_error "sluiced on $node did not start: $(tail -n 3 "$LAB_DIR/sluiced-$node.err")"
}

router_answers_or_died() {
	local HOLDER
	find_holder "$1" && [ -S "/proc/$HOLDER/root/run/sluice/sluiced.sock" ] &&
		on "$1" "$LAB_SOURCE/build/sluice" status >/dev/null || ! kill -0 "$SPAWNED" 2>/dev/null
}
