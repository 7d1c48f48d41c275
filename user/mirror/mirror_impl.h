/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside the mirror. What the kernel says, and what it comes to:
 *
 *   route --> path --> hop --> link, neighbour     a path is what many routes have in common: type,
 *                                                  legs
 *               \--> object --> hop                a hop is one gateway on one link, or "on link"
 *
 * A next-hop id of the fib belongs to a hop (one leg), to a path (several legs), or to a next-hop
 * object; so a change of a neighbour, a link or an object is one store, whatever number of routes
 * depends on it.
 *
 *   mirror_link.c     links, VLANs, addresses, what XDP is told of ports
 *   mirror_neigh.c    neighbours: resolved ones become hops, unresolved ones are asked for, idle
 *                     ones kept
 *   mirror_hop.c      hops: from link and neighbour to adjacency or punt
 *   mirror_path.c     paths: legs, groups, whether any leg is alive
 *   mirror_nexthop.c  next-hop objects
 *   mirror_rib.c    the routes, compactly
 *   mirror_route.c    which route of a prefix wins; host routes for neighbours
 *   mirror_settings.c policy rules, settings of all interfaces
 *   mirror_sync.c     dumps with mark and sweep
 *   mirror_view.c     what people see
 *   mirror.c          open, poll, timers, statistics
 */
#ifndef SL_MIRROR_IMPL_H
#define SL_MIRROR_IMPL_H

#include <sys/queue.h>

#include "user/mirror/mirror.h"
#include "user/mirror/mirror_hash.h"
#include "user/rtnl/rtnl.h"
#include "user/rtnl/rtnl_socket.h"

/* --- Links, addresses ------------------------------------------------------------------------- */

LIST_HEAD(sl_hop_list, sl_hop);

struct sl_link {
	struct sl_hnode node;
	struct sl_rtnl_link is; /* ifindex always; the rest if present */
	bool present;		/* false: only named by something */
	bool seen;		/* by the current dump, as in everything below */
	uint32_t refs;		/* hops, neighbours and addresses that point here */
	struct sl_hop_list hops;
	uint32_t addresses4;
	/* Where frames for it go: derived, see sl_link_resolve */
	bool on_port;
	bool was_up; /* and had carrier */
	bool cut;    /* its port cannot be reached, whatever its carrier */
	uint32_t port_ifindex;
	uint16_t vlan_tags;
	__be16 vlan_tpid[2], vlan_vid[2];
	/* What ops->port_set was last told, if told */
	bool told;
	struct sl_port port;
	struct sl_vlan_key vlan;
};

struct sl_address {
	struct sl_hnode node;
	struct sl_link *link;
	uint8_t family, len;
	bool seen;
	uint8_t addr[16];
};

/*
 * --- Neighbours and hops ------------------------------------------------------------------------
 */

struct sl_neigh {
	struct sl_hnode node;
	struct sl_link *link;
	uint8_t family;
	uint8_t addr[16];
	bool present; /* the kernel has it; false: only hops want it */
	bool seen;
	uint16_t state;
	uint8_t mac[6];
	bool has_mac;
	bool in_use; /* XDP sent through it in the last period */
	struct sl_hop_list hops;
	bool listed;		/* among its store's hosts */
	struct sl_hop *host;	/* hop of its host route, while that is installed */
	bool wanted;		/* in mirror.wanted */
	uint32_t probe_delay_s; /* before the next question */
	uint64_t probe_at_ns;
	LIST_ENTRY(sl_neigh) wanted_entry;
};

enum sl_hop_state { SL_HOP_NEW, SL_HOP_ADJ, SL_HOP_PUNT, SL_HOP_FAILED };

struct sl_hop_key {
	uint32_t ifindex;
	uint8_t mtu_family;	/* whose MTU of the link counts; 0: the smaller of both */
	uint8_t gateway_family; /* 0: on link */
	uint8_t pad[2];
	uint32_t mtu_bytes; /* of the route; 0: the link's */
	uint8_t gateway[16];
};

