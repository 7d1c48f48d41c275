/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Layout, from the first byte (IPv4 in the left column, IPv6 in the right):
 *
 *  0   0  Ethernet  14
 * 14  14  IP        20 | 40
 * 34  54  UDP        8   checksum 0
 * 42  62  BTH       12   opcode, SE/M/pad/TVer, P_Key, FECN/BECN, QPN, ack, PSN
 * 54  74  DETH       8   Q_Key, source QPN
 * 62  82  payload, padded with zeros to 4 bytes
 *         ICRC       4
 *
 * ICRC (annex A17.3.3): CRC-32 of IEEE 802.3 over eight bytes of ones in the place of the LRH, then
 * from the IP header to the padding, with ones for every field that a router or switch may change:
 * DSCP and ECN, flow label, TTL, the checksums of IPv4 and UDP, and FECN, BECN and the six reserved
 * bits after them. Sent least significant byte first.
 */
#include "rdma-bridge/transport/roce.h"

#include <errno.h>
#include <string.h>
#include <isa-l/crc.h>

#include "rdma-bridge/wire/bytes.h"

#define ETH_BYTES	   14
#define IP4_BYTES	   20
#define IP6_BYTES	   40
#define UDP_BYTES	   8
#define BTH_BYTES	   12
#define DETH_BYTES	   8
#define ICRC_BYTES	   4
#define CNP_RESERVED_BYTES 16

#define OPCODE_UD_SEND_ONLY 0x64
#define OPCODE_CNP	    0x81
/* in byte 1: "migrated", which adapters without path migration send */
#define BTH_MIGREQ 0x40
#define BTH_BECN   0x40 /* in byte 4 */

#define ETHERTYPE_IP4 0x0800
#define ETHERTYPE_IP6 0x86dd
#define PROTOCOL_UDP  17

#define NAME(id, name, text) name,
static const char *const verdict_names[] = { RB_ROCE_VERDICTS(NAME) };
#undef NAME

const char *rb_roce_verdict_name(enum rb_roce_verdict verdict)
{
	return verdict_names[verdict];
}

static uint32_t ip_bytes(bool v4)
{
	return v4 ? IP4_BYTES : IP6_BYTES;
}

