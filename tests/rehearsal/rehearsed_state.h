/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of a node of the rehearsal, which its parts and what stands for its kernel share. */
#ifndef REHEARSED_STATE_H
#define REHEARSED_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "rdma-bridge/join/join.h"
#include "rdma-bridge/transport/mem.h"
#include "rdma-bridge/worker/worker.h"
#include "user/cluster/cluster_state.h"

#define REHEARSED_PORTS 4 /* of each node, numbers 1 to 4 */
#define REHEARSED_HOSTS 2 /* behind each port, one of either family */
#define REHEARSED_JOIN	4792
#define REHEARSED_MS	1000000ULL
#define REHEARSED_MTU	1500
/* An announced port means so many changes of a kernel: two routes of prefixes, one to an address.
 */
#define REHEARSED_ENTRIES 5

/* Messages of the relay that one end has not read yet. */
struct rehearsed_relay {
	uint8_t *bytes; /* owned; each message after its length */
	size_t first, n_bytes, room;
};

struct rehearsed_node {
	uint8_t id;
	bool runs;
	uint32_t epoch;

	uint8_t *area; /* owned: memory of chunks */
	struct rb_chunks *chunks;
	struct rb_transport *transport;
	struct rb_worker *worker;
	struct rb_join *join;
	uint8_t told[256]; /* states of peers, as the daemon was told last */

	struct rehearsed_relay to_daemon, to_bridge;
	bool connected; /* the daemon has, and has not been told of any peer */

	struct sl_cluster_settings settings; /* its lists are borrowed from the file's */
	struct sl_cluster *cluster;
	int relay_fd, event_fd; /* never readable: there to be watched */

	/* Its kernel: what it has at its ports, and what it was asked to do. */
	bool port_up[REHEARSED_PORTS + 1]; /* by number */
	uint32_t further_hosts;		   /* behind port 2 */
	bool changed;			   /* and the daemon has not read it yet */
	bool event;			   /* and has not heard that there is something to read */
	uint64_t changes;		   /* of routes and neighbours */
	uint64_t syncs;			   /* questions about a link, to have it looked at */
};

#endif
