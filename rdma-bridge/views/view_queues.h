/* SPDX-License-Identifier: BSD-2-Clause */
/* The views `voqs` and `egress-queues` of views.h. ctx is the struct rb_bridge. */
#ifndef RB_VIEW_QUEUES_H
#define RB_VIEW_QUEUES_H

#include <jansson.h>

#include "user/ipc/control_socket.h"

void rb_view_voqs(void *ctx, const json_t *request, struct sl_ctl_answer *answer);
void rb_view_egress_queues(void *ctx, const json_t *request, struct sl_ctl_answer *answer);

#endif
