/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/views/view_queues.h"

#include <string.h>

#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/voq_maps.h"
#include "rdma-bridge/express/express_paths.h"
#include "user/lib/clock.h"
#include "user/ipc/counter_texts.h"
#include "user/ipc/relay.h"

/* The counters of XDP and of the bridge; `taken` also has frames of the remote port's netdev. */
static void put_backlog(json_t *row, const struct sl_backlog *b, const struct rb_voq *voq)
{
	const uint64_t left = __atomic_load_n(&b->dequeued.frames, __ATOMIC_RELAXED);
	const uint64_t left_bytes = __atomic_load_n(&b->dequeued.bytes, __ATOMIC_RELAXED);
	const uint64_t entered = __atomic_load_n(&b->enqueued.frames, __ATOMIC_RELAXED);
	const uint64_t entered_bytes = __atomic_load_n(&b->enqueued.bytes, __ATOMIC_RELAXED);
	json_t *dropped = json_object();

	for (uint32_t i = 0; i < SL_VOQ_DROPS; i++)
		json_object_set_new(dropped, sl_drop_texts[SL_VOQ_DROP_FIRST + i].name,
				    json_integer(b->dropped[i]));
	json_object_set_new(dropped, "missed", json_integer(b->missed));
	json_object_set_new(dropped, "peer-down", json_integer(b->peer_down));
	json_object_set_new(dropped, "too-big", json_integer(b->too_big));
	json_object_set_new(row, "express_frames",
			    json_integer(__atomic_load_n(&b->express.frames, __ATOMIC_RELAXED)));
	json_object_set_new(row, "express_bytes",
			    json_integer(__atomic_load_n(&b->express.bytes, __ATOMIC_RELAXED)));
	json_object_update_new(
		row, json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
			       "waiting_frames", json_integer(entered - left), "waiting_bytes",
			       json_integer(entered_bytes - left_bytes), "enqueued_frames",
			       json_integer(entered), "enqueued_bytes", json_integer(entered_bytes),
			       "dequeued_frames", json_integer(left), "dequeued_bytes",
			       json_integer(left_bytes), "taken_frames",
			       json_integer(voq->taken.packets), "taken_bytes",
			       json_integer(voq->taken.bytes), "marked_frames",
			       json_integer(b->marked), "dropped", dropped));
}

/* Whether the frames of a VOQ go past the bridge now, or why not. */
static enum rb_express_state way_of(const struct rb_bridge *b,
				    const struct rb_bridge_remote *remote, const struct rb_voq *voq)
{
	const struct rb_lane *lane = rb_bridge_lane(b, remote->system_port);

	for (uint32_t i = 0; i < b->n_ports; i++) {
		const struct rb_bridge_port *port = &b->ports[i];

		if (port->system_port == remote->system_port &&
		    (port->way.backlog || !lane->express))
			return rb_own_way_state(&port->way,
						lane->worker->port[port->system_port & 0xff], voq,
						port->takes, sl_now_ns());
	}
	return rb_express_state(lane->express, (uint8_t)(remote->system_port >> 8), voq,
				b->fabric_takes, sl_now_ns());
}

static json_t *voq_row(const struct rb_bridge *b, const struct rb_bridge_remote *remote,
		       uint32_t class)
{
	const struct rb_voq *voq = &rb_bridge_ingress(b, remote)->voqs[remote->first_voq + class];
	const struct sl_voq *settings = &b->maps.voq[remote->voq_id + class];
	enum rb_express_state state;
	char name[IF_NAMESIZE];
	json_t *row;

	sl_relay_tap_name(remote->system_port, name);
	row = json_pack("{s:i, s:s, s:i, s:i, s:s%, s:o, s:s, s:i, s:i, s:i, s:i}", "voq",
			remote->voq_id + class, "port", name, "node", remote->system_port >> 8,
			"class", voq->class, "controller", settings->controller,
			strnlen(settings->controller, sizeof(settings->controller)), "rate",
			settings->rate == SL_RATE_UNLIMITED ? json_null()
							    : json_integer(settings->rate),
			"unit", settings->unit == SL_UNIT_BYTES ? "bytes" : "frames", "burst",
			settings->burst, "limit_frames", settings->limit_frames, "delay_max_us",
			settings->delay_max_us, "ecn_frames", settings->ecn_frames);
	state = way_of(b, remote, voq);
	json_object_update_new(row, json_pack("{s:s, s:s}", "express", rb_express_state_name(state),
					      "express_why", rb_express_state_text(state)));
	put_backlog(row, &b->maps.backlog[remote->voq_id + class], voq);
	return row;
}

