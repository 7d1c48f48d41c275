/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of XDP, from the maps of the router's current generation. */
#include "user/show/show.h"

int sl_router_counters(const struct sl_router *router, struct sl_counters *out)
{
	const struct sl_datapath *dp = sl_router_datapath(router);

	return sl_counters_read(sl_datapath_map_fd(dp, "sl_stats"),
				sl_datapath_map_fd(dp, "sl_drops"),
				sl_datapath_map_fd(dp, "sl_punts"), out);
}
