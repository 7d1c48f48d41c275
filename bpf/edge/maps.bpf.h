/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Every map of the fast path. docs/FAST-PATH.md says which program writes each; keys and values are
 * in bpf/abi. The sizes here are those that a bare `ip link ... xdp obj` gets: the kernel engine
 * reads no table, so tables have one element. The daemon sets real sizes before it loads.
 */
#ifndef SL_MAPS_BPF_H
#define SL_MAPS_BPF_H

#include "bpf/abi/chain_header.h"
#include "bpf/abi/fast_chain.h"
#include "bpf/abi/classifier.h"
#include "bpf/abi/exact_flow.h"
#include "bpf/abi/express.h"
#include "bpf/abi/fabric_address.h"
#include "bpf/abi/forwarding.h"
#include "bpf/abi/l3_port.h"
#include "bpf/abi/limit.h"
#include "bpf/abi/policer.h"
#include "bpf/abi/reserved.h"
#include "bpf/abi/voq.h"
#include "bpf/lib/mapdef.bpf.h"

SL_COUNTERS(sl_stats, SL_STAT_SLOTS);
SL_COUNTERS(sl_drops, SL_DROP_COUNT);
SL_COUNTERS(sl_punts, SL_PUNT_COUNT);
SL_COUNTERS(sl_port_drops, SL_PORTS_MAX);

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SL_LIMITS);
	__type(key, __u32);
	__type(value, struct sl_limit);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_limit SEC(".maps");

SL_ARRAY(sl_meta, struct sl_meta, 1, 0);
SL_ARRAY(sl_heartbeat, struct sl_heartbeat, 1, 0);
SL_ARRAY(sl_port, struct sl_port, SL_PORTS_MAX, 0);
SL_ARRAY(sl_nexthop, struct sl_nexthop, 1, BPF_F_MMAPABLE);
SL_ARRAY(sl_adj, struct sl_adj, 1, BPF_F_MMAPABLE);
SL_ARRAY(sl_group, struct sl_group, 1, BPF_F_MMAPABLE);

SL_LPM(sl_fib4, struct sl_key4);
SL_LPM(sl_fib6, struct sl_key6);

SL_ARRAY(sl_root4, struct sl_block, 1, BPF_F_MMAPABLE);
SL_ARRAY(sl_root6, struct sl_block, 1, BPF_F_MMAPABLE);
SL_ARRAY(sl_runs4, struct sl_page, 1, BPF_F_MMAPABLE);
SL_ARRAY(sl_runs6, struct sl_page, 1, BPF_F_MMAPABLE);

SL_ARRAY(sl_voq, struct sl_voq, 1, BPF_F_MMAPABLE);
SL_ARRAY(sl_backlog, struct sl_backlog, 1, BPF_F_MMAPABLE);
SL_ARRAY(sl_ring, struct sl_ring, 1, BPF_F_MMAPABLE);
SL_ARRAY(sl_express, struct sl_express_path, 1, BPF_F_MMAPABLE);
SL_ARRAY(sl_system_ports, __u64, 1, BPF_F_MMAPABLE);
SL_ARRAY(sl_dscp, __u32, SL_DSCPS, 0);

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_xsk SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct sl_fabric_key);
	__type(value, __u32);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_fabric SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_PORTS_MAX);
	__type(key, __u32);
	__type(value, __u32);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_offload SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_PORTS_MAX);
	__type(key, struct sl_vlan_key);
	__type(value, __u32);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_vlan SEC(".maps");

/* Rule lists: slot -> image of a classifier, in an array of one element. */
SL_LISTS(sl_filter_small, struct sl_classifier_small);
SL_LISTS(sl_filter_large, struct sl_classifier_large);
SL_COUNTERS(sl_filter_hits, 1);
SL_ARRAY(sl_hits_owner, struct sl_hits_owner, 1, BPF_F_MMAPABLE);

/* Exact flows. Not allocated before: memory only for those there are. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct sl_flow_key);
	__type(value, struct sl_exact_flow);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_exact_flow SEC(".maps");
SL_COUNTERS(sl_exact_hits, 1);
SL_ARRAY(sl_exact_puts, __u64, 1, BPF_F_MMAPABLE);

/* The rules that they may name: memory only for those there are. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_FILTER_RULES_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct sl_flow_rule);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_flow_rule SEC(".maps");

/* Policers of rules and of reserved flows, by their numbers: memory only for those there are. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_RULE_NUMBERS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct sl_policer);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_policer SEC(".maps");

/* Their next hops, in the same way. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_RULE_NUMBERS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct sl_rule_hop);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_rule_hop SEC(".maps");

/* The hops of the kernel's tables that rules name. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_TABLE_HOPS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct sl_table_hop_key);
	__type(value, struct sl_table_hop);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_table_hop SEC(".maps");

/*
 * Chains of elements, by the numbers of rules. An array, since each packet of a chain looks here. A
 * number is written before packets meet its rule, and what is left of a rule that is gone, nobody
 * reads.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1); /* SL_FILTER_COUNTERS, if there are rules */
	__type(key, __u32);
	__type(value, struct sl_rule_chain);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_rule_chain SEC(".maps");

/*
 * Those of them that sl_edge runs itself. Not allocated before: so a packet in work keeps the one
 * that it began with.
 */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_FAST_CHAINS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct sl_fast_chain);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_fast_chain SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SL_FAST_CHAINS_MAX *SL_FAST_ELEMENTS_MAX);
	__type(key, __u32);
	__type(value, struct sl_fast_count);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_fast_count SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SL_RESERVED_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct sl_flow_key);
	__type(value, struct sl_reserved);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_reserved SEC(".maps");

/* Flows for which rules reserve: what sluiced has been told, and how many it could not be told. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct sl_flow_key);
	__type(value, __u64);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_setup_told SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_setups SEC(".maps");

SL_COUNTERS(sl_setup_missed, 1);

/*
 * The rule that names the next hop of the packet in work, plus 1; 0: it goes by its destination.
 * Valid for packets that a list has judged. Here and not in sl_packet, because the verifier would
 * look at all that follows once for packets with such a rule and once for those without.
 */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_hop_rule SEC(".maps");

/* What the classifier tells the step that it works for. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sl_auxiliary);
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_auxiliary SEC(".maps");

/* Copies of packets, one ring for each processor: as many as the machine has. */
struct {
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
	__uint(pinning, LIBBPF_PIN_BY_NAME);
} sl_copies SEC(".maps");

/*
 * Not pinned by name: the kernel sets BPF_F_RDONLY_PROG on a devmap by itself, so libbpf (seen in
 * 1.1) takes the pinned one for another map and refuses the second port. Bare mode does not use it;
 * the daemon pins its own.
 */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, SL_PORTS_MAX);
	__type(key, __u32);
	__type(value, struct bpf_devmap_val);
} sl_tx SEC(".maps");

/* Those of sl_tx whose drivers take frames of several buffers, too. */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, SL_PORTS_MAX);
	__type(key, __u32);
	__type(value, struct bpf_devmap_val);
} sl_tx_buffers SEC(".maps");

/*
 * The netdev of sluice-elements, while it is there, as element 0. By a hash, because the kernel
 * lets no programs with and without fragments share a plain devmap.
 */
struct {
	__uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct bpf_devmap_val);
} sl_chain_tx SEC(".maps");

#endif
