/* SPDX-License-Identifier: BSD-2-Clause */
/* The views of the controllers: cc, cc-set and cc-trace of views.h. ctx is the struct rb_bridge. */
#ifndef RB_VIEW_RATES_H
#define RB_VIEW_RATES_H

#include <jansson.h>

#include "user/ipc/control_socket.h"

void rb_view_cc(void *ctx, const json_t *request, struct sl_ctl_answer *answer);
void rb_view_cc_set(void *ctx, const json_t *request, struct sl_ctl_answer *answer);
void rb_view_cc_trace(void *ctx, const json_t *request, struct sl_ctl_answer *answer);

#endif
