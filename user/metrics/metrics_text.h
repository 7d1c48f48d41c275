/* SPDX-License-Identifier: BSD-2-Clause */
/* The metrics of sluiced in Prometheus' text format, version 0.0.4. Pure: JSON to text. */
#ifndef SL_METRICS_TEXT_H
#define SL_METRICS_TEXT_H

#include <jansson.h>

#include "user/metrics/metrics_agent.h"
#include "user/metrics/metrics_cluster.h"
#include "user/metrics/metrics_elements.h"

/*
 * status is the answer of the command `status`, ports the rows of `show ports`, counters those of
 * `show counters`, reasons those of `show drops`, filters those of `show filters`; cluster is NULL
 * for a node alone; agent is the answer of sluice-cluster to `status`, or NULL. All are borrowed.
 * The caller frees the text; NULL: not enough memory. A value that the status does not have gets no
 * line.
 */
char *sl_metrics_text(const json_t *status, const json_t *ports, const json_t *counters,
		      const json_t *reasons, const json_t *filters,
		      const struct sl_metrics_elements *elements,
		      const struct sl_metrics_cluster *cluster, const json_t *agent);

#endif
