/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What Linux answers where nftables rejects: nf_reject_ipv4.c, nf_reject_ipv6.c, and icmp_send. The
 * answers are the same but for what the kernel chooses (source of an error, IP identification).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>

#include "user/copies/reject.h"

#define IP4_ERROR_BYTES_MAX 576 /* RFC 1812 4.3.2.3 */
#define EXTENSIONS_MAX	    8
#define HOP_LIMIT	    64
#define IP4_FRAGMENT	    0x3fff /* more-fragments flag and offset */
#define IP4_OFFSET	    0x1fff

/* A packet, as far as an answer needs to know it. */
struct parsed {
	uint8_t family, protocol, tos;
	const uint8_t *src, *dst; /* 4 or 16 bytes in the packet */
	size_t address_bytes;
	const uint8_t *l4;
	size_t l4_bytes;   /* that are there */
	size_t l4_claimed; /* by the IP header */
	bool is_fragment, is_later;
};

/* --- The packet --- */

static int parse_ip4(const uint8_t *packet, size_t n, struct parsed *p)
{
	struct iphdr ip;
	size_t header, total;
	uint16_t fragment;

	if (n < sizeof(ip))
		return -ENOENT;
	memcpy(&ip, packet, sizeof(ip));
	header = ip.ihl * 4u;
	total = ntohs(ip.tot_len);
	if (header < sizeof(ip) || total < header || n < header)
		return -ENOENT;
	fragment = ntohs(ip.frag_off);
	*p = (struct parsed){ .family = AF_INET,
			      .protocol = ip.protocol,
			      .tos = ip.tos,
			      .src = packet + 12,
			      .dst = packet + 16,
			      .address_bytes = 4,
			      .l4 = packet + header,
			      .l4_bytes = (n < total ? n : total) - header,
			      .l4_claimed = total - header,
			      .is_fragment = fragment & IP4_FRAGMENT,
			      .is_later = fragment & IP4_OFFSET };
	return 0;
}

/* Bytes of an extension header of this kind; 0: it is none. */
static size_t extension_bytes(uint8_t protocol, const uint8_t *header)
{
	switch (protocol) {
	case IPPROTO_HOPOPTS:
	case IPPROTO_ROUTING:
	case IPPROTO_DSTOPTS:
		return (header[1] + 1u) * 8;
	case IPPROTO_FRAGMENT:
		return 8;
	case IPPROTO_AH:
		return (header[1] + 2u) * 4;
	}
	return 0;
}

static int parse_ip6(const uint8_t *packet, size_t n, struct parsed *p)
{
	size_t at = sizeof(struct ip6_hdr), total;
	struct ip6_hdr ip;

	if (n < sizeof(ip))
		return -ENOENT;
	memcpy(&ip, packet, sizeof(ip));
	total = sizeof(ip) + ntohs(ip.ip6_plen);
	n = n < total ? n : total;
	*p = (struct parsed){ .family = AF_INET6,
			      .protocol = ip.ip6_nxt,
			      .src = packet + 8,
			      .dst = packet + 24,
			      .address_bytes = 16 };
	for (int i = 0; i < EXTENSIONS_MAX && at + 8 <= n; i++) {
		const uint8_t *header = packet + at;
		size_t bytes = extension_bytes(p->protocol, header);

		if (!bytes)
			break;
		if (p->protocol == IPPROTO_FRAGMENT) {
			p->is_fragment = true;
			p->is_later = header[2] || header[3] & 0xf8;
			if (p->is_later)
				break;
		}
		p->protocol = header[0];
		at += bytes;
	}
	if (at > n)
		return -ENOENT;
	p->l4 = packet + at;
	p->l4_bytes = n - at;
	p->l4_claimed = total - at;
	return 0;
}

static bool is_unicast(const struct parsed *p, const uint8_t *address)
{
	static const uint8_t zero[16], loopback[16] = { [15] = 1 };

	if (p->family == AF_INET)
		return address[0] && address[0] != 127 && address[0] < 224;
	return address[0] != 0xff && memcmp(address, zero, 16) != 0 &&
	       memcmp(address, loopback, 16) != 0;
}

