/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The metrics of this node by HTTP, for Prometheus: GET /metrics. The daemon's loop drives it,
 * without a thread, and never waits for a slow client.
 */
#ifndef SL_METRICS_H
#define SL_METRICS_H

#include "user/daemon/router.h"

#define SL_METRICS_CLIENTS_MAX 16
#define SL_METRICS_PATIENCE_S  10 /* after so long, a silent connection is closed */

struct sl_metrics;

/*
 * Listen at an address that user/text/listen_address.h reads. *router is borrowed until close, and
 * may change before. 0 or -errno (-EADDRINUSE, -EADDRNOTAVAIL, -EACCES).
 */
int sl_metrics_open(const char *address, struct sl_router *const *router, struct sl_metrics **out);
void sl_metrics_close(struct sl_metrics *m); /* NULL is fine */

/* An epoll-able descriptor, readable when sl_metrics_poll has work. */
int sl_metrics_fd(const struct sl_metrics *m);
/* call it once a second, too: silent connections expire */
void sl_metrics_poll(struct sl_metrics *m);

#endif
