/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * layers: which byte is the layer, and which layers a flow keeps beside others, against shares that
 * the test works out from weights alone.
 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>
#include <stdlib.h>

#include "queues/flow.h"
#include "tests/lib/flow_rig.h"
#include "tests/lib/frame.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)

enum { LAYERS = 33, UDP = 17 };

/* --- The byte --- */

static uint8_t layer_of(const struct frame *description, const char *param, int64_t value,
			uint32_t payload_at, uint8_t byte)
{
	const struct fq_shape shape = flow_shape(1, 1);
	uint8_t bytes[FRAME_MAX_BYTES], *exact, layer;
	struct fq_config cfg;
	struct fq_flow flow;
	uint32_t n = frame_build(description, bytes);

	assert_int_equal(fq_config_init(&cfg, "layers", &shape), 0);
	if (param)
		assert_int_equal(fq_config_set(&cfg, param, value), 0);
	bytes[payload_at] = byte;
	exact = malloc(n); /* ASan watches its end */
	memcpy(exact, bytes, n);
	fq_flow_parse(exact, n, &flow);
	layer = cfg.ops->layer(&cfg, exact, n, &flow);
	free(exact);
	return layer;
}

static void the_layer_is_a_byte_of_the_udp_payload_and_of_nothing_else(void **state)
{
/* Length of the UDP header and what follows, in the IPv4 or IPv6 packet. */
#define UDP4(bytes) .patch = { { 24, 0 }, { 25, (bytes) } }
#define UDP6(bytes) .patch = { { 44, 0 }, { 45, (bytes) } }
	static const struct {
		const char *name;
		struct frame frame;
		const char *param;
		int64_t value;
		uint32_t at; /* of the byte in the frame */
		uint8_t byte, layer;
	} cases[] = {
		{ "IPv4", { UDP4(26) }, NULL, 0, 42, 7, 7 },
		{ "IPv6", { .ip6 = true, UDP6(26) }, NULL, 0, 62, 7, 7 },
		{ "a VLAN tag", { .tag = { { 0x8100, 5 } }, UDP4(26) }, NULL, 0, 46, 7, 7 },
		{ "the highest", { UDP4(26) }, NULL, 0, 42, 32, 32 },
		{ "above the highest", { UDP4(26) }, NULL, 0, 42, 200, 32 },
		{ "another byte", { UDP4(26) }, "layer_at", 5, 47, 9, 9 },
		{ "the last byte", { UDP4(26) }, "layer_at", 17, 59, 9, 9 },
		{ "beyond the frame", { UDP4(27) }, "layer_at", 18, 59, 9, FQ_NO_LAYER },
		{ "in the padding",
		  { .padding_bytes = 9, UDP4(26) },
		  "layer_at",
		  18,
		  60,
		  9,
		  FQ_NO_LAYER },
		{ "no payload", { .padding_bytes = 9, UDP4(8) }, NULL, 0, 42, 9, FQ_NO_LAYER },
		{ "its port", { UDP4(26) }, "port", 4321, 42, 7, 7 },
		{ "another port", { UDP4(26) }, "port", 4320, 42, 7, FQ_NO_LAYER },
		{ "TCP", { .protocol = 6, UDP4(26) }, NULL, 0, 42, 7, FQ_NO_LAYER },
		{ "a fragment", { .fragment = 0x2000, UDP4(26) }, NULL, 0, 42, 7, FQ_NO_LAYER },
		{ "cut off", { UDP4(26), .cut_bytes = 42 }, NULL, 0, 42, 7, FQ_NO_LAYER },
		{ "no IP", { .ethertype = 0x0806 }, NULL, 0, 42, 7, FQ_NO_LAYER },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint8_t layer = layer_of(&cases[i].frame, cases[i].param, cases[i].value,
					       cases[i].at, cases[i].byte);

		if (layer != cases[i].layer)
			fail_msg("%s: layer %u, expected %u", cases[i].name, layer, cases[i].layer);
	}
}

/* --- The layers that a flow keeps --- */

/*
 * A port of 1 MB/s in steps of 100 us. Queue 0 has a video: each of its layers sends a frame of 480
 * bytes every 20 ms, 24 KB/s, all layers 792 KB/s. Queues 1 and 2 have competitors that send all
 * they can of frames of 1,000 bytes, while their bit of `competing` is set.
 */
