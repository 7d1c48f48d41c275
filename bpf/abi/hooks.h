/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What sl_list_hooks finds: the functions that netfilter runs on packets which are forwarded.
 */
#ifndef SL_HOOKS_H
#define SL_HOOKS_H

#include <linux/types.h>

#include "bpf/abi/abi.h"

#define SL_HOOKS_MAX 63

struct sl_hook {
	__u8 ip4;  /* 1: IPv4, 0: IPv6 */
	__u8 hook; /* enum nf_inet_hooks */
	/* The kernel's symbol, and its module in brackets if it has one; ends in a 0. */
	char function[62];
};
SL_ASSERT_SIZE(struct sl_hook, 64);

/* Map sl_hooks, one element: all of this network namespace, as of the last run. */
struct sl_hooks {
	__u64 n; /* SL_HOOKS_MAX + 1: there are more */
	__u64 reserved[7];
	struct sl_hook hook[SL_HOOKS_MAX];
};
SL_ASSERT_SIZE(struct sl_hooks, 4096);

#endif
