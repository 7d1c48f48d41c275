/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Remote ports: the persistent TAPs by which this node sees the system ports of others. The bridge
 * opens their queue and sets their carrier (user/ipc/relay.h).
 */
#ifndef SL_REMOTE_PORT_H
#define SL_REMOTE_PORT_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/rtnl/rtnl_request.h"
#include "user/config/sysport.h"

struct sl_remote_port {
	uint16_t system_port;
	uint16_t voq_plus1; /* of sl_adj */
	char name[IF_NAMESIZE];
	uint32_t ifindex; /* 0: it could not be made */
	bool refused;	  /* and that has been logged */
	/* As announced and set; MTU 0: nothing announced yet */
	uint8_t mac[6];
	uint32_t mtu_bytes;
	bool known; /* the owner has announced something of it: `up` means something */
	bool up;
};

/*
 * Make its netdev, or adopt the one that an earlier life made: no ARP, ND or router discovery of
 * its own, next hops through it are dead while it has no carrier, set up. *made: it was not there,
 * or another one was. 0; -EEXIST: a netdev of that name exists that is no persistent TAP of ours;
 * else as open(/dev/net/tun) and its ioctls. Failures are logged, once.
 */
int sl_remote_port_make(struct sl_remote_port *port, struct sl_rtnl_request *requests, bool *made);

/* MAC and MTU as announced. Failures are logged. */
void sl_remote_port_set(struct sl_remote_port *port, struct sl_rtnl_request *requests,
			const uint8_t mac[6], uint32_t mtu_bytes);

/* Is this netdev a remote port that some sluiced made? */
bool sl_remote_port_is_ours(const char *name);

#endif
