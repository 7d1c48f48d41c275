/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * LayeredVideo: a queue that drops enhancement layers of layered video before base layers, and
 * higher layers before lower ones, because a layer is of no use without those below it.
 *
 * The layer of a UDP packet is a byte of its payload: 0 is the base. While there is room, a packet
 * waits. When there is none, let x be the waiting packet of the highest layer, of those the latest:
 * the packet that came is dropped if its layer is not below that of x, otherwise x is, and the
 * packet waits. What has no such byte counts as the base layer. (Han, Zaroo, Yau, Dong, Gopalan,
 * Lui, section 5, for the order; the exact rule is ours.)
 *
 * The search is linear in the limit, which is small, and happens only where a packet must go.
 */
#include "elements/classes/classes.h"
#include "elements/classes/packet_list.h"
#include "elements/core/ip_rewrite.h"

#define PROTOCOL_UDP 17u
#define UDP_BYTES    8u

struct layered_video {
	struct el_list list;
	uint32_t limit, layer_at;
};

enum { LIMIT, LAYER_AT };

static const char *layered_video_init(void *state, const struct el_value *values)
{
	struct layered_video *v = state;

	v->limit = (uint32_t)values[LIMIT].number;
	v->layer_at = (uint32_t)values[LAYER_AT].number;
	return NULL;
}

static uint8_t layer_of(const struct layered_video *v, struct el_packet *packet)
{
	enum el_ip version = el_ip_parse(packet);
	const uint8_t *ip = packet->data + packet->l3_offset;
	uint32_t need = UDP_BYTES + v->layer_at + 1, at = 0;
	uint8_t protocol = 0;

	if (version == EL_IP_4) {
		at = el_ip4_transport(packet, need, &protocol);
	} else if (version == EL_IP_6) {
		protocol = ip[6];
		at = el_read16(ip + 4) >= need ? packet->l3_offset + EL_IP6_BYTES : 0;
	}
	return at && protocol == PROTOCOL_UDP ? packet->data[at + need - 1] : 0;
}

/* The latest packet of the highest layer; its predecessor, NULL: it is the first. */
static struct el_packet *least_useful(const struct layered_video *v, struct el_packet **before,
				      uint8_t *layer)
{
	struct el_packet *found = v->list.first, *previous = NULL, *packet = v->list.first;

	*before = NULL;
	*layer = layer_of(v, found);
	for (uint32_t i = 0; i < v->list.n; i++) {
		uint8_t now = layer_of(v, packet);

		if (now >= *layer) {
			found = packet;
			*layer = now;
			*before = previous;
		}
		previous = packet;
		packet = packet->link;
	}
	return found;
}

static void remove_behind(struct el_list *list, struct el_packet *before, struct el_packet *packet)
{
	if (before)
		before->link = packet->link;
	else
		list->first = packet->link;
	if (list->last == packet)
		list->last = before;
	list->n--;
}

static int layered_video_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	struct layered_video *v = state;
	struct el_packet *worst, *before;
	uint8_t worst_layer;

	if (v->list.n >= v->limit) {
		worst = least_useful(v, &before, &worst_layer);
		if (layer_of(v, packet) >= worst_layer)
			return EL_DROP;
		remove_behind(&v->list, before, worst);
		el_drop(ctx, worst);
	}
	el_list_put(&v->list, packet);
	return EL_HELD;
}

static struct el_packet *layered_video_dequeue(void *state)
{
	return el_list_take(&((struct layered_video *)state)->list);
}

static uint32_t layered_video_waiting(const void *state)
{
	return ((const struct layered_video *)state)->list.n;
}

static const struct el_param params[] = {
	[LIMIT] = { "limit", EL_PARAM_NUMBER, false, 1, 4096, 64, NULL, 0, "most that wait" },
	[LAYER_AT] = { "layer_at", EL_PARAM_NUMBER, false, 0, 1400, 0, NULL, 0,
		       "place of the layer's byte in the UDP payload" },
	{ 0 },
};

const struct el_class el_layered_video = {
	.name = "LayeredVideo",
	.version = 1,
	.what = "a queue that drops the highest layers of video first",
	.may = EL_MAY_DROP | EL_MAY_HOLD,
	.input = EL_PUSH,
	.output = EL_PULL,
	.outputs_required = 1,
	.outputs = 1,
	.drop_name = "layer",
	.params = params,
	.state_bytes = sizeof(struct layered_video),
	.init = layered_video_init,
	.process = layered_video_process,
	.dequeue = layered_video_dequeue,
	.waiting = layered_video_waiting,
};
