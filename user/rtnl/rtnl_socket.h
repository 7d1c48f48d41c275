/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sockets of rtnetlink, and of other netlink families: requests, dumps and events. The only file
 * that includes libmnl. Not thread-safe.
 */
#ifndef SL_RTNL_SOCKET_H
#define SL_RTNL_SOCKET_H

#include <stdint.h>
#include <linux/netlink.h>

struct sl_rtnl_socket;

/* One whole message; borrowed until it returns. */
typedef void (*sl_rtnl_cb)(void *arg, const struct nlmsghdr *nlh);

/* For requests and dumps. 0 or -errno. */
int sl_rtnl_open(struct sl_rtnl_socket **out);
/*
 * For the events of these groups (RTNLGRP_*). If the process may not have so large a receive
 * buffer, it gets the largest that it may.
 */
int sl_rtnl_open_events(const uint32_t *groups, uint32_t n, uint32_t buffer_bytes,
			struct sl_rtnl_socket **out);
/* For requests, dumps, and the events of these groups, of another family: NETLINK_XFRM, say. */
int sl_rtnl_open_other(int netlink_family, const uint32_t *groups, uint32_t n,
		       struct sl_rtnl_socket **out);
void sl_rtnl_close(struct sl_rtnl_socket *s); /* NULL is fine */
int sl_rtnl_fd(const struct sl_rtnl_socket *s);
/* How many bytes of events may wait. The kernel counts its own overhead, too. 0 or -errno. */
int sl_rtnl_set_buffer(struct sl_rtnl_socket *s, uint32_t bytes);

/*
 * Handle the events that wait, at most one batch. 0: there may be more; -EAGAIN: there were none;
 * -ENOBUFS: some were lost (those that were not lost come with the next call); else -errno.
 */
int sl_rtnl_receive(struct sl_rtnl_socket *s, sl_rtnl_cb cb, void *arg);

/*
 * Dump what a RTM_GET* request of a family lists; with ifindex not 0, what belongs to that
 * interface (where the kernel can filter). 0; -EINTR: something changed meanwhile and entries may
 * be missing; -EOPNOTSUPP, -ENODEV and others from the kernel.
 */
int sl_rtnl_dump(struct sl_rtnl_socket *s, uint16_t type, uint8_t family, uint32_t ifindex,
		 sl_rtnl_cb cb, void *arg);

/*
 * Send a request with the flags and the header of its kind, and hand over what the kernel answers
 * until it says that this was all. As sl_rtnl_dump.
 */
int sl_rtnl_ask(struct sl_rtnl_socket *s, uint16_t type, uint16_t flags, const void *header,
		uint32_t header_bytes, sl_rtnl_cb cb, void *arg);

/*
 * Wait until the kernel has finished a change of links, addresses or next-hop objects that is under
 * way: such a change holds the lock that this request waits for.
 */
void sl_rtnl_barrier(struct sl_rtnl_socket *s);

/*
 * Have the kernel act on this link's carrier now. After a loss of carrier it waits for up to a
 * second (net/core/link_watch.c); from Linux 6.8 on, a question about the link ends the wait.
 */
void sl_rtnl_link_sync(struct sl_rtnl_socket *s, uint32_t ifindex);

/*
 * Queue: treat this neighbour as if a packet had just been sent to it (NTF_USE); make it if need
 * be. It loses NTF_EXT_LEARNED unless `flags`, which it has now, say so, NTF_EXT_MANAGED, and
 * NUD_PERMANENT.
 */
void sl_rtnl_neigh_use(struct sl_rtnl_socket *s, uint32_t ifindex, uint8_t family,
		       const uint8_t *addr, uint8_t flags);
/* Send what is queued. The call reports nothing: the kernel answers by an event, or not at all. */
void sl_rtnl_flush(struct sl_rtnl_socket *s);

#endif
