/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A generation's life: load the object, share maps with earlier generations, map the tables,
 * publish the pins.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/crc.h"
#include "bpf/abi/express.h"
#include "bpf/abi/fabric_address.h"
#include "bpf/abi/forwarding.h"
#include "bpf/abi/reserved.h"
#include "bpf/abi/voq.h"
#include "user/datapath/datapath_state.h"
#include "bpf/abi/classifier.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"
#include "user/datapath/bpf_object.h"
#include "user/datapath/counters.h"
#include "user/datapath/exact_flows.h"
#include "user/datapath/pins.h"
#include "user/datapath/txdrops.h"

#define PROG_BEAT    "sl_beat"
#define IPROUTE2_DIR "/sys/fs/bpf/tc/globals"
#define PINS_MAX     64

/*
 * All generations share these maps: counters, the record of offloads and the heartbeat; in a
 * cluster what the bridge has open; where ports have rule lists, the fast chains, the counters of
 * the rules and whose they are; and exact flows.
 */
static const char *const shared_maps[SL_SHARED_MAPS] = {
	"sl_stats",	 "sl_drops",	    "sl_punts",	     "sl_port_drops", "sl_offload",
	"sl_heartbeat",	 "sl_voq",	    "sl_backlog",    "sl_xsk",	      "sl_ring",
	"sl_express",	 "sl_system_ports", "sl_fast_chain", "sl_fast_count", "sl_filter_hits",
	"sl_hits_owner", "sl_exact_flow",   "sl_exact_hits", "sl_exact_puts"
};
#define FAST_CHAIN (SL_SHARED_MAPS - 7) /* and its counts, and those of rules */
#define HITS_OWNER (SL_SHARED_MAPS - 4)
#define EXACT_FLOW (SL_SHARED_MAPS - 3) /* and what belongs to it */

/* --- What an earlier generation left --- */

static bool same_layout(int fd, const struct bpf_map *map)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &len) && info.type == bpf_map__type(map) &&
	       info.key_size == bpf_map__key_size(map) &&
	       info.value_size == bpf_map__value_size(map) &&
	       info.max_entries == bpf_map__max_entries(map);
}

/* A map of another size may be of another configuration; one of other values is not. */
static bool of_another_version(int fd, const struct bpf_map *map)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	return !bpf_obj_get_info_by_fd(fd, &info, &len) &&
	       (info.type != bpf_map__type(map) || info.key_size != bpf_map__key_size(map) ||
		info.value_size != bpf_map__value_size(map));
}

static bool is_shared(const struct sl_datapath *dp, uint32_t i)
{
	if (i >= FAST_CHAIN && i <= HITS_OWNER)
		return dp->config.filters;
	if (i >= EXACT_FLOW)
		return dp->config.exact_flows;
	return i < SL_ALONE_MAPS || dp->config.n_voqs;
}

static int open_earlier(const struct sl_datapath *dp, uint32_t i)
{
	char path[sizeof(IPROUTE2_DIR) + 32];
	int fd = sl_pins_get(dp->pin_dir, 0, shared_maps[i]);

	if (fd < 0)
		fd = sl_pins_get(dp->pin_dir, 1, shared_maps[i]);
	if (fd < 0 && i < SL_COUNTER_MAPS) {
		snprintf(path, sizeof(path), IPROUTE2_DIR "/%s", shared_maps[i]);
		fd = bpf_obj_get(path);
	}
	return fd;
}

static void reuse_shared_maps(struct sl_datapath *dp)
{
	for (uint32_t i = 0; i < SL_SHARED_MAPS; i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(dp->object, shared_maps[i]);

		if (!is_shared(dp, i) || (i == EXACT_FLOW && dp->former_flows_fd >= 0))
			continue;
		if (dp->shared_fds[i] < 0 && dp->pin_dir)
			dp->shared_fds[i] = open_earlier(dp, i);
		if (dp->shared_fds[i] < 0)
			continue;
		if (same_layout(dp->shared_fds[i], map) &&
		    !bpf_map__reuse_fd(map, dp->shared_fds[i]))
			continue;
		if (i < SL_COUNTER_MAPS)
			sl_warning("datapath: the pinned map %s has the layout of another version; "
				   "its counters start again at 0",
				   shared_maps[i]);
		else if (i >= SL_ALONE_MAPS && i < FAST_CHAIN)
			sl_warning("datapath: the pinned map %s has another size; a new one takes "
				   "its place, which the bridge has to open",
				   shared_maps[i]);
		else if (of_another_version(dp->shared_fds[i], map))
			sl_warning("datapath: the pinned map %s has the layout of another version; "
				   "an empty one takes its place",
				   shared_maps[i]);
		/*
		 * The rest may be of a generation without rule lists or exact flows. Fast chains of
		 * another layout are written anew by sluice-elements.
		 */
		if (i == EXACT_FLOW)
			dp->former_flows_fd = dp->shared_fds[i];
		else
			close(dp->shared_fds[i]);
		dp->shared_fds[i] = -1;
	}
}

