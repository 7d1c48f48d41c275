/* SPDX-License-Identifier: BSD-2-Clause */
/* The two passes of a measurement: each takes packets with their fates, in the order of time. */
#ifndef SL_PASSES_H
#define SL_PASSES_H

#include "delay/measurement.h"

/* Times of packets count from the first of all. */
struct sl_first_pass;
int sl_first_pass_create(struct sl_measure *measure, struct sl_first_pass **out);
void sl_first_pass_destroy(struct sl_first_pass *pass);
/* A `sealed` of sl_match_settings. 0, -ENOMEM or -ERANGE. */
int sl_first_pass_packet(void *first_pass, const struct sl_matched *packet);
/* Close what is open, and settle rates and fits. */
void sl_first_pass_finish(struct sl_first_pass *pass);

/* Outputs with a rate get a model. */
struct sl_second_pass;
int sl_second_pass_create(struct sl_measure *measure, struct sl_second_pass **out);
void sl_second_pass_destroy(struct sl_second_pass *pass);
/* A `sealed` of sl_match_settings. 0 or -ENOMEM. */
int sl_second_pass_packet(void *second_pass, const struct sl_matched *packet);
/* Serve what waits, and settle sums. 0 or -ENOMEM. */
int sl_second_pass_finish(struct sl_second_pass *pass);

/* Add a period to the sums. */
void sl_periods_add(struct sl_periods *periods, const struct sl_busy_period *period);

#endif
