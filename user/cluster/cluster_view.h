/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Views of cluster control: each system port as this node sees it, where a remote port is, and
 * whether it is cut off.
 */
#ifndef SL_CLUSTER_VIEW_H
#define SL_CLUSTER_VIEW_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/cluster/remote_state.h"
#include "user/text/rate.h"

struct sl_cluster;

enum sl_system_port_state {
	SL_SYSTEM_PORT_UP,
	SL_SYSTEM_PORT_DOWN,	    /* its owner says so */
	SL_SYSTEM_PORT_ABSENT,	    /* a port of this node: there is no such netdev */
	SL_SYSTEM_PORT_UNREACHABLE, /* its owner is down, or no bridge runs here */
	SL_SYSTEM_PORT_UNKNOWN,	    /* its owner has announced nothing of it yet */
};
const char *sl_system_port_state_name(enum sl_system_port_state state);

struct sl_system_port_view {
	uint16_t system_port;
	bool local;	       /* a port of this node */
	const char *netdev;    /* borrowed; its name on its own node */
	char dev[IF_NAMESIZE]; /* its name on this node; "": none */
	enum sl_system_port_state state;
	uint8_t mac[6];
	uint32_t mtu_bytes; /* 0: MTU and MAC address are not known */
	/* to which it is shaped, by this node's configuration; per_s 0: it is not */
	struct sl_rate rate;
	/*
	 * Announced routes and neighbours of a remote port that this node refused, by enum
	 * sl_remote_refusal, and the first of them
	 */
	uint32_t n_refused, refused_by[SL_REMOTE_REFUSAL_COUNT];
	struct sl_prefix refused_prefix;
	enum sl_remote_refusal refused_why;
};

/* Each edge port of each node, in the order of the configuration. */
void sl_cluster_each_system_port(const struct sl_cluster *c,
				 void (*each)(void *ctx, const struct sl_system_port_view *view),
				 void *ctx);

/* Where packets to a remote port go. */
struct sl_remote_view {
	uint16_t system_port;
	const char *address; /* of its node on the fabric; borrowed until the next reload */
	const char *peer;    /* "up", "down", or "unknown": the bridge has said nothing yet */
};
/* voq_plus1 as in sl_adj. False: there is no such remote port. */
bool sl_cluster_remote(const struct sl_cluster *c, uint16_t voq_plus1, struct sl_remote_view *view);

/*
 * Is this a remote port that packets cannot reach, because its node does not answer or this node's
 * bridge is gone? Such a port loses its carrier, too, but the kernel may take a second to notice
 * that. False after a start, while nothing is known yet.
 */
bool sl_cluster_is_cut(const struct sl_cluster *c, uint32_t ifindex);
/* As in sl_adj; 0: it is no remote port. */
uint16_t sl_cluster_voq_plus1(const struct sl_cluster *c, uint32_t ifindex);
/* The same for port `number` of this node; 0: what leaves by it waits in no queue. */
uint16_t sl_cluster_own_voq_plus1(const struct sl_cluster *c, uint8_t number);

#endif
