/* SPDX-License-Identifier: BSD-2-Clause */
/* See rtnl.h. Formats: rtnetlink(7), netlink(7) and the kernel's include/uapi/linux headers. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <netinet/in.h>
#include <linux/fib_rules.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/lwtunnel.h>
#include <linux/neighbour.h>
#include <linux/netconf.h>
#include <linux/nexthop.h>
#include <linux/rtnetlink.h>

#include "user/rtnl/rtnl.h"

/* --- Attributes --- */

struct attr {
	uint16_t type; /* without NLA_F_NESTED */
	uint32_t len;  /* bytes at data */
	const uint8_t *data;
};

struct attrs {
	const uint8_t *at;
	uint32_t left;
	bool bad; /* a length ran past the end */
};

static struct attrs attrs_of(const void *data, uint32_t len)
{
	return (struct attrs){ .at = data, .left = len };
}

static bool attr_next(struct attrs *it, struct attr *a)
{
	struct nlattr head;

	if (it->left < sizeof(head)) {
		it->bad = it->left != 0;
		return false;
	}
	memcpy(&head, it->at, sizeof(head));
	if (head.nla_len < sizeof(head) || head.nla_len > it->left) {
		it->bad = true;
		return false;
	}
	a->type = head.nla_type & NLA_TYPE_MASK;
	a->len = head.nla_len - sizeof(head);
	a->data = it->at + sizeof(head);
	uint32_t step = NLA_ALIGN((uint32_t)head.nla_len);
	if (step > it->left) /* the last one need not be padded */
		step = it->left;
	it->at += step;
	it->left -= step;
	return true;
}

/* The fixed header of a message, copied, and an iterator over what follows. */
static int message_open(const struct nlmsghdr *nlh, void *head, uint32_t head_bytes,
			struct attrs *it)
{
	const uint8_t *payload = (const uint8_t *)nlh + NLMSG_HDRLEN;
	const uint32_t skip = NLMSG_ALIGN(head_bytes);

	if (nlh->nlmsg_len < NLMSG_HDRLEN + head_bytes)
		return -EPROTO;
	memcpy(head, payload, head_bytes);
	uint32_t len = nlh->nlmsg_len - NLMSG_HDRLEN;
	*it = len > skip ? attrs_of(payload + skip, len - skip) : attrs_of(payload, 0);
	return 0;
}

/* Values. False if the attribute does not have the size of its type: the message makes no sense. */
static bool get_u16(const struct attr *a, uint16_t *v)
{
	if (a->len != sizeof(*v))
		return false;
	memcpy(v, a->data, sizeof(*v));
	return true;
}

static bool get_be16(const struct attr *a, __be16 *v)
{
	if (a->len != sizeof(*v))
		return false;
	memcpy(v, a->data, sizeof(*v));
	return true;
}

static bool get_u32(const struct attr *a, uint32_t *v)
{
	if (a->len != sizeof(*v))
		return false;
	memcpy(v, a->data, sizeof(*v));
	return true;
}

static bool get_u64(const struct attr *a, uint64_t *v)
{
	if (a->len != sizeof(*v))
		return false;
	memcpy(v, a->data, sizeof(*v));
	return true;
}

static uint32_t addr_bytes(uint8_t family)
{
	return family == AF_INET ? 4 : 16;
}

static bool get_addr(const struct attr *a, uint8_t family, uint8_t addr[16])
{
	if (a->len != addr_bytes(family))
		return false;
	memset(addr, 0, 16);
	memcpy(addr, a->data, a->len);
	return true;
}

/* Element i of an array of u32, or 0 if this kernel's array is shorter. */
static uint32_t array_u32(const struct attr *a, uint32_t i)
{
	uint32_t v = 0;

	if ((uint64_t)i * sizeof(v) + sizeof(v) <= a->len)
		memcpy(&v, a->data + i * sizeof(v), sizeof(v));
	return v;
}

static void hash_bytes(uint32_t *hash, const void *data, uint32_t len)
{
	const uint8_t *p = data;

	for (uint32_t i = 0; i < len; i++)
		*hash = (*hash ^ p[i]) * 16777619u; /* FNV-1a */
}

static bool ip_family(uint8_t family)
{
	return family == AF_INET || family == AF_INET6;
}

/* --- Links --- */