static uint32_t choose_seed(const char *pin_dir)
{
	struct sl_meta meta = { 0 };
	uint32_t zero = 0, seed = 0;
	int fd = pin_dir ? sl_pins_get(pin_dir, 0, "sl_meta") : -1;

	if (fd >= 0) {
		struct bpf_map_info info = { 0 };
		uint32_t len = sizeof(info);

		if (!bpf_obj_get_info_by_fd(fd, &info, &len) && info.value_size == sizeof(meta) &&
		    !bpf_map_lookup_elem(fd, &zero, &meta) && meta.abi_version == SL_ABI_VERSION)
			seed = meta.hash_seed;
		close(fd);
	}
	while (!seed)
		if (getrandom(&seed, sizeof(seed), 0) < 0)
			seed = 0;
	return seed;
}

/* --- Loading --- */

static uint32_t or_default(uint32_t value, uint32_t fallback)
{
	return value ? value : fallback;
}

/* Only the chosen engine's tables get their real size; the others keep one element. */
static int set_sizes(struct sl_datapath *dp)
{
	struct sl_fib_tables *t = &dp->tables;
	const struct {
		const char *map;
		uint32_t entries;
	} sizes[] = {
		{ "sl_nexthop", t->n_nexthop },
		{ "sl_adj", t->n_adj },
		{ "sl_group", t->n_group },
		{ "sl_fib4", t->n_fib4 },
		{ "sl_fib6", t->n_fib6 },
		{ "sl_root4", t->engine == SL_ENGINE_FAST ? SL_ROOT_BLOCKS : 0 },
		{ "sl_root6", t->engine == SL_ENGINE_FAST ? SL_ROOT_BLOCKS : 0 },
		{ "sl_runs4", t->n_runs4 },
		{ "sl_runs6", t->n_runs6 },
		{ "sl_voq", dp->config.n_voqs },
		{ "sl_backlog", dp->config.n_voqs },
		{ "sl_xsk", dp->n_ports * dp->config.n_queues * dp->config.n_workers },
		{ "sl_ring", dp->n_ports * dp->config.n_queues * dp->config.n_workers },
		{ "sl_express", dp->config.n_voqs ? SL_EXPRESS_NODES * dp->config.n_workers : 0 },
		{ "sl_system_ports", dp->config.n_voqs ? SL_SYSTEM_PORTS_MAX : 0 },
		{ "sl_fabric", dp->config.n_voqs ? SL_FABRIC_MAX : 0 },
		{ "sl_filter_hits", dp->config.filters ? SL_FILTER_COUNTERS : 0 },
		{ "sl_hits_owner", dp->config.filters ? SL_FILTER_COUNTERS : 0 },
		{ "sl_rule_chain", dp->config.filters ? SL_FILTER_COUNTERS : 0 },
		{ "sl_exact_flow", dp->config.exact_flows },
		{ "sl_setup_told", dp->config.reserves ? SL_SETUP_TOLD_MAX : 0 },
		{ "sl_setups", dp->config.reserves ? SL_SETUP_RING_BYTES : 0 },
	};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct bpf_map *map = bpf_object__find_map_by_name(dp->object, sizes[i].map);

		if (!map)
			return -EINVAL;
		if (sizes[i].entries && bpf_map__set_max_entries(map, sizes[i].entries))
			return -EINVAL;
	}
	return 0;
}

static void plan_tables(struct sl_fib_tables *t, const struct sl_datapath_params *params)
{
	const uint32_t n_fib4 = or_default(params->n_fib4, SL_FIB4_DEFAULT);
	const uint32_t n_fib6 = or_default(params->n_fib6, SL_FIB6_DEFAULT);

	*t = (struct sl_fib_tables){
		.engine = params->config.engine == SL_ENGINE_FAST ? SL_ENGINE_FAST : SL_ENGINE_LPM,
		.n_nexthop = or_default(params->n_nexthop, SL_NEXTHOPS_DEFAULT),
		.n_adj = or_default(params->n_adj, SL_ADJS_DEFAULT),
		.n_group = or_default(params->n_group, SL_GROUPS_DEFAULT),
		.fib4_fd = -1,
		.fib6_fd = -1,
	};
	if (t->engine == SL_ENGINE_FAST) {
		t->n_runs4 = sl_fib_pages_for(AF_INET, n_fib4);
		t->n_runs6 = sl_fib_pages_for(AF_INET6, n_fib6);
	} else {
		t->n_fib4 = n_fib4;
		t->n_fib6 = n_fib6;
	}
}

