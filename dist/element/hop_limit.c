/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * HopLimit: IPv4 packets whose TTL is at least `least` go on by output 0, all others by output 1,
 * or they end. It runs in a worker, and, in fast chains, in the fast path (hop_limit.bpf.c).
 */
#include "elements/core/ip_rewrite.h"
#include "elements/core/package.h"

#define TTL_AT 8u

struct hop_limit {
	uint8_t least;
};

static const char *hop_limit_init(void *state, const struct el_value *values)
{
	((struct hop_limit *)state)->least = (uint8_t)values[0].number;
	return NULL;
}

static int hop_limit_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	const struct hop_limit *h = state;

	(void)ctx;
	if (el_ip_parse(packet) != EL_IP_4)
		return 1;
	return packet->data[packet->l3_offset + TTL_AT] >= h->least ? 0 : 1;
}

/* The same in the fast path: hop_limit.bpf.c. */
static bool hop_limit_fast(const struct el_value *values, struct sl_fast_element *element)
{
	element->kind = SL_FAST_OWN;
	element->own.word[0] = (uint32_t)values[0].number;
	return true;
}

static const struct el_param params[] = {
	{ "least", EL_PARAM_NUMBER, true, 1, 255, 0, NULL, 0, "the least TTL that goes on" },
	{ 0 },
};

static const struct el_class hop_limit = {
	.name = "HopLimit",
	.version = 1,
	.what = "IPv4 packets with a TTL of at least so much by output 0, others by output 1",
	.may = EL_MAY_DROP,
	.input = EL_PUSH,
	.output = EL_PUSH,
	.outputs_required = 1,
	.outputs = 2,
	.drop_name = "hop-limit",
	.params = params,
	.state_bytes = sizeof(struct hop_limit),
	.init = hop_limit_init,
	.process = hop_limit_process,
	.fast = hop_limit_fast,
};

/* One packet on each side of the limit. */
static const char *self_test(void)
{
	uint8_t frame[34] = { [12] = 0x08, [14] = 0x45, [17] = 20, [14 + TTL_AT] = 7 };
	struct el_packet packet = { .data = frame, .len_bytes = sizeof(frame) };
	struct hop_limit seven = { .least = 7 }, eight = { .least = 8 };
	struct el_context ctx = { 0 };

	if (hop_limit_process(&seven, &ctx, &packet) != 0)
		return "a TTL of 7 is at least 7";
	if (hop_limit_process(&eight, &ctx, &packet) != 1)
		return "a TTL of 7 is less than 8";
	return NULL;
}

EL_FAST_PROGRAM("hop_limit.bpf.o");
EL_PACKAGE(&hop_limit, "least=8", self_test);
