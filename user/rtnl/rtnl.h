/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages of rtnetlink, parsed into structs: the only file that looks into their bytes. Pure: no
 * sockets, no state. Every length is checked before it is used, unknown attributes are skipped.
 *
 * Each parser takes one whole message: nlh->nlmsg_len bytes at nlh can be read. It returns
 *   0            out is complete
 *   -EPROTO      a length or a value makes no sense; out is unspecified
 *   -ENOTSUP     well formed, but about something this program does not follow (another family, a
 *                bridge's forwarding entry, a cached route); out is unspecified
 */
#ifndef SL_RTNL_H
#define SL_RTNL_H

#include <stdbool.h>
#include <stdint.h>
#include <net/if.h>
#include <linux/netlink.h>
#include <linux/types.h>

#include "bpf/abi/forwarding.h"
#include "user/text/prefix.h"

/* A link: RTM_NEWLINK, RTM_DELLINK. Settings come with it (IFLA_AF_SPEC). */
struct sl_rtnl_link {
	bool removed;
	uint32_t ifindex;
	uint32_t flags;	   /* IFF_*, with IFF_LOWER_UP */
	uint16_t arp_type; /* ARPHRD_* */
	char name[IFNAMSIZ];
	uint8_t mac[6];
	uint8_t mac_bytes; /* length of the link-layer address; mac is valid if it is 6 */
	uint32_t mtu_bytes;
	uint32_t master;       /* ifindex of a bridge, bond or VRF above; 0: none */
	uint32_t parent;       /* ifindex of the link below; 0: none */
	bool parent_elsewhere; /* the link below is in another network namespace */
	/* a veth or a TAP: its packets may come without a TCP or UDP checksum */
	bool partial_checksums;
	bool generic_xdp;	   /* the program at this netdev runs in generic mode */
	bool is_vlan, vlan_remaps; /* vlan_remaps: priorities are rewritten on egress */
	uint16_t vlan_id;
	__be16 vlan_tpid;
	bool has_settings4, has_settings6;
	uint32_t forwarding4, rp_filter, send_redirects, ignore_linkdown4, route_localnet;
	uint32_t ignore_linkdown6, disable_ipv6, mtu6_bytes;
};

/* An address: RTM_NEWADDR, RTM_DELADDR. */
struct sl_rtnl_addr {
	bool removed;
	uint8_t family;
	uint8_t len; /* of its prefix */
	uint32_t ifindex;
	uint8_t local[16]; /* the address of this node, not of its peer */
	bool has_peer;	   /* the other end of the link has the address `peer` */
	uint8_t peer[16];
	bool no_prefix_route; /* the kernel has made no route of the prefix */
};

/* A neighbour: RTM_NEWNEIGH, RTM_DELNEIGH of IPv4 and IPv6. */
struct sl_rtnl_neigh {
	bool removed;
	uint8_t family;
	uint32_t ifindex;
	uint16_t state; /* NUD_* */
	uint8_t flags;	/* NTF_* */
	bool managed;	/* the kernel itself keeps it resolved */
	uint8_t addr[16];
	uint8_t mac[6];
	uint8_t mac_bytes; /* mac is valid if it is 6 */
};

/* One leg of a route or of a next-hop object. */
struct sl_rtnl_leg {
	uint32_t ifindex;
	uint32_t weight;	/* 1 and up */
	uint8_t gateway_family; /* 0: none, on link */
	uint8_t flags;		/* RTNH_F_DEAD, RTNH_F_LINKDOWN, RTNH_F_ONLINK */
	bool encap;		/* some encapsulation */
	uint8_t pad;
	uint8_t gateway[16];
};

#define SL_RTNL_LEGS_MAX SL_GROUP_BUCKETS

/* A route: RTM_NEWROUTE, RTM_DELROUTE of IPv4 and IPv6. */
struct sl_rtnl_route {
	bool removed;
	bool replace, append; /* NLM_F_REPLACE, NLM_F_APPEND */
	struct sl_prefix dst;
	uint32_t table, metric;
	uint8_t tos, protocol, type, scope;
	uint8_t src_len; /* not 0: for these sources only (IPv6) */
	uint8_t src[16];
	uint8_t prefsrc[16];
	bool has_prefsrc;
	bool from_ra; /* the kernel learnt it from a router advertisement */
	bool expires; /* the kernel removes it at a set time */
	bool mtu_locked;
	uint32_t mtu_bytes; /* 0: the link's */
	uint32_t other;	    /* hash of what else distinguishes two routes: metrics, realms, ... */
	uint32_t object;    /* id of a next-hop object; 0: the legs below */
	uint32_t n_legs;    /* 0..SL_RTNL_LEGS_MAX */
	bool too_many_legs; /* the rest is missing */
	struct sl_rtnl_leg leg[SL_RTNL_LEGS_MAX];
};

struct sl_rtnl_member {
	uint32_t object;
	uint32_t weight; /* 1..65536 */
};

/* A next-hop object: RTM_NEWNEXTHOP, RTM_DELNEXTHOP. */
struct sl_rtnl_nexthop {
	bool removed;
	uint32_t id;
	uint8_t family;	     /* AF_UNSPEC for groups */
	bool fdb, blackhole; /* fdb: of a VXLAN's forwarding table, so no route can name it */
	bool group;
	struct sl_rtnl_leg leg; /* if it is neither group nor blackhole */
	uint32_t n_members;
	bool too_many_members;
	struct sl_rtnl_member member[SL_RTNL_LEGS_MAX];
};

/* A policy rule: RTM_NEWRULE, RTM_DELRULE. */
struct sl_rtnl_rule {
	uint8_t family;
	uint32_t priority;
	uint32_t table; /* that it looks up; 0 if it does something else */
	bool plain;	/* for every packet, without conditions or side effects */
	bool l3mdev;	/* for packets that enter or leave at a member of a VRF only */
};

/* Settings of an interface: RTM_NEWNETCONF. Those not in the message are -1. */
struct sl_rtnl_netconf {
	uint8_t family;
	int32_t ifindex; /* or NETCONFA_IFINDEX_ALL, _DEFAULT */
	int32_t forwarding, rp_filter, ignore_linkdown;
};

/* Neighbour settings of one interface: RTM_NEWNEIGHTBL. */
struct sl_rtnl_neightbl {
	/* How long the kernel trusts a neighbour; it varies this base. 0: not in the message. */
	uint64_t reachable_ms;
	/* How long it keeps a neighbour that it does not use. 0: not in the message. */
	uint64_t stale_ms;
};

int sl_rtnl_parse_link(const struct nlmsghdr *nlh, struct sl_rtnl_link *out);
int sl_rtnl_parse_addr(const struct nlmsghdr *nlh, struct sl_rtnl_addr *out);
int sl_rtnl_parse_neigh(const struct nlmsghdr *nlh, struct sl_rtnl_neigh *out);
int sl_rtnl_parse_route(const struct nlmsghdr *nlh, struct sl_rtnl_route *out);
int sl_rtnl_parse_nexthop(const struct nlmsghdr *nlh, struct sl_rtnl_nexthop *out);
int sl_rtnl_parse_rule(const struct nlmsghdr *nlh, struct sl_rtnl_rule *out);
int sl_rtnl_parse_netconf(const struct nlmsghdr *nlh, struct sl_rtnl_netconf *out);
int sl_rtnl_parse_neightbl(const struct nlmsghdr *nlh, struct sl_rtnl_neightbl *out);

#endif
