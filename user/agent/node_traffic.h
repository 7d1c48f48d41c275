/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is a node that is drained at rest, or what still uses its ports? Counted are frames that the fast
 * path took in by a port to send on, frames that left by a port, and packets that the kernel
 * forwarded. What ends at the node, or what it sends itself, is control traffic, and not counted:
 * sessions of BGP, BFD, ARP, neighbour discovery.
 */
#ifndef SL_NODE_TRAFFIC_H
#define SL_NODE_TRAFFIC_H

#include <jansson.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#define SL_TRAFFIC_REST_NS  3000000000ULL /* at rest: no packet for so long */
#define SL_TRAFFIC_EVERY_NS 1000000000ULL /* between two looks */
#define SL_TRAFFIC_PORTS    255

/* Counters at one time; each only grows, unless a daemon starts anew. */
struct sl_traffic_sample {
	uint64_t ns;
	uint64_t in, out, kernel;			     /* packets, as above */
	uint64_t rx[SL_TRAFFIC_PORTS], tx[SL_TRAFFIC_PORTS]; /* of netdevs: all that pass them */
};

struct sl_node_traffic {
	uint64_t sum; /* of the file that was read for the fields below; 0: none was */
	bool drained;
	uint32_t n_ports;
	char ports[SL_TRAFFIC_PORTS][IF_NAMESIZE];
	char bridge[128], daemon[128]; /* control sockets */

	struct sl_traffic_sample last;
	uint64_t looked_ns, moved_ns; /* moved_ns: a packet came, or the first sample */
	json_t *row;		      /* owned; NULL: not drained */
};

/*
 * Look, at most once in SL_TRAFFIC_EVERY_NS, at the daemons of the node whose file is at path, of
 * that sum. True: traffic->row is another one than before.
 */
bool sl_node_traffic_look(struct sl_node_traffic *traffic, const char *path, uint64_t sum);
void sl_node_traffic_fini(struct sl_node_traffic *traffic);

/*
 * What two samples tell: {"at_rest", "in_pps", "out_pps", "kernel_pps", "ports": [{"port",
 * "rx_pps", "tx_pps"}]}, with the ports that passed any packet; a new reference. Takes the sample
 * as the last one.
 */
json_t *sl_node_traffic_take(struct sl_node_traffic *traffic,
			     const struct sl_traffic_sample *sample);

#endif
