/* SPDX-License-Identifier: BSD-2-Clause */
#include "elements/install/quarantine.h"

static int process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	(void)state;
	(void)ctx;
	(void)packet;
	return EL_DROP;
}

static struct el_packet *dequeue(void *state)
{
	(void)state;
	return NULL;
}

static uint32_t waiting(const void *state)
{
	(void)state;
	return 0;
}

/* A fast chain stays one. */
static bool fast(const struct el_value *values, struct sl_fast_element *element)
{
	(void)values;
	element->kind = SL_FAST_DROP;
	return true;
}

struct el_class el_quarantined(const struct el_class *class)
{
	struct el_class stand_in = *class;

	stand_in.may |= EL_MAY_DROP;
	stand_in.drop_name = "quarantined";
	stand_in.state_bytes = 0;
	stand_in.init = NULL;
	stand_in.process = process;
	if (class->fast)
		stand_in.fast = fast;
	if (class->dequeue) {
		stand_in.dequeue = dequeue;
		stand_in.waiting = waiting;
	}
	return stand_in;
}
