# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
#
# Virtual machines in a lab, since a namespace cannot have RDMA devices of the kernel's own RoCE.
# Source it after lab.sh:
#
#   lab_begin
#   vm_image                        # or skip, if it says that it cannot
#   host_up fabric                  # QEMU runs there, and so do its TAPs
#   vm_up m1 fabric:m1:9000         # machine m1; its eth0 is netdev m1 of namespace fabric, MTU 9000
#   vm_wait m1
#   vm_on m1 ip link set eth0 up    # runs inside; output and status come out
#
# A machine has the host's root file system (its own writes stay in its memory), Debian's kernel,
# and the directory of the lab, shared. It is emulated, unless LAB_ACCEL=kvm; it boots in about a
# minute. Times measured inside mean nothing, unless VM_CLOCK=instructions: then it has one
# processor, and its clock counts that one's instructions, a nanosecond each. lab_end ends a machine
# like any process of the lab.

VM_IMAGE=$LAB_SOURCE/build/vm
VM_BOOT_SECONDS=600

# vm_image: make the image that machines boot from; returns 1 and says why if that is impossible
# here
vm_image() {
	command -v qemu-system-x86_64 >/dev/null || lab_error "qemu-system-x86_64 is not installed" || return
	"$LAB_SOURCE/netns-lab/vm/make-image" "$VM_IMAGE" >&2
}

# vm_up NAME [NAMESPACE:TAP:MTU...]: start a machine whose eth0, eth1, ... are these TAPs; without one QEMU runs in
# a host of that name;
# VM_PROCESSORS (2) and VM_MIB (1024) are its size
vm_up() {
	local name=$1 nics=() namespace tap mtu mac i=0 first=
	shift
	[[ $name =~ ^[a-z][a-z0-9]{0,14}$ ]] || lab_error "\"$name\" is no machine name" || return
	mkdir -p "$LAB_DIR/vm" && mkdir "$LAB_DIR/vm/$name" "$LAB_DIR/vm/$name/job" &&
		mkfifo "$LAB_DIR/vm/$name"/{wake,ask}.{in,out} || return
	for nic in "$@"; do
		IFS=: read -r namespace tap mtu <<<"$nic"
		[ -z "$first" ] || [ "$first" = "$namespace" ] ||
			lab_error "vm_up: all TAPs of a machine are of one namespace" || return
		first=$namespace
		on "$namespace" ip tuntap add dev "$tap" mode tap vnet_hdr &&
			on "$namespace" ip link set dev "$tap" mtu "$mtu" up || return
		mac=$(printf '02:%02x:%02x:%02x:%02x:%02x' $((RANDOM % 256)) $((RANDOM % 256)) $((RANDOM % 256)) $((RANDOM % 256)) $i)
		nics+=(-netdev "tap,id=nic$i,ifname=$tap,script=no,downscript=no"
			-device "virtio-net-pci,netdev=nic$i,mac=$mac,host_mtu=$mtu,csum=off,guest_csum=off,gso=off,mrg_rxbuf=off")
		i=$((i + 1))
	done
	[ -n "$first" ] || { first=$name && host_up "$first"; } || return
	local processors=(-accel "${LAB_ACCEL:-tcg,thread=multi}" -smp "${VM_PROCESSORS:-2}")
	[ "${VM_CLOCK:-}" != instructions ] || processors=(-accel "tcg,thread=single" -smp 1 -icount "shift=0,sleep=off")
	# On a busy host the kernel may find that its timer does not work (no_timer_check), and panic. The
	# emulator keeps translated code by its address: with norandmaps every process finds that of the
	# processes before it (a command inside takes a third of the time). A processor that can less
	# is emulated faster, too.
	spawn "$first" "vm-$name" nice -n 15 qemu-system-x86_64 \
		-nodefaults -no-user-config -display none -no-reboot -machine pc "${processors[@]}" \
		-cpu Nehalem,+rdrand -m "${VM_MIB:-1024}" -kernel "$VM_IMAGE/vmlinuz" -initrd "$VM_IMAGE/initrd" \
		-append "console=ttyS0 panic=-1 no_timer_check mitigations=off nokaslr norandmaps random.trust_cpu=on net.ifnames=0 lab.dir=$LAB_DIR lab.source=$LAB_SOURCE lab.name=$name lab.modules=$VM_IMAGE/modules" \
		-serial "file:$LAB_DIR/vm/$name/console" -serial "pipe:$LAB_DIR/vm/$name/wake" -serial "pipe:$LAB_DIR/vm/$name/ask" \
		-object rng-random,id=rng,filename=/dev/urandom -device virtio-rng-pci,rng=rng \
		-virtfs local,path=/,mount_tag=host,security_model=none,readonly=on,multidevs=remap \
		-virtfs "local,path=$LAB_DIR,mount_tag=lab,security_model=none,multidevs=remap" "${nics[@]}"
	echo 0 >"$LAB_DIR/vm/$name/jobs"
}

