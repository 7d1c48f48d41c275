/* SPDX-License-Identifier: BSD-2-Clause */
/* The service manager's notification protocol, sd_notify(3): a datagram to $NOTIFY_SOCKET. */
#ifndef SL_NOTIFY_H
#define SL_NOTIFY_H

/*
 * Send e.g. "READY=1\nSTATUS=...". 0, also when nobody listens ($NOTIFY_SOCKET unset); else -errno.
 */
int sl_notify(const char *state);

#endif
