/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cluster control of one node: announces this node's ports, addresses and neighbours to the peers,
 * and gives the kernel what they announce: remote ports with MAC and MTU, their connected prefixes
 * as routes `proto sluice`, their neighbours as permanent, externally learnt ones. Soft state: a
 * node's whole state is sent every second and at once after a change.
 *
 * - A peer's state stays in the kernel while the peer is down: its remote ports have no carrier, so
 *   next hops through them are dead; after SL_CLUSTER_EXPIRY_S it is removed.
 * - What the kernel cannot resolve on a remote port is asked of the owner, whose kernel resolves it
 *   and whose next announcement names it. Neighbours in use are asked for every
 *   SL_CLUSTER_REFRESH_S, so that the owner keeps them, although its own kernel sends nothing to
 *   them.
 * - The addresses of a remote port itself are reached over the fabric's netdev, by the kernels.
 *
 * One thread owns it.
 */
#ifndef SL_CLUSTER_H
#define SL_CLUSTER_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/config/config_cluster.h"
#include "user/mirror/mirror.h"

#define SL_CLUSTER_REPEAT_MS   1000 /* between announcements without a change */
#define SL_CLUSTER_COALESCE_MS 5    /* after a change, for others that come with it */
#define SL_CLUSTER_EXPIRY_S    60   /* a peer's state after it went down */
#define SL_CLUSTER_REFRESH_S \
	10 /* neighbours in use; and what the kernel has lost is given to it again */

struct sl_cluster;

/* What cluster control asks of the router. */
struct sl_cluster_ops {
	/*
	 * A remote port was made: the mirror has to look at its next hops again. May be called
	 * within open.
	 */
	void (*ports_changed)(void *ctx);
	/*
	 * Remote ports are cut off, or no more (sl_cluster_is_cut): the fast path shall know at
	 * once. Never within open.
	 */
	void (*cuts_changed)(void *ctx);
	/* Now; NULL: there is none yet. */
	const struct sl_mirror *(*mirror)(void *ctx);
};

/*
 * Make the remote ports, adopt what an earlier life left and remove what is configured no longer.
 * settings and ops are borrowed until sl_cluster_close. 0 or -errno; logged.
 */
int sl_cluster_open(const struct sl_cluster_settings *settings, const struct sl_cluster_ops *ops,
		    void *ctx, struct sl_cluster **out);
/* Let go: the remote ports and what leads to them stay. NULL is fine. */
void sl_cluster_close(struct sl_cluster *c);
/* Remove remote ports, routes and neighbours from the kernel. */
void sl_cluster_remove_all(struct sl_cluster *c);

/* An epoll-able descriptor, readable when sl_cluster_poll has work; for the life of c. */
int sl_cluster_fd(const struct sl_cluster *c);
/* Handle what is there, a bounded batch. 0 or -errno: it can go on no longer. */
int sl_cluster_poll(struct sl_cluster *c);

/* --- For those who show things --- */

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
