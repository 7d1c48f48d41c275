/* SPDX-License-Identifier: BSD-2-Clause */
/* The views `delay` and `frames` of views.h. ctx is the struct rb_bridge. */
#ifndef RB_VIEW_DELAY_H
#define RB_VIEW_DELAY_H

#include <jansson.h>

#include "user/ipc/control_socket.h"

void rb_view_delay(void *ctx, const json_t *request, struct sl_ctl_answer *answer);
void rb_view_frames(void *ctx, const json_t *request, struct sl_ctl_answer *answer);

#endif