vm_runs() { kill -0 "$(cat "$LAB_DIR/vm-$1.pid")" 2>/dev/null; }
vm_ready_or_ended() { [ -e "$LAB_DIR/vm/$1/ready" ] || ! vm_runs "$1"; }

# vm_wait NAME: wait until it takes commands
vm_wait() {
	wait_for $VM_BOOT_SECONDS vm_ready_or_ended "$1" && [ -e "$LAB_DIR/vm/$1/ready" ] && return
	lab_error "machine $1 did not boot: $(cat "$LAB_DIR/vm-$1.err") $(tail -n 5 "$LAB_DIR/vm/$1/console")"
}

# vm_start NAME COMMAND...: start the command inside; sets VM_JOB for vm_finish. The working
# directory stays.
vm_start() {
	local name=$1 number
	shift
	# Two callers may start a command at once.
	exec {lock}<"$LAB_DIR/vm/$name" && flock $lock || return
	number=$(($(cat "$LAB_DIR/vm/$name/jobs") + 1))
	echo $number >"$LAB_DIR/vm/$name/jobs"
	exec {lock}<&-
	VM_JOB=$LAB_DIR/vm/$name/job/$number
	mkdir "$VM_JOB" || return
	# shellcheck disable=SC2016
	printf 'echo $BASHPID >%q\ncd %q\nexport LAB_DIR=%q LAB_ID=%q SLUICE_LAB=%q\nexec %s\n' "$VM_JOB/pid" "$PWD" "$LAB_DIR" "$LAB_ID" "$LAB_DIR" \
		"$(printf '%q ' "$@")" >"$VM_JOB/command" &&
		: >"$VM_JOB.go" && echo 1<>"$LAB_DIR/vm/$name/wake.in"
}

vm_done_or_ended() { [ -s "$2/status" ] || ! vm_runs "$1"; }

# vm_finish NAME JOB SECONDS: wait for the job; prints its output and error output, returns its
# status
vm_finish() {
	wait_for "$3" vm_done_or_ended "$1" "$2" || return
	cat "$2/out" && cat "$2/err" >&2
	[ -s "$2/status" ] || lab_error "machine $1 ended: $(tail -n 5 "$LAB_DIR/vm/$1/console")" || return
	return "$(cat "$2/status")"
}

# vm_on NAME COMMAND...: run it inside, within VM_SECONDS
vm_on() {
	vm_start "$@" && vm_finish "$1" "$VM_JOB" "${VM_SECONDS:-300}"
}

# vm_spawn NAME LABEL COMMAND...: start it in the background, as spawn does; output goes to
# $LAB_DIR/LABEL.out and LABEL.err. vm_signal LABEL SIGNAL signals it; vm_output LABEL waits for its
# end and prints its output.
vm_spawn() {
	local label=$2
	vm_start "$1" "${@:3}" || return
	ln -sfn "$VM_JOB" "$LAB_DIR/$label.job"
	ln -sfn "$VM_JOB/out" "$LAB_DIR/$label.out"
	ln -sfn "$VM_JOB/err" "$LAB_DIR/$label.err"
	echo "$1" >"$VM_JOB/machine"
}
vm_signal() {
	wait_for 20 test -s "$LAB_DIR/$1.job/pid" &&
		vm_on "$(cat "$LAB_DIR/$1.job/machine")" kill "-$2" -- "-$(cat "$LAB_DIR/$1.job/pid")"
}
vm_output() { wait_for 60 test -s "$LAB_DIR/$1.job/status" && cat "$LAB_DIR/$1.out"; }

# vm_finish_all SECONDS NAME:JOB...: wait for jobs of several machines; prints all their output,
# returns the last bad status
vm_finish_all() {
	local status=0 one
	for one in "${@:2}"; do vm_finish "${one%%:*}" "${one#*:}" "$1" || status=$?; done
	return $status
}

# vm_enter NAME: for a node or host inside a machine, set VM_MACHINE to the machine, and VM_ENTER to
# the command prefix that runs a command there. With VM_NET instead, it has that network but the
# machine's files, as the lab's directory.
vm_enter() {
	local file pid
	VM_MACHINE=$(cat "$LAB_DIR/inside/$1") || return
	for file in "$LAB_DIR/vm/$VM_MACHINE/lab"/{node,host}/"$1"; do
		[ -f "$file" ] || continue
		read -r pid _ <"$file"
		VM_ENTER=(nsenter --target "$pid" --net --mount "--wdns=$PWD" --)
		# shellcheck disable=SC2034
		VM_NET=(nsenter --target "$pid" --net --)
	done
}

# vm_in NAME COMMAND...: run it in a node or host that a machine holds
vm_in() { vm_enter "$1" && vm_on "$VM_MACHINE" "${VM_ENTER[@]}" "${@:2}"; }
