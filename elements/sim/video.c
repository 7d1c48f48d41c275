/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * 300 frames, 25 a second, each of a base layer and 127 enhancement layers, which come evenly
 * spread. A packet costs 12 us, ten times 1,040 cycles of the paper's processor; so ten times the
 * paper's lowest share is one packet a frame. The other flow is the paper's UDP flood: always
 * backlogged, at the same cost.
 *
 * The elements are those of the router, in the packet loop of the router; only the clock is not. An
 * enhancement is of use if all layers below it have come. PSNR(k) of k enhancements stands in for
 * the codec: 20.5 dB with the base alone, and 2.5 dB for each doubling of k + 1.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "elements/graph/chain_worker.h"
#include "elements/graph/graph_text.h"
#include "elements/sim/video.h"

#define CHUNKS	     512u
#define CHUNK_BYTES  128u
#define FRAME_NS     40000000u
#define WEIGHTS	     1000000u
#define PAYLOAD_AT   42u
#define AFTER_FRAMES 140u /* time for what still waits, in frames */

enum { VIDEO = EL_FLOWS_GLOBAL, FLOOD };

static const char chains_text[] =
	"chain scaling quantum 5us { input -> LayeredVideo(limit=128) -> Delay(time=12us) -> output; }\n"
	"chain tail quantum 5us { input -> Queue(limit=128) -> Delay(time=12us) -> output; }\n"
	"chain flood quantum 5us { input -> Delay(time=12us) -> drop; }\n";

struct sim {
	struct el_worker worker;
	struct el_pool pool;
	struct el_packet packets[CHUNKS];
	uint8_t area[CHUNKS * CHUNK_BYTES];
	uint64_t now_ns;
	bool came[EL_VIDEO_FRAMES][EL_VIDEO_LAYERS];
};

static uint64_t now_ns(void *owner)
{
	return ((struct sim *)owner)->now_ns;
}

static void burn(void *owner, uint64_t ns)
{
	((struct sim *)owner)->now_ns += ns;
}

static void sent(void *owner, struct el_graph *graph, struct el_packet *packet)
{
	const uint8_t *payload = packet->data + PAYLOAD_AT;
	struct sim *s = owner;

	(void)graph;
	s->came[payload[1] << 8 | payload[2]][payload[0]] = true;
	el_pool_give(&s->pool, packet);
}

static const struct el_worker_ops ops = { .now_ns = now_ns, .burn = burn, .sent = sent };

/* UDP over IPv4, with layer and frame in its payload. */
static struct el_packet *make(struct sim *s, uint32_t frame, uint32_t layer)
{
	static const uint8_t head[PAYLOAD_AT] = {
		[12] = 8, [14] = 0x45, [17] = 31, [22] = 64, [23] = 17, [39] = 11
	};
	struct el_packet *packet = el_pool_take(&s->pool);

	if (!packet)
		return NULL;
	memcpy(packet->data, head, sizeof(head));
	packet->data[PAYLOAD_AT] = (uint8_t)layer;
	packet->data[PAYLOAD_AT + 1] = (uint8_t)(frame >> 8);
	packet->data[PAYLOAD_AT + 2] = (uint8_t)frame;
	packet->len_bytes = PAYLOAD_AT + 3;
	return packet;
}

static void enter(struct sim *s, uint32_t flow, uint32_t frame, uint32_t layer)
{
	struct el_packet *packet = make(s, frame, layer);

	if (packet && !el_worker_enter(&s->worker, flow, packet))
		el_pool_give(&s->pool, packet);
}

static void run(struct sim *s)
{
	const uint64_t end_ns = (uint64_t)(EL_VIDEO_FRAMES + AFTER_FRAMES) * FRAME_NS;
	const uint32_t gap_ns = FRAME_NS / EL_VIDEO_LAYERS;
	uint32_t next = 0;

	while (s->now_ns < end_ns) {
		while (next < EL_VIDEO_FRAMES * EL_VIDEO_LAYERS &&
		       s->now_ns >= (uint64_t)next * gap_ns) {
			enter(s, VIDEO, next / EL_VIDEO_LAYERS, next % EL_VIDEO_LAYERS);
			next++;
		}
		while (s->worker.graphs[FLOOD]->n_waiting < 8)
			enter(s, FLOOD, 0, 0);
		el_worker_turn(&s->worker);
	}
}

static void judge(const struct sim *s, struct el_video_result *out)
{
	double sum = 0;

	*out = (struct el_video_result){ 0 };
	for (uint32_t frame = 0; frame < EL_VIDEO_FRAMES; frame++) {
		uint32_t n = 0;

		while (n < EL_VIDEO_LAYERS && s->came[frame][n])
			n++;
		out->layers[frame] = n;
		if (!n)
			continue;
		out->shown++;
		sum += 20.5 + 2.5 * log2(n);
	}
	out->psnr_mean = out->shown ? sum / out->shown : 0;
}

int el_video_run(uint32_t share, bool scaling, struct el_video_result *out)
{
	struct sim *s = calloc(1, sizeof(*s));
	struct el_chains chains = { 0 };
	char error[EL_ERROR_BYTES];
	int err = s ? 0 : -ENOMEM;

	if (!err)
		err = el_chains_parse("video", chains_text, sizeof(chains_text) - 1, NULL, &chains,
				      error);
	if (!err) {
		el_pool_init(&s->pool, s->area, s->packets, CHUNKS, CHUNK_BYTES, 0);
		el_worker_init(&s->worker, &s->pool, &ops, s, 0);
		err = el_worker_open_chain(&s->worker, VIDEO, share,
					   &chains.chains[scaling ? 0 : 1]);
	}
	if (!err)
		err = el_worker_open_chain(&s->worker, FLOOD, WEIGHTS - share, &chains.chains[2]);
	if (!err) {
		run(s);
		judge(s, out);
	}
	el_chains_free(&chains);
	free(s);
	return err;
}
