/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/queue/frame_pool.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/abi/voq.h"

int rb_frame_pool_init(struct rb_frame_pool *pool, const struct rb_chunks *chunks)
{
	*pool = (struct rb_frame_pool){ .chunks = chunks,
					.n_ahead =
						chunks->n < SL_VOQS_MAX ? chunks->n : SL_VOQS_MAX };
	pool->frame = calloc(chunks->n, sizeof(*pool->frame));
	pool->next = calloc(chunks->n, sizeof(*pool->next));
	pool->ahead = calloc(pool->n_ahead, sizeof(*pool->ahead));
	if (pool->frame && pool->next && pool->ahead)
		return 0;
	rb_frame_pool_fini(pool);
	return -ENOMEM;
}

void rb_frame_pool_fini(struct rb_frame_pool *pool)
{
	free(pool->frame);
	free(pool->next);
	free(pool->ahead);
	*pool = (struct rb_frame_pool){ 0 };
}
