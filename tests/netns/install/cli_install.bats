#!/usr/bin/env bats
# SPDX-License-Identifier: BSD-2-Clause
# make install and uninstall, and the files beside the programs: manual, completion, units, sample
# configuration.
# shellcheck disable=SC2034,SC2154 # variables are set by `run`, and used in router.bash
bats_require_minimum_version 1.5.0

setup() { DEST=$(mktemp -d); }

teardown() { rm -rf "$DEST"; }

@test "install puts every file in place under DESTDIR and PREFIX, uninstall removes them all" {
	make -s install DESTDIR="$DEST" PREFIX=/opt/sl
	run find "$DEST" \( -type f -o -type l \) -printf '%m %P\n'
	echo "$output"
	[ "$(echo "$output" | sort -k 2)" = "644 etc/iproute2/rt_protos.d/sluice.conf
755 opt/sl/bin/sluice
755 opt/sl/bin/sluice-delay
755 opt/sl/bin/sluice-delay-plot
644 opt/sl/include/sluice/bpf/abi/abi.h
644 opt/sl/include/sluice/bpf/abi/chain_header.h
644 opt/sl/include/sluice/bpf/abi/classifier.h
644 opt/sl/include/sluice/bpf/abi/fast_chain.h
644 opt/sl/include/sluice/bpf/abi/own_element.h
644 opt/sl/include/sluice/elements/core/element.h
644 opt/sl/include/sluice/elements/core/ip_rewrite.h
644 opt/sl/include/sluice/elements/core/package.h
644 opt/sl/include/sluice/elements/core/packet_pool.h
644 opt/sl/include/sluice/user/classify/rule.h
644 opt/sl/include/sluice/user/text/prefix.h
644 opt/sl/lib/sluice/capture.bpf.o
644 opt/sl/lib/sluice/chain_input.bpf.o
644 opt/sl/lib/sluice/element_trial.bpf.o
644 opt/sl/lib/sluice/fabric.bpf.o
644 opt/sl/lib/sluice/fabric_sent.bpf.o
644 opt/sl/lib/sluice/hooks.bpf.o
644 opt/sl/lib/sluice/inject.bpf.o
644 opt/sl/lib/sluice/kernel_egress.bpf.o
755 opt/sl/lib/sluice/sluice-extcap
644 opt/sl/lib/sluice/sluice.bpf.o
644 opt/sl/lib/sluice/txdrops.bpf.o
644 opt/sl/lib/systemd/system/sluice-bridge.service
644 opt/sl/lib/systemd/system/sluice-cluster.service
644 opt/sl/lib/systemd/system/sluice-elements.service
644 opt/sl/lib/systemd/system/sluice-sflow.service
644 opt/sl/lib/systemd/system/sluiced.service
755 opt/sl/sbin/sluice-bridge
755 opt/sl/sbin/sluice-cluster
755 opt/sl/sbin/sluice-elements
755 opt/sl/sbin/sluiced
644 opt/sl/share/bash-completion/completions/sluice
777 opt/sl/share/bash-completion/completions/sluice-cluster
777 opt/sl/share/bash-completion/completions/sluice-delay
777 opt/sl/share/bash-completion/completions/sluice-delay-plot
777 opt/sl/share/bash-completion/completions/sluiced
644 opt/sl/share/doc/sluice/element/element.mk
644 opt/sl/share/doc/sluice/element/hop_limit.bpf.c
644 opt/sl/share/doc/sluice/element/hop_limit.c
644 opt/sl/share/doc/sluice/sluice.yaml
777 opt/sl/share/man/man1/sluice-delay-plot.1
644 opt/sl/share/man/man1/sluice-delay.1
644 opt/sl/share/man/man5/sluice.yaml.5
644 opt/sl/share/man/man8/sluice-bridge.8
644 opt/sl/share/man/man8/sluice-capture.8
644 opt/sl/share/man/man8/sluice-cluster.8
644 opt/sl/share/man/man8/sluice-elements.8
644 opt/sl/share/man/man8/sluice.8
644 opt/sl/share/man/man8/sluiced.8" ]
	grep -qx 'ExecStart=/opt/sl/sbin/sluiced --config /etc/sluice/sluice.yaml' "$DEST/opt/sl/lib/systemd/system/sluiced.service"
	make -s uninstall DESTDIR="$DEST" PREFIX=/opt/sl
	[ -z "$(find "$DEST" ! -type d)" ]
	[ ! -e "$DEST/opt/sl/lib/sluice" ]
	[ ! -e "$DEST/opt/sl/include/sluice" ]
}

@test "the installed daemon finds its object without an option" {
	load ../router/router
	router_up
	make -s install DESTDIR="$DEST" PREFIX=/usr
	spawn n1 sluiced "$DEST/usr/sbin/sluiced" --config "$CONFIG"
	DAEMON=$SPAWNED
	wait_for 10 daemon_ready || { cat "$LAB_DIR/sluiced.err"; false; }
	port_is eth1 on
	lab_end
}

@test "Wireshark finds the ports of a router, here or by ssh, and every word of a filter gets there" {
	# Wireshark looks there only for who is not root.
	local shark=(env HOME="$DEST" WIRESHARK_EXTCAP_DIR="$DEST" setpriv --reuid 65534 --regid 65534 --clear-groups)
	chmod 755 "$DEST"
	cp dist/sluice-extcap "$DEST/"
	mkdir "$DEST/bin"
	"${shark[@]}" tshark -D | grep -q 'sluice (sluice: ports of the fast path)$'
	"${shark[@]}" tshark -i sluice -L 2>&1 | grep -q 'EN10MB (Ethernet)$'
	# shellcheck disable=SC2016
	printf '%s\n' '#!/bin/sh' 'printf "%s|" "$@"' >"$DEST/bin/sluice"
	# shellcheck disable=SC2016
	printf '%s\n' '#!/bin/sh' 'echo "to $1"; eval "$2"' >"$DEST/bin/ssh"
	chmod 755 "$DEST/bin/"*
	PATH=$DEST/bin:$PATH "$DEST/sluice-extcap" --capture --extcap-interface sluice --fifo "$DEST/here" --port eth1 --snap 96 \
		--extcap-capture-filter "host 10.0.0.1 and tcp[13] & 7 != 0"
	[ "$(cat "$DEST/here")" = "capture|-i|eth1|-w|-|-s|96|host 10.0.0.1 and tcp[13] & 7 != 0|" ]
	PATH=$DEST/bin:$PATH "$DEST/sluice-extcap" --capture --fifo "$DEST/there" --host root@r1 --extcap-capture-filter "host it's"
	[ "$(cat "$DEST/there")" = "to root@r1
capture|-i|all|-w|-|host it's|" ]
}

@test "the manual pages have no mistakes that mandoc finds" {
	run mandoc -T lint -W warning docs/man/*
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "the manual names every command, option and key" {
	local word of
	for word in $(build/sluice --help | sed -n 's/^  \([a-z]*\).*/\1/p'); do
		grep -qE "^\.It Cm $word( |$)" docs/man/sluice.8
	done
	# Options of all commands; those of one command are named with it.
	for word in $(build/sluice --help | grep -oE -- '^  -., --[a-z-]+' | grep -oE -- '-[a-z-]+$' | sed 's/^--/-/'); do
		grep -qE "^\.It Fl . , $word( |$)" docs/man/sluice.8
	done
	for word in $(build/sluiced --help | grep -oE -- '^ +(-., )?--[a-z-]+' | grep -oE -- '-[a-z-]+$' | sed 's/^--/-/'); do
		grep -qE "^\.It Fl (. , )?$word( |$)" docs/man/sluiced.8
	done
	for word in $(build/sluice-elements --help | grep -oE -- '^ +(-., )?--[a-z-]+' | grep -oE -- '-[a-z-]+$' | sed 's/^--/-/'); do
		grep -qE "^\.It Fl (. , )?$word( |$)" docs/man/sluice-elements.8
	done
	for word in $(build/sluice-cluster --help | grep -oE -- '^ +(-., )?--[a-z-]+' | grep -oE -- '-[a-z-]+$' | sed 's/^--/-/'); do
		grep -qE "^\.It Fl (. , )?$word( |$)" docs/man/sluice-cluster.8
		[ "$(complete_words sluice-cluster "-$word")" = "-$word" ]
	done
	for word in $(grep -ohE '(\.name = |TEXT_KEY\()"[a-z_]+"' user/etcd/etcd_settings.c | grep -oE '"[^"]+"' | tr -d '"'); do
		sed -n '/^\.Sh SETTINGS/,/^\.Sh FILES/p' docs/man/sluice-cluster.8 | grep -qE "^\.It Ic ([a-z_]+ , )?$word( |$)"
	done
	# Options of sluice-delay are in its manual and its completion.
	for word in $(build/sluice-delay --help | grep -oE -- '^  -., --[a-z-]+' | grep -oE -- '[a-z-]+$'); do
		grep -qE "^\.It Fl . , ${word#-}( |$)" docs/man/sluice-delay.1
		[ "$(complete_words sluice-delay "$word")" = "$word" ]
	done
	# Those of capture likewise.
	for word in $(build/sluice capture --help | grep -oE -- '^  -., --[a-z-]+' | grep -oE -- '[a-z-]+$'); do
		grep -qE "^\.It Fl . , ${word#-}( |$)" docs/man/sluice-capture.8
		[ "$(complete_words sluice capture "$word")" = "$word" ]
	done
	# And those of the commands about versions.
	for word in $(build/sluice cluster apply --help | grep -oE -- '^  -., --[a-z-]+' | grep -oE -- '[a-z-]+$'); do
		sed -n '/^.It Cm cluster apply/,/^.It Cm cluster key/p' docs/man/sluice.8 | grep -qE "^\.It Fl . , ${word#-}( |$)" ||
			[ "$word" = --help ]
		case $word in --timeout) of=drain ;; --force) of=leave ;; --all | --command | --routing | --to) of=upgrade ;; *) of=apply ;; esac
		[ "$(complete_words sluice cluster $of "$word")" = "$word" ]
	done
	for word in $(sed -n '/^static const struct sl_ctl_command commands/,/^};/s/.*{ "\([a-z-]*\)".*/\1/p' rdma-bridge/views/views.c); do
		grep -qE "^\.It Ic $word( |$)" docs/man/sluice-bridge.8
	done
	for word in $(grep -ohE '\.name = "[a-z_0-9]+"|UINT_KEY\("[a-z_0-9]+"' user/config/config.c user/config/config_cluster_schema.c | grep -oE '"[^"]+"' | tr -d '"'); do
		grep -qE "^\.It Ic $word( |$)" docs/man/sluice.yaml.5
	done
}

