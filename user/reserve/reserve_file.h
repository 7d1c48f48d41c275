/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reserved flows that stay until they are deleted, over restarts of sluiced: an array of requests
 * as sl_reserves_add takes them, in SL_RESERVES_PATH.
 */
#ifndef SL_RESERVE_FILE_H
#define SL_RESERVE_FILE_H

#include <jansson.h>

#include "user/reserve/reservation.h"

#define SL_RESERVES_PATH "/run/sluice/reservations.json"

/* Write those of the n in `all` that have no `refresh` and of no rule. 0 or -errno. */
int sl_reserve_file_write(struct sl_reservation *const *all, uint32_t n);
json_t *sl_reserve_file_read(void); /* an array, a new reference; empty: there are none */

#endif
