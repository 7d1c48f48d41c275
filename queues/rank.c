/* SPDX-License-Identifier: BSD-2-Clause */
#include "queues/rank.h"

#include <string.h>

static uint32_t leaves_for(uint32_t n)
{
	return n <= 1 ? 1 : UINT32_C(1) << (32 - __builtin_clz(n - 1));
}

size_t fq_rank_size(uint32_t n)
{
	const uint32_t leaves = leaves_for(n);
	const size_t winners = (2 * (size_t)leaves * sizeof(uint16_t) + 7) & ~(size_t)7;

	return leaves * sizeof(uint64_t) + winners;
}

void fq_rank_init(struct fq_rank *rank, uint32_t n, void *memory)
{
	rank->leaves = leaves_for(n);
	rank->key = memory;
	rank->winner = (uint16_t *)(rank->key + rank->leaves);
	memset(rank->key, 0, rank->leaves * sizeof(*rank->key));
	for (uint32_t i = 0; i < rank->leaves; i++)
		rank->winner[rank->leaves + i] = (uint16_t)i;
	for (uint32_t i = rank->leaves - 1; i >= 1; i--) /* all are equal: the left one wins */
		rank->winner[i] = rank->winner[2 * i];
}

void fq_rank_set(struct fq_rank *rank, uint32_t queue, uint64_t key)
{
	const uint64_t *keys = rank->key;

	if (keys[queue] == key)
		return;
	rank->key[queue] = key;
	for (uint32_t i = (rank->leaves + queue) / 2; i >= 1; i /= 2) {
		const uint16_t left = rank->winner[2 * i], right = rank->winner[2 * i + 1];
		const uint16_t winner = keys[right] > keys[left] ? right : left;

		/* The same winner, and not for its new key: above this node nothing changes. */
		if (winner == rank->winner[i] && winner != queue)
			return;
		rank->winner[i] = winner;
	}
}
