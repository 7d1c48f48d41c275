/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/lib/own_mark.h"
#include "elements/core/ip_rewrite.h"

struct mark {
	uint8_t dscp;
};

static const char *mark_init(void *state, const struct el_value *values)
{
	((struct mark *)state)->dscp = (uint8_t)values[0].number;
	return NULL;
}

static int mark_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	const uint8_t dscp = ((const struct mark *)state)->dscp;
	bool ip4 = el_ip_parse(packet) == EL_IP_4;
	uint8_t *l3 = packet->data + packet->l3_offset, hops = l3[ip4 ? 8 : 7];

	(void)ctx;
	if (hops % 8 == 3)
		return EL_DROP;
	packet->paint = (packet->paint + hops) & 3;
	if (hops & 2 && ip4) {
		l3[1] = (uint8_t)(dscp << 2 | (l3[1] & 3));
	} else if (hops & 2) {
		l3[0] = (uint8_t)(0x60 | dscp >> 2);
		l3[1] = (uint8_t)(dscp << 6 | (l3[1] & 0x3f));
	}
	return hops & 1;
}

static bool mark_fast(const struct el_value *values, struct sl_fast_element *element)
{
	element->kind = SL_FAST_OWN;
	element->own.word[0] = (uint32_t)values[0].number;
	return true;
}

static const struct el_param mark_params[] = {
	{ "dscp", EL_PARAM_NUMBER, true, 0, 63, 0, NULL, 0, "the DSCP" },
	{ 0 },
};

static const struct el_class mark = {
	.name = "Mark",
	.version = 1,
	.what = "marks",
	.may = EL_MAY_DROP | EL_MAY_WRITE,
	.outputs_required = 1,
	.outputs = 2,
	.drop_name = "mark",
	.params = mark_params,
	.state_bytes = sizeof(struct mark),
	.init = mark_init,
	.process = mark_process,
	.fast = mark_fast,
};
const struct el_class *const own_mark_classes[] = { &mark, NULL };
