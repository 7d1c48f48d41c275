/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Watches what the kernel does to forwarded packets and XDP cannot: IPsec's policies, and rules of
 * nftables and iptables.
 */
#ifndef SL_FILTER_WATCH_H
#define SL_FILTER_WATCH_H

#include <stdbool.h>

#include "user/rtnl/filters.h"

struct sl_filter_watch;

/* A kernel without IPsec or without netfilter is no error. 0 or -errno. */
int sl_filter_watch_open(struct sl_filter_watch **out);
void sl_filter_watch_close(struct sl_filter_watch *w); /* NULL is fine */

/* Readable when something may have changed; -1: there is no such socket. */
enum { SL_FILTER_WATCH_FDS = 2 };
int sl_filter_watch_fd(const struct sl_filter_watch *w, int i);
/* May something have changed since the last call, by the kernel's messages? */
bool sl_filter_watch_changed(struct sl_filter_watch *w);
/* The same, once a second, where no message tells: iptables-legacy, owners that died. */
bool sl_filter_watch_due(const struct sl_filter_watch *w);

/* The families (SL_FILTER_*) that have any of a kind, and the name of one of them. */
struct sl_filters {
	int xfrm, netfilter;
	char xfrm_name[SL_FILTER_NAME_BYTES], netfilter_name[SL_FILTER_NAME_BYTES];
};
/* Where it cannot tell, *out has all families, and the reason as the name. */
void sl_filter_watch_read(struct sl_filter_watch *w, struct sl_filters *out);

#endif