@test "the texts that list the words of show and cluster list all that completion offers" {
	local word
	for word in $(complete_words sluice show ""); do
		build/sluice --help | sed -n '/^  show /,/^  explain /p' | grep -qE "[ |]$word( |\\||$)"
		build/sluice show x 2>&1 | grep -qE "write .*\b$word\b"
		grep -qE "^\.It Cm show $word( |$)" docs/man/sluice.8
	done
	for word in $(complete_words sluice cluster ""); do
		build/sluice --help | sed -n '/^  cluster /,/^  check /p' | grep -qE "[ |]$word( |\\||$)"
		build/sluice cluster --help | grep -qE "^ .*\b$word\b"
		build/sluice cluster x 2>&1 | grep -qE " $word(,| or|$)"
		build/sluice cluster "$word" --bogus 2>&1 | grep -qxF "Try 'sluice cluster $word --help'."
		sed -n '/^\.It Cm cluster/p' docs/man/sluice.8 | grep -qE "Cm (cluster )?$word\b"
	done
}

@test "the troubleshooting tables of the operator's guide name every reason" {
	local name
	for name in $(sed -n '/^#define SL_DROP_REASONS/,/^#define SL_ENUM/p' bpf/abi/reasons.h | grep -oE '"[a-z0-9-]+",' | tr -d '",') \
		$(grep -oE '"drop-[a-z-]+"' rdma-bridge/queue/frame_counters.h | tr -d '"'); do
		grep -qE "^\|.*\`$name\`.*\|" docs/OPERATIONS.md || {
			echo "$name"
			false
		}
	done
}

