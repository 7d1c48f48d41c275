/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A port of queues/ under test: its memory, with nothing behind it that ASan would not see, and
 * what it discarded. Frames are numbered by their handles in the order of arrival.
 */
#ifndef TEST_FLOW_RIG_H
#define TEST_FLOW_RIG_H

#include "queues/fq.h"

struct flow_drop {
	uint64_t handle;
	uint32_t queue;
	enum fq_reason reason;
};

struct flow_rig {
	struct fq_config config;
	struct fq_port *port; /* owned memory */
	uint64_t next_handle;
	uint32_t n_drops;	   /* since flow_rig_clear() */
	struct flow_drop drop[64]; /* the first of them */
	uint64_t dropped[FQ_N_REASONS];
	uint64_t dropped_bytes;
};

/* A port of `queues` queues for frames of up to 1,000 bytes at 1 MB/s; aborts on an error. */
struct fq_shape flow_shape(uint32_t queues, uint32_t limit_frames);

/* The policy with "NAME=VALUE" of its parameters, up to a NULL. */
void flow_rig_open(struct flow_rig *rig, const char *policy, const struct fq_shape *shape, ...);
void flow_rig_close(struct flow_rig *rig);

/* Enqueue one frame; returns its handle. */
uint64_t flow_put(struct flow_rig *rig, uint32_t queue, uint32_t len_bytes, uint64_t now_ns);
/* The same of a sender that knows ECN. */
uint64_t flow_put_ect(struct flow_rig *rig, uint32_t queue, uint32_t len_bytes, uint64_t now_ns);

/* The handle of the frame that leaves, or -1. */
int64_t flow_get(struct flow_rig *rig, uint64_t now_ns);

/* Exactly this was discarded since the last flow_expect_. */
void flow_expect_drop(struct flow_rig *rig, uint64_t handle, uint32_t queue, enum fq_reason reason);
void flow_expect_no_drop(struct flow_rig *rig);
void flow_rig_clear(struct flow_rig *rig);

#endif
