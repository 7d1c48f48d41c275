/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * SipHash-2-4 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012): who does not know
 * the key cannot choose flows that meet in one queue.
 */
#ifndef QUEUES_SIPHASH_H
#define QUEUES_SIPHASH_H

#include <stdint.h>

struct fq_hash_key {
	uint64_t k0, k1; /* the paper's: k0 is the first eight bytes, little-endian */
};

/* data: `bytes` of it, any alignment; may be NULL if there are none. Thread-safe. */
uint64_t fq_siphash(const struct fq_hash_key *key, const uint8_t *data, uint32_t bytes);

#endif
