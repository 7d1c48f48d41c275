/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * reroute: change the routes of this network namespace's kernel, many a second.
 *
 * It takes the routes it finds (table main, one gateway, no default route) and changes random ones
 * as a routing daemon does: three of four changes choose another gateway of those in use, the rest
 * delete the route; a deleted route comes back. Each request changes something, so the kernel
 * reports as many events. At the end every prefix has a route again.
 */
#include <errno.h>
#include <getopt.h>
#include <linux/rtnetlink.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "netns-lab/lookup/route_batch.h"
#include "netns-lab/lookup/routes.h"
#include "netns-lab/gen/tool.h"
#include "user/rtnl/rtnl.h"
#include "user/rtnl/rtnl_socket.h"

#define VIAS_MAX 64
/* With a rate, so many batches a second. */
#define BATCHES_PER_S 500

static const char usage[] =
	"usage: reroute [OPTION...]\n"
	"Change routes of this network namespace's kernel: replace, delete, insert, in batches.\n"
	"\n"
	"  --changes N    how many (default 500000); at the end, deleted routes come back\n"
	"  --rate N       a second; without it, as fast as the kernel takes them\n"
	"  --family 4|6   which routes (default 4)\n"
	"  --seed N       choice (default 1)\n"
	"  -j, --json     print the result as JSON\n"
	"  -h, --help\n"
	"\n"
	"It takes the routes that have a gateway, and those gateways. Exit status: 0 done, 1 failed, 2 wrong\n"
	"use.\n";

struct options {
	uint64_t changes, rate, seed;
	uint8_t family;
	bool json;
};

struct route {
	struct sl_prefix prefix;
	uint8_t via; /* in world.via */
	bool away;
};

struct world {
	struct route *route; /* owned */
	uint32_t n_routes, room;
	struct route_via via[VIAS_MAX];
	uint32_t n_vias;
	int error; /* of reading */
	struct route_batch *batch;
	uint64_t random;
	uint64_t replaced, deleted, inserted;
};