/* --- Checksums (RFC 1071) --- */

static uint32_t sum_of(const uint8_t *bytes, size_t n, uint32_t sum)
{
	for (size_t i = 0; i + 1 < n; i += 2)
		sum += (uint32_t)bytes[i] << 8 | bytes[i + 1];
	if (n % 2)
		sum += (uint32_t)bytes[n - 1] << 8;
	return sum;
}

static uint16_t fold(uint32_t sum)
{
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)sum;
}

/* Of the addresses, the protocol and the length: what TCP, UDP and ICMPv6 sum beside themselves. */
static uint32_t pseudo_header(const struct parsed *p, uint8_t protocol, size_t bytes)
{
	uint32_t sum = sum_of(p->src, p->address_bytes, protocol + (uint32_t)bytes);

	return sum_of(p->dst, p->address_bytes, sum);
}

/*
 * May the checksum of the L4 header be right? A sender on this machine leaves all but the pseudo
 * header to its device, which veth is not; what was cut cannot be summed. As in Linux, the sum of a
 * first fragment is wrong in IPv4, since most of what it covers is elsewhere, and is not looked at
 * in IPv6.
 */
static bool checksum_ok(const struct parsed *p)
{
	const size_t at = p->protocol == IPPROTO_TCP ? 16 : 6;
	uint32_t pseudo;
	uint16_t given;

	if ((p->protocol != IPPROTO_TCP && p->protocol != IPPROTO_UDP) ||
	    (p->is_fragment && p->family == AF_INET6) || p->l4_bytes < p->l4_claimed ||
	    p->l4_bytes < at + 2)
		return true;
	given = (uint16_t)(p->l4[at] << 8 | p->l4[at + 1]);
	if (p->protocol == IPPROTO_UDP && !given)
		return p->family == AF_INET;
	pseudo = pseudo_header(p, p->protocol, p->l4_bytes);
	return fold(sum_of(p->l4, p->l4_bytes, pseudo)) == 0xffff || given == fold(pseudo);
}

/* --- Answers --- */

static int parse(const uint8_t *packet, size_t n, struct parsed *p)
{
	int err = -ENOENT;

	if (n && packet[0] >> 4 == 4)
		err = parse_ip4(packet, n, p);
	else if (n && packet[0] >> 4 == 6)
		err = parse_ip6(packet, n, p);
	if (err)
		return err;
	if (!is_unicast(p, p->src) || !is_unicast(p, p->dst) || p->is_later || !checksum_ok(p))
		return -ENOENT;
	return 0;
}

/* An error, or something that is not known to be none. */
static bool is_icmp_error(const struct parsed *p)
{
	if (p->family == AF_INET6 && p->protocol == IPPROTO_ICMPV6)
		return !p->l4_bytes || p->l4[0] < ICMP6_ECHO_REQUEST;
	if (p->family == AF_INET && p->protocol == IPPROTO_ICMP) {
		if (!p->l4_bytes || p->l4[0] > NR_ICMP_TYPES)
			return true;
		switch (p->l4[0]) {
		case ICMP_DEST_UNREACH:
		case ICMP_SOURCE_QUENCH:
		case ICMP_REDIRECT:
		case ICMP_TIME_EXCEEDED:
		case ICMP_PARAMETERPROB:
			return true;
		}
	}
	return false;
}

