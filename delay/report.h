/* SPDX-License-Identifier: BSD-2-Clause */
/* A measurement for people, and for programs. */
#ifndef SL_REPORT_H
#define SL_REPORT_H

#include <stdio.h>

#include "delay/measurement.h"

/* Tables. 0 or -ENOMEM. */
int sl_report_text(const struct sl_measure *measure, FILE *out);
/* One JSON object, whose members sluice-delay(1) lists. 0 or -ENOMEM. */
int sl_report_json(const struct sl_measure *measure, FILE *out);

#endif
