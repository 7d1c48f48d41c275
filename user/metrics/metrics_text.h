/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What sluiced tells a Prometheus: the text format of its exposition, version 0.0.4. Pure: JSON in,
 * text out.
 */
#ifndef SL_METRICS_TEXT_H
#define SL_METRICS_TEXT_H

#include <jansson.h>

#include "user/metrics/metrics_cluster.h"

/*
 * status is what the command `status` answers, ports the rows of `show ports`, counters those of
 * `show counters` and reasons those of `show drops`, cluster NULL for a node alone; all borrowed.
 * The text is the caller's, to be freed; NULL: not enough memory. What a status does not have is
 * left out.
 */
char *sl_metrics_text(const json_t *status, const json_t *ports, const json_t *counters,
		      const json_t *reasons, const struct sl_metrics_cluster *cluster);

#endif
