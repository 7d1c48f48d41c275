/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands on the control socket that change which elements are installed. */
#ifndef EL_INSTALL_COMMANDS_H
#define EL_INSTALL_COMMANDS_H

#include <jansson.h>

#include "user/ipc/control_socket.h"

/* Room for an object of EL_OBJECT_MAX_BYTES in base64; a power of two. */
#define EL_INSTALL_REQUEST_BYTES (1u << 21)

/* `install`: begin, with object and signature in base64; the row has a ticket. ctx: el_process. */
void el_install_command(void *ctx, const json_t *request, struct sl_ctl_answer *answer);
/* `installation`: how the one with that ticket goes on. */
void el_installation_command(void *ctx, const json_t *request, struct sl_ctl_answer *answer);
/* `remove`: the element of a class. */
void el_remove_command(void *ctx, const json_t *request, struct sl_ctl_answer *answer);

#endif
