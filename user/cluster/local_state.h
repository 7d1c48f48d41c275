/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state that this node announces: its ports, their addresses and the neighbours resolved on
 * them, as its kernel has them now. Each reading reads everything, so nothing can drift.
 */
#ifndef SL_LOCAL_STATE_H
#define SL_LOCAL_STATE_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/ipc/announce.h"
#include "user/text/prefix.h"
#include "user/cluster/remote_state.h"
#include "user/rtnl/rtnl_socket.h"

struct sl_local_port {
	uint16_t system_port;
	char name[IF_NAMESIZE];
	uint64_t rate_bps; /* to which it is shaped; 0: it is not */
	uint32_t ifindex;  /* 0: absent; as last read */
	bool up;	   /* as last read */
	bool fell;	   /* an event has shown it down since; the reader of events sets this */
};

/*
 * A neighbour that the kernel forgot because its port went down. This node goes on announcing it,
 * so that the others can send to it as soon as the port returns. Then this node asks its kernel to
 * resolve the neighbour, and announces the kernel's result.
 */
struct sl_held_neighbour {
	struct sl_announce_record record;
	bool asked;   /* the port is up again, and the kernel was asked to resolve it */
	bool pending; /* the reading that is under way shows that the kernel has not finished */
};

#define SL_LOCAL_TOLD_MAX 64

struct sl_local_state {
	struct sl_local_port *ports; /* owned */
	uint32_t n_ports;
	struct sl_announce_record *records; /* owned; as last read, sorted */
	uint32_t n;
	struct sl_held_neighbour *held; /* owned; each is in records, too */
	uint32_t n_held;
	/*
	 * What announcements of others are judged by. Sources: the first address of the lowest port
	 * that has one.
	 */
	struct sl_remote_here here;
	uint32_t here_changes;	  /* counts changes of `here`; 0: nothing has been read yet */
	char fabric[IF_NAMESIZE]; /* netdev of the fabric */
	struct sl_prefix *nodes;  /* owned; addresses of all nodes on the fabric */
	uint32_t n_nodes;
	uint32_t told[SL_LOCAL_TOLD_MAX],
		n_told; /* VLAN netdevs that the log has already named as not announced */
};

/*
 * Read it from the kernel. 1: the records or `here` have changed; 0: they have not; -errno:
 * they are as before (-EINTR: something changed during the reading; read again).
 */
int sl_local_read(struct sl_local_state *local, struct sl_rtnl_socket *requests);
void sl_local_free(struct sl_local_state *local);

struct sl_local_port *sl_local_port_by_ifindex(const struct sl_local_state *local,
					       uint32_t ifindex); /* or NULL */
const struct sl_local_port *sl_local_port_by_number(const struct sl_local_state *local,
						    uint16_t system_port); /* or NULL */
/* Is there a permanent neighbour with the port, family and address of this record? */
bool sl_local_neighbour_is_fixed(const struct sl_local_state *local,
				 const struct sl_announce_record *of);

#endif