enum { LAYER_BYTES = 480, LAYER_RATE = 24000, STEP_US = 100, PORT_RATE = 1000000 };

struct scene {
	struct flow_rig rig;
	uint32_t competing;
	uint64_t now_ns;
	uint64_t credit_bytes;
	uint32_t k;   /* frames of the video so far */
	uint32_t fit; /* layers that fit into the share that expect_layers named last */
	uint64_t sent[LAYERS], lost[LAYERS], last_passed_ns[LAYERS], first_lost_ns[LAYERS];
};

static void video(struct scene *s)
{
	const uint32_t layer = s->k % LAYERS;
	const struct fq_frame frame = { .handle = s->k,
					.len_bytes = LAYER_BYTES,
					.layer = (uint8_t)layer };

	/* The k-th frame is due at k * 20 ms / 33. */
	if (s->now_ns < s->k * 20 * MS / LAYERS)
		return;
	s->k++;
	flow_rig_clear(&s->rig);
	fq_enqueue(s->rig.port, 0, &frame, s->now_ns);
	s->sent[layer]++;
	if (s->rig.n_drops > 0 && s->rig.drop[0].queue == 0) {
		if (s->lost[layer]++ == 0)
			s->first_lost_ns[layer] = s->now_ns;
	} else {
		s->last_passed_ns[layer] = s->now_ns;
	}
}

static void run(struct scene *s, uint64_t until_ns)
{
	for (; s->now_ns < until_ns; s->now_ns += STEP_US * US) {
		struct fq_frame out = { .len_bytes = 0 };

		video(s);
		for (uint32_t queue = 1; queue <= 2; queue++)
			while (s->competing >> queue & 1 &&
			       s->rig.port->queue[queue].n_frames < 10) {
				const struct fq_frame frame = { .len_bytes = 1000,
								.layer = FQ_NO_LAYER };

				fq_enqueue(s->rig.port, queue, &frame, s->now_ns);
			}
		s->credit_bytes += PORT_RATE / (1000000 / STEP_US);
		while (s->credit_bytes >= 1000 &&
		       fq_dequeue(s->rig.port, s->now_ns, &out) != FQ_NONE)
			s->credit_bytes -= out.len_bytes;
		if (s->credit_bytes > 1000)
			s->credit_bytes = 1000;
	}
}

static struct scene *scene(const char *policy, const char *param)
{
	const struct fq_shape shape = flow_shape(3, 100);
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	flow_rig_open(&s->rig, policy, &shape, param, NULL);
	return s;
}

static void end(struct scene *s)
{
	flow_rig_close(&s->rig);
	free(s);
}

static void clear(struct scene *s)
{
	memset(s->sent, 0, sizeof(s->sent));
	memset(s->lost, 0, sizeof(s->lost));
}

/*
 * From now on the video's share is of `weight` among `weights`. Layers that fit into the former and
 * the new one lose nothing, also while the policy adapts. Within 50 ms all frames of layers beyond
 * the new one go, and no others. The highest layer that fits may go, too: rates are measured.
 */
static void expect_layers(struct scene *s, uint32_t weight, uint32_t weights)
{
	const uint64_t start_ns = s->now_ns;
	uint32_t fit = PORT_RATE * weight / weights / LAYER_RATE;

	if (fit > LAYERS)
		fit = LAYERS;
	clear(s);
	run(s, start_ns + 50 * MS);
	for (uint32_t layer = 0; layer + 1 < fit && layer + 1 < s->fit; layer++)
		assert_int_equal(s->lost[layer], 0);
	s->fit = fit;
	clear(s);
	run(s, start_ns + 1000 * MS);
	for (uint32_t layer = 0; layer < LAYERS; layer++) {
		if (layer + 1 < fit || fit == LAYERS)
			assert_int_equal(s->lost[layer], 0);
		if (layer >= fit && fit < LAYERS)
			assert_int_equal(s->lost[layer], s->sent[layer]);
		assert_in_range(s->sent[layer], 47, 48);
	}
}

