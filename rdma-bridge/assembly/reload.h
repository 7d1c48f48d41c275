/* SPDX-License-Identifier: BSD-2-Clause */
/* Another configuration for a bridge that runs. */
#ifndef RB_RELOAD_H
#define RB_RELOAD_H

#include "rdma-bridge/bridge/bridge.h"

/*
 * Take over what may change while frames are under way: nodes, their ports and those of this
 * node, with rates, queues and controllers, the keys, packing, limits of queues, polling, and the
 * rate of the fabric. Takes *settings, for which rb_bridge_ask_netdevs has asked the kernel; of
 * them the bridge keeps what it needs. 0; -EINVAL: something else has changed, that needs a
 * restart; -ENOSPC, -EMFILE, -ENOMEM, or an error of the key file: nothing has changed;
 * -ENOTRECOVERABLE: most of it has. Logged.
 */
int rb_bridge_reload(struct rb_bridge *bridge, struct sl_settings *settings, uint64_t now_ns);

#endif