int sl_datapath_set_constants(const struct sl_datapath *dp, struct bpf_object *object)
{
	struct sl_crc_table table;
	int err = sl_bpf_object_set_rodata(object, "sl_config", &dp->config, sizeof(dp->config));

	if (!err)
		err = sl_bpf_object_set_rodata(object, "sl_own_set", &dp->programs.own_set,
					       sizeof(dp->programs.own_set));
	if (err || !dp->config.express)
		return err;
	sl_crc_table_fill(&table);
	return sl_bpf_object_set_rodata(object, "sl_crc_table", &table, sizeof(table));
}

/* Open and load the object with one of its programs. On failure dp->object is NULL. */
static int load(struct sl_datapath *dp, const char *program_name)
{
	struct bpf_program *program, *edge;
	int err = sl_programs_open_object(dp, &dp->object);

	if (err)
		return err;
	err = -EINVAL;
	edge = bpf_object__find_program_by_name(dp->object, program_name);
	dp->beat = bpf_object__find_program_by_name(dp->object, PROG_BEAT);
	if (!edge || !dp->beat)
		goto out;
	bpf_object__for_each_program(program, dp->object)
		bpf_program__set_autoload(program, program == edge || program == dp->beat);
	for (size_t i = 0; i < SL_SHARED_MAPS; i++)
		if (!bpf_object__find_map_by_name(dp->object, shared_maps[i]))
			goto out;
	err = sl_datapath_set_constants(dp, dp->object);
	if (!err)
		err = set_sizes(dp);
	if (err)
		goto out;
	reuse_shared_maps(dp);
	err = bpf_object__load(dp->object);
	if (err)
		goto out;
	dp->programs.fd = dup(bpf_program__fd(edge));
	if (dp->programs.fd < 0)
		err = -errno;
	bpf_program__unload(edge); /* which has its descriptor in dp->programs */
out:
	if (err) {
		bpf_object__close(dp->object);
		dp->object = NULL;
	}
	return err;
}

/*
 * Own elements that do not load are the end of a generation that would replace another one; a
 * daemon that starts goes on without them, and their chains are the worker's.
 */
static int load_frags(struct sl_datapath *dp, const struct sl_datapath_params *params)
{
	int err = sl_bpf_object_read(params->object_path, &dp->file.bytes, &dp->file.n_bytes);

	if (err)
		return err;
	err = sl_programs_link(dp, params->elements_path);
	if (!err)
		err = load(dp, SL_PROG_FRAGS);
	if (!err || params->previous || !sl_datapath_own_set_of(params->elements_path))
		return err;
	sl_warning("datapath: the own elements in \"%s\" cannot be loaded: %s (%s)",
		   params->elements_path, strerror(-err), sl_bpf_object_said());
	err = sl_programs_link(dp, NULL);
	return err ? err : load(dp, SL_PROG_FRAGS);
}

static int load_best(struct sl_datapath *dp, const struct sl_datapath_params *params)
{
	int err = load_frags(dp, params);

	if (!err) {
		dp->frags = true;
		return 0;
	}
	if (err == -ENOENT) {
		sl_error(
			"datapath: no BPF object at \"%s\"; `make` builds it, `make install` puts it in "
			"place, --object names another",
			params->object_path);
		return err;
	}
	if (err != -EPERM && dp->file.bytes && !load(dp, SL_PROG_PLAIN)) {
		sl_warning(
			"datapath: this kernel does not load XDP programs for frames of several "
			"buffers (Linux 5.18 does); native ports cannot have an MTU above about a page");
		return 0;
	}
	sl_error("datapath: cannot load \"%s\": %s (%s)", params->object_path, strerror(-err),
		 sl_bpf_object_said());
	return err;
}

/* --- Tables --- */