struct sl_hop {
	struct sl_hnode node; /* in mirror.hops unless private */
	struct sl_hop_key key;
	bool is_private; /* of a next-hop object */
	uint32_t refs;
	uint32_t id; /* next-hop id in the fib; 0: none was free */
	struct sl_link *link;
	struct sl_neigh *neigh; /* NULL: on link */
	LIST_ENTRY(sl_hop) link_entry, neigh_entry;
	/* What the fib was last told */
	enum sl_hop_state state;
	enum sl_punt punt;
	struct sl_adj adj;
};

/*
 * --- Paths and next-hop objects
 * --------------------------------------------------------------------
 */

struct sl_path_key {
	uint8_t family, type, scope, src_len;
	uint8_t tos, from_ra, expires;
	uint8_t has_prefsrc, too_many_legs, pad[3];
	uint32_t mtu_bytes, other, object, n_legs; /* legs: sorted, without state */
	uint8_t prefsrc[16], src[16];
};

/* A path that may not exist yet, made from a message. */
struct sl_path_draft {
	struct sl_path_key key;
	struct sl_rtnl_leg leg[SL_RTNL_LEGS_MAX];
	bool dead[SL_RTNL_LEGS_MAX];
};

struct sl_path_leg {
	struct sl_rtnl_leg is;
	struct sl_hop *hop; /* of unicast paths */
	bool dead;	    /* the kernel said so when it last spoke of it */
	bool used;	    /* in the group */
};

struct sl_path {
	struct sl_hnode node;
	uint32_t index; /* in mirror.path */
	uint64_t routes;
	struct sl_object *object;
	uint32_t id;   /* next-hop id of its routes; 0: none was free */
	bool is_group; /* and the id is its own */
	bool failed;   /* the fib had no room */
	bool live;     /* false: the kernel skips such routes */
	bool changed;  /* live or id is another: its routes must be looked at */
	struct sl_path_key key;
	struct sl_path_leg leg[];
};

enum sl_object_kind {
	SL_OBJECT_UNKNOWN, /* a route names it, its message has not come */
	SL_OBJECT_HOP,
	SL_OBJECT_GROUP,
	SL_OBJECT_BLACKHOLE,
	SL_OBJECT_ENCAP,
	SL_OBJECT_TOO_LARGE,
};

struct sl_object {
	struct sl_hnode node;
	uint32_t object; /* the kernel's id */
	uint32_t id;	 /* next-hop id in the fib; 0: none was free */
	enum sl_object_kind kind;
	bool seen;
	bool live;
	uint32_t paths;	    /* that name it */
	struct sl_hop *hop; /* HOP: private, has the same id */
	uint32_t n_members;
	struct sl_rtnl_member *member; /* GROUP: owned */
};

/*
 * --- Routes
 * -------------------------------------------------------------------------------------------
 */

#define SL_ROUTE_NONE UINT32_MAX

/* Names a route in its store: stays valid until the route is removed. */
typedef uint32_t sl_route_ref;

struct sl_route {
	sl_route_ref
		/*
		 * in the hash chain; routes of one prefix follow each other in the kernel's order
		 */
		next;
	uint32_t path; /* index; SL_ROUTE_NONE: free */
	uint32_t metric;
	uint8_t len, table, protocol, seen;
	uint8_t addr[]; /* 4 or 16 */
};

struct sl_rib {
	uint8_t family, addr_bytes;
	uint32_t stride; /* bytes per route */
	uint8_t *pool;	 /* owned */
	uint32_t used, room, n;
	sl_route_ref free;
	sl_route_ref *bucket; /* owned */
	uint32_t mask;
	uint32_t with_len[129]; /* routes by prefix length */
	/* Prefixes of table local that are more than one address: they hide what is below them */
	struct sl_prefix *shadow; /* owned */
	uint32_t n_shadow;
	/* Neighbours in order of address, to find those below a prefix */
	struct sl_neigh **host; /* owned; borrowed elements */
	uint32_t n_host, host_room;
	/*
	 * The walk over routes whose path has changed: where it is, and how many records are still
	 * to be looked at
	 */
	uint32_t walk_at, walk_left;
};

