/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/flow_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void on_drop(void *context, const struct fq_frame *frame, uint32_t queue,
		    enum fq_reason reason)
{
	struct flow_rig *rig = context;

	if (rig->n_drops < sizeof(rig->drop) / sizeof(rig->drop[0]))
		rig->drop[rig->n_drops] = (struct flow_drop){ frame->handle, queue, reason };
	rig->n_drops++;
	rig->dropped[reason]++;
	rig->dropped_bytes += frame->len_bytes;
}

struct fq_shape flow_shape(uint32_t queues, uint32_t limit_frames)
{
	return (struct fq_shape){
		.queues = queues,
		.limit_bytes = limit_frames * 1000,
		.limit_frames = limit_frames,
		.frame_max_bytes = 1000,
		.seed = 1,
		.rate_Bps = 1000000,
	};
}

void flow_rig_open(struct flow_rig *rig, const char *policy, const struct fq_shape *shape, ...)
{
	va_list params;

	memset(rig, 0, sizeof(*rig));
	assert_int_equal(fq_config_init(&rig->config, policy, shape), 0);
	va_start(params, shape);
	for (const char *param; (param = va_arg(params, const char *));) {
		char name[64];
		const char *equals = strchr(param, '=');

		assert_non_null(equals);
		memcpy(name, param, (size_t)(equals - param));
		name[equals - param] = '\0';
		assert_int_equal(fq_config_set(&rig->config, name, strtoll(equals + 1, NULL, 10)),
				 0);
	}
	va_end(params);
	assert_int_equal(fq_config_prepare(&rig->config, NULL), 0);
	void *memory = malloc(fq_port_size(&rig->config));

	assert_non_null(memory);
	memset(memory, 0xa5, fq_port_size(&rig->config));
	rig->port = fq_port_init(memory, &rig->config, on_drop, rig);
}

void flow_rig_close(struct flow_rig *rig)
{
	free(rig->port);
	rig->port = NULL;
}

static uint64_t put(struct flow_rig *rig, uint32_t queue, uint32_t len_bytes, uint64_t now_ns,
		    bool ect)
{
	const struct fq_frame frame = {
		.handle = rig->next_handle++,
		.len_bytes = len_bytes,
		.ect = ect,
		.ce = true, /* not the caller's to say */
	};

	fq_enqueue(rig->port, queue, &frame, now_ns);
	return frame.handle;
}

uint64_t flow_put(struct flow_rig *rig, uint32_t queue, uint32_t len_bytes, uint64_t now_ns)
{
	return put(rig, queue, len_bytes, now_ns, false);
}

uint64_t flow_put_ect(struct flow_rig *rig, uint32_t queue, uint32_t len_bytes, uint64_t now_ns)
{
	return put(rig, queue, len_bytes, now_ns, true);
}

int64_t flow_get(struct flow_rig *rig, uint64_t now_ns)
{
	struct fq_frame frame;

	return fq_dequeue(rig->port, now_ns, &frame) == FQ_NONE ? -1 : (int64_t)frame.handle;
}

void flow_expect_drop(struct flow_rig *rig, uint64_t handle, uint32_t queue, enum fq_reason reason)
{
	assert_int_equal(rig->n_drops, 1);
	assert_int_equal(rig->drop[0].handle, handle);
	assert_int_equal(rig->drop[0].queue, queue);
	assert_int_equal(rig->drop[0].reason, reason);
	flow_rig_clear(rig);
}

void flow_expect_no_drop(struct flow_rig *rig)
{
	assert_int_equal(rig->n_drops, 0);
}

void flow_rig_clear(struct flow_rig *rig)
{
	rig->n_drops = 0;
}
