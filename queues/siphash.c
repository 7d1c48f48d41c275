/* SPDX-License-Identifier: BSD-2-Clause */
#include "queues/siphash.h"

static uint64_t rotate(uint64_t x, unsigned int by)
{
	return x << by | x >> (64 - by);
}

static void sip_rounds(uint64_t v[4], int n)
{
	for (int i = 0; i < n; i++) {
		v[0] += v[1];
		v[2] += v[3];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] = rotate(v[0], 32);
		v[2] += v[1];
		v[0] += v[3];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] = rotate(v[2], 32);
	}
}

/* Up to eight bytes, little-endian. */
static uint64_t word(const uint8_t *data, uint32_t bytes)
{
	uint64_t w = 0;

	for (uint32_t i = 0; i < bytes; i++)
		w |= (uint64_t)data[i] << (8 * i);
	return w;
}

uint64_t fq_siphash(const struct fq_hash_key *key, const uint8_t *data, uint32_t bytes)
{
	uint64_t v[4] = {
		key->k0 ^ UINT64_C(0x736f6d6570736575),
		key->k1 ^ UINT64_C(0x646f72616e646f6d),
		key->k0 ^ UINT64_C(0x6c7967656e657261),
		key->k1 ^ UINT64_C(0x7465646279746573),
	};
	const uint64_t length = (uint64_t)bytes << 56;
	uint64_t m;

	for (; bytes >= 8; bytes -= 8, data += 8) {
		m = word(data, 8);
		v[3] ^= m;
		sip_rounds(v, 2);
		v[0] ^= m;
	}
	m = length | word(data, bytes);
	v[3] ^= m;
	sip_rounds(v, 2);
	v[0] ^= m;
	v[2] ^= 0xff;
	sip_rounds(v, 4);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}
