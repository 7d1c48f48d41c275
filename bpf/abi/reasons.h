/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * Why a packet did not take the fast path, and what is counted.
 */
#ifndef SL_REASONS_H
#define SL_REASONS_H

#include <linux/types.h>

#include "bpf/abi/abi.h"

/*
 * Every packet that sl_edge sees counts once in sl_stats (RX) and once in exactly one of:
 * sl_stats (FORWARD: handed to the driver of the egress port, or to that of a chain of elements;
 * VOQ: redirected into a virtual output queue), sl_drops (a drop reason) or sl_punts (a punt
 * reason: given to this node's kernel).
 *
 * A driver may still refuse a frame that it was handed. txdrops.bpf.c learns of it afterwards, and
 * only how many frames: such a frame counts in FORWARD, and also as one packet of 0 bytes in
 * TX_RING or TX_ERROR. Likewise one that the fabric's driver refused counts in EXPRESS and in
 * EXPRESS_TX. TX_RING and TX_ERROR also have frames of express messages, which came by the fabric.
 * With T = TX_RING + TX_ERROR and D = all drop reasons but these three:
 *
 *   rx = forward + voq + D + punts   always
 *   left by a port = forward - T     if txdrops.bpf.o is loaded
 *
 * The bridge counts what happens to a frame after VOQ; sl_backlog has those that the ring did not
 * take.
 *
 * Bytes are those of the frame as received, also for FORWARD, so the sums hold for them too.
 * Each list is X(enumerator, name, text); the name is what users see, the text explains it.
 */
#define SL_DROP_REASONS(X)                                                                         \
	X(ETH_TRUNCATED, "eth-truncated", "frame shorter than its Ethernet and VLAN headers")      \
	X(IP4_TRUNCATED, "ip4-truncated", "frame or total length too short for the IPv4 header")   \
	X(IP4_VERSION, "ip4-version", "IPv4 ethertype, but version is not 4")                      \
	X(IP4_HEADER_LENGTH, "ip4-header-length", "IHL below 5, or header beyond the frame")       \
	X(IP4_TOTAL_LENGTH, "ip4-total-length",                                                    \
	  "total length below the header or beyond the frame")                                     \
	X(IP4_CHECKSUM, "ip4-checksum", "header checksum is wrong")                                \
	X(IP4_MARTIAN_SOURCE, "ip4-martian-source", "source address that no host may use")         \
	X(IP4_MARTIAN_DEST, "ip4-martian-dest", "destination address that is never forwarded")     \
	X(IP6_TRUNCATED, "ip6-truncated", "frame too short for the IPv6 header")                   \
	X(IP6_VERSION, "ip6-version", "IPv6 ethertype, but version is not 6")                      \
	X(IP6_PAYLOAD_LENGTH, "ip6-payload-length", "payload length beyond the frame")             \
	X(IP6_MARTIAN_SOURCE, "ip6-martian-source", "source address that no host may use")         \
	X(IP6_MARTIAN_DEST, "ip6-martian-dest", "destination address that is never forwarded")     \
	X(BLACKHOLE, "blackhole", "a blackhole route matches")                                     \
	X(TX_RING, "tx-ring", "the egress driver took fewer frames than it was handed")            \
	X(TX_ERROR, "tx-error", "the egress port is gone, down or refuses redirected frames")      \
	X(REWRITE, "rewrite", "no room before the frame for a VLAN tag or a message's headers")    \
	X(VOQ_FULL, "voq-full", "the virtual output queue holds as many frames as it may")         \
	X(VOQ_DELAY, "voq-delay", "would wait longer in the virtual output queue than is allowed") \
	X(VOQ_STOPPED, "voq-stopped", "the rate of the virtual output queue is 0")                 \
	X(VOQ_MEMORY, "voq-memory",                                                                \
	  "would take more than the queue's share of the bridge's free packet memory")             \
	X(NO_BRIDGE, "no-bridge", "no socket of the bridge for this port and receive queue")       \
	X(FABRIC_SPOOF, "fabric-spoof",                                                            \
	  "the fabric's protocol, for an address of the fabric, at an edge port")                  \
	X(TAGS, "tags", "in a cluster: more than two VLAN tags, which could hide such a frame")    \
	X(FILTER, "filter",                                                                        \
	  "an exact flow, a rule of the port's filter list, or its default denies it")             \
	X(FILTER_HEADERS, "filter-headers",                                                        \
	  "where it meets a list or exact flows: IPv6 headers that cannot be read to their end")   \
	X(TTL_LIMIT, "ttl-limit", "more packets of the reason ttl than the kernel shall answer")   \
	X(NO_ROUTE_LIMIT, "no-route-limit",                                                        \
	  "more packets of the reason no-route than the kernel shall answer")                      \
	X(LOCAL_LIMIT, "local-limit", "a flood for this node, of no connection and for no socket") \
	X(POLICED, "policed", "beyond the rate of a rule that polices")                            \
	X(NEXT_HOP, "next-hop",                                                                    \
	  "the next hop that a rule names cannot take it: see sluice.yaml(5)")                     \
	X(EXPRESS_TX, "express-tx", "the fabric's driver did not take the frame from XDP")         \
	X(CHAIN, "chain",                                                                          \
	  "for a chain of elements: sluice-elements is away, or the frame too large for it")       \
	X(ELEMENT, "element", "by an element of a fast chain: `sluice element show` says which")   \
	X(CHAIN_TIME, "chain-time",                                                                \
	  "a fast chain has used the processor time of its ceiling: `sluice flow` says which")

