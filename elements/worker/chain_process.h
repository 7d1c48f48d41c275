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
#include "elements/signal/signals.h"

#define EL_SIGNALLED_MAX 16u
/* Places of chains: those of the file, then those of signals; flow EL_FLOWS_GLOBAL + place. */
#define EL_PLACES (EL_CHAINS_MAX + EL_SIGNALLED_MAX)
_Static_assert(EL_PLACES <= EL_WORKER_CHAINS, "each chain is a flow of the worker");

/* What part of the processor `rate` may not have, so that input and output go on. */
#define EL_RESERVE_PPB	 200000000u
#define EL_RATES_PERCENT ((EL_PPB_ALL - EL_RESERVE_PPB) / (EL_PPB_ALL / 100)) /* of all chains */

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
	const char *sluiced;   /* its control socket */
	const char *signals;   /* the keys of signals; NULL: there are none, and nobody listens */
};

/* A chain that a signal has set up. */
struct el_signalled {
	struct el_chains chains;       /* owned: it; none: the place is free */
	struct el_chains next;	       /* owned: the same, between prepare and commit */
	char key[EL_SIGNAL_KEY_BYTES]; /* whose it is */
	char *text;		       /* owned */
	uint32_t text_bytes;
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
	struct el_chains chains;			 /* owned: places 0.. */
	struct el_signalled signalled[EL_SIGNALLED_MAX]; /* places EL_CHAINS_MAX.. */
	uint32_t weights[EL_PLACES];
	struct el_signals *signals;		  /* owned; NULL: nobody listens */
	struct el_signal_sockets *signal_sockets; /* owned; NULL: the same */
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
 * Read the file again, and put its chains in the place of those of the file. Chains of signals end
 * that are not `allowed` (EL_SIGNALLED_MAX) or whose name the file has. 0 or -errno; logged; then
 * the chains stay as they were.
 */
int el_process_reload(struct el_process *p, const bool *allowed);
/* The chain in a place, or NULL. */
struct el_graph *el_process_chain(struct el_process *p, uint32_t place);
/* The place of the chain of that name, or EL_NONE. */
uint32_t el_process_find(struct el_process *p, const char *name);

/* --- For signals, which change single chains --- */

/*
 * The weights of the chains of a file and of `signalled` (EL_SIGNALLED_MAX, NULL: none), by their
 * places. 0; -ENOSPC: their rates are more than EL_RATES_PERCENT together, and weights are as they
 * were.
 */
int el_process_plan(const struct el_chains *chains, const struct el_graph *const *signalled,
		    uint32_t weights[EL_PLACES]);
/* Put such weights in force. */
void el_process_weigh(struct el_process *p, const uint32_t weights[EL_PLACES]);
/* Let packets into the chain in a place; no more, and those that wait in it are `closed`. */
void el_process_begin(struct el_process *p, uint32_t place);
void el_process_end(struct el_process *p, uint32_t place);
/* End a chain of a signal, whose place is free then. */
void el_process_remove(struct el_process *p, uint32_t place);
/*
 * Put `next` in the place of a chain, with what waits at its input; the other packets in it are
 * `closed`. next becomes the former one.
 */
void el_process_replace(struct el_process *p, uint32_t place, struct el_graph *next);

/* Serve until nothing is left to do, at most for some milliseconds. True: there is more. */
bool el_process_serve(struct el_process *p);

#endif
