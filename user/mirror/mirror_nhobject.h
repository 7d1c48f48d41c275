/* SPDX-License-Identifier: BSD-2-Clause */
/* Next-hop objects: `ip nexthop` makes them, and routes name them by the kernel's number. */
#ifndef SL_MIRROR_NHOBJECT_H
#define SL_MIRROR_NHOBJECT_H

#include "user/mirror/mirror_hop.h"

enum sl_nhobject_kind {
	SL_NHOBJECT_UNKNOWN, /* a route names it, its message has not come */
	SL_NHOBJECT_HOP,
	SL_NHOBJECT_GROUP,
	SL_NHOBJECT_BLACKHOLE,
	SL_NHOBJECT_ENCAP,
	SL_NHOBJECT_TOO_LARGE, /* a group of more than SL_RTNL_LEGS_MAX members */
};

struct sl_nhobject {
	struct sl_hnode node;
	uint32_t kernel_id;
	uint32_t id; /* next-hop id in the fib; 0: none was free */
	enum sl_nhobject_kind kind;
	bool seen;	    /* the current dump listed it */
	bool live;	    /* false: the kernel skips routes that name it */
	uint32_t paths;	    /* that name it */
	struct sl_hop *hop; /* HOP: owned, private, has the same id */
	uint32_t n_members;
	struct sl_rtnl_member *member; /* GROUP: owned */
};

struct sl_nhobject *sl_nhobject_find(const struct sl_mirror *m, uint32_t kernel_id);
/* For a path that names it; made if it is unknown. NULL: no memory. */
struct sl_nhobject *sl_nhobject_get(struct sl_mirror *m, uint32_t kernel_id);
void sl_nhobject_put(struct sl_mirror *m, struct sl_nhobject *o);
void sl_nhobject_message(struct sl_mirror *m, const struct sl_rtnl_nexthop *msg);
void sl_nhobject_clear_seen(struct sl_mirror *m); /* before a dump */
void sl_nhobject_sweep(struct sl_mirror *m);	  /* after it: remove what it did not list */
/* Links changed, or the fib may have room again: tell the fib what each object is now. */
void sl_nhobject_update_all(struct sl_mirror *m);
/* Remove those that go through a link which is down or has no carrier, as the kernel does. */
void sl_nhobject_link_lost(struct sl_mirror *m, struct sl_link *link);

#endif