int sl_reject_error(const uint8_t *packet, size_t n, struct sl_reject *out)
{
	const size_t header = sizeof(struct icmphdr);
	struct parsed p;
	size_t room;
	int err = parse(packet, n, &p);

	if (!err && is_icmp_error(&p))
		err = -ENOENT;
	if (err)
		return err;
	/* padding of the frame is no part of the packet */
	n = (size_t)(p.l4 - packet) + p.l4_bytes;
	*out = (struct sl_reject){ .family = p.family };
	memcpy(out->to, p.src, p.address_bytes);
	if (p.family == AF_INET) {
		room = IP4_ERROR_BYTES_MAX - sizeof(struct iphdr) - header;
		out->bytes[0] = ICMP_DEST_UNREACH;
		out->bytes[1] = ICMP_PORT_UNREACH;
		out->tos = (p.tos & IPTOS_TOS_MASK) | IPTOS_PREC_INTERNETCONTROL;
	} else {
		room = SL_REJECT_BYTES_MAX - sizeof(struct ip6_hdr) - header;
		out->bytes[0] = ICMP6_DST_UNREACH;
		out->bytes[1] = ICMP6_DST_UNREACH_NOPORT;
	}
	n = n < room ? n : room;
	memcpy(out->bytes + header, packet, n);
	out->n_bytes = (uint32_t)(header + n);
	if (p.family == AF_INET) {
		uint16_t sum = (uint16_t)~fold(sum_of(out->bytes, out->n_bytes, 0));

		out->bytes[2] = (uint8_t)(sum >> 8);
		out->bytes[3] = (uint8_t)sum;
	}
	return 0;
}

/* The IP header of a reset from dst to src of the packet. Returns its length. */
static size_t put_ip_header(const struct parsed *p, uint8_t *at)
{
	if (p->family == AF_INET) {
		/* the kernel fills in the checksum */
		struct iphdr ip = { .version = 4,
				    .ihl = 5,
				    .tot_len = htons(sizeof(ip) + sizeof(struct tcphdr)),
				    .frag_off = htons(IP_DF),
				    .ttl = HOP_LIMIT,
				    .protocol = IPPROTO_TCP };

		memcpy(&ip.saddr, p->dst, 4);
		memcpy(&ip.daddr, p->src, 4);
		memcpy(at, &ip, sizeof(ip));
		return sizeof(ip);
	}
	struct ip6_hdr ip = { .ip6_flow = htonl(6u << 28),
			      .ip6_plen = htons(sizeof(struct tcphdr)),
			      .ip6_nxt = IPPROTO_TCP,
			      .ip6_hlim = HOP_LIMIT };

	memcpy(&ip.ip6_src, p->dst, 16);
	memcpy(&ip.ip6_dst, p->src, 16);
	memcpy(at, &ip, sizeof(ip));
	return sizeof(ip);
}

int sl_reject_reset(const uint8_t *packet, size_t n, struct sl_reject *out)
{
	struct tcphdr in, answer = { .doff = sizeof(answer) / 4, .rst = 1 };
	struct parsed p;
	size_t header;
	int err = parse(packet, n, &p);

	if (err)
		return err;
	if (p.protocol != IPPROTO_TCP || p.l4_bytes < sizeof(in) || p.l4_bytes < p.l4_claimed)
		return -ENOENT;
	memcpy(&in, p.l4, sizeof(in));
	if (in.rst)
		return -ENOENT;
	answer.source = in.dest;
	answer.dest = in.source;
	if (in.ack) {
		answer.seq = in.ack_seq;
	} else {
		uint32_t bytes = (uint32_t)p.l4_bytes - in.doff * 4u;

		answer.ack_seq = htonl(ntohl(in.seq) + in.syn + in.fin + bytes);
		answer.ack = 1;
	}
	*out = (struct sl_reject){ .family = p.family, .is_reset = true };
	memcpy(out->to, p.src, p.address_bytes);
	header = put_ip_header(&p, out->bytes);
	out->n_bytes = (uint32_t)(header + sizeof(answer));
	memcpy(out->bytes + header, &answer, sizeof(answer));
	answer.check =
		htons((uint16_t)~fold(sum_of(out->bytes + header, sizeof(answer),
					     pseudo_header(&p, IPPROTO_TCP, sizeof(answer)))));
	memcpy(out->bytes + header, &answer, sizeof(answer));
	return 0;
}