static int parse_options(int argc, char **argv, struct options *o)
{
	enum { OPT_CHANGES = 256, OPT_RATE, OPT_FAMILY, OPT_SEED };
	static const struct option long_options[] = {
		{ "changes", required_argument, NULL, OPT_CHANGES },
		{ "rate", required_argument, NULL, OPT_RATE },
		{ "family", required_argument, NULL, OPT_FAMILY },
		{ "seed", required_argument, NULL, OPT_SEED },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int c, status = 0;

	*o = (struct options){ .changes = 500000, .seed = 1, .family = AF_INET };
	while (!status && (c = getopt_long(argc, argv, "jh", long_options, NULL)) != -1) {
		switch (c) {
		case OPT_CHANGES:
			status = lab_parse_number("changes", optarg, 1, UINT32_MAX, &o->changes);
			break;
		case OPT_RATE:
			status = lab_parse_number("rate", optarg, BATCHES_PER_S, 100000000,
						  &o->rate);
			break;
		case OPT_FAMILY:
			if (strcmp(optarg, "4") != 0 && strcmp(optarg, "6") != 0)
				return lab_fail(2, "--family: \"%s\" is not 4 or 6", optarg);
			o->family = optarg[0] == '4' ? AF_INET : AF_INET6;
			break;
		case OPT_SEED:
			status = lab_parse_number("seed", optarg, 1, UINT64_MAX, &o->seed);
			break;
		case 'j':
			o->json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			return 2;
		}
	}
	if (!status && optind < argc)
		status = lab_fail(2, "\"%s\" is too much; see reroute --help", argv[optind]);
	return status;
}

/* --- The routes that are there --- */

static int find_via(struct world *w, const struct sl_rtnl_leg *leg, uint8_t *out)
{
	struct route_via via = { .ifindex = leg->ifindex };

	memcpy(via.gateway, leg->gateway, sizeof(via.gateway));
	for (uint32_t i = 0; i < w->n_vias; i++) {
		if (memcmp(&w->via[i], &via, sizeof(via)) == 0) {
			*out = (uint8_t)i;
			return 0;
		}
	}
	if (w->n_vias == VIAS_MAX)
		return -E2BIG;
	*out = (uint8_t)w->n_vias;
	w->via[w->n_vias++] = via;
	return 0;
}

static int add_route(struct world *w, const struct sl_rtnl_route *found)
{
	struct route *route;

	if (w->n_routes == w->room) {
		const uint32_t room = w->room ? 2 * w->room : 4096;
		struct route *grown = realloc(w->route, room * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		w->route = grown;
		w->room = room;
	}
	route = &w->route[w->n_routes];
	*route = (struct route){ .prefix = found->dst };
	if (find_via(w, &found->leg[0], &route->via))
		return -E2BIG;
	w->n_routes++;
	return 0;
}

static void on_route(void *world, const struct nlmsghdr *nlh)
{
	static struct sl_rtnl_route found; /* large */
	struct world *w = world;

	if (!w->error && !sl_rtnl_parse_route(nlh, &found) && found.table == RT_TABLE_MAIN &&
	    found.type == RTN_UNICAST && found.dst.len > 0 && found.n_legs == 1 && !found.object &&
	    found.leg[0].gateway_family == found.dst.family && found.protocol != RTPROT_RA)
		w->error = add_route(w, &found);
}

static int read_routes(struct world *w, uint8_t family)
{
	struct sl_rtnl_socket *s = NULL;
	int err = sl_rtnl_open(&s);

	if (!err)
		err = sl_rtnl_dump(s, RTM_GETROUTE, family, 0, on_route, w);
	sl_rtnl_close(s);
	if (!err)
		err = w->error;
	if (err == -E2BIG)
		return lab_fail(1, "more than %d gateways", VIAS_MAX);
	if (err)
		return lab_fail(1, "cannot read the routes: %s", strerror(-err));
	if (!w->n_routes || w->n_vias < 2)
		return lab_fail(1, "%u routes through %u gateways: two are needed", w->n_routes,
				w->n_vias);
	return 0;
}

/* --- Changes --- */

static int insert(struct world *w, struct route *r)
{
	r->away = false;
	w->inserted++;
	return route_batch_set(w->batch, &r->prefix, &w->via[r->via]);
}

static int change(struct world *w)
{
	struct route *r = &w->route[lab_random_below(&w->random, w->n_routes)];

	if (r->away)
		return insert(w, r);
	if (lab_random_below(&w->random, 4) == 0) {
		r->away = true;
		w->deleted++;
		return route_batch_delete(w->batch, &r->prefix);
	}
	r->via = (uint8_t)((r->via + 1 + lab_random_below(&w->random, w->n_vias - 1)) % w->n_vias);
	w->replaced++;
	return route_batch_set(w->batch, &r->prefix, &w->via[r->via]);
}

static uint64_t changes_made(const struct world *w)
{
	return w->replaced + w->deleted + w->inserted;
}

/* With a rate, the next batch waits until it is due. */
static int keep_pace(struct world *w, const struct options *o, uint64_t start_ns)
{
	const uint64_t made = changes_made(w);
	int err;

	if (!o->rate || made % (o->rate / BATCHES_PER_S) != 0)
		return 0;
	err = route_batch_flush(w->batch);
	lab_sleep_until(start_ns + made * NSEC_PER_SEC / o->rate);
	return err;
}

static int change_all(struct world *w, const struct options *o)
{
	const uint64_t start_ns = lab_now_ns();
	int err = 0;

	while (changes_made(w) < o->changes && !err) {
		err = keep_pace(w, o, start_ns);
		if (!err)
			err = change(w);
	}
	for (uint32_t i = 0; i < w->n_routes && !err; i++) {
		if (!w->route[i].away)
			continue;
		err = keep_pace(w, o, start_ns);
		if (!err)
			err = insert(w, &w->route[i]);
	}
	return err ? err : route_batch_flush(w->batch);
}

static int run(const struct options *o)
{
	struct world w = { .random = o->seed };
	uint64_t start_ns, start_cpu_ns, changes;
	double seconds, cpu_s;
	int status = read_routes(&w, o->family), err = 0;

	if (!status)
		err = route_batch_open(&w.batch);
	start_ns = lab_now_ns();
	start_cpu_ns = lab_cpu_ns();
	if (!status && !err)
		err = change_all(&w, o);
	seconds = (double)(lab_now_ns() - start_ns) / NSEC_PER_SEC;
	cpu_s = (double)(lab_cpu_ns() - start_cpu_ns) / NSEC_PER_SEC;
	route_batch_close(w.batch);
	free(w.route);
	if (err)
		return lab_fail(1, "the kernel refuses a change: %s", strerror(-err));
	if (status)
		return status;
	changes = changes_made(&w);
	if (o->json)
		lab_print_json(json_pack(
			"{s:i, s:i, s:I, s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "routes",
			(int)w.n_routes, "gateways", (int)w.n_vias, "changes", (json_int_t)changes,
			"replaced", (json_int_t)w.replaced, "deleted", (json_int_t)w.deleted,
			"inserted", (json_int_t)w.inserted, "seconds", seconds, "cpu_seconds",
			cpu_s, "changes_per_s", (double)changes / seconds, "start",
			(double)start_ns / NSEC_PER_SEC));
	else
		printf("%llu changes of %u routes in %.3f s: %.0f a second\n",
		       (unsigned long long)changes, w.n_routes, seconds, (double)changes / seconds);
	return 0;
}

int main(int argc, char **argv)
{
	struct options o;
	int status = parse_options(argc, argv, &o);

	return status ? status : lab_exit_status(run(&o));
}