static bool parse_vlan(const struct attr *data, struct sl_rtnl_link *out)
{
	struct attrs it = attrs_of(data->data, data->len);
	struct attr a;
	bool ok = true;

	while (attr_next(&it, &a)) {
		if (a.type == IFLA_VLAN_ID)
			ok &= get_u16(&a, &out->vlan_id);
		else if (a.type == IFLA_VLAN_PROTOCOL)
			ok &= get_be16(&a, &out->vlan_tpid);
		else if (a.type == IFLA_VLAN_EGRESS_QOS)
			out->vlan_remaps = a.len > 0;
	}
	return ok && !it.bad;
}

static bool is_text(const struct attr *a, const char *text)
{
	const uint32_t len = (uint32_t)strlen(text);

	return a->len >= len && !memcmp(a->data, text, len) && (a->len == len || !a->data[len]);
}

static bool parse_linkinfo(const struct attr *info, struct sl_rtnl_link *out)
{
	struct attrs it = attrs_of(info->data, info->len);
	struct attr a, data = { 0 };

	while (attr_next(&it, &a)) {
		if (a.type == IFLA_INFO_KIND) {
			out->is_vlan = is_text(&a, "vlan");
			out->partial_checksums = is_text(&a, "veth") || is_text(&a, "tun");
		} else if (a.type == IFLA_INFO_DATA) {
			data = a;
		}
	}
	if (it.bad)
		return false;
	return !out->is_vlan || parse_vlan(&data, out);
}

static bool parse_settings(const struct attr *spec, struct sl_rtnl_link *out)
{
	struct attrs families = attrs_of(spec->data, spec->len);
	struct attr family, a;

	while (attr_next(&families, &family)) {
		struct attrs it = attrs_of(family.data, family.len);
		if (!ip_family((uint8_t)family.type))
			continue;
		while (attr_next(&it, &a)) {
			if (family.type == AF_INET && a.type == IFLA_INET_CONF) {
				out->has_settings4 = true;
				out->forwarding4 = array_u32(&a, IPV4_DEVCONF_FORWARDING - 1);
				out->rp_filter = array_u32(&a, IPV4_DEVCONF_RP_FILTER - 1);
				out->send_redirects =
					array_u32(&a, IPV4_DEVCONF_SEND_REDIRECTS - 1);
				out->route_localnet =
					array_u32(&a, IPV4_DEVCONF_ROUTE_LOCALNET - 1);
				out->ignore_linkdown4 =
					array_u32(&a, IPV4_DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN - 1);
			} else if (family.type == AF_INET6 && a.type == IFLA_INET6_CONF) {
				out->has_settings6 = true;
				out->mtu6_bytes = array_u32(&a, DEVCONF_MTU6);
				out->disable_ipv6 = array_u32(&a, DEVCONF_DISABLE_IPV6);
				out->ignore_linkdown6 =
					array_u32(&a, DEVCONF_IGNORE_ROUTES_WITH_LINKDOWN);
			}
		}
		if (it.bad)
			return false;
	}
	return !families.bad;
}

static bool parse_xdp(const struct attr *xdp, struct sl_rtnl_link *out)
{
	struct attrs it = attrs_of(xdp->data, xdp->len);
	struct attr a;

	while (attr_next(&it, &a))
		if (a.type == IFLA_XDP_ATTACHED && a.len == 1)
			out->generic_xdp = a.data[0] == XDP_ATTACHED_SKB;
	return !it.bad;
}

int sl_rtnl_parse_link(const struct nlmsghdr *nlh, struct sl_rtnl_link *out)
{
	struct ifinfomsg head;
	struct attrs it;
	struct attr a;
	bool ok = true;

	if (message_open(nlh, &head, sizeof(head), &it))
		return -EPROTO;
	if (head.ifi_family != AF_UNSPEC) /* what a bridge or IPv6 says of the link */
		return -ENOTSUP;
	if (head.ifi_index <= 0)
		return -EPROTO;
	memset(out, 0, sizeof(*out));
	out->removed = nlh->nlmsg_type == RTM_DELLINK;
	out->ifindex = (uint32_t)head.ifi_index;
	out->flags = head.ifi_flags;
	out->arp_type = head.ifi_type;
	while (attr_next(&it, &a)) {
		switch (a.type) {
		case IFLA_IFNAME:
			ok &= a.len > 0 && a.len <= sizeof(out->name) && a.data[a.len - 1] == 0;
			if (ok)
				memcpy(out->name, a.data, a.len);
			break;
		case IFLA_ADDRESS:
			out->mac_bytes = a.len <= UINT8_MAX ? (uint8_t)a.len : 0;
			if (a.len == sizeof(out->mac))
				memcpy(out->mac, a.data, a.len);
			break;
		case IFLA_MTU:
			ok &= get_u32(&a, &out->mtu_bytes);
			break;
		case IFLA_MASTER:
			ok &= get_u32(&a, &out->master);
			break;
		case IFLA_LINK:
			ok &= get_u32(&a, &out->parent);
			break;
		case IFLA_LINK_NETNSID:
			out->parent_elsewhere = true;
			break;
		case IFLA_LINKINFO:
			ok &= parse_linkinfo(&a, out);
			break;
		case IFLA_AF_SPEC:
			ok &= parse_settings(&a, out);
			break;
		case IFLA_XDP:
			ok &= parse_xdp(&a, out);
			break;
		}
	}
	return ok && !it.bad ? 0 : -EPROTO;
}

