/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * tail: an arrival that does not fit into the buffer is discarded. The buffer's limit is all there
 * is; flow queues, where the port has several, share what was accepted.
 */
#include "queues/fq.h"

const struct fq_ops fq_tail_ops = {
	.name = "tail",
	.policy = FQ_TAIL,
};
