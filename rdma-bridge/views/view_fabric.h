/* SPDX-License-Identifier: BSD-2-Clause */
/* The view `fabric` of views.h: transport, messages, exchanges. ctx is the struct rb_bridge. */
#ifndef RB_VIEW_FABRIC_H
#define RB_VIEW_FABRIC_H

#include <jansson.h>

#include "user/ipc/control_socket.h"

/* The command `read-keys`: rb_peering_read_keys, and the names of the keys. */
void rb_view_read_keys(void *ctx, const json_t *request, struct sl_ctl_answer *answer);
void rb_view_fabric(void *ctx, const json_t *request, struct sl_ctl_answer *answer);

#endif
