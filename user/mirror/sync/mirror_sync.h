/* SPDX-License-Identifier: BSD-2-Clause */
/* Dumps and events, which bring the kernel's messages to the mirror. All return 0 or -errno. */
#ifndef SL_MIRROR_SYNC_H
#define SL_MIRROR_SYNC_H

#include <stdint.h>
#include <linux/netlink.h>

#include "user/rtnl/filters.h"

struct sl_mirror;

int sl_sync_everything(struct sl_mirror *m); /* dump all there is */
int sl_sync_todo(struct sl_mirror *m);	     /* dump what mirror.todo asks for */
/* Read IPsec's policies and netfilter's rules, and tell XDP. */
void sl_sync_filters(struct sl_mirror *m);
/* What ops->netfilter_hooks says now. */
int sl_sync_hooks(const struct sl_mirror *m, char name[SL_FILTER_NAME_BYTES]);
int sl_sync_period(struct sl_mirror *m); /* dump what changes without a message */
/* Handle events, at most so many batches. -EAGAIN: all of them are handled. */
int sl_sync_drain(struct sl_mirror *m, uint32_t batches);
void sl_mirror_message(void *mirror, const struct nlmsghdr *nlh); /* a sl_rtnl_cb */

#endif