static void high_layers_go_within_50_ms_and_low_ones_lose_nothing(void **state)
{
	struct scene *s = scene("layers", NULL);

	(void)state;
	run(s, 300 * MS);
	expect_layers(s, 1, 1);
	/* At any time of a period. */
	for (uint64_t at = 0; at < 20; at += 3) {
		run(s, s->now_ns + (at + 100) * MS);
		s->competing = 2;
		expect_layers(s, 1, 2);
		s->competing = 6;
		expect_layers(s, 1, 3);
		s->competing = 0;
		run(s, s->now_ns + 50 * MS); /* what waits of them leaves */
		expect_layers(s, 1, 1);
	}
	assert_int_equal(s->rig.dropped[FQ_PUSHED], 0);
	end(s);
}

static void the_share_is_by_weight_and_by_the_rate_that_the_port_has(void **state)
{
	struct scene *s = scene("layers", NULL);

	(void)state;
	fq_set_weight(s->rig.port, 0, 3);
	s->competing = 6;
	run(s, 300 * MS);
	expect_layers(s, 3, 5);
	assert_int_equal(fq_set_weight(s->rig.port, 1, 4), 0);
	expect_layers(s, 3, 8);
	assert_int_equal(fq_share_Bps(s->rig.port, 0), PORT_RATE * 3 / 8);
	/* Another class takes half of the port, which the caller says. */
	fq_set_rate(s->rig.port, PORT_RATE / 2);
	expect_layers(s, 3, 16);
	end(s);
}

static void the_base_layer_goes_on_when_even_it_is_too_much(void **state)
{
	struct scene *s = scene("layers", NULL);

	(void)state;
	fq_set_weight(s->rig.port, 1, 100);
	s->competing = 2;
	run(s, 300 * MS);
	clear(s);
	run(s, 600 * MS);
	assert_int_equal(s->lost[0], 0);
	for (uint32_t layer = 1; layer < LAYERS; layer++)
		assert_int_equal(s->lost[layer], s->sent[layer]);
	end(s);
}

/* The same traffic under a policy that knows of no layers: the paper's contrast. */
static void with_longest_the_base_layer_loses_as_others_do(void **state)
{
	struct scene *s = scene("longest", NULL);
	uint64_t pushed;

	(void)state;
	s->competing = 6;
	run(s, 3000 * MS);
	pushed = s->rig.dropped[FQ_PUSHED];
	assert_true(pushed > 0);
	end(s);
	s = scene("layers", NULL);
	s->competing = 6;
	run(s, 3000 * MS);
	assert_int_equal(s->rig.dropped[FQ_PUSHED], 0);
	end(s);
}

static void a_period_that_is_longer_reacts_later(void **state)
{
	static const struct {
		const char *param;
		uint64_t period_ms;
	} cases[] = { { "period_us=20000", 20 },
		      { "period_us=100000", 100 },
		      { "period_us=400000", 400 } };
	uint64_t before_ns = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct scene *s = scene("layers", cases[i].param);
		uint64_t reaction_ns;

		run(s, 1000 * MS);
		s->competing = 2;
		clear(s);
		run(s, 2000 * MS);
		reaction_ns = s->last_passed_ns[LAYERS - 1] - 1000 * MS;
		assert_in_range(reaction_ns, before_ns + 1, 2 * cases[i].period_ms * MS);
		before_ns = reaction_ns;
		end(s);
	}
}

static void a_queue_that_another_flow_takes_begins_anew(void **state)
{
	struct scene *s = scene("layers", NULL);
	struct fq_frame frame = { .len_bytes = LAYER_BYTES, .layer = LAYERS - 1 };

	(void)state;
	s->competing = 6;
	run(s, 300 * MS);
	flow_rig_clear(&s->rig);
	fq_enqueue(s->rig.port, 0, &frame, s->now_ns);
	assert_int_equal(s->rig.n_drops, 1);
	s->rig.port->queue[0].tag++;
	flow_rig_clear(&s->rig);
	fq_enqueue(s->rig.port, 0, &frame, s->now_ns);
	flow_expect_no_drop(&s->rig);
	end(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_layer_is_a_byte_of_the_udp_payload_and_of_nothing_else),
		cmocka_unit_test(high_layers_go_within_50_ms_and_low_ones_lose_nothing),
		cmocka_unit_test(the_share_is_by_weight_and_by_the_rate_that_the_port_has),
		cmocka_unit_test(the_base_layer_goes_on_when_even_it_is_too_much),
		cmocka_unit_test(with_longest_the_base_layer_loses_as_others_do),
		cmocka_unit_test(a_period_that_is_longer_reacts_later),
		cmocka_unit_test(a_queue_that_another_flow_takes_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
