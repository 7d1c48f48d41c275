/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/xfrm.h>

#include "user/mirror/sync/filter_watch.h"
#include "user/rtnl/rtnl_socket.h"

enum { XFRM, NFT, READ_TRIES = 8 };

struct sl_filter_watch {
	/* owned; NULL: the kernel has no such thing. Requests have sockets of their own. */
	struct sl_rtnl_socket *events[SL_FILTER_WATCH_FDS], *requests[SL_FILTER_WATCH_FDS];
	int legacy; /* SL_FILTER_*: families with tables of iptables-legacy */
	int chains; /* SL_FILTER_*: families that a chain of nftables leaves to the kernel */
};

/* Tables of iptables-legacy come with the first rule, or with the first look at them. */
static bool has_lines(const char *path)
{
	FILE *f = fopen(path, "re");
	const bool any = f && fgetc(f) != EOF;

	if (f)
		fclose(f);
	return any;
}

static int legacy_tables(void)
{
	return (has_lines("/proc/thread-self/net/ip_tables_names") ? SL_FILTER_IP4 : 0) |
	       (has_lines("/proc/thread-self/net/ip6_tables_names") ? SL_FILTER_IP6 : 0);
}

static int open_kind(struct sl_filter_watch *w, int kind, int netlink_family,
		     const uint32_t *groups, uint32_t n_groups)
{
	int err = sl_rtnl_open_other(netlink_family, groups, n_groups, &w->events[kind]);

	if (!err)
		err = sl_rtnl_open_other(netlink_family, NULL, 0, &w->requests[kind]);
	if (err != -EPROTONOSUPPORT)
		return err;
	sl_rtnl_close(w->events[kind]);
	w->events[kind] = NULL;
	return 0;
}

int sl_filter_watch_open(struct sl_filter_watch **out)
{
	/* A policy whose lifetime is over goes with a message of the group EXPIRE only. */
	static const uint32_t xfrm_groups[] = { XFRMNLGRP_POLICY, XFRMNLGRP_EXPIRE };
	static const uint32_t nft_groups[] = { NFNLGRP_NFTABLES };
	struct sl_filter_watch *w = calloc(1, sizeof(*w));
	int err = -ENOMEM;

	*out = NULL;
	if (!w)
		return err;
	err = open_kind(w, XFRM, NETLINK_XFRM, xfrm_groups, 2);
	if (!err)
		err = open_kind(w, NFT, NETLINK_NETFILTER, nft_groups, 1);
	if (err)
		sl_filter_watch_close(w);
	else
		*out = w;
	return err;
}

void sl_filter_watch_close(struct sl_filter_watch *w)
{
	if (!w)
		return;
	for (int i = 0; i < SL_FILTER_WATCH_FDS; i++) {
		sl_rtnl_close(w->events[i]);
		sl_rtnl_close(w->requests[i]);
	}
	free(w);
}

int sl_filter_watch_fd(const struct sl_filter_watch *w, int i)
{
	return w->events[i] ? sl_rtnl_fd(w->events[i]) : -1;
}

static void note(void *arg, const struct nlmsghdr *nlh)
{
	(void)nlh;
	*(bool *)arg = true;
}

bool sl_filter_watch_changed(struct sl_filter_watch *w)
{
	bool changed = false;
	int err;

	for (int i = 0; i < SL_FILTER_WATCH_FDS; i++) {
		if (!w->events[i])
			continue;
		do {
			err = sl_rtnl_receive(w->events[i], note, &changed);
			if (err == -ENOBUFS) /* messages were lost */
				changed = true;
		} while (!err || err == -ENOBUFS);
	}
	return changed;
}

/*
 * The kernel says nothing when it removes the tables of a program that owned them and died
 * (NFT_TABLE_F_OWNER). So as long as a chain counts, it is looked at again.
 */
bool sl_filter_watch_due(const struct sl_filter_watch *w)
{
	return w->chains || legacy_tables() != w->legacy;
}

/* --- Reading --- */

static void add_policy(void *arg, const struct nlmsghdr *nlh)
{
	struct sl_filters *found = arg;
	char name[SL_FILTER_NAME_BYTES];
	const int families = sl_filters_parse_xfrm(nlh, name);

	if (families <= 0)
		return;
	if (!found->xfrm)
		memcpy(found->xfrm_name, name, sizeof(name));
	found->xfrm |= families;
}

static void add_chain(void *arg, const struct nlmsghdr *nlh)
{
	struct sl_filters *found = arg;
	char name[SL_FILTER_NAME_BYTES];
	const int families = sl_filters_parse_chain(nlh, name);

	if (families <= 0)
		return;
	if (!found->netfilter)
		memcpy(found->netfilter_name, name, sizeof(name));
	found->netfilter |= families;
}

static int read_xfrm(struct sl_filter_watch *w, struct sl_filters *out)
{
	static const struct xfrm_userpolicy_default any;
	static const struct xfrm_userpolicy_id all;
	int err;

	out->xfrm = 0;
	/* Kernels before 5.16 have no default policy. */
	err = sl_rtnl_ask(w->requests[XFRM], XFRM_MSG_GETDEFAULT, NLM_F_ACK, &any, sizeof(any),
			  add_policy, out);
	if (err && err != -EINVAL && err != -EOPNOTSUPP)
		return err;
	return sl_rtnl_ask(w->requests[XFRM], XFRM_MSG_GETPOLICY, NLM_F_DUMP, &all, sizeof(all),
			   add_policy, out);
}

static int read_chains(struct sl_filter_watch *w, struct sl_filters *out)
{
	static const struct nfgenmsg all = { .nfgen_family = NFPROTO_UNSPEC,
					     .version = NFNETLINK_V0 };
	int err;

	out->netfilter = 0;
	err = sl_rtnl_ask(w->requests[NFT], NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_GETCHAIN,
			  NLM_F_DUMP, &all, sizeof(all), add_chain, out);
	return err == -EINVAL || err == -EOPNOTSUPP ? 0 : err; /* a kernel without nftables */
}

static int retried(struct sl_filter_watch *w, struct sl_filters *out,
		   int (*read)(struct sl_filter_watch *, struct sl_filters *))
{
	int err = -EINTR;

	for (int i = 0; i < READ_TRIES && err == -EINTR; i++)
		err = read(w, out);
	return err;
}

void sl_filter_watch_read(struct sl_filter_watch *w, struct sl_filters *out)
{
	int err;

	*out = (struct sl_filters){ 0 };
	err = w->requests[XFRM] ? retried(w, out, read_xfrm) : 0;
	if (err) {
		out->xfrm = SL_FILTER_IP4 | SL_FILTER_IP6;
		snprintf(out->xfrm_name, sizeof(out->xfrm_name), "cannot be read: %s",
			 strerror(-err));
	}
	err = w->requests[NFT] ? retried(w, out, read_chains) : 0;
	if (err) {
		out->netfilter = SL_FILTER_IP4 | SL_FILTER_IP6;
		snprintf(out->netfilter_name, sizeof(out->netfilter_name), "cannot be read: %s",
			 strerror(-err));
	}
	w->chains = out->netfilter;
	w->legacy = legacy_tables();
	if (w->legacy && !out->netfilter)
		snprintf(out->netfilter_name, sizeof(out->netfilter_name),
			 "tables of iptables-legacy");
	out->netfilter |= w->legacy;
}
