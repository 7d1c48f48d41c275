/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a frame to the parser of the fast path, which the BPF verifier lets read no byte
 * beyond the frame, but which may still judge wrongly. The code of bpf/ runs here as C; a packet
 * that it lets pass must be one that RFC 1812 and RFC 8200 let pass, by a reading of the same bytes
 * that shares nothing with it.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#define bpf_map_lookup_elem(map, key) fuzz_lookup(map, key)
static void *fuzz_lookup(const void *map, const void *key);
#undef __ksym
#define __ksym
#define bpf_xdp_metadata_rx_vlan_tag fuzz_tag_beside

/* BPF may do arithmetic on void pointers, and read words at any address. */
#pragma clang diagnostic ignored "-Wpointer-arith"
#pragma clang attribute push(__attribute__((no_sanitize("alignment"))), apply_to = function)
#include "bpf/edge/fabric_guard.bpf.h"
#include "bpf/edge/ip4.bpf.h"
#include "bpf/edge/ip6.bpf.h"
#include "bpf/edge/maps.bpf.h"
#include "bpf/edge/nexthop.bpf.h"
#include "bpf/edge/parse.bpf.h"
#pragma clang attribute pop

const volatile struct sl_config sl_config = { .managed = 1, .node_id = 1, .n_voqs = 4 };

#define FRAME_MAX    9216
#define PAGE	     4096
#define BUFFER_BYTES (((FRAME_MAX + PAGE - 1) / PAGE) * PAGE)
#define PORT	     7
#define VLAN_PORT    8
#define VLAN_ID	     100
#define FABRIC_BYTE  9 /* the last byte of the fabric's addresses */

static void require(bool ok)
{
	if (!ok)
		abort();
}

/* VLAN_ID alone has an interface; every address that ends in FABRIC_BYTE is of the fabric. */
static void *fuzz_lookup(const void *map, const void *key)
{
	static __u32 found = VLAN_PORT;

	if (map == &sl_vlan) {
		const struct sl_vlan_key *k = key;

		require(k->port_ifindex == PORT);
		return k->vid[0] == sl_htons(VLAN_ID) && !k->tpid[1] ? &found : NULL;
	}
	if (map == &sl_fabric)
		return ((const uint8_t *)key)[15] == FABRIC_BYTE ? &found : NULL;
	return NULL;
}

/* In frames from a source of these last bytes, a tag lies beside the frame. */
enum { SOURCE_BESIDE = 5, SOURCE_BESIDE_STRANGE = 6 };

int fuzz_tag_beside(const struct xdp_md *ctx, __be16 *tpid, __u16 *tci)
{
	const uint8_t *frame = (const uint8_t *)(uintptr_t)ctx->data;

	if (frame[11] != SOURCE_BESIDE && frame[11] != SOURCE_BESIDE_STRANGE)
		return -1;
	*tpid = sl_htons(ETH_P_8021Q);
	*tci = 0xe000 | (frame[11] == SOURCE_BESIDE ? VLAN_ID : VLAN_ID + 1);
	return 0;
}

/* --- The second reading --- */

