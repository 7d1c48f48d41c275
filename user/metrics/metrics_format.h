/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Pieces of Prometheus' text format, for all metrics of sluiced: the head of a family, the value of
 * a label.
 */
#ifndef SL_METRICS_FORMAT_H
#define SL_METRICS_FORMAT_H

#include <jansson.h>
#include <stdio.h>

/* The lines "# HELP" and "# TYPE" of a family; `name` comes without the prefix "sluice_". */
void sl_metrics_put_head(FILE *f, const char *name, const char *type, const char *help);
/* The value of a label, with backslash, quote and newline escaped. */
void sl_metrics_put_label(FILE *f, const char *value);
/* A member's text; "" if the row has no such member, or it is no text. */
const char *sl_metrics_member(const json_t *row, const char *key);

#endif
