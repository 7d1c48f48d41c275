#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# The Debian packages: made, installed, used, removed. The root file system that they go into is an
# overlay on this machine's own. dpkg and the maintainer scripts run for real; the overlay's upper
# layer holds every change that they make. Each test goes on where the one before it ended.
# shellcheck disable=SC2034,SC2154 # variables are set by `run`
bats_require_minimum_version 1.5.0
. netns-lab/lib/lab.sh
. tests/lib/traffic.bash

VERSION=$(cat VERSION)

# n1 is a router between h1 and h2, and has the overlay as its root file system.
setup_file() {
	local i
	lab_begin
	git_status >"$LAB_DIR/tree"
	make -s deb >"$LAB_DIR/made" 2>&1 || { cat "$LAB_DIR/made" && false; }
	node_up n1
	for i in 1 2; do
		host_up "h$i"
		link "n1:eth$i" "h$i:eth0"
		on n1 ip addr add "10.0.$i.1/24" dev "eth$i"
		on "h$i" ip addr add "10.0.$i.2/24" dev eth0
		on "h$i" ip route add default via "10.0.$i.1"
	done
	mkdir "$LAB_DIR/layers"
	on n1 bash -euc '
		mount -t tmpfs tmpfs "$1"
		mkdir "$1"/{upper,work,root,packages,bin}
		cp build/deb/*.deb "$1/packages"
		# No systemd runs here. A stand-in for systemctl writes down what it is asked to do.
		printf "#!/bin/sh\necho \"\$@\" >>/srv/asked\n" >"$1/bin/systemctl"
		chmod +x "$1/bin/systemctl"
		mount -t overlay -o "lowerdir=/,upperdir=$1/upper,workdir=$1/work" overlay "$1/root"
		cd "$1/root"
		for dir in proc sys dev; do mount --rbind /$dir $dir; done
		mount --bind "$1" srv
		mount -t tmpfs -o mode=755 tmpfs run
		mount -t tmpfs tmpfs tmp
		mkdir -p run/systemd/system
		[ ! -e usr/sbin/policy-rc.d ] || mount --bind /bin/true usr/sbin/policy-rc.d
		pivot_root . mnt
		umount -l mnt' - "$LAB_DIR/layers"
}

teardown_file() { lab_end; }

git_status() { git -c safe.directory='*' status --porcelain --untracked-files=all; }

# in_root COMMAND...: run it on n1, in the overlay
in_root() { (cd / && PATH=/srv/bin:/usr/sbin:/usr/bin:/sbin:/bin on n1 "$@"); }

# asked: what systemctl was asked to do, apart from reading the units anew
asked() { in_root grep -v daemon-reload /srv/asked || :; }

# traces: each path by which the overlay differs from the machine below it, except the records of
# dpkg, caches and logs
traces() {
	local upper kind path
	upper=/proc/$(holder_of n1)/root/srv/upper
	find "$upper" -mindepth 1 -printf '%y %P\n' | sort -k 2 | while read -r kind path; do
		case /$path in /var/lib/dpkg/* | /var/log/* | /var/cache/*) continue ;; esac
		case $kind in
		d) [ ! -d "/$path" ] || continue ;;
		f) ! cmp -s "$upper/$path" "/$path" || continue ;;
		esac
		echo "/$path"
	done
}

xdp_of() { in_root ip -details link show dev "$1" | sed -n 's/.*prog\/xdp.* name \([a-z_]*\).*/\1/p'; }

@test "make deb makes two packages that lintian has nothing against, and leaves the tree as it was" {
	cat "$LAB_DIR/made"
	[ "$(sed 's|.*/build/|build/|; s/_[a-z0-9]*\.deb$//' "$LAB_DIR/made")" = "build/deb/sluice-lab_$VERSION
build/deb/sluice_$VERSION" ]
	[ "$(git_status)" = "$(cat "$LAB_DIR/tree")" ]
}

@test "what make install and install-lab install is what is in the packages" {
	local tree=$LAB_DIR/tree.installed
	make -s install install-lab PREFIX=/usr UNIT_DIR=/lib/systemd/system DESTDIR="$tree"
	[ -x "$tree/usr/sbin/sluiced" ]
	diff <(find "$tree" ! -type d -printf '/%P\n' | sort) \
		<(for deb in build/deb/*.deb; do dpkg-deb --fsys-tarfile "$deb" | tar -t; done |
			sed '/\/$/d; s|^\./|/|; /changelog\|copyright\|lintian\|OPERATIONS/d; s|\(/man/.*\)\.gz$|\1|' | sort)
	# The counterparts take everything away again.
	make -s uninstall uninstall-lab PREFIX=/usr UNIT_DIR=/lib/systemd/system DESTDIR="$tree"
	[ -z "$(find "$tree" ! -type d)" ]
	[ -z "$(find "$tree" -name 'sluice*')" ]
}

@test "an installation puts every file in place, and enables and starts nothing" {
	in_root sh -c 'dpkg --install /srv/packages/*.deb'
	[ "$(in_root dpkg-query -W -f '${Package} ${Version} ${db:Status-Status}\n' sluice sluice-lab)" = "sluice $VERSION installed
sluice-lab $VERSION installed" ]
	[ -z "$(in_root dpkg --verify sluice sluice-lab)" ]
	# Beside the packages' files: the state that deb-systemd-helper keeps for each unit.
	run comm -23 <(traces) <(in_root dpkg -L sluice sluice-lab | sed 's|^/lib/|/usr/lib/|' | sort)
	echo "$output"
	[ "$output" = "/var/lib/systemd/deb-systemd-helper-enabled/sluice-bridge.service.dsh-also
/var/lib/systemd/deb-systemd-helper-enabled/sluice-cluster.service.dsh-also
/var/lib/systemd/deb-systemd-helper-enabled/sluice-elements.service.dsh-also
/var/lib/systemd/deb-systemd-helper-enabled/sluice-sflow.service.dsh-also
/var/lib/systemd/deb-systemd-helper-enabled/sluiced.service.dsh-also" ]
	[ -z "$(asked)" ]
	[ -z "$(in_root ls /etc/sluice)" ]
}

@test "the installed commands say their version, their manual, and that no daemon runs" {
	local page
	[ "$(in_root sluice --version)" = "sluice $VERSION" ]
	[ "$(in_root sluiced --version)" = "sluiced $VERSION" ]
	[ "$(in_root sluice-bridge --version)" = "sluice-bridge $VERSION" ]
	[ "$(in_root sluice-cluster --version)" = "sluice-cluster $VERSION" ]
	[ "$(in_root sluice-elements --version)" = "sluice-elements $VERSION" ]
	[ "$(in_root sluice-delay --version)" = "sluice-delay $VERSION" ]
	in_root sluice-delay-plot --help
	for page in man8/sluice.8 man8/sluice-capture.8 man8/sluiced.8 man8/sluice-bridge.8 man8/sluice-elements.8 man8/sluice-cluster.8 man8/sluice-lab.8 man5/sluice.yaml.5 man1/sluice-delay.1; do
		in_root mandoc -T ascii -W warning,stop "/usr/share/man/$page.gz" | grep -qi "^$(basename "${page%.*}")(${page##*.})"
	done
	run in_root sluice status
	[ "$status" -eq 3 ]
	[ "${lines[0]}" = "sluiced    is not running; the kernel forwards" ]
	[ "$(in_root bash -c '. /usr/share/bash-completion/bash_completion
		for command in sluice sluiced sluice-delay; do
			_completion_loader $command
			complete -p $command
		done')" = "complete -F _sluice sluice
complete -F _sluiced sluiced
complete -F _sluice_delay sluice-delay" ]
}

@test "systemd understands the installed units" {
	command -v systemd-analyze >/dev/null || skip "no systemd-analyze"
	run in_root systemd-analyze verify /lib/systemd/system/sluiced.service /lib/systemd/system/sluice-bridge.service /lib/systemd/system/sluice-elements.service /lib/systemd/system/sluice-cluster.service /lib/systemd/system/sluice-sflow.service
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "with the sample as its configuration, the installed daemon routes by XDP" {
	in_root cp /usr/share/doc/sluice/sluice.yaml /etc/sluice/
	in_root sluice check
	(cd / && spawn n1 sluiced /usr/sbin/sluiced --config /etc/sluice/sluice.yaml)
	wait_for 10 in_root sluice status
	in_root sluice status | grep -qx 'ports      eth1 native, eth2 native'
	# The kernel resolves the neighbours for the first packets, and the fast path follows it.
	forwards_pings() {
		on h1 ping -c 10 -i 0.01 -W 1 10.0.2.2 &&
			in_root sluice -j show counters | jq -e '[.[] | select(.name == "forward").packets] | add >= 20'
	}
	wait_for 10 forwards_pings
	# A route of sluice's has a name.
	in_root ip route add 10.99.0.0/16 via 10.0.1.2 proto 164
	[ "$(in_root ip route show proto sluice | xargs)" = "10.99.0.0/16 via 10.0.1.2 dev eth1" ]
}

@test "an upgrade starts again what runs, and leaves the fast path on the ports" {
	in_root sh -c 'dpkg --install /srv/packages/sluice_*.deb'
	asked
	[ "$(asked)" = "try-restart sluice-bridge.service sluice-cluster.service sluice-elements.service sluice-sflow.service sluiced.service" ]
	[[ $(xdp_of eth1) = sl_edge* ]]
	in_root sluice status | grep -q "^sluiced    $VERSION"
}

@test "the installed lab brings up a router, sends through it and says what came" {
	local tools=/usr/lib/sluice-lab/build/lab mac
	in_root sluice-lab --help | grep -q '^  cluster '
	in_root sluice-lab up one-node --ports 2
	in_root sluice-lab exec h1 ping -c 1 -W 60 10.0.2.2
	in_root sluice-lab exec n1 sluice status | grep -q '^ports .*eth1 native'
	[ "$(in_root sluice-lab list -j | jq -c '.[0].hosts')" = '["h1","h2"]' ]
	(cd / && spawn n1 received sluice-lab exec h2 $tools/sink eth0 --json --verify --expect 1000 --duration 60)
	wait_for 10 grep -q ready "$LAB_DIR/received.err"
	mac=$(in_root sluice-lab exec n1 cat /sys/class/net/eth1/address)
	in_root sluice-lab exec h1 $tools/gen eth0 --dst-mac "$mac" --dst 10.0.2.2 --count 1000 --rate 10000
	await_end received
	[ "$(received packets)" = 1000 ]
	came_whole
}

@test "a removal ends labs and takes the fast path off; what is not of sluice stays" {
	local dev
	(cd / && link n1:eth3 h1:eth1)
	in_root ip link set dev eth3 xdp obj /usr/lib/sluice-lab/build/lab/fib_forward.bpf.o section xdp
	for dev in n2p1 vm0; do in_root ip tuntap add dev $dev mode tap; done
	in_root ip link set dev n2p1 alias "sluice: port 1 of node 2"
	kill "$(cat "$LAB_DIR/sluiced.pid")"
	await_end sluiced
	[[ $(xdp_of eth2) = sl_edge* ]]
	in_root test -e /sys/fs/bpf/sluice/sl_edge
	in_root dpkg --remove sluice-lab sluice
	[ -z "$(in_root ls /run /sys/fs/bpf | grep sluice)" ]
	[ -z "$(xdp_of eth1)$(xdp_of eth2)" ]
	[ "$(xdp_of eth3)" = fib_forward ]
	[ "$(in_root ls /sys/class/net | xargs)" = "eth1 eth2 eth3 lo vm0" ]
	[[ "$(asked | tail -n 1)" = "stop sluice-sflow.service sluice-cluster.service sluice-bridge.service sluice-elements.service sluiced.service" ]]
	on h1 ping -c 1 -W 10 10.0.2.2
	in_root test -e /etc/sluice/sluice.yaml
}

@test "a purge leaves no trace" {
	in_root dpkg --purge sluice-lab sluice
	run traces
	echo "$output"
	[ -z "$output" ]
	run ! in_root dpkg-query -W sluice sluice-lab
}
