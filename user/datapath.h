/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One generation of the fast path: the BPF object loaded with its maps, the ports it is attached to, the
 * pins that outlive the process. The only file that includes libbpf for loading.
 *
 * A daemon that starts, or changes its engine, builds a new generation beside the running one,
 * fills it, and then replaces the program on each port in one step: packets see the old tables or the new
 * ones, none is lost. Counters are one pinned set that all generations share.
 *
 *   open -> (fib, mirror fill the tables) -> attach each port -> publish pins ... -> close
 */
#ifndef SL_DATAPATH_H
#define SL_DATAPATH_H

#include <stdbool.h>
#include <stdint.h>

#include "user/fib.h"

struct sl_datapath;

struct sl_datapath_params {
	const char *object_path; /* sluice.bpf.o */
	const char *pin_dir;	 /* e.g. /sys/fs/bpf/sluice; NULL: pin nothing (tests) */
	struct sl_config config; /* engine, seed, ... */
	/* sizes; 0 means the default of bpf/sluice.h */
	uint32_t n_nexthop, n_adj, n_group, n_tbl8, n_tbl6, n_fib4, n_fib6;
};

/* Load, reuse the pinned counters if there are any, mmap the tables. Nothing is attached or replaced yet. */
int sl_datapath_open(const struct sl_datapath_params *params, struct sl_datapath **out);
/* Let go of it; what is attached and pinned stays and goes on forwarding. NULL is fine. */
void sl_datapath_close(struct sl_datapath *dp);

/* The tables to hand to sl_fib_create; borrowed until sl_datapath_close. */
const struct sl_fib_tables *sl_datapath_tables(const struct sl_datapath *dp);
int sl_datapath_prog_fd(const struct sl_datapath *dp);
int sl_datapath_map_fd(const struct sl_datapath *dp, const char *name); /* or -ENOENT */

enum sl_attach_mode { SL_ATTACH_NONE, SL_ATTACH_NATIVE, SL_ATTACH_GENERIC };
/*
 * Put this generation on a port: replaces our own older program or one that iproute2 attached (known by its
 * name), refuses another's (-EBUSY). Native first; generic if the driver cannot and allow_generic.
 */
int sl_datapath_attach(struct sl_datapath *dp, uint32_t ifindex, bool allow_generic,
		       enum sl_attach_mode *mode);
int sl_datapath_detach(struct sl_datapath *dp, uint32_t ifindex); /* only our own program */

#endif
