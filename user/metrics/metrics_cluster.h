/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Metrics of a cluster: what the views of the bridge show, queue by queue and peer by peer. An
 * unlimited rate is +Inf, as Prometheus writes it; a value that is not known has no line.
 */
#ifndef SL_METRICS_CLUSTER_H
#define SL_METRICS_CLUSTER_H

#include <jansson.h>
#include <stdio.h>

/* Lists of rows: the first two are sluiced's own, the others are answers of the bridge. */
enum sl_metrics_list {
	SL_METRICS_SYSTEM_PORTS,  /* `show system-ports` */
	SL_METRICS_RESERVE_PORTS, /* `reserve ports` */
	SL_METRICS_BRIDGE,	  /* `status` */
	SL_METRICS_FABRIC,
	SL_METRICS_PEERS,
	SL_METRICS_VOQS,
	SL_METRICS_EGRESS,    /* `egress-queues` */
	SL_METRICS_DELAY,     /* `delay` */
	SL_METRICS_BUSY,      /* `busy` */
	SL_METRICS_CC,	      /* `cc`, its queues */
	SL_METRICS_CC_TOTALS, /* `cc`, the row of totals */
	SL_METRICS_LISTS
};

struct sl_metrics_cluster {
	json_t *rows[SL_METRICS_LISTS]; /* arrays; NULL: the bridge did not answer */
};

/* Write the families of a cluster. */
void sl_metrics_put_cluster(FILE *f, const struct sl_metrics_cluster *cluster);

#endif
