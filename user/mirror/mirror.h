/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel is the source of truth: this keeps a sl_fib equal to what the kernel of this network
 * namespace would do. Links, addresses, neighbours, routes (tables local, main, default, of IPv4
 * and IPv6), next-hop objects, policy rules and forwarding settings are dumped once, then followed
 * by events; after an overrun of the socket everything is dumped again and only what differs is
 * changed.
 *
 * One thread owns a mirror and its fib. rtnl.h parses the messages; this file decides what they
 * mean.
 */
#ifndef SL_MIRROR_H
#define SL_MIRROR_H

#include <stdbool.h>
#include <stdint.h>

#include "user/fib/fib.h"

struct sl_mirror;

/* What the mirror asks of whoever owns the ports. `ctx` is passed back. */
struct sl_mirror_ops {
	/*
	 * Is this netdev, which routes name, or the port below this VLAN, one that XDP transmits
	 * on?
	 */
	bool (*is_port)(void *ctx, uint32_t port_ifindex);
	/*
	 * Is it a remote port? 0: no; else one more than its VOQ of class 0 (sl_adj). Asked of
	 * those for which is_port says yes. NULL: there are none.
	 */
	uint16_t (*voq_plus1)(void *ctx, uint32_t port_ifindex);
	/*
	 * Is it a remote port that cannot be reached now? It is then taken for one without carrier,
	 * before the kernel has heard of that. Asked as voq_plus1. NULL: none is.
	 */
	bool (*is_cut)(void *ctx, uint32_t port_ifindex);
	/*
	 * How XDP treats packets entering at this L3 interface has changed (sl_port and sl_vlan).
	 */
	void (*port_set)(void *ctx, const struct sl_port *port, const struct sl_vlan_key *vlan);
	/* The L3 interface is gone. */
	void (*port_clear)(void *ctx, uint32_t l3_ifindex, const struct sl_vlan_key *vlan);
	/*
	 * A link appeared, changed in any way (an XDP program was taken off, say), or vanished
	 * (`present`).
	 */
	void (*link_event)(void *ctx, uint32_t ifindex, const char *name, bool present, bool up);
};

struct sl_mirror_stats {
	uint64_t links, addresses, neighbours, nexthop_objects, rules; /* now */
	uint64_t routes4, routes6;  /* in the kernel, in the mirrored tables, now */
	uint64_t events;	    /* netlink messages handled since start */
	uint64_t overruns, resyncs; /* ENOBUFS seen; full dumps made because of it */
	uint64_t resync_changes;    /* differences that resyncs found */
	uint64_t parse_errors;	    /* messages that made no sense; skipped */
	uint64_t neighbour_probes;  /* NTF_USE sent: resolution asked, or kept from going stale */
	bool synced;		    /* the first dump is complete */
	bool policy4, policy6;	    /* rules beyond the default ones: the kernel decides */
	size_t process_bytes;	    /* memory of this object */
};

/*
 * Open the netlink sockets, subscribe, then dump everything into fib. Returns with the fib
 * complete. fib and ops are borrowed until sl_mirror_close. 0 or -errno. Without CAP_NET_ADMIN it
 * follows, but the kernel refuses to resolve neighbours for it.
 */
int sl_mirror_open(struct sl_fib *fib, const struct sl_mirror_ops *ops, void *ctx,
		   struct sl_mirror **out);
void sl_mirror_close(struct sl_mirror *m); /* NULL is fine; leaves fib as it is */

/*
 * How many bytes of events may wait before some are lost and a resync repairs it; 64 MB at first. 0
 * or -errno.
 */
int sl_mirror_set_receive_buffer(struct sl_mirror *m, uint32_t bytes);

/* An epoll-able descriptor: readable when sl_mirror_poll has work (events, or a timer is due). */
int sl_mirror_fd(const struct sl_mirror *m);
/* Handle what is there, at most a bounded batch. 0 or -errno (the sockets are then dead). */
int sl_mirror_poll(struct sl_mirror *m);

/*
 * The set of ports changed, or which of them are cut: look again at every next hop, interface by
 * interface, in a time that does not depend on the number of routes. Within a callback of
 * sl_mirror_ops it takes effect before the poll ends (after sl_mirror_open: with the first poll).
 */
void sl_mirror_ports_changed(struct sl_mirror *m);

void sl_mirror_stats(const struct sl_mirror *m, struct sl_mirror_stats *out);

/*
 * --- Views, for `sluice show` and `sluice explain`. Strings are borrowed until the callback
 * returns. ---
 */

struct sl_route_view {
	struct sl_prefix prefix;
	uint32_t table, metric;
	uint8_t protocol; /* RTPROT_* */
	uint8_t type;	  /* RTN_* */
	uint32_t nexthop_id;
	bool installed; /* the one of its prefix that XDP uses */
};
struct sl_nexthop_view {
	uint32_t nexthop_id;
	uint32_t l3_ifindex; /* 0 for groups, punts and drops */
	uint8_t family;	     /* of the gateway; 0: on link or no gateway */
	uint8_t gateway[16];
	uint32_t weight;   /* within group_id, else 0 */
	uint32_t group_id; /* 0: not listed as a member */
	uint64_t routes;   /* that name it */
};
struct sl_neighbour_view {
	uint32_t l3_ifindex;
	uint8_t family;
	uint8_t addr[16];
	uint8_t mac[6];
	uint16_t state; /* NUD_* */
	bool in_use;	/* XDP sent through it in the last period, or a route needs it */
};
/* Each calls cb for every element until it returns non-zero, and returns that or 0. */
int sl_mirror_each_route(const struct sl_mirror *m, int (*cb)(void *, const struct sl_route_view *),
			 void *arg);
int sl_mirror_each_nexthop(const struct sl_mirror *m,
			   int (*cb)(void *, const struct sl_nexthop_view *), void *arg);
int sl_mirror_each_neighbour(const struct sl_mirror *m,
			     int (*cb)(void *, const struct sl_neighbour_view *), void *arg);

#endif