# complete_words WORD...: what completion offers for the last one.
complete_words() {
	# shellcheck source=dist/sluice.bash
	bash -c '. dist/sluice.bash
		compopt() { :; }
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		"_${1//-/_}"
		echo "${COMPREPLY[*]}"' complete "$@"
}

@test "completion offers commands, views, ports and options" {
	[ "$(complete_words sluice "")" = "status show top capture trace explain filter reserve element flow attach detach cc web sflow cluster check" ]
	[ "$(complete_words sluice -j s)" = "status show sflow" ]
	[ "$(complete_words sluice -s /tmp/x show "")" = "ports routes nexthops neighbours filters counters drops system-ports peers voqs express egress-queues delay busy fabric cc" ]
	[ "$(complete_words sluice show r)" = routes ]
	[ "$(complete_words sluice show routes "")" = "" ]
	[ "$(complete_words sluice --j)" = "--json" ]
	[ "$(complete_words sluice capture -i eth1 --w)" = "--write" ]
	[ "$(complete_words sluice -j capture -w dist/sluice.b)" = "dist/sluice.bash" ]
	[ "$(complete_words sluice capture -i al)" = all ]
	[ "$(complete_words sluice trace --c)" = "--count" ]
	[ "$(complete_words sluice sflow --)" = "--config --help" ]
	[ "$(complete_words sluice sflow -c dist/sluice.b)" = "dist/sluice.bash" ]
	[ "$(complete_words sluice cluster "")" = "apply diff drain history init join key leave rollback routing status token undrain upgrade" ]
	[ "$(complete_words sluice cluster apply --b)" = "--based-on" ]
	[ "$(complete_words sluice cluster history --)" = "--etcd --settings --json --help" ]
	[ "$(complete_words sluice cluster key "")" = "add switch remove --help" ]
	[ "$(complete_words sluice cluster key remove --f)" = "--force" ]
	[ "$(complete_words sluice cluster routing --n)" = "--node" ]
	[ "$(complete_words sluice cluster routing --bird --node "")" = "" ]
	[ "$(complete_words sluice cluster routing --bird dist/sluice.b)" = "dist/sluice.bash" ]
	[ "$(complete_words sluiced --c)" = "--config --check" ]
	[ "$(complete_words sluice-delay -i dist/sluice.b)" = "dist/sluice.bash" ]
	[ "$(complete_words sluice-delay -w "")" = "" ]
	[ "$(complete_words sluice-delay-plot --d)" = "--directory" ]
	[ "$(PATH=$PWD/build:$PATH complete_words sluice cc list p)" = price ]
	load ../router/router
	lab_begin
	node_up n1
	host_up h1
	link n1:eth1 h1:eth0
	[ "$(on n1 bash -c "$(declare -f complete_words)"'; complete_words sluice attach ""')" = eth1 ]
	lab_end
}

