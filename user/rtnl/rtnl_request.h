/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ask the kernel by rtnetlink to change links, routes and neighbours, one change at a time. Each
 * call waits for the answer and returns it: 0 or -errno. Not thread-safe.
 */
#ifndef SL_RTNL_REQUEST_H
#define SL_RTNL_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "user/text/prefix.h"

/*
 * The protocol number of our routes: `proto sluice`, by dist/rt_protos.conf. The lists of iproute2,
 * BIRD and FRR do not use it.
 */
#define SL_RTPROT 164
/* Their metric: a route of an operator or a routing daemon for the same prefix goes first. */
#define SL_RTMETRIC 2048

struct sl_rtnl_request;

int sl_rtnl_request_open(struct sl_rtnl_request **out);
void sl_rtnl_request_close(struct sl_rtnl_request *r); /* NULL is fine */

/* Changes of a link; a field that is 0 or NULL changes nothing. */
struct sl_link_change {
	const uint8_t *mac; /* 6 bytes */
	uint32_t mtu_bytes;
	const char *alias;
	bool up; /* true: set it up */
};
int sl_rtnl_link_change(struct sl_rtnl_request *r, uint32_t ifindex,
			const struct sl_link_change *change);
/* A veth, both ends in this network namespace. -EEXIST: a netdev of either name is there. */
int sl_rtnl_veth_add(struct sl_rtnl_request *r, const char *name, const char *peer);
int sl_rtnl_link_delete(struct sl_rtnl_request *r, uint32_t ifindex);

/* A route of ours, in table main, with the metric of a connected one. */
struct sl_own_route {
	struct sl_prefix prefix;
	uint32_t ifindex;	/* 0: by the gateway */
	uint8_t gateway_family; /* 0: on link */
	uint8_t gateway[16];
	bool has_source;
	uint8_t source[16];
};
/* -EEXIST: a route of this prefix and metric is there, and stays. */
int sl_rtnl_route_add(struct sl_rtnl_request *r, const struct sl_own_route *route);
/* -ESRCH: it is not there. Deletes only a route that has our protocol number. */
int sl_rtnl_route_delete(struct sl_rtnl_request *r, const struct sl_own_route *route,
			 uint32_t metric);

/*
 * A neighbour that another node has resolved: permanent, externally learnt. Replaces an entry of
 * that address.
 */
int sl_rtnl_neigh_set(struct sl_rtnl_request *r, uint32_t ifindex, uint8_t family,
		      const uint8_t *addr, const uint8_t mac[6]);
/* -ENOENT: it is not there. */
int sl_rtnl_neigh_delete(struct sl_rtnl_request *r, uint32_t ifindex, uint8_t family,
			 const uint8_t *addr);

/*
 * Have the kernel resolve the neighbour to which it would send a packet for this address: the host
 * itself if it is on a link, else the gateway. -ENETUNREACH or -EHOSTUNREACH: there is no route.
 */
int sl_rtnl_neigh_resolve(struct sl_rtnl_request *r, uint8_t family, const uint8_t *addr);

#endif
