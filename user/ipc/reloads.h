/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which configuration this process has in force, and what became of the last attempt to give it
 * another: two commands of a control socket. A process has one configuration, so this is of the
 * process.
 *
 *   {"command": "reload"}          begin a reload as SIGHUP does; answers with the row as it is now
 *   {"command": "configuration"}   the row:
 *
 *   {"sum": "1badcafe...", "reloads": 3, "refused": null}
 *
 * sum is that of the text that is in force (sl_settings_sum). reloads counts those that have ended;
 * refused is the line that says why the last one changed nothing. So whoever asks for a reload
 * learns what came of it, by asking until reloads has grown.
 */
#ifndef SL_RELOADS_H
#define SL_RELOADS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/ipc/control_socket.h"

/* At start. */
void sl_reloads_started(uint64_t sum);
/* A reload begins: the first error that is logged from now on is why it is refused. */
void sl_reloads_begin(void);
/* It has ended: with that text in force, or refused. */
void sl_reloads_took(uint64_t sum);
void sl_reloads_refused(void);

/* The two commands, for the table of a control socket. */
void sl_reloads_run_reload(void *ctx, const json_t *request, struct sl_ctl_answer *answer);
void sl_reloads_run_configuration(void *ctx, const json_t *request, struct sl_ctl_answer *answer);

#endif