static inline struct sl_route *sl_rib_at(const struct sl_rib *s, sl_route_ref ref)
{
	return (struct sl_route *)(s->pool + (size_t)ref * s->stride);
}

int sl_rib_init(struct sl_rib *s, uint8_t family);
void sl_rib_fini(struct sl_rib *s);
/* First route of a prefix, then the next one of the same prefix. */
sl_route_ref sl_rib_first(const struct sl_rib *s, const uint8_t *addr, uint8_t len);
sl_route_ref sl_rib_next(const struct sl_rib *s, sl_route_ref ref);
/*
 * Add a route after `after` (a route of the same prefix), or before the first of its prefix if that
 * is SL_ROUTE_NONE. Returns SL_ROUTE_NONE if there is no memory. Moves the pool: pointers are void.
 */
sl_route_ref sl_rib_add(struct sl_rib *s, const uint8_t *addr, uint8_t len, sl_route_ref after);
/* To after another one of the same prefix, or before the first. */
void sl_rib_move(struct sl_rib *s, sl_route_ref ref, sl_route_ref after);
void sl_rib_del(struct sl_rib *s, sl_route_ref ref);
size_t sl_rib_bytes(const struct sl_rib *s);
bool sl_prefix_covers(uint8_t len, const uint8_t *prefix, const uint8_t *addr);

/*
 * --- The mirror
 * ------------------------------------------------------------------------------------------
 */

/* What has to be dumped again, because the kernel changes it without saying so. */
struct sl_todo {
	bool any;
	bool everything; /* an overrun */
	bool links, rules, objects;
	bool routes4, routes6; /* all of them */
	bool lost_sources;     /* an IPv4 address went, and with it the routes that prefer it */
	uint32_t routes_of;    /* ifindex: those through this link; 0: none */
	uint32_t postponed;    /* polls since, because events kept coming */
};

struct sl_mirror {
	struct sl_fib *fib;		 /* borrowed */
	const struct sl_mirror_ops *ops; /* borrowed */
	void *ctx;
	struct sl_rtnl_socket *events, *requests; /* owned */
	int epoll_fd, timer_fd;
	struct sl_mirror_stats stats;

	struct sl_htable links, addresses, neighs, hops, objects, paths;
	struct sl_path **path;			  /* by index; owned */
	uint32_t path_room, path_used, path_free; /* path_free: no lower index is free */
	struct sl_rib rib4, rib6;

	uint32_t punt_id[SL_PUNT_COUNT]; /* next hops that always punt; made when opened */
	uint32_t blackhole_id;

	/* Settings of all interfaces */
	uint32_t rp_filter, send_redirects, ignore_linkdown4, forwarding6;
	/* Rules of IPv4 and IPv6, counted by a dump: the default ones as bits, and others */
	uint32_t default_rules[2], other_rules[2];

	LIST_HEAD(, sl_neigh) wanted; /* unresolved gateways */
	uint64_t probe_due_ns;	      /* of the first of them; UINT64_MAX: none */
	uint64_t period_due_ns;	      /* next look at which neighbours are in use */
	uint64_t neigh_patience_ms;   /* the kernel's shortest reachable or stale time */
	uint64_t armed_ns;	      /* what the timer is set to */

	struct sl_todo todo;
	/* of everything of its kind: in the kernel's order, in place of what is not seen */
	bool dumping_all;
	bool dumping;	     /* messages are from a dump */
	uint32_t dumping_of; /* of the routes through this link; 0: any other dump */
	uint64_t changes;    /* that routes, neighbours, ... saw; for resync_changes */
	/* some path's `changed` was set since the walk over the routes last began */
	bool paths_changed;
	bool ports_dirty;    /* sl_mirror_ports_changed was called within a callback */
	bool busy;	     /* within sl_mirror_poll or sl_mirror_open */
	bool retry;	     /* the fib had no room for some next hop */
	bool removed_route6; /* since it was last cleared: a dump of IPv6 may have missed one */

