/* SPDX-License-Identifier: BSD-2-Clause */
/* LayeredVideo against the rule of its source, step by step over a plain array. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "elements/classes/classes.h"
#include "tests/lib/chain_rig.h"

#define LIMIT 5

static uint32_t random_state = 7;

static uint32_t draw(uint32_t below)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state % below;
}

/* The queue as the rule describes it; each packet is layer and number. */
struct model {
	uint32_t n, layer[LIMIT], number[LIMIT];
};

static void model_remove(struct model *m, uint32_t at)
{
	for (uint32_t i = at; i + 1 < m->n; i++) {
		m->layer[i] = m->layer[i + 1];
		m->number[i] = m->number[i + 1];
	}
	m->n--;
}

/* Returns how many packets the arrival drops. */
static uint32_t model_arrive(struct model *m, uint32_t layer, uint32_t number)
{
	uint32_t worst = 0, dropped = 0;

	if (m->n == LIMIT) {
		for (uint32_t i = 1; i < m->n; i++)
			if (m->layer[i] >= m->layer[worst])
				worst = i;
		if (layer >= m->layer[worst])
			return 1;
		model_remove(m, worst);
		dropped = 1;
	}
	m->layer[m->n] = layer;
	m->number[m->n++] = number;
	return dropped;
}

static void highest_and_latest_layer_goes_first(void **state)
{
	struct chain_rig *rig =
		chain_rig_create("chain c { v :: LayeredVideo(limit=5); input -> v -> output; }");
	struct el_instance *v = &rig->chains.chains[0].instances[EL_AT_FIRST];
	struct model model = { 0 };
	uint64_t dropped = 0;

	(void)state;
	for (uint32_t number = 0; number < 20000; number++) {
		struct el_context ctx = { .pool = &rig->pool };
		struct el_packet *packet;
		uint32_t layer = draw(6);

		packet = chain_rig_udp(rig, (uint8_t)layer);
		packet->data[18] = (uint8_t)(number >> 8); /* the IP identification */
		packet->data[19] = (uint8_t)number;
		if (v->class->process(v->state, &ctx, packet) == EL_DROP) {
			el_pool_give(&rig->pool, packet);
			ctx.dropped++;
		}
		dropped += model_arrive(&model, layer, number & 0xffff);
		while (draw(3) == 0 && model.n) {
			packet = v->class->dequeue(v->state);
			assert_int_equal(packet->data[42], model.layer[0]);
			assert_int_equal(packet->data[18] << 8 | packet->data[19], model.number[0]);
			model_remove(&model, 0);
			el_pool_give(&rig->pool, packet);
		}
		assert_int_equal(v->class->waiting(v->state), model.n);
		assert_int_equal(rig->pool.n_free, CHAIN_RIG_CHUNKS - model.n);
	}
	assert_true(dropped > 1000);
	chain_rig_destroy(rig);
}

/* What is no such UDP packet counts as the base layer, which enhancement makes room for. */
static void other_packets_count_as_base(void **state)
{
	struct chain_rig *rig =
		chain_rig_create("chain c { v :: LayeredVideo(limit=1); input -> v -> output; }");
	struct el_instance *v = &rig->chains.chains[0].instances[EL_AT_FIRST];
	struct el_packet *enhancement = chain_rig_udp(rig, 3), *other = chain_rig_packet(rig, 60);
	struct el_context ctx = { .pool = &rig->pool };

	(void)state;
	assert_int_equal(v->class->process(v->state, &ctx, enhancement), EL_HELD);
	assert_int_equal(v->class->process(v->state, &ctx, other), EL_HELD);
	assert_int_equal(ctx.dropped, 1);
	assert_int_equal(ctx.dropped_bytes, 43);
	assert_ptr_equal(v->class->dequeue(v->state), other);
	el_pool_give(&rig->pool, other);
	chain_rig_destroy(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(highest_and_latest_layer_goes_first),
		cmocka_unit_test(other_packets_count_as_base),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
