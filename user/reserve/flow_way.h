/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a flow enters and leaves, by the tables that XDP reads. */
#ifndef SL_FLOW_WAY_H
#define SL_FLOW_WAY_H

#include "user/reserve/reservation.h"

struct sl_flow_way {
	uint32_t l3_ifindex, port_ifindex; /* where it enters */
	uint16_t system_port;		   /* where it leaves */
	uint8_t hop_family, hop[16];	   /* its next hop there */
};

/*
 * 0; -EHOSTUNREACH: XDP has no next hop for its source or destination now; -ENODEV: its netdev is
 * gone; -ENOTSUP: that can be no way of a reserved flow. On an error, the reason is in why.
 */
int sl_flow_way(const struct sl_reserves_use *use, const struct sl_reservation *v,
		struct sl_flow_way *out, char why[SL_RESERVE_WHY_BYTES]);

#endif