	/* Scratch of the message at hand */
	struct sl_rtnl_route route;
	struct sl_rtnl_nexthop nexthop;
	struct sl_path_draft draft;
};

/* mirror_link.c */
struct sl_link *sl_link_get(struct sl_mirror *m,
			    uint32_t ifindex); /* made if need be; takes a reference */
void sl_link_put(struct sl_mirror *m, struct sl_link *link);
struct sl_link *sl_link_find(const struct sl_mirror *m, uint32_t ifindex); /* NULL: unknown */
void sl_link_message(struct sl_mirror *m, const struct sl_rtnl_link *msg);
void sl_link_unsee(struct sl_mirror *m);      /* before a dump */
void sl_link_sweep(struct sl_mirror *m);      /* after it: remove what it has not seen */
void sl_link_look_again(struct sl_mirror *m); /* at ports and settings of all */
bool sl_link_up(const struct sl_link *link);
bool sl_link_alive(const struct sl_mirror *m, const struct sl_link *link, uint8_t family);
uint32_t sl_link_mtu(const struct sl_link *link, uint8_t family);
void sl_address_message(struct sl_mirror *m, const struct sl_rtnl_addr *msg);
bool sl_address_exists(const struct sl_mirror *m, uint8_t family, const uint8_t addr[16]);
void sl_address_unsee(struct sl_mirror *m); /* before a dump */
void sl_address_sweep(struct sl_mirror *m); /* after it: remove what it has not seen */

/* mirror_neigh.c */
struct sl_neigh *sl_neigh_get(struct sl_mirror *m, struct sl_link *link, uint8_t family,
			      const uint8_t *addr); /* made if need be */
struct sl_neigh *sl_neigh_find(const struct sl_mirror *m, uint32_t ifindex, uint8_t family,
			       const uint8_t *addr);
void sl_neigh_put(struct sl_mirror *m, struct sl_neigh *n); /* free it if nobody needs it */
bool sl_neigh_usable(const struct sl_neigh *n);
void sl_neigh_message(struct sl_mirror *m, const struct sl_rtnl_neigh *msg);
void sl_neigh_unsee(struct sl_mirror *m); /* before a dump */
void sl_neigh_sweep(struct sl_mirror *m); /* after it: remove what it has not seen */
void sl_neigh_want(struct sl_mirror *m,
		   struct sl_neigh *n); /* hops or state changed: ask for it? */
void sl_neigh_ask_soon(struct sl_mirror *m, struct sl_neigh *n); /* its link came up */
void sl_neigh_tick(struct sl_mirror *m, uint64_t now_ns);

/* mirror_hop.c */
struct sl_hop *sl_hop_get(struct sl_mirror *m, const struct sl_hop_key *key);
struct sl_hop *sl_hop_create(struct sl_mirror *m, const struct sl_hop_key *key, uint32_t id);
void sl_hop_put(struct sl_mirror *m, struct sl_hop *hop);
void sl_hop_apply(struct sl_mirror *m, struct sl_hop *hop);
void sl_hop_retry(struct sl_mirror *m);
uint32_t sl_nexthop_id(const struct sl_mirror *m, uint32_t id);

/* mirror_path.c */
struct sl_path *sl_path_get(struct sl_mirror *m, const struct sl_rtnl_route *route);
struct sl_path *sl_path_find(struct sl_mirror *m, const struct sl_rtnl_route *route);
/* The same with one leg less. NULL: it had only this one; the leg may be one it has not. */
struct sl_path *sl_path_get_without(struct sl_mirror *m, const struct sl_path *path,
				    const struct sl_rtnl_leg *leg);
