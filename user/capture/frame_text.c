/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "bpf/abi/classifier.h"
#include "bpf/abi/reasons.h"
#include "user/capture/frame_text.h"

#define IP6_EXTENSIONS_MAX 8
#define TAGS_MAX	   4

static const struct {
	const char *name, *text;
} drops[] = {
#define NAMED(id, name, text) { name, text },
	SL_DROP_REASONS(NAMED)
}, punts[] = { SL_PUNT_REASONS(NAMED) };

static uint16_t be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static const char *protocol_name(uint8_t protocol, char number[8])
{
	switch (protocol) {
	case IPPROTO_TCP:
		return "TCP";
	case IPPROTO_UDP:
		return "UDP";
	case IPPROTO_SCTP:
		return "SCTP";
	case IPPROTO_ICMP:
		return "ICMP";
	case IPPROTO_ICMPV6:
		return "ICMPv6";
	default:
		snprintf(number, 8, "%u", protocol);
		return number;
	}
}

/* l4: what follows the IP headers, NULL if that is not the beginning of the packet. */
static void addresses(int family, const uint8_t *source, const uint8_t *destination,
		      uint8_t protocol, const uint8_t *l4, const uint8_t *end,
		      struct sl_frame_flow *flow)
{
	flow->family = family;
	flow->protocol = protocol;
	inet_ntop(family, source, flow->source, sizeof(flow->source));
	inet_ntop(family, destination, flow->destination, sizeof(flow->destination));
	flow->has_ports =
		l4 && end - l4 >= 4 &&
		(protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP ||
		 protocol == IPPROTO_DCCP || protocol == IPPROTO_UDPLITE);
	if (flow->has_ports) {
		flow->source_port = be16(l4);
		flow->destination_port = be16(l4 + 2);
	}
	if (protocol == IPPROTO_TCP && l4 && end - l4 >= 14)
		flow->tcp_flags = l4[13];
	flow->has_icmp =
		l4 && end - l4 >= 2 && (protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6);
	if (flow->has_icmp) {
		flow->icmp_type = l4[0];
		flow->icmp_code = l4[1];
	}
}

static void ip4(const uint8_t *at, const uint8_t *end, struct sl_frame_flow *flow)
{
	bool first;

	if (end - at < 20 || at[0] >> 4 != 4)
		return;
	first = (be16(at + 6) & 0x1fff) == 0;
	flow->dscp = at[1] >> 2;
	flow->fragment = !first			 ? SL_FRAGMENT_LATER
			 : be16(at + 6) & 0x2000 ? SL_FRAGMENT_FIRST
						 : SL_FRAGMENT_NONE;
	addresses(AF_INET, at + 12, at + 16, at[9],
		  first && end - at > (at[0] & 15) * 4 ? at + (at[0] & 15) * 4 : NULL, end, flow);
}

static void ip6(const uint8_t *at, const uint8_t *end, struct sl_frame_flow *flow)
{
	const uint8_t *l4 = at + 40;
	uint8_t next;

	if (end - at < 40 || at[0] >> 4 != 6)
		return;
	next = at[6];
	flow->dscp = (be16(at) >> 6) & 63;
	flow->flow_label = (at[1] & 15u) << 16 | be16(at + 2);
	for (int i = 0; i < IP6_EXTENSIONS_MAX && l4 && end - l4 >= 8; i++) {
		bool fragment = next == IPPROTO_FRAGMENT, later;

		if (next != IPPROTO_HOPOPTS && next != IPPROTO_ROUTING && next != IPPROTO_DSTOPTS &&
		    !fragment)
			break;
		later = fragment && be16(l4 + 2) >> 3;
		if (fragment)
			flow->fragment = later		    ? SL_FRAGMENT_LATER
					 : be16(l4 + 2) & 1 ? SL_FRAGMENT_FIRST
							    : SL_FRAGMENT_NONE;
		next = l4[0];
		l4 = later ? NULL : l4 + (fragment ? 8 : (l4[1] + 1) * 8);
	}
	addresses(AF_INET6, at + 8, at + 24, next, l4, end, flow);
}

/* Where the Ethernet type lies, behind the tags; NULL: the frame is too short. */
static const uint8_t *find_type(const uint8_t *bytes, uint32_t n)
{
	const uint8_t *at = bytes + 12, *end = bytes + n;

	if (n < ETH_HLEN)
		return NULL;
	for (int tags = 0; tags < TAGS_MAX && end - at >= 6; tags++, at += 4)
		if (be16(at) != ETH_P_8021Q && be16(at) != ETH_P_8021AD)
			break;
	return at;
}