/* --- Addresses and neighbours --- */

int sl_rtnl_parse_addr(const struct nlmsghdr *nlh, struct sl_rtnl_addr *out)
{
	struct ifaddrmsg head;
	struct attrs it;
	struct attr a;
	bool ok = true, has_local = false, has_addr = false;
	uint32_t flags = 0;

	if (message_open(nlh, &head, sizeof(head), &it))
		return -EPROTO;
	if (!ip_family(head.ifa_family))
		return -ENOTSUP;
	memset(out, 0, sizeof(*out));
	out->removed = nlh->nlmsg_type == RTM_DELADDR;
	out->family = head.ifa_family;
	out->len = head.ifa_prefixlen;
	out->ifindex = head.ifa_index;
	while (attr_next(&it, &a)) {
		if (a.type == IFA_LOCAL) {
			ok &= get_addr(&a, out->family, out->local);
			has_local = true;
		} else if (a.type == IFA_ADDRESS) { /* the peer's, if there is a local one too */
			ok &= get_addr(&a, out->family, out->peer);
			has_addr = true;
		} else if (a.type == IFA_FLAGS) {
			ok &= get_u32(&a, &flags);
		}
	}
	if (!has_local)
		memcpy(out->local, out->peer, sizeof(out->local));
	out->has_peer = has_addr && memcmp(out->local, out->peer, sizeof(out->local)) != 0;
	if (!out->has_peer)
		memset(out->peer, 0, sizeof(out->peer));
	out->no_prefix_route = flags & IFA_F_NOPREFIXROUTE;
	return ok && !it.bad && (has_local || has_addr) && out->ifindex ? 0 : -EPROTO;
}

int sl_rtnl_parse_neigh(const struct nlmsghdr *nlh, struct sl_rtnl_neigh *out)
{
	struct ndmsg head;
	struct attrs it;
	struct attr a;
	bool ok = true, has_addr = false;
	uint32_t flags_ext = 0;

	if (message_open(nlh, &head, sizeof(head), &it))
		return -EPROTO;
	if (!ip_family(head.ndm_family) || head.ndm_flags & NTF_PROXY)
		return -ENOTSUP;
	if (head.ndm_ifindex <= 0)
		return -EPROTO;
	memset(out, 0, sizeof(*out));
	out->removed = nlh->nlmsg_type == RTM_DELNEIGH;
	out->family = head.ndm_family;
	out->ifindex = (uint32_t)head.ndm_ifindex;
	out->state = head.ndm_state;
	out->flags = head.ndm_flags;
	while (attr_next(&it, &a)) {
		if (a.type == NDA_DST) {
			ok &= get_addr(&a, out->family, out->addr);
			has_addr = true;
		} else if (a.type == NDA_LLADDR) {
			out->mac_bytes = a.len <= UINT8_MAX ? (uint8_t)a.len : 0;
			if (a.len == sizeof(out->mac))
				memcpy(out->mac, a.data, a.len);
		} else if (a.type == NDA_FLAGS_EXT) {
			ok &= get_u32(&a, &flags_ext);
			out->managed = flags_ext & NTF_EXT_MANAGED;
		}
	}
	return ok && !it.bad && has_addr ? 0 : -EPROTO;
}

