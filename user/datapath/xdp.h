/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * XDP on a netdev, through rtnetlink and not by bpf_link: the program stays when the process that
 * attached it ends, and `ip link set dev X xdp off` takes it off, as people expect.
 */
#ifndef SL_XDP_H
#define SL_XDP_H

#include <stdbool.h>
#include <stdint.h>

#include "user/lib/xdp_mode.h"

const char *sl_xdp_mode_name(enum sl_xdp_mode mode); /* "none", "native", "generic" */

struct sl_xdp_state {
	enum sl_xdp_mode mode; /* SL_XDP_NONE: nothing is attached */
	uint32_t prog_id;
};

/*
 * Find out what is attached. 0; -ENODEV; -EBUSY: attached in a way that sluice never uses (offload,
 * several modes at once).
 */
int sl_xdp_query(uint32_t ifindex, struct sl_xdp_state *state);

/*
 * Attach, or replace old_fd, in the given mode. old_fd < 0: only if nothing is attached yet.
 * 0; -EEXIST or -EBUSY: what is attached is not old_fd; else what the driver said.
 */
int sl_xdp_attach(uint32_t ifindex, enum sl_xdp_mode mode, int prog_fd, int old_fd);
/* Take old_fd off. */
int sl_xdp_detach(uint32_t ifindex, enum sl_xdp_mode mode, int old_fd);

/* Id of a program from its descriptor, or 0. */
uint32_t sl_xdp_prog_id(int prog_fd);
/*
 * Open program prog_id if it is sluice's edge program (its name and its maps' names say so).
 * Returns a descriptor, -EBUSY if it is another's, -EPERM if looking needs CAP_SYS_ADMIN.
 * name, of at least 16 bytes, gets the program's name, or "" if that cannot be known.
 */
int sl_xdp_open_ours(uint32_t prog_id, char name[16]);

#endif
