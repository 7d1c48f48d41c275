/* SPDX-License-Identifier: BSD-2-Clause */
/* See filters.h. Formats: the kernel's include/uapi/linux/xfrm.h and netfilter/nf_tables.h. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <libmnl/libmnl.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/xfrm.h>

#include "bpf/lib/endian.bpf.h"
#include "user/rtnl/filters.h"

/* --- IPsec --- */

static int families_of(uint16_t address_family)
{
	switch (address_family) {
	case AF_INET:
		return SL_FILTER_IP4;
	case AF_INET6:
		return SL_FILTER_IP6;
	case AF_UNSPEC:
		return SL_FILTER_IP4 | SL_FILTER_IP6;
	default:
		return 0;
	}
}

int sl_filters_parse_xfrm(const struct nlmsghdr *nlh, char name[SL_FILTER_NAME_BYTES])
{
	const void *payload = mnl_nlmsg_get_payload(nlh);
	const size_t bytes = mnl_nlmsg_get_payload_len(nlh);
	struct xfrm_userpolicy_default fallback;
	struct xfrm_userpolicy_info policy;

	if (nlh->nlmsg_type == XFRM_MSG_GETDEFAULT) {
		if (bytes < sizeof(fallback))
			return -EPROTO;
		memcpy(&fallback, payload, sizeof(fallback));
		snprintf(name, SL_FILTER_NAME_BYTES, "the default policy blocks");
		return fallback.fwd == XFRM_USERPOLICY_BLOCK ||
				       fallback.out == XFRM_USERPOLICY_BLOCK
			       ? SL_FILTER_IP4 | SL_FILTER_IP6
			       : 0;
	}
	if (nlh->nlmsg_type != XFRM_MSG_NEWPOLICY)
		return 0;
	if (bytes < sizeof(policy))
		return -EPROTO;
	memcpy(&policy, payload, sizeof(policy));
	if (policy.dir != XFRM_POLICY_OUT && policy.dir != XFRM_POLICY_FWD)
		return 0; /* what this node receives, and policies of one socket */
	snprintf(name, SL_FILTER_NAME_BYTES, "policy %u of direction %s", policy.index,
		 policy.dir == XFRM_POLICY_OUT ? "out" : "fwd");
	return families_of(policy.sel.family);
}

/* --- nftables --- */

struct chain {
	bool hooked;
	uint32_t hook;	 /* enum nf_inet_hooks or nf_dev_hooks */
	uint32_t policy; /* NF_DROP or NF_ACCEPT */
	uint32_t rules;
	const char *name, *table, *type; /* borrowed from the message */
};

static uint32_t be32_of(const struct nlattr *attr)
{
	return mnl_attr_get_payload_len(attr) < 4
		       ? 0
		       : sl_ntohl((SL_FORCE __be32)mnl_attr_get_u32(attr));
}

static const char *text_of(const struct nlattr *attr)
{
	return mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) < 0 ? NULL : mnl_attr_get_str(attr);
}

static int read_attribute(const struct nlattr *attr, void *arg)
{
	struct chain *chain = arg;
	const struct nlattr *inner;

	switch (mnl_attr_get_type(attr)) {
	case NFTA_CHAIN_TABLE:
		chain->table = text_of(attr);
		break;
	case NFTA_CHAIN_NAME:
		chain->name = text_of(attr);
		break;
	case NFTA_CHAIN_TYPE:
		chain->type = text_of(attr);
		break;
	case NFTA_CHAIN_POLICY:
		chain->policy = be32_of(attr);
		break;
	case NFTA_CHAIN_USE:
		chain->rules = be32_of(attr);
		break;
	case NFTA_CHAIN_HOOK:
		chain->hooked = true;
		mnl_attr_for_each_nested(inner, attr)
			if (mnl_attr_get_type(inner) == NFTA_HOOK_HOOKNUM)
				chain->hook = be32_of(inner);
		break;
	}
	return MNL_CB_OK;
}

static bool is_passed_by_forwarded(uint8_t family, uint32_t hook)
{
	if (family == NFPROTO_NETDEV)
		return true;
	return hook == NF_INET_PRE_ROUTING || hook == NF_INET_FORWARD ||
	       hook == NF_INET_POST_ROUTING || hook == NF_INET_INGRESS;
}

/*
 * While a network namespace has a chain that translates, at whatever hook, the kernel translates
 * the connections that rules of the past chose, too: conntrack keeps them when the rules go.
 */
static bool translates(const struct chain *chain)
{
	return chain->type && strcmp(chain->type, "nat") == 0;
}

static bool concerns_forwarded(uint8_t family, const struct chain *chain)
{
	if (!chain->hooked)
		return false;
	return translates(chain) || (is_passed_by_forwarded(family, chain->hook) &&
				     (chain->rules || chain->policy == NF_DROP));
}

int sl_filters_parse_chain(const struct nlmsghdr *nlh, char name[SL_FILTER_NAME_BYTES])
{
	const struct nfgenmsg *head = mnl_nlmsg_get_payload(nlh);
	struct chain chain = { .policy = NF_ACCEPT };
	const char *family;
	int families;

	if (nlh->nlmsg_type != (NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN))
		return 0;
	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*head) ||
	    mnl_attr_parse(nlh, sizeof(*head), read_attribute, &chain) < MNL_CB_STOP)
		return -EPROTO;
	switch (head->nfgen_family) {
	case NFPROTO_IPV4:
		family = "ip";
		families = SL_FILTER_IP4;
		break;
	case NFPROTO_IPV6:
		family = "ip6";
		families = SL_FILTER_IP6;
		break;
	case NFPROTO_INET:
		family = "inet";
		families = SL_FILTER_IP4 | SL_FILTER_IP6;
		break;
	case NFPROTO_NETDEV:
		family = "netdev";
		families = SL_FILTER_IP4 | SL_FILTER_IP6;
		break;
	default: /* bridges and ARP: the fast path gives both to the kernel */
		return 0;
	}
	if (!concerns_forwarded(head->nfgen_family, &chain))
		return 0;
	snprintf(name, SL_FILTER_NAME_BYTES, "table %s %s, chain %s", family,
		 chain.table ? chain.table : "?", chain.name ? chain.name : "?");
	return families;
}