@test "the sample configuration is valid but for the ports" {
	run --separate-stderr build/sluice check dist/sluice.yaml
	[ "$status" -eq 2 ]
	# shellcheck disable=SC2154
	[[ $stderr = 'sluice: dist/sluice.yaml:'*': ports[0].name: "eth1" is not a netdev here: '* ]]
}

@test "the cluster of the operator's guide and the README is one that sluice check accepts, on both nodes" {
	local n
	diff <(sed -n '/^cluster:$/,/^```$/p' README.md) <(sed -n '/^cluster:$/,/^```$/p' docs/OPERATIONS.md)
	. netns-lab/lib/lab.sh
	lab_begin
	host_up fabric
	for n in 1 2; do
		node_up "n$n"
		link "n$n:fab0" "fabric:n$n" 3500
		link "n$n:eth1" "fabric:n${n}p1"
		link "n$n:eth2" "fabric:n${n}p2"
		on "n$n" ip addr add "10.9.0.$n/24" dev fab0
		(umask 077 && head -c 32 /dev/urandom >"$LAB_DIR/cluster.key")
		sed -n '/^## A cluster$/,/^## Attach/{/^```yaml$/,/^```$/p}' docs/OPERATIONS.md | grep -v '^```' |
			sed "s|^  node: 1 .*|  node: $n\n  key_file: $LAB_DIR/cluster.key|" >"$LAB_DIR/n$n.yaml"
		grep -qx "  node: $n" "$LAB_DIR/n$n.yaml"
		on "n$n" build/sluice check "$LAB_DIR/n$n.yaml"
	done
	lab_end
}

@test "systemd does not start a daemon again that ended because its file is wrong" {
	local wrong
	echo "ports: 1" >"$DEST/wrong.yaml"
	for unit in sluiced sluice-bridge; do
		run "build/$unit" --config "$DEST/wrong.yaml"
		echo "$output"
		[ "$status" -ne 0 ]
		wrong=$status
		grep -qx "RestartPreventExitStatus=$wrong" "dist/$unit.service"
	done
	run -2 build/sluice sflow --config "$DEST/wrong.yaml"
	grep -qx RestartPreventExitStatus=2 dist/sluice-sflow.service
	run -2 build/sluice-cluster --settings "$DEST/wrong.yaml"
	grep -qx RestartPreventExitStatus=2 dist/sluice-cluster.service
}

