/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands of sluiced's control socket. */
#ifndef SL_CONTROL_COMMANDS_H
#define SL_CONTROL_COMMANDS_H

#include "user/ipc/control_socket.h"

/* The ctx of each is the struct sl_router. */
extern const struct sl_ctl_command sl_commands[];

#endif
