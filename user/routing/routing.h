/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The configuration of a routing daemon on one node, from the configuration of the cluster. The
 * nodes are routers of one AS: sessions of iBGP between their addresses on the fabric carry the
 * routes of neighbours outside, with the next hop that the neighbour announced. This lies in the
 * prefix of a port, and a static route says by which netdev: that of the port on its own node, the
 * remote port nNpP on all others. A remote port that loses carrier so takes its next hops with it.
 */
#ifndef SL_ROUTING_H
#define SL_ROUTING_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "user/config/config.h"
#include "user/text/prefix.h"

/* With more nodes than these, and unless told otherwise, the first two reflect routes. */
#define SL_ROUTING_MESH_MAX   16
#define SL_ROUTING_REFLECTORS 2
#define SL_ROUTING_AS_DEFAULT 65000 /* of those for private use (RFC 6996) */
#define SL_ROUTING_NODES      256
#define SL_ROUTING_ECMP_WAYS  16
#define SL_ROUTING_NETLINK_BYTES                                         \
	67108864 /* takes the messages about a table of a million routes \
		  */

struct sl_routing {
	const struct sl_settings *settings; /* borrowed */
	const struct sl_cluster_node *self; /* borrowed from settings: the node that shall run it */
	uint32_t as;			    /* the AS of the cluster */
	bool has_reflectors;		    /* false: full mesh */
	bool reflects[SL_ROUTING_NODES];    /* by node id */
};

/* What a node is to another one. */
enum sl_routing_session {
	SL_ROUTING_NONE,      /* no session: both are clients */
	SL_ROUTING_MESH,      /* of equals: each tells what it has from outside */
	SL_ROUTING_CLIENT,    /* the other one is a client of this node */
	SL_ROUTING_REFLECTOR, /* the other one reflects for this node */
};

/* Choose the reflectors where none is given. */
void sl_routing_choose_reflectors(struct sl_routing *routing);
enum sl_routing_session sl_routing_session(const struct sl_routing *routing,
					   const struct sl_cluster_node *other);
/* Is there a session of this kind? */
bool sl_routing_has_session(const struct sl_routing *routing, enum sl_routing_session session);

/* Call this for each address of the family at the ports of all other nodes. */
typedef void (*sl_routing_remote_fn)(FILE *out, const char *prefix, const char *netdev);
void sl_routing_each_remote(const struct sl_routing *routing, uint8_t family, FILE *out,
			    sl_routing_remote_fn print);
/* This node's first address of the family, as text; false: it has none. */
bool sl_routing_source(const struct sl_routing *routing, uint8_t family,
		       char text[SL_PREFIX_STRLEN]);
/* The address of the node on the fabric if it is IPv4, else 0.0.0.ID. */
void sl_routing_router_id(const struct sl_routing *routing, char text[SL_PREFIX_STRLEN]);
/* Lines that say what this is, each after the comment sign: command is `--bird` or `--frr`. */
void sl_routing_print_head(const struct sl_routing *routing, FILE *out, const char *sign,
			   const char *daemon, const char *command);

void sl_routing_print_bird(const struct sl_routing *routing, FILE *out);
void sl_routing_print_frr(const struct sl_routing *routing, FILE *out);

#endif
