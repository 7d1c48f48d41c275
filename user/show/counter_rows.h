/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters as rows of JSON: for the daemon, and for the command that reads the pins while no daemon
 * runs.
 */
#ifndef SL_COUNTER_ROWS_H
#define SL_COUNTER_ROWS_H

#include <jansson.h>

#include "user/datapath/counters.h"

/* New references to arrays of {"kind", "name", "packets", "bytes", "text"}. */
json_t *sl_counter_rows(const struct sl_counters *counters); /* stages, and the sums */
/* drops and punts by reason */
json_t *sl_counter_reason_rows(const struct sl_counters *counters);

#endif