int sl_rtnl_parse_neightbl(const struct nlmsghdr *nlh, struct sl_rtnl_neightbl *out)
{
	struct ndtmsg head;
	struct attrs it, parms;
	struct attr a;
	bool ok = true;

	if (message_open(nlh, &head, sizeof(head), &it))
		return -EPROTO;
	if (!ip_family(head.ndtm_family))
		return -ENOTSUP;
	*out = (struct sl_rtnl_neightbl){ 0 };
	while (attr_next(&it, &a)) {
		if (a.type != NDTA_PARMS)
			continue;
		parms = attrs_of(a.data, a.len);
		while (attr_next(&parms, &a)) {
			if (a.type == NDTPA_BASE_REACHABLE_TIME)
				ok &= get_u64(&a, &out->reachable_ms);
			else if (a.type == NDTPA_GC_STALETIME)
				ok &= get_u64(&a, &out->stale_ms);
		}
		ok &= !parms.bad;
	}
	return ok && !it.bad ? 0 : -EPROTO;
}

/* --- Routes --- */

static bool parse_gateway(const struct attr *a, uint8_t family, struct sl_rtnl_leg *leg)
{
	leg->gateway_family = family;
	return get_addr(a, family, leg->gateway);
}

/* RTA_VIA: a gateway of another family than the route (RFC 8950). */
static bool parse_via(const struct attr *a, struct sl_rtnl_leg *leg)
{
	uint16_t family;
	struct attr addr;

	if (a->len < sizeof(family))
		return false;
	memcpy(&family, a->data, sizeof(family));
	if (!ip_family((uint8_t)family) || family > UINT8_MAX)
		return false;
	addr = (struct attr){ .len = a->len - sizeof(family), .data = a->data + sizeof(family) };
	return parse_gateway(&addr, (uint8_t)family, leg);
}

static bool encapsulates(const struct attr *type)
{
	uint16_t v;

	return !get_u16(type, &v) || v != LWTUNNEL_ENCAP_NONE;
}

static bool parse_multipath(const struct attr *a, struct sl_rtnl_route *out)
{
	const uint8_t *at = a->data;
	uint32_t left = a->len;

	out->n_legs = 0;
	while (left > 0) {
		struct rtnexthop head;
		struct sl_rtnl_leg leg;
		struct attrs it;
		struct attr sub;
		bool ok = true;

		if (left < sizeof(head))
			return false;
		memcpy(&head, at, sizeof(head));
		if (head.rtnh_len < sizeof(head) || head.rtnh_len > left || head.rtnh_ifindex < 0)
			return false;
		memset(&leg, 0, sizeof(leg));
		leg.ifindex = (uint32_t)head.rtnh_ifindex;
		leg.flags = head.rtnh_flags;
		leg.weight = head.rtnh_hops + 1u;
		it = attrs_of(at + sizeof(head), head.rtnh_len - (uint32_t)sizeof(head));
		while (attr_next(&it, &sub)) {
			if (sub.type == RTA_GATEWAY)
				ok &= parse_gateway(&sub, out->dst.family, &leg);
			else if (sub.type == RTA_VIA)
				ok &= parse_via(&sub, &leg);
			else if (sub.type == RTA_ENCAP_TYPE)
				leg.encap = encapsulates(&sub);
		}
		if (!ok || it.bad)
			return false;
		if (out->n_legs < SL_RTNL_LEGS_MAX)
			out->leg[out->n_legs++] = leg;
		else
			out->too_many_legs = true;
		uint32_t step = RTNH_ALIGN((uint32_t)head.rtnh_len);
		if (step > left)
			step = left;
		at += step;
		left -= step;
	}
	return out->n_legs > 0;
}

static bool parse_metrics(const struct attr *metrics, struct sl_rtnl_route *out)
{
	struct attrs it = attrs_of(metrics->data, metrics->len);
	struct attr a;
	uint32_t lock;
	bool ok = true;

	while (attr_next(&it, &a)) {
		if (a.type == RTAX_MTU) {
			ok &= get_u32(&a, &out->mtu_bytes);
		} else if (a.type == RTAX_LOCK) {
			ok &= get_u32(&a, &lock);
			out->mtu_locked = ok && lock & (1u << RTAX_MTU);
		}
	}
	hash_bytes(&out->other, metrics->data, metrics->len);
	return ok && !it.bad;
}

static bool parse_cacheinfo(const struct attr *a, struct sl_rtnl_route *out)
{
	struct rta_cacheinfo info;

	if (a->len < sizeof(info))
		return false;
	memcpy(&info, a->data, sizeof(info));
	out->expires = info.rta_expires != 0;
	return true;
}

