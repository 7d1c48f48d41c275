/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What sluiced tells a Prometheus: the text format of its exposition, version 0.0.4. Pure: JSON in,
 * text out.
 */
#ifndef SL_METRICS_TEXT_H
#define SL_METRICS_TEXT_H

#include <jansson.h>

/* Rows of a cluster: the first of sluiced itself, the others as the bridge answers. */
enum sl_metrics_list {
	SL_METRICS_SYSTEM_PORTS, /* `show system-ports` */
	SL_METRICS_BRIDGE,	 /* `status` */
	SL_METRICS_FABRIC,
	SL_METRICS_PEERS,
	SL_METRICS_VOQS,
	SL_METRICS_EGRESS,    /* `egress-queues` */
	SL_METRICS_CC,	      /* `cc`, its queues */
	SL_METRICS_CC_TOTALS, /* `cc`, the row of totals */
	SL_METRICS_LISTS
};

struct sl_metrics_cluster {
	json_t *rows[SL_METRICS_LISTS]; /* arrays; NULL: could not be asked */
};

/*
 * status is what the command `status` answers, ports the rows of `show ports`, counters those of
 * `show counters` and reasons those of `show drops`, cluster NULL for a node alone; all borrowed.
 * The text is the caller's, to be freed; NULL: not enough memory. What a status does not have is
 * left out.
 */
char *sl_metrics_text(const json_t *status, const json_t *ports, const json_t *counters,
		      const json_t *reasons, const struct sl_metrics_cluster *cluster);

#endif
