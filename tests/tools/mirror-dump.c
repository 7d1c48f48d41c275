/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A mirror of this network namespace over tables in plain memory, driven by lines on standard input
 * and answering in JSON, one line each:
 *
 *   sync           handle what the kernel has said so far
 *   lookup ADDR    what XDP would do with a packet to this address
 *   compare        open a second, fresh mirror and list what differs (an empty list is right)
 *   stats          counters
 *   port NAME      flags that XDP was told for packets entering there
 *   ports A,B      only these links are ports (at first every Ethernet link is)
 *   buffer BYTES   receive buffer of events
 *   run SECONDS [ADDR...]  poll for so long, marking the adjacencies of these addresses as used by
 *                          XDP
 */
#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include <jansson.h>
#include <linux/rtnetlink.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/forwarding.h"
#include "bpf/abi/l3_port.h"
#include "bpf/abi/reasons.h"
#include "user/mirror/mirror.h"
#include "user/rtnl/rtnl.h"

enum { PORTS_MAX = 4096, N_NEXTHOP = 65536, N_ADJ = 32768, N_GROUP = 4096, N_RUNS = 8192 };

struct view {
	struct sl_fib_tables tables;
	struct sl_fib *fib;
	struct sl_mirror *mirror;
	struct sl_port port[PORTS_MAX]; /* as told, by ifindex */
};

/* Names of the links that are ports; NULL: all are. */
static char *ports;

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static bool is_port(void *ctx, uint32_t ifindex)
{
	char name[IF_NAMESIZE], copy[1024], *save = NULL;

	(void)ctx;
	if (!ports)
		return true;
	if (!if_indextoname(ifindex, name))
		return false;
	snprintf(copy, sizeof(copy), "%s", ports);
	for (char *p = strtok_r(copy, ",", &save); p; p = strtok_r(NULL, ",", &save))
		if (!strcmp(p, name))
			return true;
	return false;
}

static void port_set(void *ctx, const struct sl_port *port, const struct sl_vlan_key *vlan)
{
	struct view *v = ctx;

	(void)vlan;
	v->port[port->ifindex % PORTS_MAX] = *port;
}

static void port_clear(void *ctx, uint32_t ifindex, const struct sl_vlan_key *vlan)
{
	struct view *v = ctx;

	(void)vlan;
	v->port[ifindex % PORTS_MAX] = (struct sl_port){ 0 };
}

static void link_event(void *ctx, uint32_t ifindex, const char *name, bool present, bool up)
{
	(void)ctx, (void)ifindex, (void)name, (void)present, (void)up;
}

static const struct sl_mirror_ops ops = {
	.is_port = is_port,
	.port_set = port_set,
	.port_clear = port_clear,
	.link_event = link_event,
};

static void *zeroed(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	return p;
}

static void view_open(struct view *v)
{
	struct sl_fib_tables *t = &v->tables;
	int err;

	memset(v, 0, sizeof(*v));
	*t = (struct sl_fib_tables){ .engine = SL_ENGINE_FAST,
				     .n_nexthop = N_NEXTHOP,
				     .n_adj = N_ADJ,
				     .n_group = N_GROUP,
				     .n_runs4 = N_RUNS,
				     .n_runs6 = N_RUNS };
	t->nexthop = zeroed(t->n_nexthop * sizeof(*t->nexthop));
	t->adj = zeroed(t->n_adj * sizeof(*t->adj));
	t->group = zeroed(t->n_group * sizeof(*t->group));
	t->root4 = zeroed(SL_ROOT_BLOCKS * sizeof(*t->root4));
	t->root6 = zeroed(SL_ROOT_BLOCKS * sizeof(*t->root6));
	t->runs4 = zeroed(t->n_runs4 * sizeof(*t->runs4));
	t->runs6 = zeroed(t->n_runs6 * sizeof(*t->runs6));
	err = sl_fib_create(t, &v->fib);
	if (!err)
		err = sl_mirror_open(v->fib, &ops, v, &v->mirror);
	if (err) {
		fprintf(stderr, "mirror-dump: cannot open: %s\n", strerror(-err));
		exit(1);
	}
}

