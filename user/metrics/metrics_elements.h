/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Metrics of sluice-elements: what `sluice flow` and `sluice element` show. A value that a row does
 * not have gets no line.
 */
#ifndef SL_METRICS_ELEMENTS_H
#define SL_METRICS_ELEMENTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

/* Lists of rows: the answers of sluice-elements. */
enum sl_metrics_elements_list {
	SL_METRICS_WORKER,  /* `status` */
	SL_METRICS_FLOWS,   /* `flows`: the chains, and input and output */
	SL_METRICS_ELEMENT, /* `elements`: instances */
	SL_METRICS_CLASSES, /* `classes` */
	SL_METRICS_SIGNALS, /* `signals` */
	SL_METRICS_ELEMENTS_LISTS
};

struct sl_metrics_elements {
	bool wanted;				 /* a rule names a chain */
	json_t *rows[SL_METRICS_ELEMENTS_LISTS]; /* owned arrays; NULL: it did not answer */
};

/* Write the families of elements; none if nobody wants elements and none run. */
void sl_metrics_put_elements(FILE *f, const struct sl_metrics_elements *elements);

#endif
