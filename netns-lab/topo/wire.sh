# shellcheck shell=bash
# SPDX-License-Identifier: BSD-2-Clause
# Topology wire: h1 - h2 and nothing between them, to see what generator and sink can do alone.

# shellcheck disable=SC2034
TOPO_TEXT="h1 - h2, nothing between"
# shellcheck disable=SC2034
TOPO_OPTIONS="none"

topo_up() {
	[ $# -eq 0 ] || lab_error "wire: unknown option $1" || return
	host_up h1 && host_up h2 && link h1:eth0 h2:eth0 3384 &&
		on h1 ip addr add 10.0.2.1/24 dev eth0 &&
		on h1 ip addr add fd00:0:0:2::1/64 dev eth0
}
