/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cluster control for those who ask: each system port as this node sees it, where a remote port is,
 * and whether it is cut off.
 */
#ifndef SL_CLUSTER_VIEW_H
#define SL_CLUSTER_VIEW_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/text/rate.h"

struct sl_cluster;

enum sl_system_port_state {
	SL_SYSTEM_PORT_UP,
	SL_SYSTEM_PORT_DOWN,	    /* its owner says so */
	SL_SYSTEM_PORT_ABSENT,	    /* of this node: there is no such netdev */
	SL_SYSTEM_PORT_UNREACHABLE, /* its owner is down, or no bridge runs here */
	SL_SYSTEM_PORT_UNKNOWN,	    /* its owner has announced nothing of it yet */
};
const char *sl_system_port_state_name(enum sl_system_port_state state);

struct sl_system_port_view {
	uint16_t system_port;
	bool local;	       /* a port of this node */
	const char *netdev;    /* borrowed: on its own node */
	char dev[IF_NAMESIZE]; /* by which this node sees it; "": none */
	enum sl_system_port_state state;
	uint8_t mac[6];
	uint32_t mtu_bytes; /* 0: that and the MAC address are not known */
	/* that it is shaped to, by this node's configuration; per_s 0: not */
	struct sl_rate rate;
};

/* Each edge port of each node, in the order of the configuration. */
void sl_cluster_each_system_port(const struct sl_cluster *c,
				 void (*each)(void *ctx, const struct sl_system_port_view *view),
				 void *ctx);

/* Where a remote port is, as far as packets to it are concerned. */
struct sl_remote_view {
	uint16_t system_port;
	const char *address; /* of its node, on the fabric; borrowed until the next reload */
	const char *peer;    /* "up", "down", or "unknown": the bridge has said nothing yet */
};
/* voq_plus1 as in sl_adj. False: there is no such remote port. */
bool sl_cluster_remote(const struct sl_cluster *c, uint16_t voq_plus1, struct sl_remote_view *view);

/*
 * Is it a remote port whose node does not answer, or has the bridge gone that led to it? Its
 * carrier goes for the same reason; but the kernel takes up to a second to notice. False while
 * nothing is known, after a start.
 */
bool sl_cluster_is_cut(const struct sl_cluster *c, uint32_t ifindex);
/* 0: no remote port; else as in sl_adj. */
uint16_t sl_cluster_voq_plus1(const struct sl_cluster *c, uint32_t ifindex);

#endif