@test "systemd understands the service units, and finds that they expose little" {
	command -v systemd-analyze >/dev/null || skip "no systemd-analyze"
	for unit in sluiced sluice-bridge sluice-elements sluice-cluster sluice-sflow; do
		sed 's|@PREFIX@|/usr|; s|^ExecStart=.*|ExecStart=/bin/true|; /^Documentation/d' "dist/$unit.service" >"$DEST/$unit.service"
		# systemd-analyze leaves files under /run: give it a mount namespace that vanishes with it.
		run unshare --mount sh -c 'mount -t tmpfs none /run && systemd-analyze verify "$1"' - "$DEST/$unit.service"
		echo "$output"
		[ "$status" -eq 0 ]
		[ -z "$output" ]
		unshare --mount sh -c 'mount -t tmpfs none /run && systemd-analyze security --offline=yes --threshold=30 "$1"' - \
			"$DEST/$unit.service"
	done
}

# allowed UNIT: the system calls that its SystemCallFilter= lines allow, one a line
allowed() {
	local line word
	expand() {
		for word in "$@"; do
			case $word in
			@*) systemd-analyze syscall-filter "$word" | sed -n 's/^    \([^#]\)/\1/p' ;;
			*) echo "$word" ;;
			esac
		done
	}
	# Groups contain groups, three levels deep.
	every() { expand "$@" | xargs -n 1 | while read -r word; do expand "$word"; done | while read -r word; do expand "$word"; done; }
	sed -n 's/^SystemCallFilter=//p' "$1" | while read -r line; do
		# shellcheck disable=SC2086
		case $line in
		'~'*) every ${line#\~} | sed 's/^/- /' ;;
		*) every $line | sed 's/^/+ /' ;;
		esac
	done | awk '{ state[$2] = $1 } END { for (call in state) if (state[call] == "+") print call }'
}

@test "the bridge's unit lets it choose its cores and its priority, and use BPF" {
	command -v systemd-analyze >/dev/null || skip "no systemd-analyze"
	allowed dist/sluice-bridge.service >"$DEST/allowed"
	for call in bpf sched_setattr sched_setaffinity; do grep -qx "$call" "$DEST/allowed"; done
	run ! grep -qx mbind "$DEST/allowed"
}

@test "an element is built from what is installed alone, and its unit lets the worker try and store it" {
	command -v systemd-analyze >/dev/null || skip "no systemd-analyze"
	make -s install DESTDIR="$DEST" PREFIX=/opt/sl
	cp -r "$DEST/opt/sl/share/doc/sluice/element" "$DEST/my"
	grep -qx 'SLUICE ?= /opt/sl/include/sluice' "$DEST/my/element.mk"
	openssl genpkey -algorithm ed25519 -out "$DEST/me.pem"
	mkdir "$DEST/keys"
	openssl pkey -in "$DEST/me.pem" -pubout -out "$DEST/keys/me.pub"
	mine() { make -s -C "$DEST/my" -f element.mk SLUICE="$DEST/opt/sl/include/sluice" ELEMENTS="$DEST/opt/sl/sbin/sluice-elements" "$@"; }
	[ "$(mine test)" = "./hop_limit.so: right" ]
	mine sign KEY="$DEST/me.pem"
	# Every system call of the worker, of its trial and of its thread is one that the unit allows.
	allowed dist/sluice-elements.service | sort >"$DEST/allowed"
	load ../router/router
	router_up
	printf 'chain whole { input -> Counter -> output; }\n' >"$DEST/chains"
	spawn n1 elements strace -f -qq -o "$DEST/trace" "$DEST/opt/sl/sbin/sluice-elements" --chains "$DEST/chains" \
		--keys "$DEST/keys" --store "$DEST/store"
	wait_for 20 elements_ready
	[ "$(sluice element install "$DEST/my/hop_limit.so")" = "HopLimit, version 1: installed" ]
	sluice element remove HopLimit
	sed -n 's/^[0-9]* \+\([a-z0-9_]*\)(.*/\1/p' "$DEST/trace" | sort -u >"$DEST/used"
	lab_end
	for call in setpriority capset prctl bpf fsync; do grep -qx "$call" "$DEST/used"; done
	run comm -23 "$DEST/used" "$DEST/allowed"
	echo "not allowed: $output"
	[ -z "$output" ]
}