static void view_close(struct view *v)
{
	struct sl_fib_tables *t = &v->tables;

	sl_mirror_close(v->mirror);
	sl_fib_destroy(v->fib);
	munmap(t->nexthop, t->n_nexthop * sizeof(*t->nexthop));
	munmap(t->adj, t->n_adj * sizeof(*t->adj));
	munmap(t->group, t->n_group * sizeof(*t->group));
	munmap(t->root4, SL_ROOT_BLOCKS * sizeof(*t->root4));
	munmap(t->root6, SL_ROOT_BLOCKS * sizeof(*t->root6));
	munmap(t->runs4, t->n_runs4 * sizeof(*t->runs4));
	munmap(t->runs6, t->n_runs6 * sizeof(*t->runs6));
}

static void poll_once(struct view *v)
{
	int err = sl_mirror_poll(v->mirror);

	if (err) {
		fprintf(stderr, "mirror-dump: poll: %s\n", strerror(-err));
		exit(1);
	}
}

static bool readable(struct view *v, int timeout_ms)
{
	struct pollfd p = { .fd = sl_mirror_fd(v->mirror), .events = POLLIN };

	return poll(&p, 1, timeout_ms) > 0;
}

/* The kernel queues an event before the command that caused it returns. */
static void sync_view(struct view *v)
{
	sl_mirror_tick(v->mirror);
	do
		poll_once(v);
	while (readable(v, 0));
}

/* --- What a next hop does, by content: ids differ from mirror to mirror --- */

#define NAME(id, name, text) name,
static const char *const punt_names[] = { SL_PUNT_REASONS(NAME) };
static const char *const drop_names[] = { SL_DROP_REASONS(NAME) };

static const char *mac_text(const uint8_t *mac, char out[18])
{
	snprintf(out, 18, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
		 mac[5]);
	return out;
}

static json_t *describe(const struct view *v, uint32_t id);

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Members in order, each with its share in buckets of 128. */
static json_t *describe_group(const struct view *v, const struct sl_group *group)
{
	char *text[SL_GROUP_BUCKETS];
	json_t *members = json_array();

	for (int i = 0; i < SL_GROUP_BUCKETS; i++) {
		json_t *j = describe(v, group->bucket[i]);
		text[i] = json_dumps(j, JSON_SORT_KEYS);
		json_decref(j);
	}
	qsort(text, SL_GROUP_BUCKETS, sizeof(text[0]), by_text);
	for (int i = 0, n; i < SL_GROUP_BUCKETS; i += n) {
		for (n = 1; i + n < SL_GROUP_BUCKETS && !strcmp(text[i], text[i + n]); n++)
			;
		json_t *member = json_loads(text[i], 0, NULL);
		json_object_set_new(member, "buckets", json_integer(n));
		json_array_append_new(members, member);
	}
	for (int i = 0; i < SL_GROUP_BUCKETS; i++)
		free(text[i]);
	return json_pack("{s:s, s:o}", "do", "group", "members", members);
}

static json_t *describe(const struct view *v, uint32_t id)
{
	const struct sl_nexthop *nh = &v->tables.nexthop[id];
	char src[18], dst[18];

	switch (id ? nh->kind : SL_NH_NONE) {
	case SL_NH_FORWARD: {
		const struct sl_adj *a = &v->tables.adj[nh->ref];
		return json_pack("{s:s, s:i, s:i, s:i, s:s, s:s, s:i}", "do", "forward", "port",
				 a->port_ifindex, "l3", a->l3_ifindex, "mtu", a->mtu_bytes, "src",
				 mac_text(a->src_mac, src), "dst", mac_text(a->dst_mac, dst),
				 "tags", a->vlan_tags);
	}
	case SL_NH_GROUP:
		return describe_group(v, &v->tables.group[nh->ref]);
	case SL_NH_PUNT:
		return json_pack("{s:s, s:s}", "do", "punt", "reason", punt_names[nh->ref]);
	case SL_NH_DROP:
		return json_pack("{s:s, s:s}", "do", "drop", "reason", drop_names[nh->ref]);
	}
	return json_pack("{s:s, s:s}", "do", "punt", "reason", "no-route");
}

