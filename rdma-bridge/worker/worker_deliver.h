/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where frames and records go that have come, from another node or from this one: frames to egress
 * queues, records to whom they are for.
 */
#ifndef RB_WORKER_DELIVER_H
#define RB_WORKER_DELIVER_H

#include "rdma-bridge/worker/worker_state.h"

/* The records of a message without frames, by its type. */
union rb_records {
	struct rb_feedback feedback[RB_RECORDS_MAX];
	struct rb_report reports[RB_RECORDS_MAX];
	struct rb_policy policy;
	struct rb_hello hello;
};

/* Put a frame in a MESSAGE chunk into its egress queue. */
void rb_worker_deliver(struct rb_worker *worker, const struct rb_frame *frame);
/* RB_VERDICT_OK, with the n records of a message in *out; else what is wrong with them. */
enum rb_verdict rb_worker_unpack_records(const struct rb_worker *worker,
					 const struct rb_msg_header *header, const uint8_t *msg,
					 union rb_records *out, uint32_t *n);
void rb_worker_use_records(struct rb_worker *worker, const struct rb_msg_header *header,
			   const uint8_t *msg, const union rb_records *records, uint32_t n,
			   uint64_t now_ns);

#endif
