/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Paths: what many routes have in common, as the kernel's fib_info. A full table has 700,000 routes
 * and a few dozen paths.
 */
#ifndef SL_MIRROR_PATH_H
#define SL_MIRROR_PATH_H

#include "user/mirror/mirror_nhobject.h"

struct sl_path_key {
	uint8_t family, type, scope, src_len;
	uint8_t tos, from_ra, expires;
	uint8_t has_prefsrc, too_many_legs, pad[3];
	uint32_t mtu_bytes, other;
	uint32_t object; /* the kernel's id of a next-hop object; 0: none */
	uint32_t n_legs; /* sorted, without state */
	uint8_t prefsrc[16], src[16];
};

struct sl_path_leg {
	struct sl_rtnl_leg is;
	struct sl_hop *hop; /* of unicast paths: holds a reference; else NULL */
	bool dead;	    /* the kernel called it dead when it last named it */
	bool used;	    /* in the group */
};

struct sl_path {
	struct sl_hnode node;
	uint32_t index; /* in mirror.path */
	uint64_t routes;
	struct sl_nhobject *nhobject; /* NULL: the legs count */
	uint32_t id;		      /* next-hop id of its routes; 0: none was free */
	bool is_group;		      /* and the id is its own */
	bool failed;		      /* the fib had no room for the group, or has not been told */
	bool live;		      /* false: the kernel skips its routes */
	bool changed; /* live or id is another: its routes must be looked at again */
	struct sl_path_key key;
	struct sl_path_leg leg[];
};

/*
 * The path of a route, made if need be. The caller counts its routes in path->routes, and calls
 * sl_path_put when it does not use the path, or no longer. NULL: no memory.
 */
struct sl_path *sl_path_get(struct sl_mirror *m, const struct sl_rtnl_route *route);
struct sl_path *sl_path_find(const struct sl_mirror *m, const struct sl_rtnl_route *route);
/*
 * The path with one leg less; the path itself if it does not have that leg. NULL: that was its
 * only leg, or no memory.
 */
struct sl_path *sl_path_get_without(struct sl_mirror *m, const struct sl_path *path,
				    const struct sl_rtnl_leg *leg);
void sl_path_put(struct sl_mirror *m, struct sl_path *path); /* frees it if it has no route */
void sl_path_update_all(struct sl_mirror *m);		     /* links or objects changed */
void sl_path_retry(struct sl_mirror *m);		     /* the fib may have room again */
void sl_path_nhobject_changed(struct sl_mirror *m, const struct sl_nhobject *object);

/* The link whose neighbours are reached without a gateway; 0: none. */
uint32_t sl_path_glean(const struct sl_path *path);
uint32_t sl_path_mtu(const struct sl_path *path); /* that the route sets; 0: none */
bool sl_path_uses(const struct sl_path *path, uint32_t ifindex);
/* Has the kernel called a leg through this link dead? */
bool sl_path_any_dead(const struct sl_mirror *m, uint32_t ifindex);
/*
 * The links or addresses that it needs are gone: the kernel has removed its routes, or the next
 * dump will show that it did.
 */
bool sl_path_is_gone(const struct sl_mirror *m, const struct sl_path *path);
/* Part of IPv6's one multipath route of this metric (rt6_qualify_for_ecmp). */
bool sl_path_is_ecmp6(const struct sl_path *path);
/* It serves only some packets: the destination alone does not choose a route of its prefix. */
bool sl_path_is_conditional(const struct sl_path *path);

#endif
