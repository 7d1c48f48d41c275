/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration file: what is read from a valid one, and the one line that refuses each invalid
 * one.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "user/config/config.h"

struct refusal {
	const char *name, *text, *error;
};

#define TOP_KEYS                                                                         \
	"engine, ports, bridge, classes, reserve, cluster, tables, control, netfilter, " \
	"heartbeat_s, punt_limits, filters, exact_flows, sflow, metrics, pin_dir or "    \
	"log_level"

static const struct refusal refusals[] = {
	{ "empty_file", "", "f:1: \"\" is all there is: write \"key: value\" with " TOP_KEYS },
	{ "comment_only", "# nothing\n",
	  "f:1: \"\" is all there is: write \"key: value\" with " TOP_KEYS },
	{ "scalar_document", "ports\n",
	  "f:1: \"ports\" is not a set of keys: write \"key: value\" with " TOP_KEYS },
	{ "unknown_key", "ports: []\nprots: 1\n",
	  "f:2: \"prots\" is not a key here: write " TOP_KEYS },
	{ "unknown_key_in_port", "ports:\n  - name: lo\n    mod: native\n",
	  "f:3: ports[0]: \"mod\" is not a key here: write name, mode, optional, hidden_tags, rate, "
	  "burst_us, scheduler, queues, controller, parameters or transmit" },
	{ "key_that_is_a_list", "ports: []\n? [a]\n: b\n",
	  "f:2: \"[...]\" is not a key here: write " TOP_KEYS },
	{ "key_twice", "ports: []\nports: []\n", "f:2: \"ports\" is given twice: write it once" },
	{ "key_missing", "engine: fast\n",
	  "f:1: \"ports\" is missing: write \"ports: ...\", or \"cluster: ...\"" },
	{ "key_missing_in_port", "ports:\n  - mode: auto\n",
	  "f:2: ports[0]: \"name\" is missing: write \"name: ...\"" },
	{ "ports_not_a_list", "ports: eth1\n",
	  "f:1: ports: \"eth1\" is not a list: write one item a line, each after \"- \"" },
	{ "ports_without_value", "ports:\n",
	  "f:1: ports: \"\" is not a list: write one item a line, each after \"- \"" },
	{ "port_not_a_map", "ports:\n  - eth1\n",
	  "f:2: ports[0]: \"eth1\" is not a set of keys: write \"key: value\" with name, mode, "
	  "optional, hidden_tags, rate, burst_us, scheduler, queues, controller, parameters or "
	  "transmit" },
	{ "port_name_too_long", "ports:\n  - name: sixteen-letters-\n",
	  "f:2: ports[0].name: \"sixteen-letters-\" is not a netdev name: write 1 to 15 characters, as "
	  "`ip link` shows them, such as eth1" },
	{ "port_name_with_slash", "ports:\n  - name: a/b\n",
	  "f:2: ports[0].name: \"a/b\" is not a netdev name: write 1 to 15 characters, as `ip link` "
	  "shows them, such as eth1" },
	{ "port_name_is_a_list", "ports:\n  - name: [a]\n",
	  "f:2: ports[0].name: \"[...]\" is not one value: write it after \"name: \"" },
	{ "sflow_without_collectors", "sflow: {sampling: 5}\nports:\n  - name: lo\n",
	  "f:1: sflow: \"collectors\" is missing: write \"collectors: ...\"" },
	{ "sflow_with_no_collector", "sflow:\n  collectors: []\nports:\n  - name: lo\n",
	  "f:2: sflow: \"collectors\" is an empty list: write \"- address: ...\" for each collector" },
	{ "sflow_collector_by_name",
	  "sflow:\n  collectors: [{address: collector}]\nports:\n  - name: lo\n",
	  "f:2: sflow.collectors[0].address: \"collector\" is not an IPv4 or IPv6 address" },
	{ "sflow_samples_none",
	  "sflow:\n  collectors: [{address: 10.0.0.5}]\n  sampling: 0\nports:\n  - name: lo\n",
	  "f:3: sflow.sampling: \"0\" is not a number of frames of which one is sampled: write a number "
	  "from 1 to 16777216" },
	{ "sflow_header_too_long",
	  "sflow:\n  collectors: [{address: 10.0.0.5}]\n  header_bytes: 513\nports:\n  - name: "
	  "lo\n",
	  "f:3: sflow.header_bytes: \"513\" is not a length in bytes: write a number from 14 to 512" },
	{ "port_twice", "ports:\n  - name: eth1\n  - name: eth2\n  - name: eth1\n",
	  "f:4: ports[2].name: \"eth1\" is named twice: write each port once" },
	{ "mode_unknown", "ports:\n  - {name: eth1, mode: fast}\n",
	  "f:2: ports[0].mode: \"fast\" is not a mode: write auto, native or generic" },
	{ "optional_not_boolean", "ports:\n  - {name: eth1, optional: maybe}\n",
	  "f:2: ports[0].optional: \"maybe\" is not a truth value: write true or false" },
	{ "engine_unknown", "engine: dir24\nports: []\n",
	  "f:1: engine: \"dir24\" is not an engine: write fast, lpm or kernel" },
	{ "metrics_without_port", "ports: []\nmetrics: 127.0.0.1\n",
	  "f:2: metrics: \"127.0.0.1\" is not an address to listen at: write PORT, ADDRESS:PORT or "
	  "[IPv6 ADDRESS]:PORT" },
	{ "metrics_port_0", "ports: []\nmetrics: 0\n",
	  "f:2: metrics: \"0\" is not an address to listen at: write PORT, ADDRESS:PORT or [IPv6 "
	  "ADDRESS]:PORT" },
	{ "number_negative", "ports: []\ntables:\n  nexthops: -5\n",
	  "f:3: tables.nexthops: \"-5\" is not a number of next hops: write a number from 16 to "
	  "8388607" },
	{ "number_too_large", "ports: []\ntables: {nexthops: 8388608}\n",
	  "f:2: tables.nexthops: \"8388608\" is not a number of next hops: write a number from 16 to "
	  "8388607" },
	{ "number_beyond_64_bits", "ports: []\ntables: {groups: 99999999999999999999}\n",
	  "f:2: tables.groups: \"99999999999999999999\" is not a number of multipath groups: write a "
	  "number from 1 to 1048576" },
	{ "number_with_tail", "ports: []\ntables: {groups: 5k}\n",
	  "f:2: tables.groups: \"5k\" is not a number of multipath groups: write a number from 1 to "
	  "1048576" },
	{ "mode_not_octal", "ports: []\ncontrol:\n  mode: \"0680\"\n",
	  "f:3: control.mode: \"0680\" is not a file mode: write \"0000\" to \"0777\"" },
	{ "mode_with_sticky_bit", "ports: []\ncontrol:\n  mode: \"1777\"\n",
	  "f:3: control.mode: \"1777\" is not a file mode: write \"0000\" to \"0777\"" },
	{ "group_unknown", "ports: []\ncontrol: {group: no-such-group}\n",
	  "f:2: control.group: \"no-such-group\" is not a group of this system: write one that `getent "
	  "group` shows" },
	{ "socket_relative", "ports: []\ncontrol: {socket: run/s}\n",
	  "f:2: control.socket: \"run/s\" is not a socket's path: write an absolute one of at most 107 "
	  "characters" },
	{ "pin_dir_with_nul", "ports: []\npin_dir: \"/a\\0b\"\n",
	  "f:2: pin_dir: \"/a\" is not a directory: write an absolute path in a BPF file system" },
	{ "level_unknown", "ports: []\nlog_level: loud\n",
	  "f:2: log_level: \"loud\" is not a log level: write error, warning, info or debug" },
	{ "value_quoted_in_one_line", "ports: []\nlog_level: \"a\\nb\"\n",
	  "f:2: log_level: \"a?b\" is not a log level: write error, warning, info or debug" },
	{ "value_cut",
	  "ports: []\nlog_level: "
	  "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggggggggg\n",
	  "f:2: log_level: \"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffff...\" is not a "
	  "log level: write error, warning, info or debug" },
	{ "syntax_open_list", "ports: [\n",
	  "f:2: \"\" is not YAML (did not find expected node content): write \"key: value\", indented "
	  "by spaces" },
	{ "syntax_tab", "ports: []\n\tengine: fast\n",
	  "f:2: \"engine: fast\" is not YAML (found character that cannot start any token): write "
	  "\"key: value\", indented by spaces" },
	{ "syntax_control_character", "ports: []\nengine: a\001\n",
	  "f:2: \"engine: a?\" is not YAML (control characters are not allowed): write \"key: value\", "
	  "indented by spaces" },
	{ "syntax_alias_of_nothing", "ports: *p\n",
	  "f:1: \"ports: *p\" is not YAML (found undefined alias): write \"key: value\", indented by "
	  "spaces" },
	{ "alone_bridge_beside_cluster",
	  "bridge: {workers: 1}\n"
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:3: \"bridge\" is given beside cluster: write the bridge under cluster only" },
	{ "alone_classes_beside_cluster",
	  "classes: [{class: 1, dscp: \"46\"}]\n"
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:3: \"classes\" is given beside cluster: write the classes under cluster only" },
	{ "reserve_beside_cluster",
	  "reserve: 80\n"
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:3: \"reserve\" is given beside cluster: write the reserve under cluster only" },
	{ "alone_rate_is_none", "ports:\n  - {name: eth1, rate: fast}\n",
	  "f:2: ports[0].rate: \"fast\" is not a rate: write bits a second as 10gbit or 500mbit, or "
	  "frames a second as 2mpps" },
	{ "alone_port_has_no_number", "ports:\n  - {name: eth1, number: 1}\n",
	  "f:2: ports[0]: \"number\" is not a key here: write name, mode, optional, hidden_tags, "
	  "rate, burst_us, scheduler, queues, controller, parameters or transmit" },
	{ "alone_class_twice",
	  "ports:\n  - {name: eth0}\n  - {name: eth1, queues: [{class: 1}, {class: 1}]}\n",
	  "f:3: ports[1].queues[1].class: \"1\" is given twice: write each class of a port once" },
	{ "alone_packs_no_messages", "ports: []\nbridge: {packing: 8}\n",
	  "f:2: bridge: \"packing\" is not a key here: write workers, cores, realtime, poll, "
	  "voq_frames, queue_frames, memory_mib, delay_sample, control or socket" },
	{ "alone_dscp_twice",
	  "ports: []\nclasses: [{class: 1, dscp: \"1\"}, {class: 2, dscp: \"0-7\"}]\n",
	  "f:2: classes[1].dscp: \"0-7\" has 1, which is in a class already: write each DSCP once" },
	{ "alone_cores_for_other_workers", "ports: []\nbridge: {workers: 3, cores: \"1,2\"}\n",
	  "f:2: bridge.workers: \"3\" is not the number of `cores`: write one core for each worker" },
	{ "cluster_node_missing", "cluster: {fabric: {device: fab0}, nodes: []}\n",
	  "f:1: cluster: \"node\" is missing: write \"node: ...\"" },
	{ "cluster_fabric_missing", "cluster: {node: 1, nodes: []}\n",
	  "f:1: cluster: \"fabric\" is missing: write \"fabric: ...\"" },
	{ "cluster_node_id_zero",
	  "cluster:\n"
	  "  node: 0\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:2: cluster.node: \"0\" is not a node id: write a number from 1 to 255" },
	{ "cluster_own_id_missing",
	  "cluster:\n"
	  "  node: 2\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:2: cluster.node: \"2\" is not among cluster.nodes: write the id of this node, and its entry there" },
	{ "cluster_nodes_alike",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n"
	  "    - {id: 1, address: 10.9.0.2, ports: []}\n",
	  "f:6: cluster.nodes[1].id: \"1\" is given twice: give each node its own id" },
	{ "cluster_address_twice",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n"
	  "    - {id: 2, address: 10.9.0.1, ports: []}\n",
	  "f:6: cluster.nodes[1].address: \"10.9.0.1\" is also the address of node 1: give each node its own" },
	{ "cluster_address_of_other_family",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n"
	  "    - {id: 2, address: \"fd00::2\", ports: []}\n",
	  "f:6: cluster.nodes[1].address: \"fd00::2\" is of another IP version than \"10.9.0.1\": write all in one" },
	{ "cluster_address_no_address",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.300, ports: []}\n",
	  "f:5: cluster.nodes[0].address: \"10.9.0.300\" is not an address: write the node's IPv4 or IPv6 address on the fabric" },
	{ "cluster_address_multicast",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 224.0.0.5, ports: []}\n",
	  "f:5: cluster.nodes[0].address: \"224.0.0.5\" is not an address: write the node's IPv4 or IPv6 address on the fabric" },
	{ "cluster_port_number_twice",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}, {number: 1, name: eth2}]}\n",
	  "f:5: cluster.nodes[0].ports[1].number: \"1\" is given twice: number each port of a node differently" },
	{ "cluster_port_name_twice",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}, {number: 2, name: eth1}]}\n",
	  "f:5: cluster.nodes[0].ports[1].name: \"eth1\" is named twice: write each port of a node once" },
	{ "cluster_port_number_too_large",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 256, name: eth1}]}\n",
	  "f:5: cluster.nodes[0].ports[0].number: \"256\" is not a port number: write a number from 1 to 255" },
	{ "cluster_transmit_unknown",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, transmit: raw}]}\n",
	  "f:5: cluster.nodes[0].ports[0].transmit: \"raw\" is not a way to transmit: write af_xdp or inject" },
	{ "cluster_parameter_that_the_controller_does_not_have",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, parameters: rate_ps=1}]}\n",
	  "f:5: cluster.nodes[0].ports[0].parameters: \"rate_ps=1\" fixed has no parameter \"rate_ps\": write one of floor_ppb, "
	  "stale_intervals, burst_frames, rate_ups, interval_us, frame_bytes or nodeN.weight" },
	{ "cluster_parameter_out_of_its_range",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, parameters: interval_us=99}]}\n",
	  "f:5: cluster.nodes[0].ports[0].parameters: \"interval_us=99\" interval_us is a whole number from 100 to 1000000" },
	{ "cluster_parameter_without_value",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, parameters: 7 node2.weight}]}\n",
	  "f:5: cluster.nodes[0].ports[0].parameters: \"7 node2.weight\" \"7\" is no parameter: write name=value" },
	{ "cluster_rate_without_unit",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, rate: 100}]}\n",
	  "f:5: cluster.nodes[0].ports[0].rate: \"100\" is not a rate: write bits a second as 10gbit or 500mbit, or frames a second as 2mpps" },
	{ "cluster_transport_unknown",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0, transport: tcp}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:3: cluster.fabric.transport: \"tcp\" is not a transport: write roce-xdp, verbs-ud or verbs-rc" },
	{ "cluster_fabric_rate_in_frames",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0, rate: 2mpps}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: []}\n",
	  "f:3: cluster.fabric.rate: \"2mpps\" is not a rate: write bits a second as 10gbit or 500mbit" },
	{ "cluster_fabric_dscp_too_large",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0, dscp: 64}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:3: cluster.fabric.dscp: \"64\" is not a DSCP: write a number from 0 to 63" },
	{ "cluster_fabric_service_level_too_large",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0, service_level: 8}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:3: cluster.fabric.service_level: \"8\" is not a service level: write a number from 0 to 7" },
	{ "cluster_clock_error_none",
	  "cluster:\n"
	  "  node: 1\n"
	  "  clock_error_us: 0\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:3: cluster.clock_error_us: \"0\" is not a time in microseconds: "
	  "write a number from 1 to 60000" },
	{ "cluster_workers_and_cores_differ",
	  "cluster:\n"
	  "  node: 1\n"
	  "  bridge: {workers: 2, cores: '0,1,2'}\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:2: cluster.bridge.workers: \"2\" is not the number of `cores`: write one core for each worker" },
	{ "cluster_workers_of_verbs",
	  "cluster:\n"
	  "  node: 1\n"
	  "  bridge: {workers: 2}\n"
	  "  fabric: {device: fab0, transport: verbs-ud}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:2: cluster.bridge.workers: \"2\" is for transport roce-xdp alone: write 1, or another transport" },
	{ "cluster_cores_no_list",
	  "cluster:\n"
	  "  node: 1\n"
	  "  bridge: {cores: '0-3'}\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:3: cluster.bridge.cores: \"0-3\" is not a list of CPUs: write up to 16 numbers, one for each worker, as in \"2,3\"" },
	{ "cluster_fabric_is_edge_port",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: eth1}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:2: cluster.fabric.device: \"eth1\" is an edge port of this node, too: the fabric needs its own netdev" },
	{ "cluster_scheduler_unknown",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, scheduler: wfq}]}\n",
	  "f:5: cluster.nodes[0].ports[0].scheduler: \"wfq\" is not a scheduler: write mixed, drr or strict" },
	{ "cluster_queue_class_too_large",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, queues: [{class: 4}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[0].class: \"4\" is not a class: write a number from 0 to 3" },
	{ "cluster_queue_class_missing",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, queues: [{weight: 4}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[0]: \"class\" is missing: write \"class: ...\"" },
	{ "cluster_queue_class_twice",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, queues: [{class: 2}, {class: 2}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[1].class: \"2\" is given twice: write each class of a port once" },
	{ "cluster_queue_weight_zero",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, queues: [{class: 2, weight: 0}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[0].weight: \"0\" is not a weight: write a number from 1 to 1024" },
	{ "cluster_queue_weight_with_strict",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, scheduler: strict, queues: [{class: 2, weight: 5}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[0].weight: \"5\" has no meaning with scheduler strict: leave it out, or write scheduler: mixed or drr" },
	{ "cluster_queue_frames_zero",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, queues: [{class: 2, frames: 0}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[0].frames: \"0\" is not a number of frames: write a number from 1 to 65536" },
	{ "cluster_dscp_twice",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  classes: [{class: 3, dscp: 40-50}, {class: 2, dscp: '1,46'}]\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:4: cluster.classes[1].dscp: \"1,46\" has 46, which is in a class already: write each DSCP once" },
	{ "cluster_dscp_bad_0",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  classes: [{class: 3, dscp: '64'}]\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:4: cluster.classes[0].dscp: \"64\" is not a list of DSCPs: write numbers from 0 to 63 and ranges of them, as 46 or 0-7,46" },
	{ "cluster_dscp_bad_1",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  classes: [{class: 3, dscp: '-1'}]\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:4: cluster.classes[0].dscp: \"-1\" is not a list of DSCPs: write numbers from 0 to 63 and ranges of them, as 46 or 0-7,46" },
	{ "cluster_dscp_bad_2",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  classes: [{class: 3, dscp: '5-'}]\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:4: cluster.classes[0].dscp: \"5-\" is not a list of DSCPs: write numbers from 0 to 63 and ranges of them, as 46 or 0-7,46" },
	{ "cluster_dscp_bad_3",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  classes: [{class: 3, dscp: '7-3'}]\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:4: cluster.classes[0].dscp: \"7-3\" is not a list of DSCPs: write numbers from 0 to 63 and ranges of them, as 46 or 0-7,46" },
	{ "cluster_dscp_bad_4",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  classes: [{class: 3, dscp: '1,,2'}]\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:4: cluster.classes[0].dscp: \"1,,2\" is not a list of DSCPs: write numbers from 0 to 63 and ranges of them, as 46 or 0-7,46" },
	{ "cluster_dscp_bad_5",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  classes: [{class: 3, dscp: ''}]\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:4: cluster.classes[0].dscp: \"\" is not a list of DSCPs: write numbers from 0 to 63 and ranges of them, as 46 or 0-7,46" },
	{ "cluster_dscp_bad_6",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  classes: [{class: 3, dscp: '1 ,2'}]\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:4: cluster.classes[0].dscp: \"1 ,2\" is not a list of DSCPs: write numbers from 0 to 63 and ranges of them, as 46 or 0-7,46" },
	{ "cluster_drain_not_boolean",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, drain: soon, ports: [{number: 1, name: eth1}]}\n",
	  "f:5: cluster.nodes[0].drain: \"soon\" is not a truth value: write true or false" },
	{ "cluster_dscp_bad_7",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  classes: [{class: 3, dscp: '0x10'}]\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:4: cluster.classes[0].dscp: \"0x10\" is not a list of DSCPs: write numbers from 0 to 63 and ranges of them, as 46 or 0-7,46" },
	{ "cluster_dscp_bad_8",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  classes: [{class: 3, dscp: '99999999999999999999'}]\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:4: cluster.classes[0].dscp: \"99999999999999999999\" is not a list of DSCPs: write numbers from 0 to 63 and ranges of them, as 46 or 0-7,46" },
	{ "cluster_beside_ports",
	  "ports: []\n"
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n",
	  "f:3: \"ports\" is given beside cluster: write the ports under cluster.nodes only" },
	{ "second_document", "ports: []\n---\nengine: fast\n",
	  "f:3: \"{...}\" is a second document: write one" },
};

static const struct refusal address_refusals[] = {
	{ "cluster_port_address_without_length",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, addresses: '10.1.1.1'}]}\n",
	  "f:5: cluster.nodes[0].ports[0].addresses: \"10.1.1.1\" "
	  "is not a list of addresses: write up to 16, each with the length of its prefix, "
	  "as in 10.1.1.1/24 2001:db8::1/64" },
	{ "cluster_port_address_length_beyond_bits",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, addresses: '10.1.1.1/33'}]}\n",
	  "f:5: cluster.nodes[0].ports[0].addresses: \"10.1.1.1/33\" "
	  "is not a list of addresses: write up to 16, each with the length of its prefix, "
	  "as in 10.1.1.1/24 2001:db8::1/64" },
	{ "cluster_port_address_length_0",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, addresses: '10.1.1.1/0'}]}\n",
	  "f:5: cluster.nodes[0].ports[0].addresses: \"10.1.1.1/0\" "
	  "is not a list of addresses: write up to 16, each with the length of its prefix, "
	  "as in 10.1.1.1/24 2001:db8::1/64" },
	{ "cluster_port_address_length_not_a_number",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, addresses: '10.1.1.1/x'}]}\n",
	  "f:5: cluster.nodes[0].ports[0].addresses: \"10.1.1.1/x\" "
	  "is not a list of addresses: write up to 16, each with the length of its prefix, "
	  "as in 10.1.1.1/24 2001:db8::1/64" },
	{ "cluster_port_address_with_comma",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, "
	  "ports: [{number: 1, name: eth1, addresses: '10.1.1.1/24, 10.2.1.1/24'}]}\n",
	  "f:5: cluster.nodes[0].ports[0].addresses: \"10.1.1.1/24, 10.2.1.1/24\" "
	  "is not a list of addresses: write up to 16, each with the length of its prefix, "
	  "as in 10.1.1.1/24 2001:db8::1/64" },
	{ "cluster_port_address_multicast",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, addresses: '224.0.0.1/24'}]}\n",
	  "f:5: cluster.nodes[0].ports[0].addresses: "
	  "\"224.0.0.1/24\" "
	  "is not a list of addresses: write up to 16, each with the length of its prefix, "
	  "as in 10.1.1.1/24 2001:db8::1/64" },
	{ "cluster_port_address_link_local",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, addresses: 'fe80::1/64'}]}\n",
	  "f:5: cluster.nodes[0].ports[0].addresses: "
	  "\"fe80::1/64\" "
	  "is not a list of addresses: write up to 16, each with the length of its prefix, "
	  "as in 10.1.1.1/24 2001:db8::1/64" },
	{ "cluster_port_address_17_of_them",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, addresses: '"
	  "10.1.0.1/24 10.1.1.1/24 10.1.2.1/24 10.1.3.1/24 10.1.4.1/24 10.1.5.1/24 10.1.6.1/24 "
	  "10.1.7.1/24 10.1.8.1/24 10.1.9.1/24 10.1.10.1/24 10.1.11.1/24 10.1.12.1/24 "
	  "10.1.13.1/24 10.1.14.1/24 10.1.15.1/24 10.1.16.1/24'}]}\n",
	  "f:5: cluster.nodes[0].ports[0].addresses: "
	  "\"10.1.0.1/24 10.1.1.1/24 10.1.2.1/24 10.1.3.1/24 10.1.4.1/24 ...\" "
	  "is not a list of addresses: write up to 16, each with the length of its prefix, "
	  "as in 10.1.1.1/24 2001:db8::1/64" },
	{ "cluster_port_address_prefix_twice",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, addresses: 10.1.1.1/24}, {number: 2, name: eth2, addresses: fd00::1/64 10.1.1.2/24}]}\n",
	  "f:5: cluster.nodes[0].ports[1].addresses: \"fd00::1/64 10.1.1.2/24\" has the prefix of n1p1, too: write each prefix at one port" },
};