static bool host_bits_zero(const struct sl_prefix *p)
{
	const uint32_t bytes = addr_bytes(p->family);
	uint32_t i = p->len / 8;

	if (i < bytes && p->len % 8 && p->addr[i++] & (0xff >> p->len % 8))
		return false;
	for (; i < bytes; i++)
		if (p->addr[i])
			return false;
	return true;
}

static bool parse_route_attr(const struct attr *a, struct sl_rtnl_leg *leg, bool *multipath,
			     struct sl_rtnl_route *out)
{
	switch (a->type) {
	case RTA_TABLE:
		return get_u32(a, &out->table);
	case RTA_DST:
		return get_addr(a, out->dst.family, out->dst.addr);
	case RTA_SRC:
		return get_addr(a, out->dst.family, out->src);
	case RTA_PRIORITY:
		return get_u32(a, &out->metric);
	case RTA_PREFSRC:
		out->has_prefsrc = true;
		return get_addr(a, out->dst.family, out->prefsrc);
	case RTA_OIF:
		return get_u32(a, &leg->ifindex);
	case RTA_GATEWAY:
		return parse_gateway(a, out->dst.family, leg);
	case RTA_VIA:
		return parse_via(a, leg);
	case RTA_ENCAP_TYPE:
		leg->encap = encapsulates(a);
		return true;
	case RTA_MULTIPATH:
		*multipath = true;
		return parse_multipath(a, out);
	case RTA_NH_ID:
		return get_u32(a, &out->object);
	case RTA_METRICS:
		return parse_metrics(a, out);
	case RTA_CACHEINFO:
		return parse_cacheinfo(a, out);
	case RTA_FLOW:
	case RTA_PREF:
		hash_bytes(&out->other, &a->type, sizeof(a->type));
		hash_bytes(&out->other, a->data, a->len);
		return true;
	}
	return true;
}

int sl_rtnl_parse_route(const struct nlmsghdr *nlh, struct sl_rtnl_route *out)
{
	struct rtmsg head;
	struct attrs it;
	struct attr a;
	struct sl_rtnl_leg leg = { .weight = 1 };
	bool ok = true, multipath = false;

	if (message_open(nlh, &head, sizeof(head), &it))
		return -EPROTO;
	if (!ip_family(head.rtm_family) || head.rtm_flags & RTM_F_CLONED)
		return -ENOTSUP;
	memset(out, 0, offsetof(struct sl_rtnl_route, leg));
	out->removed = nlh->nlmsg_type == RTM_DELROUTE;
	out->replace = nlh->nlmsg_flags & NLM_F_REPLACE;
	out->append = nlh->nlmsg_flags & NLM_F_APPEND;
	out->dst.family = head.rtm_family;
	out->dst.len = head.rtm_dst_len;
	out->src_len = head.rtm_src_len;
	out->table = head.rtm_table;
	out->tos = head.rtm_tos;
	out->protocol = head.rtm_protocol;
	out->scope = head.rtm_scope;
	out->type = head.rtm_type;
	out->from_ra = head.rtm_protocol == RTPROT_RA;
	leg.flags = (uint8_t)head.rtm_flags; /* its low bits are RTNH_F_* */
	while (ok && attr_next(&it, &a))
		ok = parse_route_attr(&a, &leg, &multipath, out);
	if (!ok || it.bad || head.rtm_dst_len > 8 * addr_bytes(head.rtm_family) ||
	    head.rtm_src_len > 8 * addr_bytes(head.rtm_family) || !host_bits_zero(&out->dst))
		return -EPROTO;
	if (!multipath && (leg.ifindex || leg.gateway_family || leg.encap)) {
		out->leg[0] = leg;
		out->n_legs = 1;
	}
	return 0;
}

/* --- Next-hop objects --- */

static bool parse_group(const struct attr *a, struct sl_rtnl_nexthop *out)
{
	/* u32 id, then the low and the high byte of weight - 1, u16 reserved */
	enum { RECORD = 8 };

	if (a->len == 0 || a->len % RECORD)
		return false;
	out->group = true;
	for (uint32_t at = 0; at < a->len; at += RECORD) {
		struct sl_rtnl_member m;
		if (out->n_members == SL_RTNL_LEGS_MAX) {
			out->too_many_members = true;
			break;
		}
		memcpy(&m.object, a->data + at, sizeof(m.object));
		m.weight = (a->data[at + 4] | (uint32_t)a->data[at + 5] << 8) + 1;
		out->member[out->n_members++] = m;
	}
	return true;
}

