/* SPDX-License-Identifier: BSD-2-Clause */
/* The service manager's notification protocol, sd_notify(3): a datagram to $NOTIFY_SOCKET. */
#ifndef SL_NOTIFY_H
#define SL_NOTIFY_H

/*
 * Send e.g. "READY=1\nSTATUS=...". 0, also where no service manager listens ($NOTIFY_SOCKET is
 * unset); else -errno.
 */
int sl_notify(const char *state);
/* The daemon reads its configuration again; READY=1 follows. As above. */
int sl_notify_reloading(void);

#endif
