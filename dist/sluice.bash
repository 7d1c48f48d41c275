# SPDX-License-Identifier: BSD-2-Clause
# Completion of sluice(8), sluiced(8), sluice-cluster(8) and sluice-delay(1) for bash.
# shellcheck shell=bash

_sluice_words() { mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur"); }
_sluice_files() {
	compopt -o filenames
	mapfile -t COMPREPLY < <(compgen -f -- "$cur")
}
_sluice_netdevs() {
	local dev devs=
	for dev in /sys/class/net/*; do
		[ "${dev##*/}" = lo ] || devs+=" ${dev##*/}"
	done
	_sluice_words "$devs"
}
# The ports of the running daemon: the first column, without its heading.
_sluice_ports() { _sluice_words "$(sluice show ports 2>/dev/null | sed -n '2,$s/ .*//p')"; }

# The controllers: the lines of one word. No daemon is asked.
_sluice_controllers() { sluice cc list 2>/dev/null | sed -n '/^[a-z0-9]\{1,\}$/p'; }

_sluice_cc() {
	case $1 in
	'') _sluice_words "list set trace" ;;
	list) _sluice_words "$(_sluice_controllers)" ;;
	*) _sluice_words "$(_sluice_controllers) $(sluice show system-ports 2>/dev/null | sed -n '2,$s/ .*//p')" ;;
	esac
}

_sluice_exact_flow() {
	local what='' i
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		list | count | add | delete | load | flush) what=${COMP_WORDS[i]} ;;
		esac
	done
	case $what in
	'') _sluice_words "list count add delete load flush" ;;
	load) _sluice_files ;;
	add | delete)
		_sluice_words "source= destination= protocol= source_port= destination_port= $([ "$what" = delete ] || echo action= as= class= set_dscp= idle=)"
		[[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
		;;
	esac
}

# The filter lists in force: the first column of each line, without the colon.
_sluice_filter() {
	case $1 in
	'') _sluice_words "list counters add delete replace import flowspec flow explain" ;;
	replace | import) _sluice_files ;;
	flow) _sluice_exact_flow ;;
	list | counters | add | delete | flowspec) _sluice_words "$(sluice filter list 2>/dev/null | sed -n 's/: .*//p')" ;;
	esac
}

_sluice_reserve() {
	case $1 in
	'') _sluice_words "list ports add delete" ;;
	add | delete)
		_sluice_words "source= destination= protocol= source_port= destination_port= $([ "$1" = delete ] || echo rate port refresh pin)"
		[[ ${COMPREPLY[*]} != *= ]] || compopt -o nospace
		;;
	esac
}

# The chains that run: the flows behind input and output.
_sluice_element() {
	case $1 in
	'') _sluice_words "list show install remove signal signals" ;;
	install) _sluice_files ;;
	signal) mapfile -t COMPREPLY < <(compgen -f -W "setup configure teardown query key=" -- "$cur") ;;
	show) _sluice_words "$(sluice flow 2>/dev/null | sed -n '4,$s/ .*//p')" ;;
	esac
}

# capture and trace have options of their own.
_sluice_capture() {
	case $prev in
	-i | --interface)
		_sluice_netdevs
		[[ all != "$cur"* ]] || COMPREPLY+=(all)
		;;
	-w | --write) _sluice_files ;;
	-c | --count | -s | --snap | -B | --buffer) ;;
	*) [[ $cur != -* ]] || _sluice_words "--interface --write --count --snap --buffer --json --help" ;;
	esac
}

_sluice_trace() { [[ $cur != -* ]] || _sluice_words "--stages --node --count --json --help"; }

_sluice_web() {
	case $prev in
	-t | --token-file) _sluice_files ;;
	-n | --node) ;;
	*) [[ $cur != -* ]] || _sluice_words "--token-file --node --help" ;;
	esac
}

_sluice_sflow() {
	case $prev in
	-c | --config) _sluice_files ;;
	*) [[ $cur != -* ]] || _sluice_words "--config --help" ;;
	esac
}