static uint16_t ip4_checksum(const uint8_t *header)
{
	uint32_t sum = 0;

	for (int i = 0; i < IP4_BYTES; i += 2)
		sum += rb_get16(header + i);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

/* The ICRC of an IP packet of `bytes` bytes, not counting the ICRC itself. */
static uint32_t icrc(const uint8_t *ip, uint32_t bytes, bool v4)
{
	uint8_t masked[8 + IP6_BYTES + UDP_BYTES + BTH_BYTES];
	uint32_t n_ip = ip_bytes(v4);
	uint32_t n = n_ip + UDP_BYTES + BTH_BYTES;
	uint8_t *m = masked + 8;
	uint32_t crc;

	memset(masked, 0xff, 8);
	memcpy(m, ip, n);
	if (v4) {
		m[1] = 0xff;	      /* DSCP, ECN */
		m[8] = 0xff;	      /* TTL */
		m[10] = m[11] = 0xff; /* header checksum */
	} else {
		m[0] |= 0x0f; /* traffic class, flow label */
		m[1] = m[2] = m[3] = 0xff;
		m[7] = 0xff; /* hop limit */
	}
	m[n_ip + 6] = m[n_ip + 7] = 0xff; /* UDP checksum */
	m[n_ip + UDP_BYTES + 4] = 0xff;	  /* FECN, BECN, reserved */
	crc = crc32_gzip_refl(0, masked, 8 + n);
	return crc32_gzip_refl(crc, ip + n, bytes - n);
}

static void put_icrc(uint8_t *out, uint32_t crc)
{
	for (int i = 0; i < ICRC_BYTES; i++)
		out[i] = (uint8_t)(crc >> 8 * i);
}

static uint32_t get_icrc(const uint8_t *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* --- Sending --- */

static uint16_t source_port(const struct rb_roce_end *local, const struct rb_roce_end *remote)
{
	uint8_t numbers[8];
	uint32_t hash;

	rb_put32(numbers, local->qpn);
	rb_put32(numbers + 4, remote->qpn);
	hash = crc32_gzip_refl(0, local->ip, sizeof(local->ip));
	hash = crc32_gzip_refl(hash, remote->ip, sizeof(remote->ip));
	hash = crc32_gzip_refl(hash, numbers, sizeof(numbers));
	return (uint16_t)(0xc000 | ((hash ^ hash >> 14) & 0x3fff));
}

static bool is_unspecified(const uint8_t ip[16])
{
	static const uint8_t zero[16];

	return rb_ip_is_v4(ip) ? memcmp(ip + 12, zero, 4) == 0 : memcmp(ip, zero, 16) == 0;
}

static bool end_is_good(const struct rb_roce_end *end)
{
	/* Queue pairs 0 and 1 belong to management, 0xffffff to multicast. */
	return !is_unspecified(end->ip) && end->qpn > 1 && end->qpn < 0xffffff;
}

int rb_roce_path_init(struct rb_roce_path *path, const struct rb_roce_config *config,
		      const struct rb_roce_end *local, const struct rb_roce_end *remote)
{
	bool v4 = rb_ip_is_v4(local->ip);
	uint8_t tos = (uint8_t)(config->dscp << 2 | config->ecn);
	uint8_t *ip = path->header + ETH_BYTES;
	uint8_t *udp = ip + ip_bytes(v4);
	uint8_t *bth = udp + UDP_BYTES;
	uint8_t *deth = bth + BTH_BYTES;

	if (v4 != rb_ip_is_v4(remote->ip) || !end_is_good(local) || !end_is_good(remote) ||
	    config->dscp > 63 || config->ecn >= RB_ECN_CE || config->hop_limit == 0)
		return -EINVAL;
	memset(path, 0, sizeof(*path));
	path->header_bytes = ETH_BYTES + ip_bytes(v4) + UDP_BYTES + BTH_BYTES + DETH_BYTES;

	memcpy(path->header, remote->mac, 6);
	memcpy(path->header + 6, local->mac, 6);
	rb_put16(path->header + 12, v4 ? ETHERTYPE_IP4 : ETHERTYPE_IP6);
	if (v4) {
		ip[0] = 0x45;
		ip[1] = tos;
		ip[6] = 0x40; /* do not fragment, so the identification may stay 0 (RFC 6864) */
		ip[8] = config->hop_limit;
		ip[9] = PROTOCOL_UDP;
		memcpy(ip + 12, local->ip + 12, 4);
		memcpy(ip + 16, remote->ip + 12, 4);
	} else {
		ip[0] = (uint8_t)(0x60 | tos >> 4);
		ip[1] = (uint8_t)(tos << 4);
		ip[6] = PROTOCOL_UDP;
		ip[7] = config->hop_limit;
		memcpy(ip + 8, local->ip, 16);
		memcpy(ip + 24, remote->ip, 16);
		/* Routers hash the flow label instead of ports (RFC 6438). */
		rb_put16(ip + 2, source_port(local, remote));
	}
	rb_put16(udp, source_port(local, remote));
	rb_put16(udp + 2, RB_ROCE_PORT);
	bth[0] = OPCODE_UD_SEND_ONLY;
	bth[1] = BTH_MIGREQ;
	rb_put16(bth + 2, config->pkey);
	rb_put24(bth + 5, remote->qpn);
	rb_put32(deth, remote->qkey);
	rb_put24(deth + 5, local->qpn);
	return 0;
}

/* Write lengths, checksum and ICRC of a frame behind its headers. Returns its length. */
static uint32_t finish(uint8_t *frame, uint32_t after_udp_bytes)
{
	uint8_t *ip = frame + ETH_BYTES;
	bool v4 = ip[0] >> 4 == 4;
	uint32_t udp_bytes = UDP_BYTES + after_udp_bytes + ICRC_BYTES;
	uint32_t bytes = ip_bytes(v4) + udp_bytes;

	if (v4) {
		rb_put16(ip + 2, (uint16_t)bytes);
		rb_put16(ip + 10, 0);
		rb_put16(ip + 10, ip4_checksum(ip));
	} else {
		rb_put16(ip + 4, (uint16_t)udp_bytes);
	}
	rb_put16(ip + ip_bytes(v4) + 4, (uint16_t)udp_bytes);
	put_icrc(ip + bytes - ICRC_BYTES, icrc(ip, bytes - ICRC_BYTES, v4));
	return ETH_BYTES + bytes;
}

uint32_t rb_roce_frame(const struct rb_roce_path *path, uint32_t psn, uint8_t *frame,
		       uint32_t payload_bytes)
{
	uint32_t pad = -payload_bytes & 3;
	uint8_t *bth;

	memcpy(frame, path->header, path->header_bytes);
	bth = frame + path->header_bytes - DETH_BYTES - BTH_BYTES;
	bth[1] |= (uint8_t)(pad << 4);
	rb_put24(bth + 9, psn & 0xffffff);
	memset(frame + path->header_bytes + payload_bytes, 0, pad);
	return finish(frame, BTH_BYTES + DETH_BYTES + payload_bytes + pad);
}

uint32_t rb_roce_cnp(const struct rb_roce_path *path, uint32_t remote_qpn, uint8_t *out)
{
	uint32_t bth_offset = path->header_bytes - DETH_BYTES - BTH_BYTES;
	uint8_t *bth = out + bth_offset;

	memcpy(out, path->header, bth_offset + BTH_BYTES);
	bth[0] = OPCODE_CNP;
	bth[4] = BTH_BECN;
	rb_put24(bth + 5, remote_qpn);
	memset(bth + BTH_BYTES, 0, CNP_RESERVED_BYTES);
	return finish(out, BTH_BYTES + CNP_RESERVED_BYTES);
}

/* --- Receiving --- */

/* Judge the IP header, and find the length of the IP packet. */
static enum rb_roce_verdict judge_ip(const struct rb_roce_end *local, const uint8_t *ip,
				     uint32_t room_bytes, bool v4, uint32_t *bytes,
				     struct rb_roce_packet *packet)
{
	static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
	uint8_t destination[16];

	if (room_bytes < ip_bytes(v4) + UDP_BYTES)
		return RB_ROCE_TRUNCATED;
	if (v4) {
		/* Neither "more fragments" nor an offset. */
		if (ip[0] != 0x45 || ip4_checksum(ip) != 0 || (rb_get16(ip + 6) & 0x3fff))
			return RB_ROCE_IP_HEADER;
		if (ip[9] != PROTOCOL_UDP)
			return RB_ROCE_IP_PROTOCOL;
		*bytes = rb_get16(ip + 2);
		memcpy(packet->src_ip, mapped, 12);
		memcpy(packet->src_ip + 12, ip + 12, 4);
		memcpy(destination, mapped, 12);
		memcpy(destination + 12, ip + 16, 4);
		packet->hop_limit = ip[8];
		packet->ce = (ip[1] & 3) == RB_ECN_CE;
	} else {
		if (ip[0] >> 4 != 6)
			return RB_ROCE_IP_HEADER;
		if (ip[6] != PROTOCOL_UDP)
			return RB_ROCE_IP_PROTOCOL;
		*bytes = IP6_BYTES + rb_get16(ip + 4);
		memcpy(packet->src_ip, ip + 8, 16);
		memcpy(destination, ip + 24, 16);
		packet->hop_limit = ip[7];
		packet->ce = (ip[1] >> 4 & 3) == RB_ECN_CE;
	}
	if (*bytes > room_bytes || *bytes < ip_bytes(v4) + UDP_BYTES)
		return RB_ROCE_IP_LENGTH;
	if (memcmp(destination, local->ip, 16) || is_unspecified(packet->src_ip))
		return RB_ROCE_IP_ADDRESS;
	return RB_ROCE_SEND;
}

/* Two partition keys match if their numbers do and one of them is a full member (10.9.1.1). */
static bool pkey_matches(uint16_t a, uint16_t b)
{
	return (a & 0x7fff) == (b & 0x7fff) && ((a | b) & 0x8000);
}

static enum rb_roce_verdict judge_send(const struct rb_roce_config *config,
				       const struct rb_roce_end *local, const uint8_t *bth,
				       uint32_t bytes, struct rb_roce_packet *packet)
{
	const uint8_t *deth = bth + BTH_BYTES;
	uint32_t pad = bth[1] >> 4 & 3;

	if (bytes < BTH_BYTES + DETH_BYTES)
		return RB_ROCE_TRUNCATED;
	bytes -= BTH_BYTES + DETH_BYTES;
	if (pad > bytes || (bytes & 3))
		return RB_ROCE_PAD;
	if (rb_get32(deth) != local->qkey)
		return RB_ROCE_QKEY;
	packet->payload = deth + DETH_BYTES;
	packet->payload_bytes = bytes - pad;
	packet->src_qpn = rb_get24(deth + 5);
	if (packet->payload_bytes > config->payload_max_bytes)
		return RB_ROCE_MTU;
	return RB_ROCE_SEND;
}

enum rb_roce_verdict rb_roce_parse(const struct rb_roce_config *config,
				   const struct rb_roce_end *local, const uint8_t *frame,
				   uint32_t frame_bytes, struct rb_roce_packet *packet)
{
	const uint8_t *ip = frame + ETH_BYTES, *udp, *bth;
	enum rb_roce_verdict verdict;
	uint32_t bytes;
	uint16_t type;
	bool v4;

	if (frame_bytes < ETH_BYTES)
		return RB_ROCE_TRUNCATED;
	type = rb_get16(frame + 12);
	if (type != ETHERTYPE_IP4 && type != ETHERTYPE_IP6)
		return RB_ROCE_ETHERTYPE;
	v4 = type == ETHERTYPE_IP4;
	memset(packet, 0, sizeof(*packet));
	verdict = judge_ip(local, ip, frame_bytes - ETH_BYTES, v4, &bytes, packet);
	if (verdict != RB_ROCE_SEND)
		return verdict;

	udp = ip + ip_bytes(v4);
	if (rb_get16(udp + 2) != RB_ROCE_PORT)
		return RB_ROCE_UDP_PORT;
	if (rb_get16(udp + 4) != bytes - ip_bytes(v4))
		return RB_ROCE_UDP_LENGTH;
	if (bytes < ip_bytes(v4) + UDP_BYTES + BTH_BYTES + ICRC_BYTES)
		return RB_ROCE_TRUNCATED;

	bth = udp + UDP_BYTES;
	packet->express =
		config->express && rb_get16(udp + 6) != 0 && bth[0] == OPCODE_UD_SEND_ONLY;
	/* The CRC comes first: with a good CRC, a key that differs is wrong and not damaged. */
	bytes -= ICRC_BYTES;
	if (!packet->express && get_icrc(ip + bytes) != icrc(ip, bytes, v4))
		return RB_ROCE_ICRC;
	if (bth[1] & 0x0f)
		return RB_ROCE_BTH_VERSION;
	if (bth[0] != OPCODE_UD_SEND_ONLY && bth[0] != OPCODE_CNP)
		return RB_ROCE_OPCODE;
	if (!pkey_matches(rb_get16(bth + 2), config->pkey))
		return RB_ROCE_PKEY;
	if (rb_get24(bth + 5) != local->qpn)
		return RB_ROCE_QPN;
	packet->psn = rb_get24(bth + 9);
	bytes -= ip_bytes(v4) + UDP_BYTES;
	if (bth[0] == OPCODE_CNP)
		return bytes == BTH_BYTES + CNP_RESERVED_BYTES ? RB_ROCE_CNP : RB_ROCE_TRUNCATED;
	return judge_send(config, local, bth, bytes, packet);
}

/* --- Sizes --- */

uint32_t rb_roce_payload_for_mtu(uint32_t mtu_bytes, const uint8_t ip[16])
{
	uint32_t overhead_bytes =
		ip_bytes(rb_ip_is_v4(ip)) + UDP_BYTES + BTH_BYTES + DETH_BYTES + ICRC_BYTES;
	uint32_t payload_bytes;

	if (mtu_bytes <= overhead_bytes)
		return 0;
	/* Padding fills payloads up to a multiple of 4 bytes. */
	payload_bytes = (mtu_bytes - overhead_bytes) & ~3U;
	return payload_bytes < RB_ROCE_PAYLOAD_MAX_BYTES ? payload_bytes
							 : RB_ROCE_PAYLOAD_MAX_BYTES;
}

uint32_t rb_roce_path_mtu(uint32_t mtu_bytes)
{
	/* Adapters reserve: GRH, UDP, BTH, the longest extensions (XRC, atomic), ICRC. */
	const uint32_t reserve_bytes = 40 + UDP_BYTES + BTH_BYTES + 4 + 28 + ICRC_BYTES;

	for (uint32_t path_mtu = 4096; path_mtu >= 256; path_mtu /= 2)
		if (mtu_bytes >= path_mtu + reserve_bytes)
			return path_mtu;
	return 0;
}