static json_t *lookup(const struct view *v, uint8_t family, const uint8_t *addr)
{
	struct sl_prefix prefix;
	uint32_t id = 0;
	json_t *j;

	if (sl_fib_match(v->fib, family, addr, &prefix, &id))
		return describe(v, 0);
	/* The tables must agree with the list of prefixes. */
	if (sl_fib_lookup(v->fib, family, addr) != id)
		return json_pack("{s:s}", "do", "tables and prefixes differ");
	j = describe(v, id);
	json_object_set_new(j, "len", json_integer(prefix.len));
	return j;
}

/* --- Comparison --- */

struct comparison {
	struct view *a, *b;
	json_t *differences;
	uint64_t compared;
};

/* The shares of a resilient group depend on its past: members may differ by the rounding. */
static bool alike(json_t *a, json_t *b)
{
	json_t *x = json_object_get(a, "members"), *y = json_object_get(b, "members");
	const size_t n = json_array_size(x);
	bool same = true;

	if (!x || !y)
		return json_equal(a, b);
	if (n != json_array_size(y))
		return false;
	for (size_t i = 0; i < n && same; i++) {
		json_t *p = json_copy(json_array_get(x, i)), *q = json_copy(json_array_get(y, i));
		const json_int_t gap = json_integer_value(json_object_get(p, "buckets")) -
				       json_integer_value(json_object_get(q, "buckets"));
		json_object_del(p, "buckets");
		json_object_del(q, "buckets");
		same = json_equal(p, q) && gap >= -(json_int_t)n && gap <= (json_int_t)n;
		json_decref(p);
		json_decref(q);
	}
	return same;
}

static void differ(struct comparison *c, const char *what, json_t *a, json_t *b)
{
	if (!alike(a, b) && json_array_size(c->differences) < 20)
		json_array_append_new(c->differences, json_pack("{s:s, s:O, s:O}", "what", what,
								"incremental", a, "fresh", b));
	json_decref(a);
	json_decref(b);
}

static void compare_address(struct comparison *c, uint8_t family, const uint8_t *addr)
{
	char text[INET6_ADDRSTRLEN];

	inet_ntop(family, addr, text, sizeof(text));
	differ(c, text, lookup(c->a, family, addr), lookup(c->b, family, addr));
	c->compared++;
}

