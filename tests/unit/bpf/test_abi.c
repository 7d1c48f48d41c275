/* SPDX-License-Identifier: BSD-2-Clause */
/* The layout that XDP, the daemon and bpftool share: a change without a new version fails here. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/exact_flow.h"
#include "bpf/abi/express.h"
#include "bpf/abi/fabric_address.h"
#include "bpf/abi/forwarding.h"
#include "bpf/abi/l3_port.h"
#include "bpf/abi/reserved.h"
#include "bpf/abi/voq.h"

struct field {
	const char *name;
	size_t offset, expected;
};
#define FIELD(type, member, expected)                                      \
	{                                                                  \
#type "." #member, offsetof(struct type, member), expected \
	}

static const struct field fields[] = {
	FIELD(sl_config, engine, 0),
	FIELD(sl_config, managed, 4),
	FIELD(sl_config, hash_seed, 8),
	FIELD(sl_config, node_id, 12),
	FIELD(sl_config, n_voqs, 16),
	FIELD(sl_config, n_queues, 20),
	FIELD(sl_config, n_workers, 24),
	FIELD(sl_config, filters, 28),
	FIELD(sl_config, express, 32),
	FIELD(sl_config, reserves, 36),
	FIELD(sl_config, exact_flows, 40),
	FIELD(sl_exact_flow, action, 0),
	FIELD(sl_exact_flow, idle_s, 4),
	FIELD(sl_exact_flow, packets, 8),
	FIELD(sl_exact_flow, bytes, 16),
	FIELD(sl_exact_flow, used, 24),
	FIELD(sl_flow_key, source, 0),
	FIELD(sl_flow_key, destination, 16),
	FIELD(sl_flow_key, source_port, 32),
	FIELD(sl_flow_key, destination_port, 34),
	FIELD(sl_flow_key, protocol, 36),
	FIELD(sl_flow_key, version, 37),
	FIELD(sl_reserved, number, 0),
	FIELD(sl_reserved, l3_ifindex, 4),
	FIELD(sl_reserved, pinned, 8),
	FIELD(sl_flow_setup, flow, 0),
	FIELD(sl_flow_setup, number, 40),
	FIELD(sl_flow_setup, l3_ifindex, 44),
	FIELD(sl_rule_hop, address, 0),
	FIELD(sl_rule_hop, table, 16),
	FIELD(sl_table_hop_key, address, 0),
	FIELD(sl_table_hop_key, ifindex, 16),
	FIELD(sl_table_hop_key, family, 20),
	FIELD(sl_table_hop_key, mtu_family, 22),
	FIELD(sl_table_hop, id, 0),
	FIELD(sl_table_hop, used, 4),
	FIELD(sl_nexthop, kind, 0),
	FIELD(sl_nexthop, ref, 4),
	FIELD(sl_adj, port_ifindex, 0),
	FIELD(sl_adj, l3_ifindex, 4),
	FIELD(sl_adj, mtu_bytes, 8),
	FIELD(sl_adj, dst_mac, 12),
	FIELD(sl_adj, src_mac, 18),
	FIELD(sl_adj, vlan_tags, 24),
	FIELD(sl_adj, vlan_tpid, 26),
	FIELD(sl_adj, vlan_tci, 30),
	FIELD(sl_adj, remote, 25),
	FIELD(sl_adj, voq_plus1, 34),
	FIELD(sl_adj, used, 36),
	FIELD(sl_port, ifindex, 0),
	FIELD(sl_port, flags, 4),
	FIELD(sl_port, mac, 8),
	FIELD(sl_port, number, 14),
	FIELD(sl_vlan_key, port_ifindex, 0),
	FIELD(sl_vlan_key, tpid, 4),
	FIELD(sl_vlan_key, vid, 8),
	FIELD(sl_meta, abi_version, 0),
	FIELD(sl_meta, engine, 4),
	FIELD(sl_meta, created_ns, 8),
	FIELD(sl_meta, hash_seed, 16),
	FIELD(sl_meta, n_voqs, 20),
	FIELD(sl_meta, n_queues, 24),
	FIELD(sl_meta, n_ports, 28),
	FIELD(sl_meta, n_workers, 32),
	FIELD(sl_meta, own_set, 36),
	FIELD(sl_voq, rate, 0),
	FIELD(sl_voq, unit, 8),
	FIELD(sl_voq, burst, 12),
	FIELD(sl_voq, limit_frames, 16),
	FIELD(sl_voq, delay_max_us, 20),
	FIELD(sl_voq, ecn_frames, 24),
	FIELD(sl_voq, controller, 32),
	FIELD(sl_backlog, enqueued, 0),
	FIELD(sl_backlog, dropped, 16),
	FIELD(sl_backlog, marked, 56),
	FIELD(sl_backlog, dequeued, 64),
	FIELD(sl_backlog, missed, 80),
	FIELD(sl_backlog, peer_down, 88),
	FIELD(sl_backlog, too_big, 96),
	FIELD(sl_backlog, worker, 104),
	FIELD(sl_backlog, system_port, 108),
	FIELD(sl_backlog, path_plus1, 110),
	FIELD(sl_backlog, express, 128),
	FIELD(sl_backlog, clock, 144),
	FIELD(sl_express_path, until_ns, 0),
	FIELD(sl_express_path, busy, 8),
	FIELD(sl_express_path, ifindex, 12),
	FIELD(sl_express_path, epoch, 16),
	FIELD(sl_express_path, frame_max_bytes, 20),
	FIELD(sl_express_path, node, 22),
	FIELD(sl_express_path, check, 23),
	FIELD(sl_express_path, ip_sum, 24),
	FIELD(sl_express_path, pseudo_sum, 28),
	FIELD(sl_express_path, header_bytes, 32),
	FIELD(sl_express_path, header, 64),
	FIELD(sl_express_path, used, 152),
	FIELD(sl_express_path, clock_offset_ns, 160),
	FIELD(sl_express_path, stream, 192),
	FIELD(sl_frame_meta, arrival_ns, 0),
	FIELD(sl_frame_meta, voq, 8),
	FIELD(sl_frame_meta, ingress_port, 10),
	FIELD(sl_frame_meta, magic, 12),
	FIELD(sl_frame_meta, number, 16),
	FIELD(sl_ring, entered, 0),
	FIELD(sl_ring, taken, 64),
	FIELD(sl_ring, share_frames, 72),
	FIELD(sl_ring, frame, 128),
};

static void abi_field_offsets_are_those_of_this_version(void **state)
{
	(void)state;
	assert_int_equal(SL_ABI_VERSION, 31);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (fields[i].offset != fields[i].expected)
			print_error("%s has moved\n", fields[i].name);
		assert_int_equal(fields[i].offset, fields[i].expected);
	}
}

static void adjacency_src_mac_follows_dst_mac_as_in_an_ethernet_header(void **state)
{
	(void)state;
	assert_int_equal(offsetof(struct sl_adj, src_mac), offsetof(struct sl_adj, dst_mac) + 6);
}

/* Every (port, queue, worker) has one key, and the keys are 0 to their number. */
static void ring_keys_are_dense_and_unique(void **state)
{
	enum { PORTS = 3, QUEUES = 5, WORKERS = 7 };
	unsigned int times[PORTS * QUEUES * WORKERS] = { 0 };

	(void)state;
	for (__u32 port = 1; port <= PORTS; port++)
		for (__u32 queue = 0; queue < QUEUES; queue++)
			for (__u32 worker = 0; worker < WORKERS; worker++) {
				__u32 key = sl_ring_key(port, queue, worker, QUEUES, WORKERS);

				assert_in_range(key, 0, PORTS * QUEUES * WORKERS - 1);
				times[key]++;
			}
	for (size_t i = 0; i < sizeof(times) / sizeof(times[0]); i++)
		assert_int_equal(times[i], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(abi_field_offsets_are_those_of_this_version),
		cmocka_unit_test(adjacency_src_mac_follows_dst_mac_as_in_an_ethernet_header),
		cmocka_unit_test(ring_keys_are_dense_and_unique),
	};
	return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