_sluice_of_cluster() {
	local word options='' etcd="--ca --certificate --key --user --password-file --prefix"
	case $prev in
	-n | --node | -a | --as | -r | --reflector | -e | --etcd | -b | --based-on | -w | --wait | -t | --timeout | --ttl | --address | --transport | --user | --prefix | --command | --routing | -o | --to) ;;
	-s | --settings | --ca | --certificate | --key | --password-file | --file) _sluice_files ;;
	-p | --port | --fabric) _sluice_netdevs ;;
	cluster) _sluice_words "apply diff drain history init join key leave rollback routing status token undrain upgrade" ;;
	key) _sluice_words "add switch remove --help" ;;
	switch | remove) _sluice_words "--config --force --help" ;;
	add | -c | --config) _sluice_files ;;
	*)
		for word in "${COMP_WORDS[@]}"; do
			case $word in
			apply | rollback) options="--etcd --settings --based-on --wait --json --help" ;;
			drain) options="--etcd --settings --based-on --wait --timeout --json --help" ;;
			undrain) options="--etcd --settings --based-on --wait --json --help" ;;
			leave) options="--etcd --settings --based-on --wait --force --json --help" ;;
			upgrade) options="--all --command --routing --to --etcd --settings --wait --timeout --force --json --help" ;;
			init) options="--node --address --port --fabric --transport $etcd --etcd --settings --json --help" ;;
			join) options="--node --address --port --file --wait $etcd --etcd --settings --json --help" ;;
			token) options="--ttl --etcd --settings --json --help" ;;
			diff | history | status) options="--etcd --settings --json --help" ;;
			esac
		done
		if [[ $cur == -* ]]; then _sluice_words "${options:---bird --frr --node --as --reflector --help}"; else _sluice_files; fi
		;;
	esac
}

_sluice() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i command='' what=''
	COMPREPLY=()
	case $prev in
	-s | --socket | -p | --pin-dir | -B | --bridge | -E | --elements)
		_sluice_files
		return
		;;
	esac
	for ((i = 1; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		cluster)
			_sluice_of_cluster
			return
			;;
		capture | trace | web | sflow)
			"_sluice_${COMP_WORDS[i]}"
			return
			;;
		esac
		case ${COMP_WORDS[i]} in
		-s | --socket | -p | --pin-dir | -B | --bridge | -E | --elements | -w | --wait | -n | --rounds | -d | --delay) i=$((i + 1)) ;;
		-*) ;;
		*)
			if [ -z "$command" ]; then
				command=${COMP_WORDS[i]}
			else
				what=${what:-${COMP_WORDS[i]}}
			fi
			;;
		esac
	done
	if [[ $cur == -* ]]; then
		_sluice_words "--json --all --batch --rounds --delay --socket --bridge --elements --pin-dir --wait --help --version"
		return
	fi
	case $command in
	'') _sluice_words "status show top capture trace explain filter reserve element flow attach detach cc web sflow cluster check" ;;
	show) [ -n "$what" ] || _sluice_words "ports routes nexthops neighbours filters counters drops system-ports peers voqs express egress-queues delay busy fabric cc" ;;
	cc) _sluice_cc "$what" ;;
	filter) _sluice_filter "$what" ;;
	reserve) _sluice_reserve "$what" ;;
	element) _sluice_element "$what" ;;
	attach) [ -n "$what" ] || _sluice_netdevs ;;
	detach) [ -n "$what" ] || _sluice_ports ;;
	check) [ -n "$what" ] || _sluice_files ;;
	esac
}

_sluice_cluster() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	case $prev in
	-s | --settings) _sluice_files ;;
	--log) _sluice_words "text json" ;;
	*) _sluice_words "--settings --once --verbose --log --help --version" ;;
	esac
}

_sluiced() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	case $prev in
	-c | --config | -o | --object) _sluice_files ;;
	*) _sluice_words "--config --object --check --detach --verbose --help --version" ;;
	esac
}

_sluice_delay() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
	COMPREPLY=()
	case $prev in
	-i | --input | -o | --output) _sluice_files ;;
	-w | --window | -t | --interval | -e | --episode | -L | --levels | -g | --guard | -c | --clock-error) ;;
	*) _sluice_words "--input --output --window --interval --episode --levels --guard --clock-error --no-checksums --no-model --partial --json --quiet --help --version" ;;
	esac
}

_sluice_delay_plot() {
	local cur=${COMP_WORDS[COMP_CWORD]}
	COMPREPLY=()
	case $cur in
	-*) _sluice_words "--directory --help" ;;
	*) _sluice_files ;;
	esac
}

complete -F _sluice sluice
complete -F _sluice_delay sluice-delay
complete -F _sluice_delay_plot sluice-delay-plot
complete -F _sluice_cluster sluice-cluster
complete -F _sluiced sluiced
