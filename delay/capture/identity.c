/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fingerprint is of 128 bits and stands for the whole key: a comparison of keys could only tell
 * apart what it confuses with chance 2^-128, and would cost four times the memory.
 */
#include <string.h>

#include "delay/capture/identity.h"

/* libpcap's numbers (pcap-linktype(7)); this file needs no libpcap. */
enum {
	TYPE_NULL = 0,
	TYPE_ETHERNET = 1,
	TYPE_PPP = 9,
	TYPE_RAW_BSD = 12,
	TYPE_PPP_HDLC = 50,
	TYPE_RAW = 101,
	TYPE_C_HDLC = 104,
	TYPE_LOOP = 108,
	TYPE_SLL = 113,
	TYPE_IPV4 = 228,
	TYPE_IPV6 = 229,
	TYPE_SLL2 = 276,
};

const char sl_link_type_names[] =
	"Ethernet, raw IP, PPP, Cisco HDLC, Linux cooked (SLL, SLL2), BSD loopback";

static const struct sl_link_type types[] = {
	/* An Ethernet frame: 14 + 4; on the wire, 8 of preamble and 12 of gap, too. */
	{ TYPE_ETHERNET, "Ethernet", 18, 38, 46 },
	/* PPP in HDLC-like framing: flag, address, control, protocol, FCS of 4 */
	{ TYPE_PPP, "PPP", 9, 9, 0 },
	{ TYPE_PPP_HDLC, "PPP in HDLC", 9, 9, 0 },
	{ TYPE_C_HDLC, "Cisco HDLC", 9, 9, 0 },
	{ TYPE_RAW, "raw IP", 0, 0, 0 },
	{ TYPE_RAW_BSD, "raw IP", 0, 0, 0 },
	{ TYPE_IPV4, "raw IPv4", 0, 0, 0 },
	{ TYPE_IPV6, "raw IPv6", 0, 0, 0 },
	{ TYPE_SLL, "Linux cooked", 18, 38, 46 },
	{ TYPE_SLL2, "Linux cooked v2", 18, 38, 46 },
	{ TYPE_NULL, "BSD loopback", 0, 0, 0 },
	{ TYPE_LOOP, "OpenBSD loopback", 0, 0, 0 },
};

const struct sl_link_type *sl_link_type_find(int number)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (types[i].number == number)
			return &types[i];
	return NULL;
}

static uint32_t be16(const uint8_t *at)
{
	return (uint32_t)at[0] << 8 | at[1];
}

/* The bytes not read yet */
struct rest {
	const uint8_t *at;
	uint32_t bytes;
};

static bool skip(struct rest *r, uint32_t bytes)
{
	if (r->bytes < bytes)
		return false;
	r->at += bytes;
	r->bytes -= bytes;
	return true;
}

static enum sl_identity_verdict strip_ethernet(struct rest *r, uint32_t type, uint8_t *vlan_tags)
{
	for (*vlan_tags = 0; type == 0x8100 || type == 0x88a8 || type == 0x9100; ++*vlan_tags) {
		if (r->bytes < 4)
			return SL_IDENTITY_SHORT;
		type = be16(r->at + 2);
		skip(r, 4);
	}
	return type == 0x0800 || type == 0x86dd ? SL_IDENTITY_OK : SL_IDENTITY_NOT_IP;
}

/* Take the link layer off; behind it, the version of IP tells IPv4 from IPv6. */
static enum sl_identity_verdict strip_link(int type, struct rest *r, uint8_t *vlan_tags)
{
	uint32_t protocol;

	switch (type) {
	case TYPE_ETHERNET:
		if (!skip(r, 14))
			return SL_IDENTITY_SHORT;
		return strip_ethernet(r, be16(r->at - 2), vlan_tags);
	case TYPE_SLL:
		if (!skip(r, 16))
			return SL_IDENTITY_SHORT;
		return strip_ethernet(r, be16(r->at - 2), vlan_tags);
	case TYPE_SLL2:
		if (!skip(r, 20))
			return SL_IDENTITY_SHORT;
		return strip_ethernet(r, be16(r->at - 20), vlan_tags);
	case TYPE_PPP:
	case TYPE_PPP_HDLC:
		/* Address and control may be compressed away, and so may half of the protocol. */
		if (r->bytes >= 2 && r->at[0] == 0xff && r->at[1] == 0x03)
			skip(r, 2);
		if (r->bytes < 2)
			return SL_IDENTITY_SHORT;
		protocol = r->at[0] & 1 ? r->at[0] : be16(r->at);
		skip(r, r->at[0] & 1 ? 1 : 2);
		return protocol == 0x21 || protocol == 0x57 ? SL_IDENTITY_OK : SL_IDENTITY_NOT_IP;
	case TYPE_C_HDLC:
		if (!skip(r, 4))
			return SL_IDENTITY_SHORT;
		return strip_ethernet(r, be16(r->at - 2), vlan_tags);
	case TYPE_NULL:
	case TYPE_LOOP:
		/* The family, whose number depends on the system that captured */
		return skip(r, 4) ? SL_IDENTITY_OK : SL_IDENTITY_SHORT;
	default:
		return SL_IDENTITY_OK;
	}
}