void sl_path_put(struct sl_mirror *m, struct sl_path *path);
void sl_path_look_again(struct sl_mirror *m); /* links or objects changed */
void sl_path_retry(struct sl_mirror *m);
void sl_path_object_changed(struct sl_mirror *m, const struct sl_object *object);
/*
 * The link whose neighbours are reached directly; 0: none. And the MTU that the route sets, 0:
 * none.
 */
uint32_t sl_path_glean(const struct sl_path *path);
uint32_t sl_path_mtu(const struct sl_path *path);
bool sl_path_uses(const struct sl_path *path, uint32_t ifindex);
/* Has the kernel called a leg through this link dead? */
bool sl_path_any_dead(const struct sl_mirror *m, uint32_t ifindex);
/*
 * The kernel has removed its routes, or will have said so by the next dump: links or addresses it
 * needs are gone.
 */
bool sl_path_is_gone(const struct sl_mirror *m, const struct sl_path *path);
/* Part of IPv6's one multipath route of this metric (rt6_qualify_for_ecmp). */
bool sl_path_is_ecmp6(const struct sl_path *path);
/* For some packets only: no route of this prefix can be chosen by destination alone. */
bool sl_path_is_conditional(const struct sl_path *path);

/* mirror_nexthop.c */
struct sl_object *sl_object_find(const struct sl_mirror *m, uint32_t object);
struct sl_object *sl_object_get(struct sl_mirror *m, uint32_t object);
void sl_object_put(struct sl_mirror *m, struct sl_object *o);
void sl_object_message(struct sl_mirror *m, const struct sl_rtnl_nexthop *msg);
void sl_object_unsee(struct sl_mirror *m); /* before a dump */
void sl_object_sweep(struct sl_mirror *m); /* after it: remove what it has not seen */
void sl_object_look_again(struct sl_mirror *m);
void sl_object_link_lost(struct sl_mirror *m, const struct sl_link *link);

/* mirror_route.c */
void sl_route_message(struct sl_mirror *m, const struct sl_rtnl_route *msg);
void sl_route_unsee(struct sl_rib *s);
/* Remove what the dump has not seen; only routes through this link, unless 0. */
void sl_route_sweep(struct sl_mirror *m, struct sl_rib *s, uint32_t through_ifindex);
void sl_route_remove_object(struct sl_mirror *m, const struct sl_object *object);
bool sl_route_wins(const struct sl_mirror *m, const struct sl_rib *s, sl_route_ref ref);
/*
 * Install anew, of routes whose path has changed, no more than `most`; the rest with later calls.
 * Until then a prefix leads to what it led to, and a next hop that died meanwhile leaves the
 * packets to the kernel.
 */
void sl_route_walk_changed(struct sl_mirror *m, uint32_t most);
bool sl_route_walk_pending(const struct sl_mirror *m);
void sl_route_host_changed(struct sl_mirror *m,
			   struct sl_neigh *n); /* usable or not: its host route */

/* mirror_settings.c */
void sl_rule_message(struct sl_mirror *m, const struct sl_rtnl_rule *msg);
void sl_rule_dumped(struct sl_mirror *m);
void sl_netconf_message(struct sl_mirror *m, const struct sl_rtnl_netconf *msg);
void sl_neightbl_message(struct sl_mirror *m, const struct sl_rtnl_neightbl *msg);
void sl_settings_read(struct sl_mirror *m); /* what no message tells */

/* mirror_sync.c */
int sl_sync_everything(struct sl_mirror *m);
int sl_sync_todo(struct sl_mirror *m);
int sl_sync_period(struct sl_mirror *m);
int sl_sync_drain(struct sl_mirror *m, uint32_t batches); /* -EAGAIN: all events are handled */
void sl_mirror_message(void *mirror, const struct nlmsghdr *nlh); /* a sl_rtnl_cb */

/* mirror.c */
/* Everything but the sockets and what comes through them: for tests that bring the messages. */
int sl_mirror_create(struct sl_fib *fib, const struct sl_mirror_ops *ops, void *ctx,
		     struct sl_mirror **out);

#endif