void sl_frame_flow(const uint8_t *bytes, uint32_t n, struct sl_frame_flow *flow)
{
	const uint8_t *type = find_type(bytes, n);

	*flow = (struct sl_frame_flow){ 0 };
	if (type && be16(type) == ETH_P_IP)
		ip4(type + 2, bytes + n, flow);
	else if (type && be16(type) == ETH_P_IPV6)
		ip6(type + 2, bytes + n, flow);
}

void sl_frame_text(const uint8_t *bytes, uint32_t n, char *text)
{
	const uint8_t *type = find_type(bytes, n);
	char number[8], ports[2][8] = { "", "" };
	struct sl_frame_flow flow;

	sl_frame_flow(bytes, n, &flow);
	if (flow.has_ports) {
		snprintf(ports[0], sizeof(ports[0]), ".%u", flow.source_port);
		snprintf(ports[1], sizeof(ports[1]), ".%u", flow.destination_port);
	}
	if (flow.family)
		snprintf(text, SL_FRAME_TEXT_MAX, "%s%s > %s%s %s", flow.source, ports[0],
			 flow.destination, ports[1], protocol_name(flow.protocol, number));
	else if (!type)
		snprintf(text, SL_FRAME_TEXT_MAX, "less than an Ethernet header");
	else
		snprintf(text, SL_FRAME_TEXT_MAX,
			 "%02x:%02x:%02x:%02x:%02x:%02x > %02x:%02x:%02x:%02x:%02x:%02x %s0x%04x",
			 bytes[6], bytes[7], bytes[8], bytes[9], bytes[10], bytes[11], bytes[0],
			 bytes[1], bytes[2], bytes[3], bytes[4], bytes[5],
			 be16(type) == ETH_P_ARP ? "ARP " : "type ", be16(type));
}

const char *sl_outcome_word(const struct sl_sighting *s)
{
	switch (s->outcome) {
	case SL_OUTCOME_FORWARD:
		return "forward";
	case SL_OUTCOME_QUEUED:
		return s->fabric ? "bridge" : "queue";
	case SL_OUTCOME_DROPPED:
		return "drop";
	case SL_OUTCOME_KERNEL:
		return "kernel";
	default:
		return "unknown";
	}
}

const char *sl_outcome_reason(const struct sl_sighting *s, const char **explanation)
{
	*explanation = NULL;
	if (s->outcome == SL_OUTCOME_DROPPED && s->reason && s->reason <= SL_DROP_COUNT) {
		*explanation = drops[s->reason - 1].text;
		return drops[s->reason - 1].name;
	}
	if (s->outcome == SL_OUTCOME_KERNEL && s->reason && s->reason <= SL_PUNT_COUNT) {
		*explanation = punts[s->reason - 1].text;
		return punts[s->reason - 1].name;
	}
	return NULL;
}

void sl_outcome_text(const struct sl_sighting *s, char *text)
{
	const char *explanation, *reason = sl_outcome_reason(s, &explanation);
	char other[IF_NAMESIZE] = "?";

	if (s->other_ifindex && !if_indextoname(s->other_ifindex, other))
		snprintf(other, sizeof(other), "%u", s->other_ifindex);
	if (s->sent)
		snprintf(text, SL_FRAME_TEXT_MAX, "bridge: sent by an AF_XDP socket");
	else if (s->out)
		snprintf(text, SL_FRAME_TEXT_MAX, "forward: entered by %s", other);
	else if (s->outcome == SL_OUTCOME_FORWARD)
		snprintf(text, SL_FRAME_TEXT_MAX, "forward: leaves by %s", other);
	else if (s->outcome == SL_OUTCOME_QUEUED && s->voq_plus1)
		snprintf(text, SL_FRAME_TEXT_MAX, "queue: virtual output queue %u",
			 s->voq_plus1 - 1);
	else if (reason)
		snprintf(text, SL_FRAME_TEXT_MAX, "%s: %s: %s", sl_outcome_word(s), reason,
			 explanation);
	else
		snprintf(text, SL_FRAME_TEXT_MAX, "%s", sl_outcome_word(s));
}
