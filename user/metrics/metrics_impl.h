/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of metrics_text.h share. */
#ifndef SL_METRICS_IMPL_H
#define SL_METRICS_IMPL_H

#include <jansson.h>
#include <stdio.h>

#include "user/metrics/metrics_text.h"

/* "# HELP" and "# TYPE"; `name` is without the prefix. */
void sl_metrics_put_head(FILE *f, const char *name, const char *type, const char *help);
/* A label's value: backslash, quote and newline are escaped. */
void sl_metrics_put_label(FILE *f, const char *value);
/* Text of a member, or "". */
const char *sl_metrics_member(const json_t *row, const char *key);

void sl_metrics_put_cluster(FILE *f, const struct sl_metrics_cluster *cluster);

#endif