static const struct refusal policy_refusals[] = {
	{ "cluster_queue_policy_unknown",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, "
	  "ports: [{number: 1, name: eth1, queues: [{class: 2, policy: fq_codel}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[0].policy: \"fq_codel\" is not a discard "
	  "policy: write tail, red, blue, longest, tdrr, qsdrr, codel or layers" },
	{ "cluster_queue_flows_zero",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, "
	  "ports: [{number: 1, name: eth1, queues: [{class: 2, policy: codel, flows: 0}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[0].flows: \"0\" is not a number of "
	  "flow queues: write a number from 1 to 1024" },
	{ "cluster_queue_flows_without_policy",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, "
	  "ports: [{number: 1, name: eth1, queues: [{class: 2, flows: 8}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[0].flows: \"8\" needs a discard policy: write policy: qsdrr, codel or another" },
	{ "cluster_queue_parameters_without_policy",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, queues: [{class: 2, parameters: target_us=5}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[0].parameters: \"target_us=5\" are those of a discard policy: write policy: qsdrr, codel or another" },
	{ "cluster_queue_parameter_unknown",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, queues: [{class: 2, policy: codel, parameters: target_us=5 goal=3}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[0].parameters: \"target_us=5 goal=3\" has no parameter \"goal\" of codel: write target_us or interval_us" },
	{ "cluster_queue_parameter_of_none",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, queues: [{class: 2, policy: tail, parameters: goal=3}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[0].parameters: \"goal=3\" has no meaning: tail has no parameters, leave them out" },
	{ "cluster_queue_parameter_out_of_range",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, queues: [{class: 2, policy: codel, parameters: target_us=0}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[0].parameters: \"target_us=0\" has a target_us that is out of range: write a whole number from 1 to 1000000" },
	{ "cluster_queue_parameter_not_a_number",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, queues: [{class: 2, policy: qsdrr, parameters: until_longest=yes}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[0].parameters: \"until_longest=yes\" has a word that is none: write words NAME=NUMBER" },
	{ "cluster_queue_parameters_together",
	  "cluster:\n"
	  "  node: 1\n"
	  "  fabric: {device: fab0}\n"
	  "  nodes:\n"
	  "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, queues: [{class: 2, policy: red, parameters: min_ppb=500000000 max_ppb=400000000}]}]}\n",
	  "f:5: cluster.nodes[0].ports[0].queues[0].parameters: \"min_ppb=500000000 max_ppb=400000000\" do not work: max_ppb must be above min_ppb, by a byte of the buffer at least" },
};

static void expect_refusals(const struct refusal *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct refusal *r = &rows[i];
		char error[SL_YAML_ERROR_BYTES] = "";
		struct sl_settings *settings = NULL;
		int err = sl_settings_parse("f", r->text, strlen(r->text), &settings, error);

		if (err != -EINVAL || settings || strcmp(error, r->error) != 0)
			print_error("%s: %d\n", r->name, err);
		assert_string_equal(error, r->error);
		assert_int_equal(err, -EINVAL);
		assert_null(settings);
	}
}

static void refusals_are_one_line_with_file_line_value_and_remedy(void **state)
{
	(void)state;
	expect_refusals(refusals, sizeof(refusals) / sizeof(refusals[0]));
	expect_refusals(policy_refusals, sizeof(policy_refusals) / sizeof(policy_refusals[0]));
	expect_refusals(address_refusals, sizeof(address_refusals) / sizeof(address_refusals[0]));
}

/* Apart from the table: the remedy names the controllers of cc/algorithms.h. */
static void a_controller_that_does_not_exist_is_refused_with_the_names_of_all(void **state)
{
	static const char text[] =
		"cluster:\n"
		"  node: 1\n"
		"  fabric: {device: fab0}\n"
		"  nodes:\n"
		"    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1, controller: prize}]}\n";
	char error[SL_YAML_ERROR_BYTES] = "", wanted[SL_YAML_ERROR_BYTES];
	struct sl_settings *settings = NULL;
	size_t n;

	(void)state;
	n = (size_t)snprintf(wanted, sizeof(wanted),
			     "f:5: cluster.nodes[0].ports[0].controller: \"prize\" is not a "
			     "controller: write ");
	for (const struct cc_ops *const *ops = cc_algorithms; *ops; ops++)
		n += (size_t)snprintf(wanted + n, sizeof(wanted) - n, "%s%s",
				      ops == cc_algorithms ? ""
				      : ops[1]		   ? ", "
							   : " or ",
				      (*ops)->name);
	assert_int_equal(sl_settings_parse("f", text, strlen(text), &settings, error), -EINVAL);
	assert_string_equal(error, wanted);
	assert_null(settings);
}

static struct sl_settings *parse(const char *text)
{
	char error[SL_YAML_ERROR_BYTES];
	struct sl_settings *settings;

	if (sl_settings_parse("f", text, strlen(text), &settings, error))
		print_error("%s\n", error);
	assert_non_null(settings);
	return settings;
}

static void least_file_has_the_documented_defaults(void **state)
{
	struct sl_settings *s = parse("ports:\n  - name: eth1\n");

	(void)state;
	assert_int_equal(s->engine, SL_ENGINE_FAST);
	assert_int_equal(s->log_level, SL_LOG_INFO);
	assert_int_equal(s->heartbeat_s, 30);
	assert_int_equal(s->punt_limits.ttl, 10000);
	assert_int_equal(s->punt_limits.no_route, 10000);
	assert_int_equal(s->punt_limits.local, 10000);
	assert_int_equal(s->sflow.line, 0);
	assert_int_equal(s->sflow.sampling, 1000);
	assert_int_equal(s->sflow.polling_s, 20);
	assert_int_equal(s->sflow.header_bytes, 128);
	assert_string_equal(s->control.socket, "/run/sluice/sluiced.sock");
	assert_int_equal(s->control.mode, 0660);
	assert_null(s->control.group);
	assert_string_equal(s->pin_dir, "/sys/fs/bpf/sluice");
	assert_null(s->metrics);
	assert_int_equal(s->tables.nexthops, 0);
	assert_int_equal(s->ports.n, 1);
	assert_int_equal(s->cluster.node, 0);
	assert_int_equal(s->cluster.line, 0);
	assert_string_equal(sl_settings_port(s, 0)->name, "eth1");
	assert_int_equal(sl_settings_port(s, 0)->mode, SL_XDP_NONE);
	assert_false(sl_settings_port(s, 0)->optional);
	sl_settings_free(s);
}

static void every_key_is_read(void **state)
{
	struct sl_settings *s =
		parse("engine: lpm\n"
		      "ports:\n"
		      "  - {name: eth1, mode: native}\n"
		      "  - {name: eth2.5, mode: generic, optional: true, hidden_tags: ignore}\n"
		      "tables:\n"
		      "  nexthops: 16\n"
		      "  adjacencies: 17\n"
		      "  groups: 1\n"
		      "  ipv4_routes: 100\n"
		      "  ipv6_routes: 101\n"
		      "control: {socket: /tmp/s, mode: \"0600\", group: root}\n"
		      "metrics: 192.0.2.1:9101\n"
		      "pin_dir: /sys/fs/bpf/other\n"
		      "heartbeat_s: 0\n"
		      "punt_limits: {ttl: 1, no_route: 2, local: 0}\n"
		      "sflow:\n"
		      "  collectors: [{address: 10.0.0.5}, {address: \"fd00::5\", port: 9}]\n"
		      "  agent: 192.0.2.1\n"
		      "  sampling: 64\n"
		      "  polling_s: 0\n"
		      "  header_bytes: 512\n"
		      "log_level: debug\n");

	(void)state;
	assert_int_equal(s->engine, SL_ENGINE_LPM);
	assert_int_equal(s->ports.n, 2);
	assert_int_equal(sl_settings_port(s, 0)->mode, SL_XDP_NATIVE);
	assert_int_equal(sl_settings_port(s, 0)->line, 3);
	assert_string_equal(sl_settings_port(s, 1)->name, "eth2.5");
	assert_int_equal(sl_settings_port(s, 1)->mode, SL_XDP_GENERIC);
	assert_true(sl_settings_port(s, 1)->optional);
	assert_int_equal(sl_settings_port(s, 0)->hidden_tags, SL_HIDDEN_TAGS_REFUSE);
	assert_int_equal(sl_settings_port(s, 1)->hidden_tags, SL_HIDDEN_TAGS_IGNORE);
	assert_int_equal(s->tables.nexthops, 16);
	assert_int_equal(s->tables.adjacencies, 17);
	assert_int_equal(s->tables.groups, 1);
	assert_int_equal(s->tables.ipv4_routes, 100);
	assert_int_equal(s->tables.ipv6_routes, 101);
	assert_string_equal(s->control.socket, "/tmp/s");
	assert_int_equal(s->control.mode, 0600);
	assert_string_equal(s->control.group, "root");
	assert_string_equal(s->pin_dir, "/sys/fs/bpf/other");
	assert_string_equal(s->metrics, "192.0.2.1:9101");
	assert_int_equal(s->log_level, SL_LOG_DEBUG);
	assert_int_equal(s->heartbeat_s, 0);
	assert_int_equal(s->punt_limits.ttl, 1);
	assert_int_equal(s->punt_limits.no_route, 2);
	assert_int_equal(s->punt_limits.local, 0);
	assert_int_equal(s->sflow.line, 17);
	assert_int_equal(s->sflow.collectors.n, 2);
	assert_string_equal(sl_sflow_collector(&s->sflow, 0)->address, "10.0.0.5");
	assert_int_equal(sl_sflow_collector(&s->sflow, 0)->port, 0);
	assert_string_equal(sl_sflow_collector(&s->sflow, 1)->address, "fd00::5");
	assert_int_equal(sl_sflow_collector(&s->sflow, 1)->port, 9);
	assert_string_equal(s->sflow.agent, "192.0.2.1");
	assert_int_equal(s->sflow.sampling, 64);
	assert_int_equal(s->sflow.polling_s, 0);
	assert_int_equal(s->sflow.header_bytes, 512);
	assert_ptr_equal(sl_settings_find_port(s, "eth2.5"), sl_settings_port(s, 1));
	assert_null(sl_settings_find_port(s, "eth3"));
	sl_settings_free(s);
}

static void each_core_is_for_one_worker(void **state)
{
	struct sl_settings *s =
		parse("cluster:\n"
		      "  node: 1\n"
		      "  bridge: {cores: '3,0,7'}\n"
		      "  fabric: {device: fab0}\n"
		      "  nodes:\n"
		      "    - {id: 1, address: 10.9.0.1, ports: [{number: 1, name: eth1}]}\n");
	const struct sl_bridge_settings *b = &s->cluster.bridge;

	(void)state;
	assert_int_equal(b->workers, 3);
	assert_int_equal(b->cores[0], 3);
	assert_int_equal(b->cores[1], 0);
	assert_int_equal(b->cores[2], 7);
	sl_settings_free(s);
}

#define RESERVE(keys, port)                                                                    \
	"cluster:\n  node: 7\n  fabric: {device: fab0}\n  reserve: 80\n" keys                  \
	"  nodes:\n    - {id: 7, address: 10.9.0.7, ports: [{number: 1, name: eth1" port "}, " \
	"{number: 2, name: eth2, rate: 5kpps}]}\n"

static void class_of_reserved_flows_is_theirs_alone(void **state)
{
	struct sl_settings *s =
		parse(RESERVE("  classes: [{class: 3, dscp: \"46\"}]\n", ", rate: 100mbit, queues: "
									 "[{class: 3, frames: 500, "
									 "policy: codel}]"));
	const struct sl_cluster_node *node = sl_cluster_node(&s->cluster, 0);
	const struct sl_cluster_port *port = sl_cluster_port(node, 0);

	(void)state;
	assert_int_equal(s->cluster.class_of[46], 2);
	assert_int_equal(s->cluster.class_of[48], 2);
	assert_int_equal(s->cluster.class_of[0], 0);
	assert_string_equal(port->queue[3].flow_queues.ops->name, "codel");
	assert_int_equal(port->queue[3].flow_queues.shape.queues, 1024);
	assert_int_equal(port->queue[3].flow_queues.shape.reserved, 256);
	assert_int_equal(sl_cluster_reservable_Bps(&s->cluster, port), 10000000);
	/* A rate in frames says nothing of bits. */
	assert_int_equal(sl_cluster_reservable_Bps(&s->cluster, sl_cluster_port(node, 1)), 0);
	assert_null(sl_cluster_port(node, 1)->queue[3].flow_queues.ops);
	sl_settings_free(s);
	s = parse(RESERVE("", ", rate: 100mbit"));
	port = sl_cluster_port(sl_cluster_node(&s->cluster, 0), 0);
	assert_string_equal(port->queue[3].flow_queues.ops->name, "longest");
	assert_int_equal(port->queue[3].flow_queues.shape.reserved, 256);
	assert_null(port->queue[2].flow_queues.ops);
	sl_settings_free(s);
}

static void router_alone_is_a_node_without_a_fabric_once_a_port_has_queues(void **state)
{
	struct sl_settings *s =
		parse("ports:\n"
		      "  - {name: eth1, mode: generic, optional: true}\n"
		      "  - {name: eth2, rate: 100mbit, queues: [{class: 2, weight: 5}]}\n"
		      "bridge: {workers: 2, socket: /s, control: /c}\n"
		      "classes: [{class: 3, dscp: \"5\"}]\n"
		      "reserve: 50\n");
	const struct sl_cluster_settings *c = &s->cluster;
	const struct sl_cluster_port *port;

	(void)state;
	assert_int_equal(c->node, SL_NODE_ALONE);
	assert_false(sl_cluster_has_fabric(c));
	assert_false(sl_cluster_has_express(c));
	assert_int_equal(c->nodes.n, 1);
	assert_int_equal(c->table.n, 2);
	assert_string_equal(c->socket, "/s");
	assert_string_equal(c->bridge.control, "/c");
	assert_int_equal(c->bridge.workers, 2);
	assert_int_equal(c->bridge.queue_frames, 1024);
	/* The highest class is that of reserved flows. */
	assert_int_equal(c->class_of[5], 2);
	port = sl_cluster_port(sl_cluster_node(c, 0), 0);
	assert_int_equal(port->number, 1);
	assert_false(sl_cluster_port_is_queued(port));
	port = sl_cluster_port(sl_cluster_node(c, 0), 1);
	assert_int_equal(port->number, 2);
	assert_true(sl_cluster_port_is_queued(port));
	assert_int_equal(port->queue[2].weight, 5);
	/* The only source of its ports needs no controller. */
	assert_string_equal(port->control.ops->name, "fixed");
	assert_int_equal(sl_cluster_reservable_Bps(c, port), 6250000);
	assert_int_equal(s->ports.n, 2);
	assert_string_equal(sl_settings_port(s, 0)->name, "eth1");
	assert_int_equal(sl_settings_port(s, 0)->mode, SL_XDP_GENERIC);
	assert_true(sl_settings_port(s, 0)->optional);
	sl_settings_free(s);
	s = parse("ports:\n  - {name: eth1, controller: fixed, burst_us: 5}\n  - name: eth2\n"
		  "bridge: {workers: 2}\n");
	assert_int_equal(s->cluster.node, 0);
	assert_int_equal(s->ports.n, 2);
	sl_settings_free(s);
	s = parse("ports:\n  - {name: eth1, controller: price}\n");
	assert_int_equal(s->cluster.node, SL_NODE_ALONE);
	sl_settings_free(s);
}

static void cluster_is_read_and_ports_of_this_node_are_the_ports(void **state)
{
	struct sl_settings *s = parse(
		"cluster:\n"
		"  node: 7\n"
		"  key_file: /k\n"
		"  liveness_ms: 20\n"
		"  clock_error_us: 3\n"
		"  bridge: {poll: busy, realtime: 10, packing: 8, pack_delay_us: 50, voq_frames: 64,\n"
		"    queue_frames: 256, memory_mib: 32, control: /run/b.sock}\n"
		"  socket: /s\n"
		"  fabric: {device: fab0, rate: 25gbit, transport: verbs-rc, dscp: 46, service_level: 3}\n"
		"  nodes:\n"
		"    - {id: 9, address: 10.9.0.9, ports: [{number: 3, name: eth3, rate: 8gbit}]}\n"
		"    - id: 7\n"
		"      address: 10.9.0.7\n"
		"      ports:\n"
		"        - {number: 2, name: eth2, mode: generic, optional: true, hidden_tags: ignore, rate: 5kpps, burst_us: 2500, transmit: inject, parameters: interval_us=500 "
		"node9.weight=7 kappa_ppb=5}\n"
		"        - {number: 1, name: eth1, addresses: 10.1.1.1/24 fd00::1/64}\n");
	const struct sl_cluster_settings *c = &s->cluster;
	const struct sl_cc_settings *control;
	struct sl_port_address addresses[SL_PORT_ADDRESSES_MAX];
	uint32_t n;

	(void)state;
	assert_int_equal(c->node, 7);
	assert_string_equal(c->key_file, "/k");
	assert_int_equal(c->liveness_ms, 20);
	assert_int_equal(c->clock_error_us, 3);
	assert_int_equal(c->fabric_rate.per_s, 3125000000);
	assert_int_equal(c->fabric_dscp, 46);
	assert_int_equal(c->service_level, 3);
	assert_int_equal(c->bridge.poll, SL_POLL_BUSY);
	assert_int_equal(c->bridge.realtime, 10);
	assert_int_equal(c->bridge.workers, 1);
	assert_null(c->bridge.cores_text);
	assert_int_equal(c->bridge.packing, 8);
	assert_int_equal(c->bridge.pack_delay_us, 50);
	assert_int_equal(c->bridge.voq_frames, 64);
	assert_int_equal(c->bridge.queue_frames, 256);
	assert_int_equal(c->bridge.memory_mib, 32);
	assert_string_equal(c->bridge.control, "/run/b.sock");
	assert_string_equal(c->socket, "/s");
	assert_string_equal(c->device, "fab0");
	assert_string_equal(sl_transport_name(c->transport), "verbs-rc");
	assert_int_equal(c->nodes.n, 2);
	assert_string_equal(sl_cluster_find_node(c, 9)->address, "10.9.0.9");
	assert_null(sl_cluster_find_node(c, 8));
	assert_int_equal(sl_cluster_port(sl_cluster_node(c, 0), 0)->rate.per_s, 1000000000);
	assert_int_equal(sl_cluster_port(sl_cluster_node(c, 0), 0)->transmit, SL_TRANSMIT_AF_XDP);
	assert_int_equal(sl_cluster_port(sl_cluster_node(c, 1), 0)->transmit, SL_TRANSMIT_INJECT);
	assert_false(sl_cluster_port(sl_cluster_node(c, 0), 0)->rate.frames);
	assert_int_equal(sl_cluster_port(sl_cluster_node(c, 1), 0)->rate.per_s, 5000);
	assert_true(sl_cluster_port(sl_cluster_node(c, 1), 0)->rate.frames);
	assert_int_equal(sl_cluster_port(sl_cluster_node(c, 1), 1)->rate.per_s, 0);
	control = &sl_cluster_port(sl_cluster_node(c, 1), 0)->control;
	assert_int_equal(sl_cluster_port(sl_cluster_node(c, 1), 0)->burst_us, 2500);
	assert_string_equal(control->ops->name, "price");
	assert_int_equal(control->interval_us, 500);
	assert_int_equal(control->node_weight[9], 7);
	assert_int_equal(control->node_weight[8], 1);
	assert_int_equal(control->param[3], 5);
	control = &sl_cluster_port(sl_cluster_node(c, 1), 1)->control;
	assert_string_equal(control->ops->name, "fixed");
	assert_int_equal(control->interval_us, 1000);
	assert_int_equal(c->table.n, 3);
	assert_int_equal(c->table.port[0], 0x0701);
	assert_int_equal(c->table.port[1], 0x0702);
	assert_int_equal(c->table.port[2], 0x0903);
	assert_int_equal(s->ports.n, 2);
	assert_string_equal(sl_settings_port(s, 0)->name, "eth2");
	assert_int_equal(sl_settings_port(s, 0)->mode, SL_XDP_GENERIC);
	assert_true(sl_settings_port(s, 0)->optional);
	assert_int_equal(sl_settings_port(s, 0)->hidden_tags, SL_HIDDEN_TAGS_IGNORE);
	assert_string_equal(sl_settings_port(s, 1)->name, "eth1");
	assert_null(sl_cluster_port(sl_cluster_node(c, 1), 0)->addresses);
	sl_port_addresses_parse(sl_cluster_port(sl_cluster_node(c, 1), 1)->addresses, addresses,
				&n);
	assert_int_equal(n, 2);
	assert_int_equal(addresses[0].family, AF_INET);
	assert_int_equal(addresses[0].len, 24);
	assert_memory_equal(addresses[0].addr, "\x0a\x01\x01\x01", 4);
	assert_int_equal(addresses[1].family, AF_INET6);
	assert_int_equal(addresses[1].len, 64);
	assert_memory_equal(addresses[1].addr, "\xfd\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 16);
	sl_settings_free(s);
}

static void missing_port_is_named_unless_it_is_optional(void **state)
{
	struct sl_settings *s = parse("ports:\n"
				      "  - {name: lo}\n"
				      "  - {name: sl-none1, optional: true}\n"
				      "  - {name: sl-none2}\n");
	char error[SL_YAML_ERROR_BYTES];

	(void)state;
	assert_int_equal(sl_settings_check_ports(s, error), -ENODEV);
	assert_string_equal(error,
			    "f:4: ports[2].name: \"sl-none2\" is not a netdev here: write one that "
			    "`ip link` shows, or \"optional: true\" if it comes later");
	sl_settings_free(s);
}

static void file_that_cannot_be_read_is_named(void **state)
{
	char error[SL_YAML_ERROR_BYTES];
	struct sl_settings *s;

	(void)state;
	assert_int_equal(sl_settings_load("/nonexistent/s.yaml", &s, error), -ENOENT);
	assert_string_equal(error,
			    "/nonexistent/s.yaml: cannot read the configuration file: No such "
			    "file or directory");
	assert_int_equal(sl_settings_load("/dev/zero", &s, error), -EFBIG);
	assert_string_equal(error, "/dev/zero: cannot read the configuration file: File too large");
}

/* The queues of a port and the classes are as written; the others have their defaults. */
static void queues_and_classes_are_as_written_with_defaults_for_the_rest(void **state)
{
	struct sl_settings *s = parse(
		"cluster:\n"
		"  node: 1\n"
		"  fabric: {device: fab0}\n"
		"  bridge: {queue_frames: 256}\n"
		"  classes: [{class: 3, dscp: '46,48-63'}, {class: 1, dscp: 0}]\n"
		"  nodes:\n"
		"    - id: 1\n"
		"      address: 10.9.0.1\n"
		"      ports:\n"
		"        - {number: 1, name: eth1}\n"
		"        - number: 2\n"
		"          name: eth2\n"
		"          scheduler: drr\n"
		"          queues: [{class: 3, weight: 8}, {class: 0, weight: 2, frames: 64}]\n"
		"        - {number: 3, name: eth3, scheduler: strict, queues: [{class: 1, frames: 9}]}\n"
		"        - number: 4\n"
		"          name: eth4\n"
		"          rate: 80mbit\n"
		"          queues: [{class: 0, frames: 100, policy: codel, parameters: target_us=300},\n"
		"            {class: 1, frames: 1, policy: red}, {class: 2, policy: qsdrr, flows: 7}]\n"
		"        - {number: 5, name: eth5, rate: 9kpps, queues: [{class: 3, policy: tdrr}]}\n");
	const struct sl_cluster_port *port4 = sl_cluster_port(sl_cluster_node(&s->cluster, 0), 3);
	const struct fq_config *fq[] = { &port4->queue[0].flow_queues, &port4->queue[1].flow_queues,
					 &port4->queue[2].flow_queues };
	static const struct {
		enum sl_scheduler scheduler;
		uint32_t level[SL_CLASSES], weight[SL_CLASSES], frames[SL_CLASSES];
	} ports[] = {
		{ SL_SCHEDULER_MIXED, { 0, 0, 0, 1 }, { 1, 1, 1, 1 }, { 256, 256, 256, 256 } },
		{ SL_SCHEDULER_DRR, { 0, 0, 0, 0 }, { 2, 1, 1, 8 }, { 64, 256, 256, 256 } },
		{ SL_SCHEDULER_STRICT, { 0, 1, 2, 3 }, { 1, 1, 1, 1 }, { 256, 9, 256, 256 } },
	};

	(void)state;
	for (uint32_t p = 0; p < 3; p++) {
		const struct sl_cluster_port *port =
			sl_cluster_port(sl_cluster_node(&s->cluster, 0), p);

		assert_int_equal(port->scheduler, ports[p].scheduler);
		for (uint32_t c = 0; c < SL_CLASSES; c++) {
			assert_int_equal(sl_scheduler_level(port->scheduler, c), ports[p].level[c]);
			assert_int_equal(port->queue[c].weight, ports[p].weight[c]);
			assert_int_equal(port->queue[c].frames, ports[p].frames[c]);
		}
	}
	assert_null(port4->queue[3].flow_queues.ops);
	assert_string_equal(fq[0]->ops->name, "codel");
	assert_int_equal(fq[0]->param[0], 300);
	assert_int_equal(fq[0]->param[1], 100000);
	assert_int_equal(fq[0]->shape.queues, 1024);
	assert_int_equal(fq[0]->shape.limit_frames, 100);
	assert_int_equal(fq[0]->shape.limit_bytes, 152200);
	assert_int_equal(fq[0]->shape.quantum_bytes, 1522);
	assert_int_equal(fq[0]->shape.rate_Bps, 10000000);
	assert_string_equal(fq[1]->ops->name, "red");
	assert_int_equal(fq[1]->shape.queues, 1);
	assert_int_equal(fq[1]->shape.limit_bytes, 4096); /* room for one frame of any size */
	assert_string_equal(fq[2]->ops->name, "qsdrr");
	assert_int_equal(fq[2]->shape.queues, 7);
	assert_int_equal(fq[2]->shape.limit_frames, 256);
	fq[0] = &sl_cluster_port(sl_cluster_node(&s->cluster, 0), 4)->queue[3].flow_queues;
	assert_string_equal(fq[0]->ops->name, "tdrr");
	assert_int_equal(fq[0]->shape.rate_Bps, 9000 * 1522);
	for (uint32_t dscp = 0; dscp < SL_DSCPS; dscp++)
		assert_int_equal(s->cluster.class_of[dscp], dscp == 46 || dscp >= 48 ? 3
							    : dscp == 0		     ? 1
										     : dscp / 16);
	sl_settings_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refusals_are_one_line_with_file_line_value_and_remedy),
		cmocka_unit_test(a_controller_that_does_not_exist_is_refused_with_the_names_of_all),
		cmocka_unit_test(least_file_has_the_documented_defaults),
		cmocka_unit_test(every_key_is_read),
		cmocka_unit_test(class_of_reserved_flows_is_theirs_alone),
		cmocka_unit_test(router_alone_is_a_node_without_a_fabric_once_a_port_has_queues),
		cmocka_unit_test(cluster_is_read_and_ports_of_this_node_are_the_ports),
		cmocka_unit_test(each_core_is_for_one_worker),
		cmocka_unit_test(queues_and_classes_are_as_written_with_defaults_for_the_rest),
		cmocka_unit_test(missing_port_is_named_unless_it_is_optional),
		cmocka_unit_test(file_that_cannot_be_read_is_named),
	};
	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
