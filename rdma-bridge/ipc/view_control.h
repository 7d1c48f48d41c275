/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Commands of the bridge's control socket that concern controllers, for show.c. ctx is the struct
 * rb_bridge.
 */
#ifndef RB_SHOW_CONTROL_H
#define RB_SHOW_CONTROL_H

#include <jansson.h>

#include "user/ipc/control_socket.h"

void rb_show_control(void *ctx, const json_t *request, struct sl_ctl_answer *answer);
void rb_show_control_set(void *ctx, const json_t *request, struct sl_ctl_answer *answer);
void rb_show_control_trace(void *ctx, const json_t *request, struct sl_ctl_answer *answer);

#endif