static int map_table(struct sl_datapath *dp, const char *name, uint32_t elements,
		     size_t element_bytes, size_t *mapped_bytes, void *out)
{
	int fd = sl_datapath_map_fd(dp, name);
	void *memory;

	if (!elements)
		return 0;
	memory = mmap(NULL, elements * element_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		int err = -errno;

		sl_error("datapath: cannot map %zu bytes of %s: %s", elements * element_bytes, name,
			 strerror(-err));
		return err;
	}
	*mapped_bytes = elements * element_bytes;
	*(void **)out = memory;
	return 0;
}

static int map_tables(struct sl_datapath *dp)
{
	struct sl_fib_tables *t = &dp->tables;
	bool fast = t->engine == SL_ENGINE_FAST;
	const struct {
		const char *map;
		uint32_t elements;
		size_t element_bytes;
		void *out;
	} maps[] = {
		{ "sl_nexthop", t->n_nexthop, sizeof(*t->nexthop), &t->nexthop },
		{ "sl_adj", t->n_adj, sizeof(*t->adj), &t->adj },
		{ "sl_group", t->n_group, sizeof(*t->group), &t->group },
		{ "sl_root4", fast ? SL_ROOT_BLOCKS : 0, sizeof(*t->root4), &t->root4 },
		{ "sl_root6", fast ? SL_ROOT_BLOCKS : 0, sizeof(*t->root6), &t->root6 },
		{ "sl_runs4", t->n_runs4, sizeof(*t->runs4), &t->runs4 },
		{ "sl_runs6", t->n_runs6, sizeof(*t->runs6), &t->runs6 },
	};
	int err = 0;

	for (size_t i = 0; i < sizeof(maps) / sizeof(maps[0]) && !err; i++)
		err = map_table(dp, maps[i].map, maps[i].elements, maps[i].element_bytes,
				&dp->mapped_bytes[i], maps[i].out);
	if (!fast) {
		t->fib4_fd = sl_datapath_map_fd(dp, "sl_fib4");
		t->fib6_fd = sl_datapath_map_fd(dp, "sl_fib6");
	}
	return err;
}

static int write_meta(struct sl_datapath *dp)
{
	struct sl_meta meta = {
		.abi_version = SL_ABI_VERSION,
		.engine = dp->config.engine,
		.hash_seed = dp->config.hash_seed,
		.n_voqs = dp->config.n_voqs,
		.n_queues = dp->config.n_queues,
		.n_workers = dp->config.n_workers,
		.n_ports = dp->n_ports,
		.own_set = dp->programs.own_set,
		.created_ns = sl_now_ns(),
	};
	uint32_t zero = 0;

	return bpf_map_update_elem(sl_datapath_map_fd(dp, "sl_meta"), &zero, &meta, BPF_ANY);
}

int sl_datapath_stage(struct sl_datapath *dp)
{
	struct sl_pin pins[PINS_MAX] = { { .name = SL_PROG_PIN, .fd = sl_datapath_prog_fd(dp) } };
	struct bpf_map *map;
	size_t n = 1 + sl_txdrops_pins(dp->txdrops, pins + 1);
	int err = 0;

	if (!dp->pin_dir)
		return 0;
	bpf_object__for_each_map(map, dp->object) {
		if (strncmp(bpf_map__name(map), "sl_", 3) != 0)
			continue;
		if (n == PINS_MAX) {
			err = -E2BIG;
			break;
		}
		snprintf(pins[n].name, sizeof(pins[n].name), "%.15s", bpf_map__name(map));
		pins[n++].fd = bpf_map__fd(map);
	}
	if (!err)
		err = sl_pins_stage(dp->pin_dir, pins, n);
	if (err)
		sl_error("datapath: cannot pin to \"%s-new\": %s", dp->pin_dir, strerror(-err));
	return err;
}

/* --- A generation --- */

/* The object of the tracing programs lies beside that of the fast path. */
static void open_txdrops(struct sl_datapath *dp, const struct sl_datapath_params *params)
{
	const char *slash = strrchr(params->object_path, '/');
	int dir_len = slash ? (int)(slash + 1 - params->object_path) : 0;
	const struct sl_datapath *previous = params->previous;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%.*stxdrops.bpf.o", dir_len, params->object_path);
	sl_txdrops_open(path, sl_datapath_map_fd(dp, "sl_drops"), dp->pin_dir,
			previous ? previous->txdrops : NULL, &dp->txdrops);
}

