/* SPDX-License-Identifier: BSD-2-Clause */
/* Metrics of sluice-cluster, which brings the configuration from etcd: what it says of itself. */
#ifndef SL_METRICS_AGENT_H
#define SL_METRICS_AGENT_H

#include <jansson.h>
#include <stdio.h>

/* Write its families, from the row of its command `status`; none if that is NULL: it does not run.
 */
void sl_metrics_put_agent(FILE *f, const json_t *agent);

#endif