/* What is put together to a fingerprint: the longest is of IPv6 */
struct key {
	uint64_t word[8];
};

static uint64_t mixed(uint64_t a, uint64_t b)
{
	const unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Multiplication of 64 by 64 bits, folded, once for each word and half; the constants are odd and
 * random. */
static void fingerprint(const struct key *key, uint64_t id[2])
{
	uint64_t a = 0x9e3779b97f4a7c15, b = 0xd1b54a32d192ed03;

	for (uint32_t i = 0; i < 8; i++) {
		a = mixed(a ^ key->word[i], 0xa0761d6478bd642f + 2 * i) + b;
		b = mixed(b ^ key->word[i] ^ 0xe7037ed1a0b428db, 0x8ebc6af09c88c6e3 + 2 * i) ^
		    (a << 32 | a >> 32);
	}
	id[0] = mixed(a ^ 0x589965cc75374cc3, b | 1);
	id[1] = mixed(b ^ 0x1d8e4e27c47d124f, a | 1) + a;
}

/* Where the checksum lies in the data of a packet of this protocol; -1: nowhere that we know. */
static int checksum_at(uint32_t protocol)
{
	switch (protocol) {
	case 6:
		return 16;
	case 17:
		return 6;
	case 1:
	case 58:
		return 2;
	default:
		return -1;
	}
}

/*
 * Copy the data that tells packets apart into `to`, and how much it is into `length`; false if the
 * capture cut it.
 */
static bool copy_data(uint8_t *to, uint8_t *length, const struct rest *data, uint32_t data_bytes,
		      int hide_at)
{
	const uint32_t bytes =
		data_bytes < SL_IDENTITY_DATA_BYTES ? data_bytes : SL_IDENTITY_DATA_BYTES;

	if (data->bytes < bytes)
		return false;
	memcpy(to, data->at, bytes);
	*length = (uint8_t)bytes;
	if (hide_at >= 0 && (uint32_t)hide_at + 2 <= bytes)
		memset(to + hide_at, 0, 2);
	return true;
}

static enum sl_identity_verdict identify_ip4(struct rest r, bool no_checksums,
					     struct sl_identity *out)
{
	uint8_t key[sizeof(struct key)] = { 4 };
	struct key words;
	uint32_t header, total, offset;
	int hide_at;

	if (r.bytes < 20)
		return SL_IDENTITY_SHORT;
	header = (r.at[0] & 0xfu) * 4;
	total = be16(r.at + 2);
	offset = be16(r.at + 6) & 0x1fff;
	if (header < 20 || total < header)
		return SL_IDENTITY_BROKEN;
	hide_at = no_checksums && !offset ? checksum_at(r.at[9]) : -1;
	memcpy(key + 2, r.at + 4, 2);  /* identification */
	memcpy(key + 4, &offset, 2);   /* fragments of one packet share it */
	memcpy(key + 8, r.at + 12, 8); /* addresses */
	out->ip_bytes = (uint16_t)total;
	out->slow = header > 20;
	if (!skip(&r, header) || !copy_data(key + 16, key + 1, &r, total - header, hide_at))
		return SL_IDENTITY_SHORT;
	memcpy(&words, key, sizeof(words));
	fingerprint(&words, out->id);
	return SL_IDENTITY_OK;
}

static enum sl_identity_verdict identify_ip6(struct rest r, bool no_checksums,
					     struct sl_identity *out)
{
	uint8_t key[sizeof(struct key)] = { 6 };
	struct key words;
	uint32_t payload;
	int hide_at;

	if (r.bytes < 40)
		return SL_IDENTITY_SHORT;
	payload = be16(r.at + 4);
	if (payload > UINT16_MAX - 40)
		return SL_IDENTITY_BROKEN;
	hide_at = no_checksums ? checksum_at(r.at[6]) : -1;
	key[1] = r.at[6];	       /* next header */
	memcpy(key + 8, r.at + 8, 32); /* addresses */
	out->ip_bytes = (uint16_t)(40 + payload);
	out->slow = r.at[6] == 0;
	skip(&r, 40);
	if (!copy_data(key + 40, key + 2, &r, payload, hide_at))
		return SL_IDENTITY_SHORT;
	memcpy(&words, key, sizeof(words));
	fingerprint(&words, out->id);
	return SL_IDENTITY_OK;
}

enum sl_identity_verdict sl_identify(const struct sl_link_type *type, const uint8_t *data,
				     uint32_t captured, bool no_checksums, struct sl_identity *out)
{
	struct rest r = { data, captured };
	struct sl_identity found = { .vlan_tags = 0 };
	enum sl_identity_verdict verdict = strip_link(type->number, &r, &found.vlan_tags);

	if (verdict != SL_IDENTITY_OK)
		return verdict;
	if (!r.bytes)
		return SL_IDENTITY_SHORT;
	switch (r.at[0] >> 4) {
	case 4:
		verdict = identify_ip4(r, no_checksums, &found);
		break;
	case 6:
		verdict = identify_ip6(r, no_checksums, &found);
		break;
	default:
		return SL_IDENTITY_NOT_IP;
	}
	if (verdict == SL_IDENTITY_OK)
		*out = found;
	return verdict;
}
