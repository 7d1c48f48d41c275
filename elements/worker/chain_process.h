/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What sluice-elements is made of: the port, the chains of the file, and the worker that runs them.
 * A packet whose chain the file does not have ends here, counted.
 */
#ifndef EL_CHAIN_PROCESS_H
#define EL_CHAIN_PROCESS_H

#include "elements/graph/chain_worker.h"
#include "elements/graph/graph_text.h"
#include "elements/install/installed.h"
#include "elements/worker/chain_port.h"
#include "elements/worker/fast_chains.h"

/* What part of the processor `rate` may not have, so that input and output go on. */
#define EL_RESERVE_PPB 200000000u

struct el_process_counters {
	uint64_t no_chain;  /* of a chain that the file does not have */
	uint64_t malformed; /* no frame of a chain, or no whole IP packet in it */
	uint64_t closed;    /* waited, when their chain was replaced */
	uint64_t refused;   /* by a chain whose input was full, of chains that were replaced */
};

/* Where things are; borrowed until el_process_close. */
struct el_paths {
	const char *chains;    /* the file of chains */
	const char *keys_dir;  /* whose elements may be installed */
	const char *store_dir; /* those that are */
	const char *pin_dir;   /* the maps of sluiced */
};

struct el_process {
	struct el_paths paths;
	struct el_installed installed;
	char *text; /* owned: the chains in force */
	size_t text_bytes;
	struct el_chains next; /* owned: between prepare and commit */
	const char *changed;   /* borrowed in that time: the class that differs */
	struct el_chain_netdevs netdevs;
	struct el_port *port; /* owned */
	struct el_worker worker;
	struct el_fast fast;
	struct el_chains chains; /* owned; flow EL_FLOWS_GLOBAL + i is that of chain i */
	uint32_t weights[EL_CHAINS_MAX];
	struct el_process_counters counters;
	uint64_t started_ns, idle_ns;
};

/* Read the file, and no more. 0 or -errno; logged. -EINVAL: it is wrong. */
int el_process_check(const struct el_paths *paths);
/* The same, and begin. */
int el_process_open(const struct el_paths *paths, struct el_process **out);
/* The netdevs go with it. NULL is fine. */
void el_process_close(struct el_process *p);
/*
 * Read the file again, and put its chains in the place of all. 0 or -errno; logged; then the
 * chains stay as they were.
 */
int el_process_reload(struct el_process *p);
/* Serve until nothing is left to do, at most for some milliseconds. True: there is more. */
bool el_process_serve(struct el_process *p);

#endif
