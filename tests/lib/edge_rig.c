// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <linux/bpf.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/lib/endian.bpf.h"
#include "tests/lib/edge_rig.h"
#include "bpf/abi/abi.h"
#include "bpf/abi/classifier.h"
#include "bpf/abi/crc.h"
#include "bpf/abi/express.h"
#include "bpf/abi/fabric_address.h"
#include "bpf/abi/forwarding.h"
#include "bpf/abi/l3_port.h"
#include "bpf/abi/reasons.h"
#include "bpf/abi/voq.h"
#include "user/datapath/bpf_object.h"
#include "tests/lib/frame.h"

#define OBJECT	  "build/sluice.bpf.o"
#define N_NEXTHOP 1024u
#define N_ADJ	  1024u
#define N_GROUP	  16u
#define N_RUNS	  64u
#define N_FIB	  1024u

int edge_enter_namespace(void)
{
	char command[384];

	if (unshare(CLONE_NEWNET))
		return -errno;
	/* a veth takes redirected frames only if its peer polls, and GRO makes the peer poll */
	for (unsigned int n = 1; n <= EDGE_PORTS; n++) {
		snprintf(
			command, sizeof(command),
			"ip link add p%u index %u address 02:00:00:00:00:%02x mtu 9000 "
			"numtxqueues %u numrxqueues %u type veth "
			"peer name q%u index %u numtxqueues %u numrxqueues %u && ip link set q%u mtu 9000 up && "
			"ip link set p%u up && ethtool -K q%u gro on",
			n, EDGE_PORT(n), EDGE_PORT(n), EDGE_QUEUES, EDGE_QUEUES, n, EDGE_PEER(n),
			EDGE_QUEUES, EDGE_QUEUES, n, n, n);
		if (system(command))
			return -ENODEV;
	}
	return 0;
}

