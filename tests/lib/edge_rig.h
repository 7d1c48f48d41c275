/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sl_edge under test: loaded from build/, unpinned, in a network namespace of the process's own,
 * with tables written by user/fib/fib.h, and run on one frame at a time.
 *
 * The namespace has veth pairs p1/q1 to p4/q4; pN has ifindex EDGE_PORT(N), the MAC
 * 02:00:00:00:00:0b for p1, ..:0c for p2 and so on, and an MTU of 9000.
 */
#ifndef TEST_EDGE_RIG_H
#define TEST_EDGE_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/reasons.h"
#include "user/fib/fib.h"

#define EDGE_PORTS   4
#define EDGE_QUEUES  2u /* of each port */
#define EDGE_PORT(n) (10u + (n))
#define EDGE_PEER(n) (20u + (n))

struct bpf_object;

struct edge {
	struct bpf_object *object; /* owned */
	const char *program;	   /* what edge_run runs: "sl_edge" or "sl_edge_frags" */
	struct sl_fib_tables tables;
	struct sl_fib *fib; /* owned; NULL with the kernel engine */
	uint8_t filter;	    /* rule list that edge_set_port gives an interface, as in sl_port */
};

#define EDGE_IFINDEXES 32 /* those of ports are below */

struct edge_counters {
	struct sl_counter stats[SL_STAT_COUNT];
	struct sl_counter drops[SL_DROP_COUNT];
	struct sl_counter punts[SL_PUNT_COUNT];
	struct sl_counter port_drops[EDGE_IFINDEXES]; /* by the ifindex where frames entered */
};

/*
 * Move the process to a new network namespace with the ports in it. 0 or -errno. Once per process.
 */
int edge_enter_namespace(void);

/* Load. 0 or -errno, with libbpf's own message on stderr. */
int edge_create(const struct sl_config *config, struct edge **out);
/* The same with one program, and without the rest. */
int edge_create_only(const struct sl_config *config, const char *program, struct edge **out);
/* From now on: with the function of an own element in slot 0, of the object build/NAME.bpf.o. */
void edge_link(const char *name);
#define EDGE_OWN_SET 1u		      /* the sl_own_set of its sl_edge */
void edge_destroy(struct edge *edge); /* NULL is fine */

int edge_map_fd(const struct edge *edge, const char *name);
int edge_program_fd(const struct edge *edge);

/*
 * Make `ifindex` an L3 interface with SL_PORT_* flags: port n by its number, or a VLAN on port 1.
 */
int edge_set_port(const struct edge *edge, uint32_t ifindex, uint64_t mac, uint32_t flags);
int edge_set_tx(const struct edge *edge, uint32_t ifindex);
/*
 * Frames with these tags (outer first, n of them) that enter at `port` belong to L3 interface `l3`.
 */
int edge_set_vlan(const struct edge *edge, uint32_t port, uint32_t n, const uint16_t *tpid,
		  const uint16_t *vid, uint32_t l3);

/* "10.2.0.0/16" or "2001:db8::/32" -> next hop */
int edge_route(const struct edge *edge, const char *prefix, uint32_t nexthop_id);

/*
 * One frame through the program, entering at `ifindex`. out, of FRAME_MAX_BYTES, gets what it is
 * afterwards. Returns the XDP action, or -errno.
 */
int edge_run(const struct edge *edge, uint32_t ifindex, const uint8_t *frame, uint32_t len,
	     uint8_t *out, uint32_t *out_len);

void edge_read_counters(const struct edge *edge, struct edge_counters *out);
/* after -= before */
void edge_subtract_counters(struct edge_counters *after, const struct edge_counters *before);

#endif
