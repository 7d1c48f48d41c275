/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "user/cluster/cluster_send.h"
#include "user/lib/log.h"

static void send_message(struct sl_cluster *c, const struct sl_relay_message *message)
{
	int err = sl_relay_send(&c->relay, message);

	/* The next repetition, or the next connection, brings what is lost. */
	if (err && err != -EAGAIN && err != -ENOTCONN)
		sl_debug("cluster: the bridge does not take a message: %s", strerror(-err));
}

/* Until the owner has announced the port, the bridge goes on with what an earlier life told it. */
void sl_cluster_send_port(struct sl_cluster *c, const struct sl_remote_port *port)
{
	if (port->known && port->ifindex)
		send_message(c, &(struct sl_relay_message){ .kind = SL_RELAY_PORT,
							    .system_port = port->system_port,
							    .up = port->up });
}

void sl_cluster_send_gone(struct sl_cluster *c, const struct sl_remote_port *port)
{
	send_message(c, &(struct sl_relay_message){ .kind = SL_RELAY_PORT,
						    .system_port = port->system_port,
						    .gone = true });
}

void sl_cluster_send_part(struct sl_cluster *c, uint8_t node, const struct sl_announce_part *part)
{
	send_message(c, &(struct sl_relay_message){ .kind = SL_RELAY_SEND,
						    .node = node,
						    .part = part->bytes,
						    .part_bytes = part->len_bytes });
}

/* Count the parts that the records take, and send each as a part of `parts`; 0: only count. */
static uint16_t walk_parts(struct sl_cluster *c, uint8_t node, uint16_t parts)
{
	struct sl_announce_header header = { .kind = SL_ANNOUNCE_STATE,
					     .generation = c->generation,
					     .parts = parts ? parts : 1 };
	struct sl_announce_part part;

	sl_announce_begin(&part, &header);
	for (uint32_t i = 0; i < c->local.n; i++) {
		if (sl_announce_add(&part, &c->local.records[i]))
			continue;
		if (header.part + 1 == SL_ANNOUNCE_PARTS_MAX)
			/* neighbours come last; those that do not fit are resolved on request */
			break;
		if (parts)
			sl_cluster_send_part(c, node, &part);
		header.part++;
		if (!parts)
			header.parts = (uint16_t)(header.part + 1);
		sl_announce_begin(&part, &header);
		sl_announce_add(&part, &c->local.records[i]);
	}
	if (parts)
		sl_cluster_send_part(c, node, &part);
	return (uint16_t)(header.part + 1);
}

void sl_cluster_announce(struct sl_cluster *c, uint8_t node)
{
	if (c->relay.fd >= 0)
		walk_parts(c, node, walk_parts(c, node, 0));
}

void sl_cluster_tell_flow(struct sl_cluster *c, uint16_t system_port,
			  const struct sl_flow_key *flow, uint32_t weight)
{
	if (c->relay.fd >= 0)
		send_message(c, &(struct sl_relay_message){ .kind = SL_RELAY_FLOW,
							    .system_port = system_port,
							    .flow = *flow,
							    .gone = !weight,
							    .weight = (uint16_t)weight });
}

/* --- Requests --- */

void sl_cluster_want(struct sl_cluster *c, uint16_t system_port, uint8_t family,
		     const uint8_t addr[16])
{
	struct sl_wanted *w = &c->wanted[c->n_wanted];

	if (c->n_wanted == SL_WANTED_MAX)
		return;
	*w = (struct sl_wanted){ .system_port = system_port, .family = family };
	memcpy(w->addr, addr, sizeof(w->addr));
	c->n_wanted++;
}

/* One node after the other, with as many addresses in a part as fit. */
void sl_cluster_send_wanted(struct sl_cluster *c)
{
	const struct sl_announce_header header = { .kind = SL_ANNOUNCE_RESOLVE, .parts = 1 };
	struct sl_announce_part part;

	for (uint32_t p = 0; p < c->n_peers && c->n_wanted; p++) {
		const uint8_t node = c->peers[p].node;

		sl_announce_begin(&part, &header);
		for (uint32_t i = 0; i < c->n_wanted; i++) {
			const struct sl_wanted *w = &c->wanted[i];
			struct sl_announce_record record = { .type = SL_ANNOUNCE_WANTED,
							     .system_port = w->system_port,
							     .family = w->family };

			if (w->system_port >> 8 != node)
				continue;
			memcpy(record.addr, w->addr, sizeof(w->addr));
			if (sl_announce_add(&part, &record))
				continue;
			sl_cluster_send_part(c, node, &part);
			sl_announce_begin(&part, &header);
			sl_announce_add(&part, &record);
		}
		if (part.records && c->peers[p].up)
			sl_cluster_send_part(c, node, &part);
	}
	c->n_wanted = 0;
}
