/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of IPsec's policies (NETLINK_XFRM) and of nftables (NETLINK_NETFILTER): whose forwarded
 * packets does this one concern? Pure, as rtnl.h.
 */
#ifndef SL_FILTERS_H
#define SL_FILTERS_H

#include <linux/netlink.h>

#define SL_FILTER_IP4 1
#define SL_FILTER_IP6 2

/* A table's and a chain's name, or what else a user would look for. */
#define SL_FILTER_NAME_BYTES 128

/*
 * A policy: XFRM_MSG_NEWPOLICY for what is forwarded or leaves, or XFRM_MSG_GETDEFAULT if that
 * blocks. SL_FILTER_* or 0; -EPROTO: it makes no sense.
 */
int sl_filters_parse_xfrm(const struct nlmsghdr *nlh, char name[SL_FILTER_NAME_BYTES]);

/*
 * A chain: NFT_MSG_NEWCHAIN with rules, or one that drops, at a hook that forwarded packets pass;
 * or one that translates addresses, even without rules. SL_FILTER_* or 0; -EPROTO.
 */
int sl_filters_parse_chain(const struct nlmsghdr *nlh, char name[SL_FILTER_NAME_BYTES]);

#endif
