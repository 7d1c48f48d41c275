/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/worker/worker_deliver.h"

void rb_worker_deliver(struct rb_worker *w, const struct rb_frame *frame)
{
	const uint32_t number = frame->system_port & 0xff;

	rb_count(w->counters, RB_COUNT_EGRESS, 1, frame->len_bytes);
	/* Other nodes may not have heard yet that the port is gone. */
	if (!w->port[number]) {
		rb_count(w->counters, RB_COUNT_DROP_PORT_DOWN, 1, frame->len_bytes);
		rb_chunk_release(w->chunks, frame->offset, RB_OWNER_MESSAGE);
		return;
	}
	rb_egress_enqueue(w->port[number], frame, w->chunks, w->counters, w->now_ns);
	rb_id_set_add(&w->todo_ports, number);
}

enum rb_verdict rb_worker_unpack_records(const struct rb_worker *w,
					 const struct rb_msg_header *header, const uint8_t *msg,
					 union rb_records *out, uint32_t *n)
{
	switch (header->type) {
	case RB_MSG_FEEDBACK:
		return rb_unpack_feedback(header, msg, out->feedback, n);
	case RB_MSG_HELLO:
		return rb_unpack_hello(header, msg, &out->hello);
	case RB_MSG_POLICY:
		return rb_unpack_policy(header, msg, &out->policy);
	case RB_MSG_REPORT:
		return rb_unpack_reports(&w->self, header, msg, out->reports, n);
	default:
		return RB_VERDICT_OK;
	}
}

void rb_worker_use_records(struct rb_worker *w, const struct rb_msg_header *header,
			   const uint8_t *msg, const union rb_records *records, uint32_t n,
			   uint64_t now_ns)
{
	const uint8_t *body;
	uint32_t body_bytes;

	switch (header->type) {
	case RB_MSG_FEEDBACK:
		rb_rates_feedback(w->rates, records->feedback, n, now_ns);
		break;
	case RB_MSG_HELLO:
		rb_peers_hello(&w->peers, header->source, &records->hello, now_ns);
		w->peer[header->source]->transit.there_ns = records->hello.transit_ns;
		break;
	case RB_MSG_POLICY:
		rb_rates_policy(w->rates, &records->policy, now_ns);
		break;
	case RB_MSG_REPORT:
		rb_rates_reports(w->rates, header->source, records->reports, n, now_ns);
		break;
	case RB_MSG_ANNOUNCE:
		rb_unpack_announce(header, msg, &body, &body_bytes);
		if (w->on_announce)
			w->on_announce(w->event_context, header->source, body, body_bytes);
		break;
	default:
		break;
	}
}
