/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One generation of the fast path: a program with its maps (datapath), the tables (fib), and what
 * fills them from the kernel (mirror). A new generation is filled beside the running one and then
 * replaces it on the ports, port by port, so no packet sees a table that is half full.
 */
#ifndef SL_GENERATION_H
#define SL_GENERATION_H

#include <stdbool.h>

#include "user/cluster/cluster.h"
#include "user/config/config.h"
#include "user/daemon/edge_ports.h"
#include "user/mirror/sync/netfilter_hooks.h"
#include "user/daemon/rule_lists.h"
#include "user/datapath/datapath.h"
#include "user/datapath/exact_flows.h"
#include "user/fib/fib.h"
#include "user/mirror/mirror.h"
#include "user/tables/table_hops.h"

struct sl_generation {
	struct sl_edge_ports *ports;	   /* borrowed from the router */
	struct sl_cluster *const *cluster; /* borrowed from the router; *cluster NULL: no cluster */
	struct sl_rule_lists *const *lists; /* borrowed from the router */
	bool is_active;			    /* its program is on the ports */
	struct sl_netfilter_hooks *hooks;   /* owned; NULL: this kernel does not tell of them */
	struct sl_datapath *datapath;	    /* owned, as the three below */
	struct sl_fib *fib;
	struct sl_mirror *mirror;
	struct sl_table_hops *table_hops;
	struct sl_exact_flow_sweep flow_sweep;
};

/*
 * Load a generation and fill it for the ports that are on; its program is on no port yet. previous,
 * or NULL, is the generation whose counters it shares. 0 or -errno; logged.
 */
int sl_generation_create(const struct sl_settings *settings, const char *object_path,
			 const struct sl_generation *previous, struct sl_edge_ports *ports,
			 struct sl_cluster *const *cluster, struct sl_rule_lists *const *lists,
			 struct sl_generation **out);
/* sl_own_set of the own elements that sluice-elements has written for this sluiced; 0: none. */
uint32_t sl_generation_own_set(const struct sl_settings *settings);
/* The kernel gets no more packets than the settings say. 0 or -errno; logged. */
int sl_generation_limit(struct sl_generation *g, const struct sl_settings *settings);
/* The lists have changed: give each L3 interface its own. */
void sl_generation_bind_lists(struct sl_generation *g);
/*
 * Put its program on the ports in place of the former one, then publish the pins. 0 or -errno: it
 * runs, but is not pinned; logged.
 */
int sl_generation_activate(struct sl_generation *g);
/*
 * Put programs with the own elements that sluice-elements has written on the ports; tables and
 * counters stay. 0, or -errno: nothing has changed; logged.
 */
int sl_generation_take_elements(struct sl_generation *g, const struct sl_settings *settings);
/* Programs stay on the ports. NULL is fine. */
void sl_generation_destroy(struct sl_generation *g);

#endif