void rb_view_voqs(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;

	(void)request;
	if (!b->maps.voq) {
		sl_ctl_fail(answer, "there are no queues yet: sluiced has pinned no maps at \"%s\"",
			    b->settings->pin_dir);
		return;
	}
	for (uint32_t i = 0; i < b->n_remotes; i++) {
		const struct rb_bridge_remote *remote = &b->remotes[i];

		for (uint32_t c = 0;
		     c < SL_CLASSES && remote->system_port && remote->voq_id < SL_VOQS_MAX; c++)
			if (sl_ctl_put(answer, voq_row(b, remote, c)))
				return;
	}
}

/* What flow queues add to the row of a class; without them `policy` is null. */
static void put_flows(json_t *row, const struct rb_egress_flows *flows)
{
	static const char *const reasons[FQ_N_REASONS] = {
		[FQ_EARLY] = "early", [FQ_FULL] = "full",	  [FQ_PUSHED] = "pushed",
		[FQ_LATE] = "late",   [FQ_FLUSHED] = "port-down", [FQ_BAD_SIZE] = "too-big",
	};
	json_t *dropped = json_object();

	if (!flows) {
		json_object_update_new(row, json_pack("{s:n, s:i, s:o}", "policy", "reserved_flows",
						      0, "policy_dropped", dropped));
		return;
	}
	for (int i = 0; i < FQ_N_REASONS; i++)
		json_object_set_new(dropped, reasons[i], json_integer(flows->dropped[i]));
	json_object_update_new(
		row, json_pack("{s:s, s:i, s:i, s:i, s:o, s:o}", "policy",
			       flows->port->config.ops->name, "reserved_flows", flows->reserved.n,
			       "flow_queues", flows->port->config.shape.queues,
			       "flow_queues_in_use", rb_egress_flows_in_use(flows), "marked_frames",
			       json_integer(flows->marked), "policy_dropped", dropped));
}

void rb_view_egress_queues(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const struct rb_bridge *b = ctx;

	(void)request;
	for (uint32_t i = 0; i < b->n_ports * SL_CLASSES; i++) {
		const struct rb_bridge_port *port = &b->ports[i / SL_CLASSES];
		const struct rb_egress_port *egress =
			rb_bridge_lane(b, port->system_port)->worker->port[port->settings->number];
		const uint32_t class = i % SL_CLASSES;
		const struct rb_egress_queue *q = &egress->queue[class];
		const struct rb_wfq_queue *turn = &egress->wfq.queue[class];
		struct sl_passed passed;
		char name[IF_NAMESIZE];
		json_t *row;

		sl_relay_tap_name(port->system_port, name);
		row = json_pack(
			"{s:s, s:s, s:b, s:i, s:s, s:i, s:i, s:o, s:s, s:o, s:o, s:o}", "port",
			name, "netdev", port->settings->name, "open",
			port->edge && !port->withdrawn, "class", class, "scheduler",
			sl_scheduler_name(port->settings->scheduler), "level", turn->level,
			"weight", turn->weight, "rate",
			egress->pace.rate == SL_RATE_UNLIMITED ? json_null()
							       : json_integer(egress->pace.rate),
			"unit", egress->unit == SL_UNIT_BYTES ? "bytes" : "frames", "limit_frames",
			json_integer(rb_egress_limit(egress, class)), "waiting_frames",
			json_integer(rb_egress_backlog(egress, class)), "waiting_bytes",
			json_integer(q->arrived.bytes - q->departed.bytes - q->dropped.bytes));
		json_object_update_new(row,
				       json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "arrived_frames",
						 json_integer(q->arrived.packets), "arrived_bytes",
						 json_integer(q->arrived.bytes), "departed_frames",
						 json_integer(q->departed.packets),
						 "departed_bytes", json_integer(q->departed.bytes),
						 "dropped_frames", json_integer(q->dropped.packets),
						 "dropped_bytes", json_integer(q->dropped.bytes)));
		passed =
			rb_express_taken(b->lanes[0].express, port->settings->number & 0xff, class);
		json_object_update_new(row, json_pack("{s:o, s:o}", "express_frames",
						      json_integer((json_int_t)passed.frames),
						      "express_bytes",
						      json_integer((json_int_t)passed.bytes)));
		put_flows(row, q->flows);
		if (sl_ctl_put(answer, row))
			return;
	}
}
