/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Links and addresses. A link that routes name is a port, a VLAN (or a VLAN in a VLAN) on a port,
 * or an interface on which only the kernel sends. Its state decides about the hops through it; its
 * settings decide how XDP treats packets that enter there.
 */
#ifndef SL_MIRROR_LINK_H
#define SL_MIRROR_LINK_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "bpf/abi/l3_port.h"
#include "user/mirror/mirror.h"
#include "user/mirror/mirror_hash.h"
#include "user/rtnl/rtnl.h"

struct sl_mirror;

LIST_HEAD(sl_hop_list, sl_hop); /* of mirror_hop.h */

struct sl_link {
	struct sl_hnode node;
	struct sl_rtnl_link is; /* the last message; only ifindex while it is not present */
	bool present;  /* the kernel has it; false: only a route, an address, ... names it */
	bool seen;     /* the current dump listed it */
	uint32_t refs; /* presence, and the hops, neighbours and addresses that name it */
	struct sl_hop_list hops;
	uint32_t addresses4; /* number of its IPv4 addresses */
	/* Where frames for it go: derived from this link and those below it. */
	bool on_port; /* it is a port, or a VLAN on one; else port and tags mean nothing */
	bool cut;     /* the port is remote and cannot be reached, whatever its carrier says */
	bool was_up;  /* up, with carrier and not cut, at its last update */
	uint32_t port_ifindex;
	uint16_t vlan_tags;		  /* 0..2 */
	__be16 vlan_tpid[2], vlan_vid[2]; /* outer first */
	/* The state that ops->port_set was told last. */
	bool told; /* false: nothing, or port_clear since */
	struct sl_port port;
	struct sl_vlan_key vlan;
};

struct sl_address {
	struct sl_hnode node;
	struct sl_link *link; /* holds a reference */
	uint8_t family, len;
	bool seen; /* the current dump listed it */
	uint8_t addr[16];
};

/*
 * The link of this ifindex, made if it is unknown, with a reference for the caller. NULL: no
 * memory.
 */
struct sl_link *sl_link_get(struct sl_mirror *m, uint32_t ifindex);
void sl_link_put(struct sl_mirror *m, struct sl_link *link);		   /* NULL is fine */
struct sl_link *sl_link_find(const struct sl_mirror *m, uint32_t ifindex); /* NULL: unknown */
void sl_link_message(struct sl_mirror *m, const struct sl_rtnl_link *msg);
void sl_link_clear_seen(struct sl_mirror *m); /* before a dump */
void sl_link_sweep(struct sl_mirror *m);      /* after it: remove what it did not list */
/* The set of ports, or a setting of all interfaces, has changed: update all links. */
void sl_link_update_all(struct sl_mirror *m);

bool sl_link_up(const struct sl_link *link); /* present, and administratively up */
/* Would the kernel use a leg of a route of this family through it? */
bool sl_link_alive(const struct sl_mirror *m, const struct sl_link *link, uint8_t family);
/* family 0: the smaller MTU of IPv4 and IPv6. */
uint32_t sl_link_mtu(const struct sl_link *link, uint8_t family);

void sl_address_message(struct sl_mirror *m, const struct sl_rtnl_addr *msg);
bool sl_address_exists(const struct sl_mirror *m, uint8_t family, const uint8_t addr[16]);
void sl_address_clear_seen(struct sl_mirror *m); /* before a dump */
void sl_address_sweep(struct sl_mirror *m);	 /* after it: remove what it did not list */

#endif
