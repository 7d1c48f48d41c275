/* SPDX-License-Identifier: BSD-2-Clause */
/* Unqueue: asks the queue before it, and pushes what it gets. */
#include "elements/classes/classes.h"

static int unqueue_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	(void)state;
	(void)ctx;
	(void)packet;
	return 0;
}

const struct el_class el_unqueue = {
	.name = "Unqueue",
	.version = 1,
	.what = "takes packets from a queue and pushes them on",
	.input = EL_PULL,
	.output = EL_PUSH,
	.outputs_required = 1,
	.outputs = 1,
	.process = unqueue_process,
};
