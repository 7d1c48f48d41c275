/* SPDX-License-Identifier: BSD-2-Clause */
/* The pinned maps of the fast path that the bridge works with. */
#ifndef RB_MAPS_H
#define RB_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/abi.h"
#include "bpf/abi/express.h"
#include "bpf/abi/voq.h"

struct rb_maps {
	struct sl_meta meta;
	struct sl_voq *voq;		 /* owned: mapped into memory, meta.n_voqs elements */
	struct sl_backlog *backlog;	 /* the same */
	struct sl_ring *ring;		 /* the same, one for each (port, receive queue, worker) */
	struct sl_express_path *express; /* the same, SL_EXPRESS_NODES for each worker */
	int xsk_fd;			 /* owned */
	uint32_t backlog_id, xsk_id;	 /* tell a generation with other VOQs, or other rings */
	const uint64_t *system_ports;	 /* owned: by index of sl_sysport_table */
	int dscp_fd;			 /* owned */
	uint8_t class_of[SL_DSCPS]; /* the class of each DSCP at the last refresh; 0 while closed */
};

/*
 * Open the maps pinned in a directory. -ENOENT: sluiced has not pinned them yet; -EPROTO: they have
 * another ABI version; -ENODATA: they are those of a router without a cluster. On error *out needs
 * no closing.
 */
int rb_maps_open(const char *pin_dir, struct rb_maps *out);
void rb_maps_close(struct rb_maps *maps);
/*
 * Read class_of again, which a reload of sluiced may have changed. Other threads may read it
 * meanwhile. 0, or -errno: class_of is as it was.
 */
int rb_maps_refresh(struct rb_maps *maps);
/* The VOQ of class 0 of a system port, or SL_VOQS_MAX: sluiced knows of no such port. */
uint32_t rb_maps_voq(const struct rb_maps *maps, uint16_t system_port);
/* Has sluiced pinned other maps since, of a new generation? False if none are pinned. */
bool rb_maps_changed(const struct rb_maps *maps, const char *pin_dir);

#endif
