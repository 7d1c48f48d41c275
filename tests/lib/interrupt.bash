# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Ctrl-C, as a user presses it in a terminal: for suites whose commands must clean up after it.

ended() { [ ! -e "/proc/$1/status" ] || grep -q '^State:.Z' "/proc/$1/status"; }

# press_ctrl_c PID: SIGINT for the process group of a background command. Bash forgets about one in
# twenty that come while it waits for a command substitution; a user then presses Ctrl-C again.
press_ctrl_c() {
	local press look
	for press in 1 2 3; do
		[ "$press" = 1 ] || echo "# Ctrl-C once more"
		kill -INT -- "-$1" || return 0
		for look in {1..200}; do
			ended "$1" && return
			sleep 0.05
		done
	done
	echo "not ended $((press * look / 20)) s after Ctrl-C"
	return 1
}
