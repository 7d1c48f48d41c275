/* SPDX-License-Identifier: BSD-2-Clause */
/* The maps of the fast path that the bridge works with, as sluiced pinned them. */
#ifndef RB_MAPS_H
#define RB_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/sluice.h"

struct rb_maps {
	struct sl_meta meta;
	struct sl_voq *voq;	    /* owned: mapped, meta.n_voqs elements */
	struct sl_backlog *backlog; /* the same */
	int xsk_fd;		    /* owned */
	uint32_t xsk_id;
	int dscp_fd;		    /* owned */
	uint8_t class_of[SL_DSCPS]; /* the class of each DSCP, when last read; 0 while closed */
};

/*
 * Open the maps pinned in a directory. -ENOENT: they are not there, sluiced has not run yet;
 * -EPROTO: another ABI version; -ENODATA: they are those of a node alone. On error *out needs no
 * closing.
 */
int rb_maps_open(const char *pin_dir, struct rb_maps *out);
void rb_maps_close(struct rb_maps *maps);
/*
 * Read again what a reload changes in place, class_of; others may read it meanwhile. 0 or -errno:
 * it is as it was.
 */
int rb_maps_refresh(struct rb_maps *maps);
/*
 * Are those pinned now others, because sluiced made a new generation? False also when none are
 * pinned.
 */
bool rb_maps_changed(const struct rb_maps *maps, const char *pin_dir);

#endif
