/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state that the files of the mirror share. An arrow leads from what depends to what it needs:
 *
 *   route --> path --> hop --> link, neighbour     a path is what many routes have in common: type,
 *                                                  legs
 *               \--> next-hop object --> hop       a hop is one gateway on one link, or "on link"
 *
 * A next-hop id of the fib belongs to a hop (one leg), to a path (several legs), or to a next-hop
 * object; so a change of a neighbour, a link or an object is one store, however many routes depend
 * on it.
 *
 * A file calls only those that its arrows lead to. In the other direction it tells and asks through
 * struct sl_mirror_above.
 */
#ifndef SL_MIRROR_STATE_H
#define SL_MIRROR_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/queue.h>

#include "user/mirror/mirror.h"
#include "user/mirror/mirror_hash.h"
#include "user/mirror/mirror_rib.h"

struct sl_filter_watch;
struct sl_link;
struct sl_neigh;
struct sl_nhobject;
struct sl_path;
struct sl_rtnl_socket;

/* The kernel changes these without a message, so the mirror has to dump them again. */
struct sl_todo {
	bool any;
	bool everything; /* an overrun */
	bool links, rules, nhobjects;
	bool routes4, routes6; /* all of them */
	bool lost_sources;     /* an IPv4 address went, and with it the routes that prefer it */
	uint32_t routes_of;    /* ifindex: those through this link; 0: none */
	uint32_t postponed;    /* polls since, because events kept coming */
};

/* Calls from a file to those above it; mirror_changes.c says which one answers. */
struct sl_mirror_above {
	/* Its hops must follow. */
	void (*link_changed)(struct sl_mirror *m, struct sl_link *link, bool came_up);
	/* It is down or has no carrier: next-hop objects through it are gone. */
	void (*link_lost)(struct sl_mirror *m, struct sl_link *link);
	/* After link_changed of all links that a change reached: objects and paths must follow. */
	void (*links_changed)(struct sl_mirror *m);
	/* Has the kernel called a leg through this link dead? */
	bool (*any_leg_dead)(const struct sl_mirror *m, uint32_t ifindex);
	/* Usable or no longer, or with another MAC address: its hops and its host route follow. */
	void (*neigh_changed)(struct sl_mirror *m, struct sl_neigh *n);
	/* Did XDP send to it since the last call? */
	bool (*neigh_used)(struct sl_mirror *m, struct sl_neigh *n);
	/* Routes that name it are live, or no longer, or reach other neighbours. */
	void (*nhobject_changed)(struct sl_mirror *m, const struct sl_nhobject *object);
	/* The routes that name it go with it. */
	void (*nhobject_removed)(struct sl_mirror *m, const struct sl_nhobject *object);
};
extern const struct sl_mirror_above sl_mirror_above;

struct sl_mirror {
	struct sl_fib *fib;		 /* borrowed */
	const struct sl_mirror_ops *ops; /* borrowed */
	void *ctx;
	const struct sl_mirror_above *above;
	struct sl_rtnl_socket *events, *requests; /* owned */
	struct sl_filter_watch *filters;	  /* owned; NULL: fed by a test */
	int epoll_fd, timer_fd;
	struct sl_mirror_stats stats;

	struct sl_htable links, addresses, neighs, hops, nhobjects, paths;
	struct sl_path **path;			  /* by index; owned */
	uint32_t path_room, path_used, path_free; /* path_free: no lower index is free */
	struct sl_rib rib4, rib6;

	uint32_t punt_id[SL_PUNT_COUNT]; /* next hops that always punt; made when opened */
	uint32_t blackhole_id;

	/* Settings of all interfaces */
	uint32_t rp_filter, send_redirects, ignore_linkdown4, forwarding6, route_localnet;
	uint32_t hash_policy4, hash_policy6; /* fib_multipath_hash_policy */
	uint32_t hash_fields4, hash_fields6; /* fib_multipath_hash_fields */
	uint32_t use_pmtu;		     /* ip_forward_use_pmtu */
	/* Rules of IPv4 and IPv6, counted by a dump: the default ones as bits, and others */
	uint32_t default_rules[2], other_rules[2];

	/* SL_FILTER_*: the families whose packets the kernel gets because of filters */
	int xfrm, netfilter;
	int hooks; /* of netfilter's: those that ops->netfilter_hooks named last */
	bool ignore_netfilter;

	LIST_HEAD(, sl_neigh) wanted; /* unresolved gateways */
	uint64_t probe_due_ns;	      /* of the first of them; UINT64_MAX: none */
	uint64_t period_due_ns;	      /* next look at which neighbours are in use */
	uint64_t neigh_patience_ms;   /* the kernel's shortest reachable or stale time */
	uint64_t armed_ns;	      /* what the timer is set to */

	struct sl_todo todo;
	bool dumping; /* messages are from a dump */
	/*
	 * A dump of everything of its kind: it lists routes in the kernel's order, and a route
	 * takes the place of one that the dump has not listed.
	 */
	bool dumping_all;
	uint32_t dumping_of; /* a dump of the routes through this link; 0: any other dump */
	uint64_t changes;    /* of routes, neighbours, ...; for resync_changes */
	/* Some path's `changed` was set since the walk over the routes last began. */
	bool paths_changed;
	bool ports_dirty;     /* sl_mirror_ports_changed was called within a callback */
	bool busy;	      /* within sl_mirror_poll or sl_mirror_open */
	bool retry;	      /* the fib had no room for some next hop */
	uint64_t starvations; /* allocations that failed */
	bool removed_route6;  /* since it was last cleared: a dump of IPv6 may have missed one */
};

/* Something did not find room in memory. Without it a packet could take a shorter prefix. */
static inline void sl_mirror_starve(struct sl_mirror *m)
{
	m->stats.starved = m->ports_dirty = true;
	m->starvations++;
}

/* Zeroed memory for a part of the mirror's state; NULL: the mirror starves. */
static inline void *sl_mirror_alloc(struct sl_mirror *m, size_t bytes)
{
	void *memory = calloc(1, bytes);

	if (!memory)
		sl_mirror_starve(m);
	return memory;
}

/* The same memory, larger; NULL: the mirror starves, and the old memory is as it was. */
static inline void *sl_mirror_grow(struct sl_mirror *m, void *memory, size_t bytes)
{
	void *grown = realloc(memory, bytes);

	if (!grown)
		sl_mirror_starve(m);
	return grown;
}

#endif