int sl_rtnl_parse_nexthop(const struct nlmsghdr *nlh, struct sl_rtnl_nexthop *out)
{
	struct nhmsg head;
	struct attrs it;
	struct attr a;
	bool ok = true;

	if (message_open(nlh, &head, sizeof(head), &it))
		return -EPROTO;
	memset(out, 0, offsetof(struct sl_rtnl_nexthop, member));
	out->removed = nlh->nlmsg_type == RTM_DELNEXTHOP;
	out->family = head.nh_family;
	out->leg.flags = (uint8_t)head.nh_flags;
	out->leg.weight = 1;
	while (ok && attr_next(&it, &a)) {
		switch (a.type) {
		case NHA_ID:
			ok = get_u32(&a, &out->id);
			break;
		case NHA_OIF:
			ok = get_u32(&a, &out->leg.ifindex);
			break;
		case NHA_GATEWAY:
			ok = ip_family(out->family) && parse_gateway(&a, out->family, &out->leg);
			break;
		case NHA_BLACKHOLE:
			out->blackhole = true;
			break;
		case NHA_FDB:
			out->fdb = true;
			break;
		case NHA_ENCAP_TYPE:
			out->leg.encap = encapsulates(&a);
			break;
		case NHA_GROUP:
			ok = parse_group(&a, out);
			break;
		}
	}
	return ok && !it.bad && out->id ? 0 : -EPROTO;
}

/* --- Rules and settings --- */

int sl_rtnl_parse_rule(const struct nlmsghdr *nlh, struct sl_rtnl_rule *out)
{
	struct fib_rule_hdr head;
	struct attrs it;
	struct attr a;
	uint32_t none;
	bool ok = true;

	if (message_open(nlh, &head, sizeof(head), &it))
		return -EPROTO;
	if (!ip_family(head.family))
		return -ENOTSUP;
	memset(out, 0, sizeof(*out));
	out->family = head.family;
	out->table = head.table;
	out->plain = head.action == FR_ACT_TO_TBL && !head.dst_len && !head.src_len && !head.tos &&
		     !head.flags;
	while (ok && attr_next(&it, &a)) {
		switch (a.type) {
		case FRA_PRIORITY:
			ok = get_u32(&a, &out->priority);
			break;
		case FRA_TABLE:
			ok = get_u32(&a, &out->table);
			break;
		case FRA_PROTOCOL:
		case FRA_PAD:
			break;
		case FRA_SUPPRESS_PREFIXLEN: /* in every message; all ones: it suppresses nothing */
		case FRA_SUPPRESS_IFGROUP:
			ok = get_u32(&a, &none);
			out->plain &= ok && none == UINT32_MAX;
			break;
		case FRA_L3MDEV: /* its value is 1: the kernel takes no other */
			out->l3mdev = true;
			break;
		default: /* any other attribute is a condition */
			out->plain = false;
		}
	}
	if (head.action != FR_ACT_TO_TBL)
		out->table = 0;
	return ok && !it.bad ? 0 : -EPROTO;
}

int sl_rtnl_parse_netconf(const struct nlmsghdr *nlh, struct sl_rtnl_netconf *out)
{
	struct netconfmsg head;
	struct attrs it;
	struct attr a;
	uint32_t v;
	bool has_ifindex = false;

	if (message_open(nlh, &head, sizeof(head), &it))
		return -EPROTO;
	if (!ip_family(head.ncm_family))
		return -ENOTSUP;
	*out = (struct sl_rtnl_netconf){
		.family = head.ncm_family, .forwarding = -1, .rp_filter = -1, .ignore_linkdown = -1
	};
	while (attr_next(&it, &a)) {
		int32_t *where = a.type == NETCONFA_IFINDEX	 ? &out->ifindex
				 : a.type == NETCONFA_FORWARDING ? &out->forwarding
				 : a.type == NETCONFA_RP_FILTER	 ? &out->rp_filter
				 : a.type == NETCONFA_IGNORE_ROUTES_WITH_LINKDOWN
					 ? &out->ignore_linkdown
					 : NULL;
		if (!where)
			continue;
		if (!get_u32(&a, &v))
			return -EPROTO;
		*where = (int32_t)v;
		has_ifindex |= where == &out->ifindex;
	}
	return !it.bad && has_ifindex ? 0 : -EPROTO;
}