static int take_over(struct sl_datapath *dp, const struct sl_datapath *previous)
{
	int err = sl_earlier_of_generation(dp, previous);

	if (err)
		return err;
	dp->config.hash_seed = previous->config.hash_seed;
	for (uint32_t i = 0; i < SL_SHARED_MAPS; i++) {
		if (!is_shared(dp, i))
			continue;
		dp->shared_fds[i] = dup(sl_datapath_map_fd(previous, shared_maps[i]));
		if (dp->shared_fds[i] < 0)
			return -errno;
	}
	return 0;
}

/* Those of an earlier generation must fit. */
static int check_former_flows(const struct sl_datapath *dp)
{
	uint32_t n = 0;
	int err = dp->former_flows_fd < 0 ? 0 : sl_exact_flows_count(dp->former_flows_fd, &n);

	if (err == -EPROTO) {
		sl_warning("datapath: the exact flows that an earlier version pinned are lost");
		return 0;
	}
	if (!err && n > dp->config.exact_flows) {
		sl_error("exact_flows: there are %u flows, and %u would fit: delete some, or write "
			 "a larger number",
			 n, dp->config.exact_flows);
		err = -ENOSPC;
	}
	return err;
}

/*
 * Until the first look through all has come to its end, there may be flows: those of an earlier
 * version, or copies of those of another generation.
 */
static int open_exact_puts(struct sl_datapath *dp)
{
	int err;

	if (!dp->config.exact_flows)
		return 0;
	err = sl_exact_puts_open(sl_datapath_map_fd(dp, "sl_exact_puts"), &dp->exact_puts);
	if (err)
		sl_error("datapath: cannot map sl_exact_puts: %s", strerror(-err));
	else
		sl_exact_puts_note(dp->exact_puts);
	return err;
}

int sl_datapath_take_flows(struct sl_datapath *dp)
{
	int err = 0;

	if (dp->former_flows_fd >= 0) {
		err = sl_exact_flows_copy(dp->former_flows_fd,
					  sl_datapath_map_fd(dp, "sl_exact_flow"));
		sl_exact_puts_note(dp->exact_puts);
	}
	return err;
}

uint64_t *sl_datapath_exact_puts(const struct sl_datapath *dp)
{
	return dp->exact_puts;
}

int sl_datapath_open(const struct sl_datapath_params *params, struct sl_datapath **out)
{
	struct sl_datapath *dp = calloc(1, sizeof(*dp));
	int err = 0;

	*out = NULL;
	if (!dp)
		return -ENOMEM;
	for (size_t i = 0; i < SL_SHARED_MAPS; i++)
		dp->shared_fds[i] = -1;
	dp->former_flows_fd = dp->programs.fd = -1;
	if (params->pin_dir) {
		dp->pin_dir = strdup(params->pin_dir);
		if (!dp->pin_dir) {
			err = -ENOMEM;
			goto out;
		}
		err = sl_earlier_of_pins(dp);
		if (err)
			goto out;
	}
	dp->config = params->config;
	dp->n_ports = params->n_ports;
	if (params->previous)
		err = take_over(dp, params->previous);
	if (err)
		goto out;
	if (!dp->config.hash_seed)
		dp->config.hash_seed = choose_seed(dp->pin_dir);
	plan_tables(&dp->tables, params);
	err = load_best(dp, params);
	if (!err)
		err = map_tables(dp);
	if (!err)
		err = write_meta(dp);
	if (!err)
		err = check_former_flows(dp);
	if (!err)
		err = open_exact_puts(dp);
	if (!err && dp->pin_dir)
		open_txdrops(dp, params);
	if (!err)
		err = sl_datapath_stage(dp);
out:
	if (err)
		sl_datapath_close(dp);
	else
		*out = dp;
	return err;
}

int sl_datapath_take_elements(struct sl_datapath *dp, const char *elements_path)
{
	int err = sl_programs_replace(dp, elements_path), err_meta;

	if (err) {
		sl_error("datapath: sl_edge cannot be loaded with \"%s\": %s (%s)", elements_path,
			 strerror(-err), sl_bpf_object_said());
		return err;
	}
	err_meta = write_meta(dp);
	if (err_meta)
		sl_error("datapath: cannot say in sl_meta which own elements there are: %s",
			 strerror(-err_meta));
	return 0;
}

