/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which functions does netfilter run on packets that are forwarded, beside the chains of nftables?
 * BPF programs, IPVS and modules hook themselves in, and no message tells of them.
 */
#ifndef SL_NETFILTER_HOOKS_H
#define SL_NETFILTER_HOOKS_H

#include "user/rtnl/filters.h"

struct sl_netfilter_hooks;

/*
 * Load hooks.bpf.o, which lies beside the object of the fast path. 0; or -errno, after a log
 * message that says what is lost.
 */
int sl_netfilter_hooks_open(const char *fast_path_object, struct sl_netfilter_hooks **out);
void sl_netfilter_hooks_close(struct sl_netfilter_hooks *h); /* NULL is fine */

/*
 * The families (SL_FILTER_*) for which a function is there that may drop or change packets, and
 * the name of one of them. Where it cannot tell: all families, and the reason as the name. h NULL:
 * none.
 */
int sl_netfilter_hooks_look(struct sl_netfilter_hooks *h, char name[SL_FILTER_NAME_BYTES]);

#endif
