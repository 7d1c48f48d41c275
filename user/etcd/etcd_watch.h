/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hear of a change of one key in etcd at once. What came is not told, only that something did: the
 * one who watches reads it then, and reads it now and then anyway, so a watch that has died without
 * a sign costs time and nothing else.
 */
#ifndef SL_ETCD_WATCH_H
#define SL_ETCD_WATCH_H

#include <stdbool.h>

#include "user/etcd/etcd_client.h"

struct sl_etcd_watch;

/* With no watch open yet. -ENOMEM. */
int sl_etcd_watch_create(struct sl_etcd_watch **out);
void sl_etcd_watch_destroy(struct sl_etcd_watch *watch); /* NULL is fine */

/* Watch PREFIX NAME at the chosen member, from a revision on. An open watch is closed before. */
int sl_etcd_watch_open(struct sl_etcd_watch *watch, const struct sl_etcd *etcd, const char *prefix,
		       const char *name, long long from_revision);
void sl_etcd_watch_close(struct sl_etcd_watch *watch);
/* Is one open, and has not ended, at that member? */
bool sl_etcd_watch_is_open(const struct sl_etcd_watch *watch, unsigned int member);

/*
 * Wait for the watch, for so long, or until one of n descriptors is readable. True: the key may
 * have changed, or the watch has ended.
 */
bool sl_etcd_watch_wait(struct sl_etcd_watch *watch, const int *fds, unsigned int n,
			int timeout_ms);

#endif
