/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of netdevs that a counter sample has, as the kernel tells them. */
#ifndef SL_NETDEV_COUNTERS_H
#define SL_NETDEV_COUNTERS_H

#include "user/sflow/datagram.h"

/*
 * The line of a netdev in the text of /proc/net/dev into the counters of *out. 0; -ENODEV: it has
 * no line; -EPROTO: the line has too few numbers.
 */
int sl_netdev_counters_parse(const char *text, const char *name, struct sl_sflow_counters *out);

/* Fill all of *out but the sequence, for a netdev of this network namespace. 0 or -errno. */
int sl_netdev_counters_read(const char *name, struct sl_sflow_counters *out);

#endif