static void set_sizes(struct bpf_object *object, const struct sl_config *config)
{
	const enum sl_engine engine = config->engine;
	const uint32_t n_voqs = config->n_voqs ? config->n_voqs : 1;
	const uint32_t n_rings =
		config->n_voqs ? EDGE_PORTS * config->n_queues * config->n_workers : 1;
	const bool lpm = engine == SL_ENGINE_LPM, fast = engine == SL_ENGINE_FAST;
	const struct {
		const char *name;
		uint32_t entries;
	} sizes[] = {
		{ "sl_nexthop", N_NEXTHOP },
		{ "sl_adj", N_ADJ },
		{ "sl_group", N_GROUP },
		{ "sl_fib4", lpm ? N_FIB : 1 },
		{ "sl_fib6", lpm ? N_FIB : 1 },
		{ "sl_root4", fast ? SL_ROOT_BLOCKS : 1 },
		{ "sl_root6", fast ? SL_ROOT_BLOCKS : 1 },
		{ "sl_runs4", fast ? N_RUNS : 1 },
		{ "sl_runs6", fast ? N_RUNS : 1 },
		{ "sl_voq", n_voqs },
		{ "sl_backlog", n_voqs },
		{ "sl_xsk", n_rings },
		{ "sl_ring", n_rings },
		{ "sl_express", config->express ? SL_EXPRESS_NODES * config->n_workers : 1 },
		{ "sl_fabric", SL_FABRIC_MAX },
		{ "sl_rule_chain", config->filters ? SL_FILTER_COUNTERS : 1 },
		{ "sl_exact_flow", config->exact_flows ? config->exact_flows : 1 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		bpf_map__set_max_entries(bpf_object__find_map_by_name(object, sizes[i].name),
					 sizes[i].entries);
}

static int set_config(struct bpf_object *object, const struct sl_config *config)
{
	struct sl_crc_table table;
	struct bpf_map *map;
	int err;

	bpf_object__for_each_map(map, object)
		bpf_map__set_pin_path(map, NULL);
	err = sl_bpf_object_set_rodata(object, "sl_config", config, sizeof(*config));
	if (err || !config->express)
		return err;
	sl_crc_table_fill(&table);
	return sl_bpf_object_set_rodata(object, "sl_crc_table", &table, sizeof(table));
}

static int map_table(const struct edge *edge, const char *name, void *out)
{
	struct bpf_map *map = bpf_object__find_map_by_name(edge->object, name);
	size_t bytes = (size_t)bpf_map__max_entries(map) * ((bpf_map__value_size(map) + 7) & ~7u);
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (memory == MAP_FAILED)
		return -errno;
	*(void **)out = memory;
	return 0;
}

static int open_tables(struct edge *edge, enum sl_engine engine)
{
	struct sl_fib_tables *t = &edge->tables;
	int err;

	*t = (struct sl_fib_tables){
		.engine = engine,
		.n_nexthop = N_NEXTHOP,
		.n_adj = N_ADJ,
		.n_group = N_GROUP,
		.n_runs4 = N_RUNS,
		.n_runs6 = N_RUNS,
		.n_fib4 = N_FIB,
		.n_fib6 = N_FIB,
		.fib4_fd = edge_map_fd(edge, "sl_fib4"),
		.fib6_fd = edge_map_fd(edge, "sl_fib6"),
	};
	err = map_table(edge, "sl_nexthop", &t->nexthop);
	if (!err)
		err = map_table(edge, "sl_adj", &t->adj);
	if (!err)
		err = map_table(edge, "sl_group", &t->group);
	if (!err && engine == SL_ENGINE_FAST) {
		err = map_table(edge, "sl_root4", &t->root4);
		if (!err)
			err = map_table(edge, "sl_root6", &t->root6);
		if (!err)
			err = map_table(edge, "sl_runs4", &t->runs4);
		if (!err)
			err = map_table(edge, "sl_runs6", &t->runs6);
	}
	if (!err)
		err = sl_fib_create(t, &edge->fib);
	if (!err)
		sl_fib_go_live(edge->fib);
	return err;
}

/* Let the VOQs have all memory, as a bridge with much of it would. */
static int open_share(const struct edge *edge, const struct sl_config *config)
{
	static const struct sl_ring ring = { .share_frames = UINT32_MAX };
	const uint32_t n = EDGE_PORTS * config->n_queues * config->n_workers;
	int err = 0;

	for (uint32_t i = 0; config->n_voqs && i < n && !err; i++)
		err = bpf_map_update_elem(edge_map_fd(edge, "sl_ring"), &i, &ring, BPF_ANY);
	return err;
}

/* sl_edge_bound must be bound to a netdev, and then runs only there. */
static void choose_programs(struct bpf_object *object, const char *only)
{
	struct bpf_program *program;

	bpf_object__for_each_program(program, object) {
		const char *name = bpf_program__name(program);

		bpf_program__set_autoload(program, only ? strcmp(name, only) == 0
							: strcmp(name, "sl_edge_bound") != 0);
	}
}

static const char *own_element; /* its object's name; NULL: none is linked in */
static const uint32_t own_set = EDGE_OWN_SET;

void edge_link(const char *name)
{
	own_element = name;
}

/* Put the element in slot 0. */
static int open_linked(struct bpf_object **out)
{
	struct sl_bpf_bytes objects[2] = { 0 }, linked = { 0 };
	char path[64];
	int err = sl_bpf_object_read(OBJECT, &objects[0].bytes, &objects[0].n_bytes);

	snprintf(path, sizeof(path), "build/%s.bpf.o", own_element);
	if (!err)
		err = sl_bpf_object_read(path, &objects[1].bytes, &objects[1].n_bytes);
	if (!err)
		err = sl_bpf_object_place(&objects[1], 0);
	if (!err)
		err = sl_bpf_object_link(objects, 2, &linked);
	if (!err)
		err = sl_bpf_object_open_bytes(linked.bytes, linked.n_bytes, out);
	if (!err)
		err = sl_bpf_object_set_rodata(*out, "sl_own_set", &own_set, sizeof(own_set));
	for (int i = 0; i < 2; i++)
		free(objects[i].bytes);
	free(linked.bytes);
	return err;
}

static int create(const struct sl_config *config, const char *only, struct edge **out)
{
	struct edge *edge = calloc(1, sizeof(*edge));
	int err = -ENOMEM;

	if (!edge)
		goto out;
	edge->program = only ? only : "sl_edge";
	if (own_element) {
		err = open_linked(&edge->object);
	} else {
		edge->object = bpf_object__open_file(OBJECT, NULL);
		err = libbpf_get_error(edge->object);
	}
	if (err) {
		edge->object = NULL;
		goto out;
	}
	choose_programs(edge->object, only);
	set_sizes(edge->object, config);
	err = set_config(edge->object, config);
	if (!err)
		err = bpf_object__load(edge->object);
	if (!err && config->engine != SL_ENGINE_KERNEL)
		err = open_tables(edge, config->engine);
	if (!err)
		err = open_share(edge, config);
out:
	if (err) {
		edge_destroy(edge);
		edge = NULL;
	}
	*out = edge;
	return err;
}

int edge_create(const struct sl_config *config, struct edge **out)
{
	return create(config, NULL, out);
}

int edge_create_only(const struct sl_config *config, const char *program, struct edge **out)
{
	return create(config, program, out);
}

static void unmap_table(void *memory, size_t bytes)
{
	if (memory)
		munmap(memory, bytes);
}

void edge_destroy(struct edge *edge)
{
	if (!edge)
		return;
	sl_fib_destroy(edge->fib);
	unmap_table(edge->tables.nexthop, N_NEXTHOP * sizeof(struct sl_nexthop));
	unmap_table(edge->tables.adj, N_ADJ * sizeof(struct sl_adj));
	unmap_table(edge->tables.group, N_GROUP * sizeof(struct sl_group));
	unmap_table(edge->tables.root4, SL_ROOT_BLOCKS * sizeof(struct sl_block));
	unmap_table(edge->tables.root6, SL_ROOT_BLOCKS * sizeof(struct sl_block));
	unmap_table(edge->tables.runs4, N_RUNS * sizeof(struct sl_page));
	unmap_table(edge->tables.runs6, N_RUNS * sizeof(struct sl_page));
	bpf_object__close(edge->object);
	free(edge);
}

int edge_map_fd(const struct edge *edge, const char *name)
{
	return bpf_object__find_map_fd_by_name(edge->object, name);
}

int edge_program_fd(const struct edge *edge)
{
	return bpf_program__fd(bpf_object__find_program_by_name(edge->object, edge->program));
}

static int set_element(const struct edge *edge, const char *map, const void *key, const void *value)
{
	return bpf_map_update_elem(edge_map_fd(edge, map), key, value, BPF_ANY) ? -errno : 0;
}

int edge_set_tx(const struct edge *edge, uint32_t ifindex)
{
	struct bpf_devmap_val device = { .ifindex = ifindex };

	int err = set_element(edge, "sl_tx", &ifindex, &device);

	return err ? err : set_element(edge, "sl_tx_buffers", &ifindex, &device);
}

int edge_set_port(const struct edge *edge, uint32_t ifindex, uint64_t mac, uint32_t flags)
{
	const bool vlan = ifindex <= EDGE_PORT(0) || ifindex > EDGE_PORT(EDGE_PORTS);
	struct sl_port port = { .ifindex = ifindex,
				.flags = flags,
				.number = vlan ? 1 : ifindex - EDGE_PORT(0),
				.filter = edge->filter };
	uint32_t element = ifindex & (SL_PORTS_MAX - 1);

	for (int i = 0; i < 6; i++)
		port.mac[i] = mac >> (40 - 8 * i) & 0xff;
	return set_element(edge, "sl_port", &element, &port);
}

int edge_set_vlan(const struct edge *edge, uint32_t port, uint32_t n, const uint16_t *tpid,
		  const uint16_t *vid, uint32_t l3)
{
	struct sl_vlan_key key = { .port_ifindex = port };

	for (uint32_t i = 0; i < n; i++) {
		key.tpid[i] = sl_htons(tpid[i]);
		key.vid[i] = sl_htons(vid[i]);
	}
	return set_element(edge, "sl_vlan", &key, &l3);
}

int edge_route(const struct edge *edge, const char *text, uint32_t nexthop_id)
{
	struct sl_prefix prefix = { 0 };
	const char *slash = strchr(text, '/');
	char address[64];

	if (!slash || slash - text >= (long)sizeof(address))
		return -EINVAL;
	memcpy(address, text, slash - text);
	address[slash - text] = '\0';
	prefix.family = strchr(address, ':') ? AF_INET6 : AF_INET;
	prefix.len = strtoul(slash + 1, NULL, 10);
	if (inet_pton(prefix.family, address, prefix.addr) != 1)
		return -EINVAL;
	return sl_fib_insert(edge->fib, &prefix, nexthop_id);
}

int edge_run(const struct edge *edge, uint32_t ifindex, const uint8_t *frame, uint32_t len,
	     uint8_t *out, uint32_t *out_len)
{
	struct xdp_md ctx = { .data_end = len, .ingress_ifindex = ifindex };
	LIBBPF_OPTS(bpf_test_run_opts, run, .data_in = frame, .data_size_in = len, .data_out = out,
		    .data_size_out = FRAME_MAX_BYTES, .ctx_in = &ctx, .ctx_size_in = sizeof(ctx));

	if (bpf_prog_test_run_opts(edge_program_fd(edge), &run))
		return -errno;
	*out_len = run.data_size_out;
	return (int)run.retval;
}

static void read_map(const struct edge *edge, const char *name, struct sl_counter *out, uint32_t n)
{
	int cpus = libbpf_num_possible_cpus();
	struct sl_counter *per_cpu = calloc(cpus, sizeof(*per_cpu));

	for (uint32_t slot = 0; slot < n; slot++) {
		out[slot] = (struct sl_counter){ 0 };
		if (!per_cpu || bpf_map_lookup_elem(edge_map_fd(edge, name), &slot, per_cpu))
			abort();
		for (int cpu = 0; cpu < cpus; cpu++) {
			out[slot].packets += per_cpu[cpu].packets;
			out[slot].bytes += per_cpu[cpu].bytes;
		}
	}
	free(per_cpu);
}

void edge_read_counters(const struct edge *edge, struct edge_counters *out)
{
	struct sl_counter slots[SL_STAT_SLOTS];

	read_map(edge, "sl_stats", slots, SL_STAT_SLOTS);
	sl_stats_complete(slots);
	memcpy(out->stats, slots, sizeof(out->stats));
	read_map(edge, "sl_drops", out->drops, SL_DROP_COUNT);
	read_map(edge, "sl_punts", out->punts, SL_PUNT_COUNT);
	read_map(edge, "sl_port_drops", out->port_drops, EDGE_IFINDEXES);
}

void edge_subtract_counters(struct edge_counters *after, const struct edge_counters *before)
{
	struct sl_counter *a = (struct sl_counter *)after;
	const struct sl_counter *b = (const struct sl_counter *)before;

	for (size_t i = 0; i < sizeof(*after) / sizeof(*a); i++) {
		a[i].packets -= b[i].packets;
		a[i].bytes -= b[i].bytes;
	}
}
