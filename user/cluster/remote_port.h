/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote ports: the persistent TAPs that stand for the system ports of other nodes. The bridge
 * opens their queue and sets their carrier (user/ipc/relay.h).
 */
#ifndef SL_REMOTE_PORT_H
#define SL_REMOTE_PORT_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/cluster/remote_state.h"
#include "user/config/sysport.h"
#include "user/rtnl/rtnl_request.h"

struct sl_remote_port {
	uint16_t system_port;
	uint16_t voq_plus1; /* of sl_adj */
	char name[IF_NAMESIZE];
	uint32_t ifindex; /* 0: there is none; it could not be made */
	bool refused;	  /* the failure has been logged */
	/* As announced, and set on the TAP; MTU 0: nothing is announced yet */
	uint8_t mac[6];
	uint32_t mtu_bytes;
	bool known; /* the owner has announced the port, or left it out: `up` has a meaning */
	bool up;
	/* Of the owner's newest generation, what the kernel did not get, by reason, and the first
	 */
	uint32_t n_refused, refused_by[SL_REMOTE_REFUSAL_COUNT];
	struct sl_prefix refused_prefix;
	enum sl_remote_refusal refused_why;
};

/*
 * Make its netdev, or adopt the one that an earlier life made, and set it up. It does no ARP, ND or
 * router discovery of its own, and next hops through it are dead while it has no carrier. *made:
 * the netdev is new to this struct. 0; -EEXIST: another netdev has that name; else as
 * open(/dev/net/tun) and its ioctls. A failure is logged, once.
 */
int sl_remote_port_make(struct sl_remote_port *port, struct sl_rtnl_request *requests, bool *made);

/* Set MAC and MTU as announced. A failure is logged. */
void sl_remote_port_set(struct sl_remote_port *port, struct sl_rtnl_request *requests,
			const uint8_t mac[6], uint32_t mtu_bytes);

/* Is this netdev a remote port that some sluiced made? */
bool sl_remote_port_is_ours(const char *name);

#endif
