/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel decides, the mirror follows: it keeps a sl_fib equal to what the kernel of this
 * network namespace would do. It dumps links, addresses, neighbours, routes (tables local, main,
 * default, of IPv4 and IPv6), next-hop objects, policy rules and forwarding settings once, then
 * follows the kernel's events. After an overrun of the event socket it dumps everything again, and
 * changes only what differs.
 *
 * One thread owns a mirror and its fib. rtnl.h parses the messages; this folder decides what they
 * mean.
 */
#ifndef SL_MIRROR_H
#define SL_MIRROR_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/l3_port.h"
#include "user/fib/fib.h"
#include "user/rtnl/filters.h"

struct sl_mirror;

/* Calls of the mirror to the owner of the ports. Each call passes `ctx` back. */
struct sl_mirror_ops {
	/* Does XDP transmit on this netdev? Routes name it, or a VLAN on it. */
	bool (*is_port)(void *ctx, uint32_t port_ifindex);
	/*
	 * Set `remote` and `voq_plus1` of an adjacency on this port, which is_port accepts. NULL:
	 * no port is remote or has queues.
	 */
	void (*queues)(void *ctx, uint32_t port_ifindex, struct sl_adj *adj);
	/*
	 * Is the port remote and out of reach now? The mirror then treats it as one without
	 * carrier, even before the kernel does. It asks only about netdevs that is_port accepts.
	 * NULL: no port is.
	 */
	bool (*is_cut)(void *ctx, uint32_t port_ifindex);
	/* How XDP must treat packets that enter at this L3 interface from now on. */
	void (*port_set)(void *ctx, const struct sl_port *port, const struct sl_vlan_key *vlan);
	/* The L3 interface is gone, is on no port any more, or gets another sl_vlan next. */
	void (*port_clear)(void *ctx, uint32_t l3_ifindex, const struct sl_vlan_key *vlan);
	/*
	 * A link appeared, changed in any way (it lost its XDP program, say), or vanished
	 * (`present` is false).
	 */
	void (*link_event)(void *ctx, uint32_t ifindex, const char *name, bool present, bool up);
	/*
	 * The families (SL_FILTER_*) for which netfilter runs functions on forwarded packets beside
	 * nftables, and the name of one. The mirror asks once a second. NULL: none.
	 */
	int (*netfilter_hooks)(void *ctx, char name[SL_FILTER_NAME_BYTES]);
};

struct sl_mirror_stats {
	uint64_t links, addresses, neighbours, nexthop_objects, rules; /* now */
	uint64_t routes4, routes6;  /* in the mirrored tables of the kernel, now */
	uint64_t events;	    /* netlink messages handled since start */
	uint64_t overruns, resyncs; /* ENOBUFS seen; full dumps made because of it */
	uint64_t resync_changes;    /* differences that resyncs found */
	uint64_t parse_errors;	    /* messages that made no sense; skipped */
	uint64_t neighbour_probes;  /* NTF_USE sent: resolution asked, or kept from going stale */
	bool synced;		    /* the first dump is complete */
	/*
	 * Memory ran out, so something of the kernel is missing here. The kernel gets all packets
	 * until another dump has found room for everything.
	 */
	bool starved;
	bool use_pmtu;	       /* ip_forward_use_pmtu: the kernel decides about IPv4 */
	bool policy4, policy6; /* rules beyond the default ones: the kernel decides */
	/* IPsec policies, or netfilter's rules for what is forwarded, exist: the kernel decides */
	bool xfrm4, xfrm6, netfilter4, netfilter6;
	char xfrm[SL_FILTER_NAME_BYTES], netfilter[SL_FILTER_NAME_BYTES]; /* one of them */
	size_t process_bytes; /* memory of this object */
};

/*
 * Open the netlink sockets, subscribe, then dump everything into fib. Returns with the fib
 * complete. fib and ops are borrowed until sl_mirror_close. 0 or -errno. Without CAP_NET_ADMIN the
 * mirror follows, but the kernel refuses to resolve neighbours for it.
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
/*
 * Handle the events that wait and the timers that are due, a bounded number of both. 0, or -errno:
 * the sockets are dead.
 */
int sl_mirror_poll(struct sl_mirror *m);

/* Once a second: look for filters and settings of which the kernel sends no message. */
void sl_mirror_tick(struct sl_mirror *m);

/*
 * Forward although netfilter has rules for forwarded packets: the operator says that they may be
 * bypassed. Without this call the kernel gets all packets of a family for which it has any.
 */
void sl_mirror_ignore_netfilter(struct sl_mirror *m, bool ignore);

/*
 * The set of ports changed, or which of them are cut: update every next hop, interface by
 * interface, in a time that does not depend on the number of routes. Called from a callback of
 * sl_mirror_ops, it takes effect before the poll ends; from one within sl_mirror_open, with the
 * first poll.
 */
void sl_mirror_ports_changed(struct sl_mirror *m);

void sl_mirror_stats(const struct sl_mirror *m, struct sl_mirror_stats *out);

struct sl_hop;
/*
 * Keep a next hop for the neighbour `addr` behind the L3 interface although no route names it;
 * mtu_family is that of the packets. *id is its next-hop id until the release. The kernel is asked
 * to resolve it, and again, as for the hops of routes. NULL: not enough memory or no free id; try
 * later.
 */
struct sl_hop *sl_mirror_hop_hold(struct sl_mirror *m, uint32_t ifindex, uint8_t mtu_family,
				  uint8_t family, const uint8_t addr[16], uint32_t *id);
void sl_mirror_hop_release(struct sl_mirror *m, struct sl_hop *hop);

/* --- Views, for `sluice show` and `sluice explain` --- */

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
