/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The metrics of this node by HTTP, for a Prometheus: GET /metrics. No thread: the daemon's loop
 * drives it, and a client that is slow holds nobody.
 */
#ifndef SL_METRICS_H
#define SL_METRICS_H

#include "user/daemon/router.h"

#define SL_METRICS_CLIENTS_MAX 16
#define SL_METRICS_PATIENCE_S  10 /* then a silent connection is closed */

struct sl_metrics;

/*
 * Listen at an address as lib/listen_address.h reads it. *router is borrowed, and may change until
 * close. 0 or -errno (-EADDRINUSE, -EADDRNOTAVAIL, -EACCES).
 */
int sl_metrics_open(const char *address, struct sl_router *const *router, struct sl_metrics **out);
void sl_metrics_close(struct sl_metrics *m); /* NULL is fine */

int sl_metrics_fd(
	/* epoll-able: readable when sl_metrics_poll has work */
	const struct sl_metrics *m);
void sl_metrics_poll(struct sl_metrics *m); /* also once a second, for those who are silent */

#endif
