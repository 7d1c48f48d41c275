/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which queue is the first by a key: a tournament. The leaves are the queues, and each node above
 * names the winner of its two children: the one with the higher key, the lower number among equals.
 * A change of a key replays the matches on the way up, at most log2(n), and stops where it cannot
 * matter any more.
 *
 * Not thread-safe: belongs to its port.
 */
#ifndef QUEUES_RANK_H
#define QUEUES_RANK_H

#include <stddef.h>
#include <stdint.h>

struct fq_rank {
	uint32_t leaves; /* a power of two, at least the number of queues */
	uint64_t *key;	 /* borrowed from the port's memory: by queue */
	/* borrowed from the port's memory: node 1 is the root, the children of i are 2i and 2i+1 */
	uint16_t *winner;
};

/* Bytes of memory for n queues, 1..32768; a multiple of 8. */
size_t fq_rank_size(uint32_t n);

/* Every key is 0. memory: fq_rank_size(n) bytes, aligned to 8, borrowed for the rank's life. */
void fq_rank_init(struct fq_rank *rank, uint32_t n, void *memory);

/* Give a queue, below n, another key. */
void fq_rank_set(struct fq_rank *rank, uint32_t queue, uint64_t key);

/* The queue with the highest key; among equals that of the lowest number. */
static inline uint32_t fq_rank_first(const struct fq_rank *rank)
{
	return rank->winner[1];
}

#endif
