/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a frame whose flow is wanted, and as the life of a port: shape, policy, parameters
 * over their whole ranges, frames, and steps of time up to years. Every frame must come out once,
 * and the limits must hold.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "queues/flow.h"
#include "queues/fq.h"

#define FRAMES_MAX 4096

struct input {
	const uint8_t *at;
	size_t left;
};

/* The next n bytes as a number; what is missing is 0. */
static uint64_t number(struct input *in, size_t n)
{
	uint64_t value = 0;

	for (; n > 0 && in->left > 0; n--, in->left--)
		value = value << 8 | *in->at++;
	return value;
}

static uint64_t within(struct input *in, uint64_t min, uint64_t max)
{
	return min + number(in, 8) % (max - min + 1);
}

static struct {
	bool out;
} frames[FRAMES_MAX];
static uint64_t returned;

static void give_back(uint64_t handle)
{
	if (handle >= FRAMES_MAX || frames[handle].out)
		abort();
	frames[handle].out = true;
	returned++;
}

static void on_drop(void *context, const struct fq_frame *frame, uint32_t queue,
		    enum fq_reason reason)
{
	(void)context;
	if (queue >= FQ_QUEUES_MAX || reason >= FQ_N_REASONS)
		abort();
	give_back(frame->handle);
}

static bool configure(struct input *in, struct fq_config *cfg)
{
	const struct fq_ops *ops = fq_policies[number(in, 1) % FQ_N_POLICIES];
	const uint32_t queues = (uint32_t)within(in, 1, number(in, 1) & 1 ? 4 : FQ_QUEUES_MAX);
	const uint32_t frame_max = (uint32_t)within(in, 60, FQ_FRAME_MAX_BYTES);
	const struct fq_shape shape = {
		.queues = queues,
		.reserved = (uint32_t)number(in, 2) % queues,
		.frame_max_bytes = frame_max,
		.limit_bytes = (uint32_t)within(in, frame_max,
						number(in, 1) & 1 ? 4 * frame_max : FQ_BYTES_MAX),
		.limit_frames = (uint32_t)within(in, 1, 64),
		.seed = (uint32_t)number(in, 4),
		.rate_Bps = within(in, 1, FQ_RATE_MAX_BPS),
	};

	if (fq_config_init(cfg, ops->name, &shape))
		abort();
	for (uint32_t i = 0; i < ops->n_params; i++) {
		const struct fq_param *p = &ops->params[i];

		if (fq_config_set(cfg, p->name,
				  (int64_t)within(in, (uint64_t)p->min, (uint64_t)p->max)))
			abort();
	}
	return fq_config_prepare(cfg, NULL) == 0;
}

static void live(struct input *in, struct fq_port *port)
{
	const struct fq_shape *shape = &port->config.shape;
	uint64_t now_ns = number(in, 7), n = 0;

	memset(frames, 0, sizeof(frames));
	returned = 0;
	while (in->left > 0 && n < FRAMES_MAX) {
		const uint64_t what = number(in, 1);
		struct fq_frame frame = { .handle = n,
					  .ect = what & 1,
					  .layer = (uint8_t)(n % 64) };

		now_ns += number(in, 1) << (what >> 1 & 31);
		if (what & 64) {
			const uint32_t queue = fq_dequeue(port, now_ns, &frame);

			if (queue == FQ_NONE)
				continue;
			if (queue >= shape->queues || frame.arrival_ns > now_ns ||
			    (frame.ce && !frame.ect))
				abort();
			give_back(frame.handle);
		} else if (what & 128 && number(in, 1) == 0) {
			fq_set_weight(port, number(in, 1) % shape->queues, number(in, 2));
			fq_set_rate(port, number(in, 8));
		} else {
			frame.len_bytes = (uint32_t)number(in, 2) % (shape->frame_max_bytes + 2);
			n++;
			fq_enqueue(port, fq_queue_of(port, number(in, 8)), &frame, now_ns);
		}
		if (port->n_frames > shape->limit_frames || port->n_bytes > shape->limit_bytes ||
		    returned + port->n_frames != n)
			abort();
	}
	fq_flush(port);
	if (returned != n || port->n_frames || port->n_bytes)
		abort();
}

/* A mark changes no flow, and the second one changes nothing. */
static void flow_of(const uint8_t *data, size_t size)
{
	struct fq_flow flow, marked;
	uint8_t *frame = malloc(size ? size : 1), *once = malloc(size ? size : 1);

	if (!frame || !once)
		abort();
	memcpy(frame, data, size);
	fq_flow_parse(frame, (uint32_t)size, &flow);
	if (flow.key_bytes > FQ_FLOW_KEY_BYTES)
		abort();
	for (int64_t at = 0; at <= 1400; at += 700) {
		struct fq_config cfg = { .param = { at } };
		const uint8_t layer = fq_layers_ops.layer(&cfg, frame, (uint32_t)size, &flow);

		if (layer > 32 && layer != FQ_NO_LAYER)
			abort();
	}
	if (flow.ip_version) {
		fq_flow_mark(frame, &flow);
		fq_flow_parse(frame, (uint32_t)size, &marked);
		if (marked.ecn != 3 || marked.key_bytes != flow.key_bytes ||
		    memcmp(marked.key, flow.key, flow.key_bytes))
			abort();
		memcpy(once, frame, size);
		fq_flow_mark(frame, &marked);
		if (memcmp(once, frame, size))
			abort();
	}
	free(once);
	free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, size };
	struct fq_config cfg;

	if (number(&in, 1) & 1) {
		flow_of(in.at, in.left);
	} else if (configure(&in, &cfg)) {
		void *memory = malloc(fq_port_size(&cfg));

		if (!memory)
			abort();
		live(&in, fq_port_init(memory, &cfg, on_drop, NULL));
		free(memory);
	}
	return 0;
}
