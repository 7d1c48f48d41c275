/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside a generation: datapath_load.c loads it, datapath_port.c puts it on ports. */
#ifndef SL_DATAPATH_STATE_H
#define SL_DATAPATH_STATE_H

#include "user/datapath/datapath.h"

struct bpf_object;
struct bpf_program;
struct sl_txdrops;

#define SL_COUNTER_MAPS 3 /* sl_stats, sl_drops, sl_punts */
#define SL_SHARED_MAPS	6 /* and sl_voq, sl_backlog, sl_xsk */

/* Programs of the previous generation, or of an earlier daemon, that may still be attached. */
enum { SL_EARLIER_PREVIOUS, SL_EARLIER_PUBLISHED, SL_EARLIER_STAGED, SL_EARLIER_MAX };

struct sl_datapath {
	struct bpf_object *object; /* owned */
	struct bpf_program *program;
	struct sl_txdrops *txdrops; /* owned; NULL: none, or it could not be loaded */
	char *pin_dir;		    /* owned; NULL: nothing is pinned */
	struct sl_config config;
	bool frags;
	struct sl_fib_tables tables;
	size_t mapped_bytes[6]; /* of nexthop, adj, group, dir24, tbl8, tbl6 */
	uint32_t n_ports;
	int shared_fds[SL_SHARED_MAPS];	 /* owned; of an earlier generation, or -1 */
	int earlier_fds[SL_EARLIER_MAX]; /* owned; by SL_EARLIER_*; or -1 */
};

#endif
