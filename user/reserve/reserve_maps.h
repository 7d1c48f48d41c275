/* SPDX-License-Identifier: BSD-2-Clause */
/* Reserved flows in the maps that XDP reads: policer, next hop and entry. */
#ifndef SL_RESERVE_MAPS_H
#define SL_RESERVE_MAPS_H

#include "user/reserve/reservation.h"

/* In an order in which XDP never finds an entry without its policer. 0 or -errno. */
int sl_reserve_maps_put(const struct sl_reservation *v, const struct sl_datapath *dp);
/* What is not there is no error. */
void sl_reserve_maps_delete(const struct sl_reservation *v, const struct sl_datapath *dp);

#endif