static uint32_t get16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static void check_ip4(const uint8_t *ip, size_t bytes)
{
	uint32_t sum = 0;

	require(bytes >= 20 && ip[0] == 0x45);
	require(get16(ip + 2) >= 20 && get16(ip + 2) <= bytes);
	for (int i = 0; i < 20; i += 2)
		sum += get16(ip + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	require(sum == 0xffff);
	for (int i = 12; i <= 16; i += 4)
		require(ip[i] != 0 && ip[i] != 127 && ip[i] < 224 &&
			!(ip[i] == 169 && ip[i + 1] == 254));
}

static void check_ip6(const uint8_t *ip, size_t bytes)
{
	require(bytes >= 40 && ip[0] >> 4 == 6 && ip[6] != 0);
	require(40 + get16(ip + 4) <= bytes);
	for (int i = 8; i <= 24; i += 16)
		require(ip[i] != 0xff && !(ip[i] == 0xfe && ip[i + 1] >> 6 == 2));
}

/*
 * How far the parser may be: behind at most one tag, which is that of our VLAN, in the frame or
 * beside it.
 */
static size_t check_link(const struct sl_packet *pkt, const uint8_t *frame)
{
	require(frame[11] != SOURCE_BESIDE_STRANGE);
	if (frame[11] == SOURCE_BESIDE) {
		require(get16(frame + 12) != ETH_P_8021Q && get16(frame + 12) != ETH_P_8021AD);
		require(pkt->tags == 0 && pkt->l3_ifindex == VLAN_PORT);
		return 14;
	}
	if (get16(frame + 12) != ETH_P_8021Q && get16(frame + 12) != ETH_P_8021AD) {
		require(pkt->tags == 0 && pkt->l3_ifindex == PORT);
		return 14;
	}
	require(pkt->tags == 1 && pkt->l3_ifindex == VLAN_PORT);
	require((get16(frame + 14) & 0xfff) == VLAN_ID);
	return 18;
}

static volatile uint32_t hash; /* so that the compiler keeps the reads */

static void check(struct sl_packet *pkt, const uint8_t *frame, size_t bytes)
{
	size_t l3 = check_link(pkt, frame);
	uint32_t ethertype = get16(frame + l3 - 2);

	require((const uint8_t *)pkt->l3 == frame + l3);
	if (ethertype == ETH_P_IP) {
		pkt->ip4 = true;
		if (sl_ip4_header(pkt) != SL_GO_ON || sl_ip4_input(pkt) != SL_GO_ON)
			return;
		check_ip4(frame + l3, bytes - l3);
		require(pkt->ttl == frame[l3 + 8] && pkt->ip_len_bytes == get16(frame + l3 + 2));
	} else if (ethertype == ETH_P_IPV6) {
		pkt->ip4 = false;
		if (sl_ip6_header(pkt) != SL_GO_ON || sl_ip6_input(pkt) != SL_GO_ON)
			return;
		check_ip6(frame + l3, bytes - l3);
		require(pkt->ttl == frame[l3 + 7]);
	} else {
		return;
	}
	hash = sl_flow_hash(pkt);
	/* An unfragmented packet to the fabric's RoCEv2 port is never let pass. */
	if (!sl_is_for_fabric(pkt) && ethertype == ETH_P_IP && frame[l3 + 9] == IPPROTO_UDP &&
	    !(get16(frame + l3 + 6) & 0x3fff) && bytes >= l3 + 28)
		require(get16(frame + l3 + 22) != SL_ROCE_PORT || frame[l3 + 19] != FABRIC_BYTE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t *buffer;
	struct xdp_md ctx = { .ingress_ifindex = PORT };
	struct sl_packet pkt;
	uint8_t *frame;

	if (size > FRAME_MAX)
		return 0;
	if (!buffer) { /* an xdp_md has 32-bit addresses; the page behind the frame cannot be read
			*/
		buffer = mmap(NULL, BUFFER_BYTES + PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
		require(buffer != MAP_FAILED && !mprotect(buffer + BUFFER_BYTES, PAGE, PROT_NONE));
	}
	frame = buffer + BUFFER_BYTES - size;
	memcpy(frame, data, size);
	ctx.data = (__u32)(uintptr_t)frame;
	ctx.data_end = (__u32)((uintptr_t)frame + size);
	sl_packet_init(&pkt, &ctx, ctx.data_end - ctx.data);
	if (sl_parse_link(&pkt, true) == SL_GO_ON)
		check(&pkt, frame, size);
	return 0;
}

/* A frame that passes: UDP over IPv4 or IPv6, with a tag or not. Its checksum is not filled in. */
static size_t write_frame(uint8_t *frame, bool ip4, bool tag, bool beside)
{
	static const uint8_t udp4[] = {
		0x45, 0, 0, 32, 0,    0,    0, 0, 64, 17, 0, 0, 10, 0, 1, 2,
		10,   0, 2, 2,	0x12, 0x34, 0, 9, 0,  12, 0, 0, 1,  2, 3, 4
	};
	static const uint8_t udp6[] = {
		0x60, 0,    0,	  0, 0, 12, 17, 64, 0xfd, [22] = 1, 2, 0xfd, [38] = 2,
		2,    0x12, 0x34, 0, 9, 0,  12, 0,  0,	  1,	    2, 3,    4
	};
	static const uint8_t vlan[] = { 0x81, 0, 0, VLAN_ID };
	size_t n = 12;

	memset(frame, 2, n);
	if (beside)
		frame[11] = SOURCE_BESIDE;
	if (tag) {
		memcpy(frame + n, vlan, sizeof(vlan));
		n += sizeof(vlan);
	}
	frame[n++] = ip4 ? 0x08 : 0x86;
	frame[n++] = ip4 ? 0x00 : 0xdd;
	memcpy(frame + n, ip4 ? udp4 : udp6, ip4 ? sizeof(udp4) : sizeof(udp6));
	return n + (ip4 ? sizeof(udp4) : sizeof(udp6));
}

/* Without the right checksum no IPv4 packet comes past the header. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed)
{
	size_t l3 = 14;
	uint32_t sum = 0;

	if (size <= 1 && size_max >= 72)
		size = write_frame(data, seed & 1, seed & 2, seed & 4);
	else if (seed % 8 == 1)
		size = seed / 8 % (size + 1); /* cut anywhere */
	else
		size = LLVMFuzzerMutate(data, size, size_max);
	if (size < 38 || seed % 8 == 0)
		return size;
	if (get16(data + 12) == ETH_P_8021Q || get16(data + 12) == ETH_P_8021AD)
		l3 = 18;
	if (get16(data + l3 - 2) != ETH_P_IP)
		return size;
	data[l3 + 10] = data[l3 + 11] = 0;
	for (size_t i = l3; i < l3 + 20; i += 2)
		sum += get16(data + i);
	while (sum >> 16)
		sum = (sum & 0xffff) + (sum >> 16);
	data[l3 + 10] = (uint8_t)(~sum >> 8);
	data[l3 + 11] = (uint8_t)~sum;
	return size;
}