#define SL_PUNT_REASONS(X)                                                                       \
	X(NOT_IP, "not-ip", "neither IPv4 nor IPv6: ARP, LLDP, MPLS, ...")                       \
	X(VLAN, "vlan", "a VLAN that is not configured for the fast path")                       \
	X(MULTICAST, "multicast",                                                                \
	  "multicast or broadcast destination, link-layer or network-layer")                     \
	X(LOCAL, "local", "for an address of this node")                                         \
	X(LINK_LOCAL, "link-local", "to or from a link-local address")                           \
	X(IP4_OPTIONS, "ip4-options", "IPv4 options")                                            \
	X(IP6_HOP_BY_HOP, "ip6-hop-by-hop", "IPv6 hop-by-hop options")                           \
	X(TTL, "ttl", "TTL or hop limit about to expire: the kernel answers")                    \
	X(TOO_BIG, "too-big", "larger than the egress MTU: the kernel fragments or answers")     \
	X(NO_ROUTE, "no-route", "no route: the kernel answers")                                  \
	X(UNREACHABLE, "unreachable", "an unreachable, prohibit or throw route matches")         \
	X(NEIGHBOUR, "neighbour", "next hop not resolved yet: the kernel resolves it")           \
	X(REDIRECT, "redirect", "would leave where it entered: the kernel may send a redirect")  \
	X(NOT_A_PORT, "not-a-port", "the egress device is not one of the fast path's ports")     \
	X(FORWARDING_OFF, "forwarding-off", "forwarding is disabled on the ingress port")        \
	X(RP_FILTER, "rp-filter", "reverse-path filter is on and the source does not pass here") \
	X(ENCAP, "encap", "the route needs an encapsulation that only the kernel does")          \
	X(OVERFLOW, "overflow", "the route did not fit the tables")                              \
	X(POLICY, "policy",                                                                      \
	  "policy rules, or a route with a lifetime or a condition: the kernel decides")         \
	X(NOT_READY, "not-ready", "the tables are being filled")                                 \
	X(ETH_NOT_OURS, "eth-not-ours",                                                          \
	  "for another MAC address: a bridge, a macvlan or VRRP of this node may take it")       \
	X(OTHER, "other",                                                                        \
	  "headers in several buffers, or bpf_fib_lookup refused for another reason")            \
	X(NO_META, "no-meta",                                                                    \
	  "no room for metadata below the frame: the kernel sends by the remote port")           \
	X(XFRM, "xfrm", "IPsec policies exist: the kernel decides")                              \
	X(NETFILTER, "netfilter",                                                                \
	  "netfilter rules for forwarded packets exist: the kernel decides")                     \
	X(BUFFERS, "buffers", "in several buffers, which the egress driver does not take")       \
	X(ND, "nd", "neighbour discovery: the kernel may answer for others (proxy_ndp)")         \
	X(AWAY, "away", "sluiced has been away for too long: the kernel decides")                \
	X(FILTER, "filter", "an exact flow or a rule of the port's list gives it to the kernel")