static int compare_route(void *arg, const struct sl_route_view *r)
{
	uint8_t addr[16];
	const int bytes = r->prefix.family == AF_INET ? 4 : 16;

	memcpy(addr, r->prefix.addr, 16);
	compare_address(arg, r->prefix.family, addr);
	for (int bit = r->prefix.len; bit < 8 * bytes; bit++)
		addr[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	compare_address(arg, r->prefix.family, addr);
	for (int bit = r->prefix.len; bit < 8 * bytes; bit++)
		if (random() & 1)
			addr[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
	compare_address(arg, r->prefix.family, addr);
	return 0;
}

static int compare_neighbour(void *arg, const struct sl_neighbour_view *n)
{
	compare_address(arg, n->family, n->addr);
	return 0;
}

struct number {
	const char *name;
	uint64_t value;
};

static void put_numbers(json_t *j, const struct number *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		json_object_set_new(j, all[i].name, json_integer((json_int_t)all[i].value));
}

/* Neighbours do not count: the kernel says nothing of those it has not resolved yet. */
static json_t *counts(const struct view *v)
{
	struct sl_mirror_stats s;
	struct sl_fib_stats f;
	json_t *j = json_object();

	sl_mirror_stats(v->mirror, &s);
	sl_fib_stats(v->fib, &f);
	const struct number all[] = {
		{ "links", s.links },
		{ "addresses", s.addresses },
		{ "objects", s.nexthop_objects },
		{ "rules", s.rules },
		{ "routes4", s.routes4 },
		{ "routes6", s.routes6 },
		{ "prefixes4", f.prefixes4 },
		{ "prefixes6", f.prefixes6 },
		{ "policy4", s.policy4 },
		{ "policy6", s.policy6 },
	};
	put_numbers(j, all, sizeof(all) / sizeof(all[0]));
	return j;
}

/* "kind prefix metric table type": how many */
static int collect_route(void *arg, const struct sl_route_view *r)
{
	json_t *all = arg;
	char addr[INET6_ADDRSTRLEN], key[128];

	inet_ntop(r->prefix.family, r->prefix.addr, addr, sizeof(addr));
	snprintf(key, sizeof(key), "%s/%u table %u metric %u type %u proto %u%s", addr,
		 r->prefix.len, r->table, r->metric, r->type, r->protocol,
		 r->installed ? " installed" : "");
	json_object_set_new(all, key,
			    json_integer(json_integer_value(json_object_get(all, key)) + 1));
	return 0;
}

static void compare_route_lists(struct comparison *c)
{
	json_t *a = json_object(), *b = json_object(), *value;
	const char *key;

	sl_mirror_each_route(c->a->mirror, collect_route, a);
	sl_mirror_each_route(c->b->mirror, collect_route, b);
	if (!json_equal(a, b)) {
		json_object_foreach(a, key, value)
			differ(c, key, json_incref(value),
			       json_integer(json_integer_value(json_object_get(b, key))));
		json_object_foreach(b, key, value)
			if (!json_object_get(a, key))
				differ(c, key, json_integer(0), json_incref(value));
	}
	json_decref(a);
	json_decref(b);
}

static json_t *compare(struct view *v)
{
	static struct view fresh;
	struct comparison c = { .a = v, .b = &fresh, .differences = json_array() };
	struct sl_mirror_stats stats;

	view_open(&fresh);
	sync_view(&fresh);
	sync_view(v);
	differ(&c, "counts", counts(v), counts(&fresh));
	sl_mirror_stats(v->mirror, &stats);
	if (stats.routes4 + stats.routes6 < 100000)
		compare_route_lists(&c);
	sl_mirror_each_route(v->mirror, compare_route, &c);
	sl_mirror_each_route(fresh.mirror, compare_route, &c);
	sl_mirror_each_neighbour(v->mirror, compare_neighbour, &c);
	sl_mirror_each_neighbour(fresh.mirror, compare_neighbour, &c);
	for (uint32_t i = 0; i < PORTS_MAX; i++) {
		const struct sl_port *a = &v->port[i], *b = &fresh.port[i];
		char m1[18], m2[18];
		if (a->ifindex || b->ifindex)
			differ(&c, "port",
			       json_pack("[iis]", a->ifindex, a->flags, mac_text(a->mac, m1)),
			       json_pack("[iis]", b->ifindex, b->flags, mac_text(b->mac, m2)));
	}
	view_close(&fresh);
	return json_pack("{s:I, s:o}", "compared", c.compared, "differences", c.differences);
}

/* --- Commands --- */

static bool parse_addr(const char *text, uint8_t *family, uint8_t addr[16])
{
	memset(addr, 0, 16);
	*family = strchr(text, ':') ? AF_INET6 : AF_INET;
	return inet_pton(*family, text, addr) == 1;
}

static json_t *stats(const struct view *v)
{
	json_t *j = counts(v);
	struct sl_mirror_stats s;
	struct sl_fib_stats f;
	struct rusage usage;
	long pages = 0;
	FILE *statm = fopen("/proc/self/statm", "r");

	sl_mirror_stats(v->mirror, &s);
	sl_fib_stats(v->fib, &f);
	getrusage(RUSAGE_SELF, &usage);
	if (statm) {
		if (fscanf(statm, "%*d %ld", &pages) != 1)
			pages = 0;
		fclose(statm);
	}
	const double cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
			     (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	const struct number all[] = {
		{ "neighbours", s.neighbours },
		{ "events", s.events },
		{ "overruns", s.overruns },
		{ "resyncs", s.resyncs },
		{ "resync_changes", s.resync_changes },
		{ "parse_errors", s.parse_errors },
		{ "probes", s.neighbour_probes },
		{ "mirror_bytes", s.process_bytes },
		{ "fib_bytes", f.process_bytes },
		{ "table_bytes", f.table_bytes },
		{ "nexthops", f.nexthops },
		{ "inserts", f.inserts },
		{ "replaces", f.replaces },
		{ "deletes", f.deletes },
		{ "rss_bytes", (uint64_t)pages * 4096 },
	};
	put_numbers(j, all, sizeof(all) / sizeof(all[0]));
	json_object_set_new(j, "cpu_s", json_real(cpu_s));
	return j;
}

static void mark_used(const struct view *v, const char *text)
{
	uint8_t family, addr[16];
	struct sl_nexthop nh;

	if (!parse_addr(text, &family, addr))
		return;
	nh = v->tables.nexthop[sl_fib_lookup(v->fib, family, addr)];
	if (nh.kind == SL_NH_FORWARD)
		v->tables.adj[nh.ref].used = 1;
}

/* `run`, which also counts how often one of the addresses had no adjacency. */
static json_t *run(struct view *v, char *args)
{
	char *save = NULL, *first = strtok_r(args, " ", &save), *addr[16];
	const double end = seconds() + (first ? strtod(first, NULL) : 0);
	uint64_t looks = 0, misses = 0;
	int n = 0;

	while (n < 16 && (addr[n] = strtok_r(NULL, " ", &save)))
		n++;
	while (seconds() < end) {
		if (readable(v, 5))
			poll_once(v);
		for (int i = 0; i < n; i++) {
			uint8_t family, a[16];
			if (!parse_addr(addr[i], &family, a))
				continue;
			json_t *j = lookup(v, family, a);
			looks++;
			misses +=
				strcmp(json_string_value(json_object_get(j, "do")), "forward") != 0;
			json_decref(j);
			mark_used(v, addr[i]);
		}
	}
	return json_pack("{s:I, s:I}", "looks", looks, "misses", misses);
}

static json_t *port_flags(const struct view *v, uint32_t ifindex)
{
	static const char *const names[] = { "forward4", "forward6",  "rp-strict",  "rp-loose",
					     "punt4",	 "punt6",     "redirect4",  "redirect6",
					     "xfrm4",	 "xfrm6",     "netfilter4", "netfilter6",
					     "partial",	 "localnet4", "hash-l3-4",  "hash-l3-6" };
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (v->port[ifindex % PORTS_MAX].flags & 1u << i)
			json_array_append_new(list, json_string(names[i]));
	return list;
}

static json_t *command(struct view *v, char *line)
{
	char *args = strchr(line, ' ');
	uint8_t family, addr[16];

	if (args)
		*args++ = 0;
	if (!strcmp(line, "sync")) {
		const double start = seconds();
		sync_view(v);
		return json_pack("{s:f}", "seconds", seconds() - start);
	}
	if (!strcmp(line, "compare"))
		return compare(v);
	if (!strcmp(line, "stats"))
		return stats(v);
	if (!strcmp(line, "run") && args)
		return run(v, args);
	if (!strcmp(line, "lookup") && args && parse_addr(args, &family, addr))
		return lookup(v, family, addr);
	if (!strcmp(line, "buffer") && args)
		return json_pack(
			"{s:i}", "error",
			sl_mirror_set_receive_buffer(v->mirror, (uint32_t)strtoul(args, NULL, 10)));
	if (!strcmp(line, "port") && args)
		return port_flags(v, if_nametoindex(args));
	if (!strcmp(line, "ports") && args) {
		free(ports);
		ports = strdup(args);
		sl_mirror_ports_changed(v->mirror);
		return json_object();
	}
	return json_pack("{s:s}", "error", "no such command");
}

int main(void)
{
	static struct view v;
	char *line = NULL;
	size_t size = 0;
	ssize_t n;
	const double start = seconds();

	view_open(&v);
	printf("{\"open_seconds\": %.3f}\n", seconds() - start);
	fflush(stdout);
	while ((n = getline(&line, &size, stdin)) > 0) {
		if (line[n - 1] == '\n')
			line[n - 1] = 0;
		json_t *answer = command(&v, line);
		json_dumpf(answer, stdout, JSON_SORT_KEYS);
		json_decref(answer);
		putchar('\n');
		fflush(stdout);
	}
	view_close(&v);
	free(line);
	free(ports);
	return 0;
}