void sl_datapath_close(struct sl_datapath *dp)
{
	if (!dp)
		return;
	void *tables[] = { dp->tables.nexthop, dp->tables.adj,	 dp->tables.group, dp->tables.root4,
			   dp->tables.root6,   dp->tables.runs4, dp->tables.runs6 };

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		if (tables[i])
			munmap(tables[i], dp->mapped_bytes[i]);
	for (size_t i = 0; i < SL_SHARED_MAPS; i++)
		if (dp->shared_fds[i] >= 0)
			close(dp->shared_fds[i]);
	if (dp->former_flows_fd >= 0)
		close(dp->former_flows_fd);
	sl_exact_puts_close(dp->exact_puts);
	sl_earlier_forget(dp);
	sl_programs_free(&dp->programs);
	sl_txdrops_close(dp->txdrops);
	bpf_object__close(dp->object);
	free(dp->file.bytes);
	free(dp->pin_dir);
	free(dp);
}

const struct sl_fib_tables *sl_datapath_tables(const struct sl_datapath *dp)
{
	return &dp->tables;
}

uint32_t sl_datapath_ports(const struct sl_datapath *dp)
{
	return dp->n_ports;
}

const struct sl_config *sl_datapath_config(const struct sl_datapath *dp)
{
	return &dp->config;
}

int sl_datapath_prog_fd(const struct sl_datapath *dp)
{
	return dp->programs.fd;
}

bool sl_datapath_frags(const struct sl_datapath *dp)
{
	return dp->frags;
}

int sl_datapath_map_fd(const struct sl_datapath *dp, const char *name)
{
	int fd = bpf_object__find_map_fd_by_name(dp->object, name);

	return fd < 0 ? -ENOENT : fd;
}

int sl_datapath_heartbeat(const struct sl_datapath *dp, struct sl_heartbeat *out)
{
	return sl_heartbeat_read(sl_datapath_map_fd(dp, "sl_heartbeat"), out);
}

int sl_datapath_beat(struct sl_datapath *dp, uint32_t limit_s)
{
	char frame[64] = ""; /* a test run wants one */
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = sizeof(frame));
	struct sl_heartbeat heartbeat;
	struct timespec tick; /* the resolution of the coarse clock */
	uint32_t zero = 0;
	int err = sl_datapath_heartbeat(dp, &heartbeat);

	if (!err && heartbeat.limit_s != limit_s) {
		clock_getres(CLOCK_MONOTONIC_COARSE, &tick);
		heartbeat.limit_s = limit_s;
		heartbeat.limit_ticks = limit_s * (1000000000ULL / (uint64_t)tick.tv_nsec);
		err = bpf_map_update_elem(sl_datapath_map_fd(dp, "sl_heartbeat"), &zero, &heartbeat,
					  BPF_ANY);
	}
	return err ? err : bpf_prog_test_run_opts(bpf_program__fd(dp->beat), &opts);
}

int sl_datapath_limit(struct sl_datapath *dp, const uint32_t rate_pps[SL_LIMITS])
{
	const int n_cpus = libbpf_num_possible_cpus(), fd = sl_datapath_map_fd(dp, "sl_limit");
	struct sl_limit *limits;
	int err = 0;

	if (n_cpus < 0 || fd < 0)
		return n_cpus < 0 ? n_cpus : fd;
	limits = calloc((size_t)n_cpus, sizeof(*limits));
	if (!limits)
		return -ENOMEM;
	for (uint32_t class = 0; class < SL_LIMITS && !err; class ++) {
		for (int cpu = 0; cpu < n_cpus; cpu++)
			limits[cpu].interval_ns =
				rate_pps[class] ? 1000000000ULL / rate_pps[class] : 0;
		err = bpf_map_update_elem(fd, &class, limits, BPF_ANY);
	}
	free(limits);
	return err;
}

int sl_datapath_publish(struct sl_datapath *dp)
{
	char path[sizeof(IPROUTE2_DIR) + 32];
	struct bpf_map *map;
	int err;

	if (!dp->pin_dir) {
		sl_txdrops_start(dp->txdrops, NULL);
		return 0;
	}
	err = sl_pins_publish(dp->pin_dir);
	if (err) {
		sl_error("datapath: cannot publish the pins at \"%s\": %s", dp->pin_dir,
			 strerror(-err));
		return err;
	}
	/*
	 * The maps that iproute2 pinned belong to a program that has been replaced, and would
	 * mislead.
	 */
	bpf_object__for_each_map(map, dp->object) {
		snprintf(path, sizeof(path), IPROUTE2_DIR "/%.15s", bpf_map__name(map));
		unlink(path);
	}
	dp->published = true;
	sl_earlier_forget(dp);
	/* The pair of an earlier daemon has gone with its pins, unless it was kept. */
	sl_txdrops_start(dp->txdrops, dp->pin_dir);
	return 0;
}