#define SL_ENUM_DROP(id, name, text) SL_DROP_##id,
#define SL_ENUM_PUNT(id, name, text) SL_PUNT_##id,

enum sl_drop { SL_DROP_REASONS(SL_ENUM_DROP) SL_DROP_COUNT };
enum sl_punt { SL_PUNT_REASONS(SL_ENUM_PUNT) SL_PUNT_COUNT };

#define SL_STATS(X)                                                                 \
	X(RX, "rx", "frames that entered at an edge port")                          \
	X(FORWARD, "forward", "frames handed to the driver of a local egress port") \
	X(RX_IP4, "rx-ip4", "of those that entered, IPv4")                          \
	X(RX_IP6, "rx-ip6", "of those that entered, IPv6")                          \
	X(VOQ, "voq", "frames redirected into a virtual output queue")              \
	X(CE, "ce", "of those, marked as having experienced congestion (RFC 3168)") \
	X(EXPRESS, "express", "of those, sent into the fabric without waiting")
#define SL_ENUM_STAT(id, name, text) SL_STAT_##id,
enum sl_stat { SL_STATS(SL_ENUM_STAT) SL_STAT_COUNT };

/*
 * The slots of sl_stats. XDP counts each frame that goes on in one slot only, since that takes a
 * third of the time of three: IPv4 in FORWARD or VOQ, IPv6 in the two slots behind the list. Its
 * slots RX, RX_IP4 and RX_IP6 count the frames that it drops or gives to the kernel.
 * sl_stats_complete makes of the slots what the list says.
 */
enum { SL_STAT_FORWARD_IP6 = SL_STAT_COUNT, SL_STAT_VOQ_IP6, SL_STAT_SLOTS };

/* One slot of sl_drops, sl_punts and sl_stats: per CPU, never reset. */
struct sl_counter {
	__u64 packets;
	__u64 bytes; /* frame bytes from the Ethernet header on, without FCS */
};
SL_ASSERT_SIZE(struct sl_counter, 16);

static inline void sl_counter_add(struct sl_counter *counter, const struct sl_counter *more)
{
	counter->packets += more->packets;
	counter->bytes += more->bytes;
}

/* slots: SL_STAT_SLOTS of them, as read; then the first SL_STAT_COUNT are the counters. */
static inline void sl_stats_complete(struct sl_counter *slots)
{
	static const struct {
		enum sl_stat ip4;
		unsigned int ip6;
	} end[] = { { SL_STAT_FORWARD, SL_STAT_FORWARD_IP6 }, { SL_STAT_VOQ, SL_STAT_VOQ_IP6 } };

	for (unsigned int i = 0; i < sizeof(end) / sizeof(end[0]); i++) {
		sl_counter_add(&slots[SL_STAT_RX_IP4], &slots[end[i].ip4]);
		sl_counter_add(&slots[SL_STAT_RX_IP6], &slots[end[i].ip6]);
		sl_counter_add(&slots[end[i].ip4], &slots[end[i].ip6]);
		sl_counter_add(&slots[SL_STAT_RX], &slots[end[i].ip4]);
	}
}

#endif
