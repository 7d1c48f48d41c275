/* SPDX-License-Identifier: BSD-2-Clause */
/* The view `busy`: busy periods of the edge ports, and the time above levels of delay. */
#ifndef RB_VIEW_BUSY_H
#define RB_VIEW_BUSY_H

#include <jansson.h>

#include "user/ipc/control_socket.h"

/* A row for each of this node's ports that is measured. ctx is the struct rb_bridge. */
void rb_view_busy(void *ctx, const json_t *request, struct sl_ctl_answer *answer);

#endif
