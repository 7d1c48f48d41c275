/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/lib/chain_rig.h"

static uint64_t now_ns(void *owner)
{
	struct chain_rig *rig = owner;

	rig->now_ns += rig->element_ns;
	return rig->now_ns;
}

static void burn(void *owner, uint64_t ns)
{
	((struct chain_rig *)owner)->now_ns += ns;
}

static void sent(void *owner, struct el_graph *graph, struct el_packet *packet)
{
	struct chain_rig *rig = owner;

	rig->sent++;
	if (rig->on_sent)
		rig->on_sent(rig, graph, packet);
	el_pool_give(&rig->pool, packet);
}

static const struct el_worker_ops ops = { .now_ns = now_ns, .burn = burn, .sent = sent };

struct chain_rig *chain_rig_create(const char *text)
{
	return chain_rig_create_with(text, NULL);
}

struct chain_rig *chain_rig_create_with(const char *text, const struct el_class *const *more)
{
	struct chain_rig *rig = calloc(1, sizeof(*rig));
	char error[EL_ERROR_BYTES];

	assert_non_null(rig);
	if (el_chains_parse("f", text, strlen(text), more, &rig->chains, error))
		fail_msg("%s", error);
	el_pool_init(&rig->pool, rig->area, rig->packets, CHAIN_RIG_CHUNKS, CHAIN_RIG_CHUNK_BYTES,
		     CHAIN_RIG_HEADROOM);
	el_worker_init(&rig->worker, &rig->pool, &ops, rig, 0);
	for (uint32_t i = 0; i < rig->chains.n; i++)
		assert_int_equal(el_worker_open_chain(&rig->worker, EL_FLOWS_GLOBAL + i, 1,
						      &rig->chains.chains[i]),
				 0);
	rig->element_ns = 1;
	return rig;
}

void chain_rig_destroy(struct chain_rig *rig)
{
	for (uint32_t i = 0; i < rig->chains.n; i++)
		el_worker_close(&rig->worker, EL_FLOWS_GLOBAL + i);
	assert_int_equal(rig->pool.n_free, CHAIN_RIG_CHUNKS);
	el_chains_free(&rig->chains);
	free(rig);
}

struct el_packet *chain_rig_packet(struct chain_rig *rig, uint32_t len_bytes)
{
	struct el_packet *packet = el_pool_take(&rig->pool);

	if (packet) {
		packet->len_bytes = len_bytes;
		memset(packet->data, 0, len_bytes);
	}
	return packet;
}

struct el_packet *chain_rig_udp(struct chain_rig *rig, uint8_t payload)
{
	static const uint8_t head[] = { 2,    0, 0,  0,	 0, 2, 2, 0, 0,	 0,  0, 1, 8,  0,
					0x45, 0, 0,  29, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0,
					0,    1, 10, 0,	 0, 2, 0, 9, 0,	 9,  0, 9, 0,  0 };
	struct el_packet *packet = chain_rig_packet(rig, sizeof(head) + 1);

	if (packet) {
		memcpy(packet->data, head, sizeof(head));
		packet->data[sizeof(head)] = payload;
	}
	return packet;
}

bool chain_rig_enter(struct chain_rig *rig, uint32_t chain, struct el_packet *packet)
{
	if (el_worker_enter(&rig->worker, EL_FLOWS_GLOBAL + chain, packet))
		return true;
	el_pool_give(&rig->pool, packet);
	return false;
}

void chain_rig_idle(struct chain_rig *rig)
{
	while (el_worker_turn(&rig->worker))
		;
}

bool chain_rig_conserves(const struct el_graph *graph, uint32_t at_hand)
{
	return graph->entered.packets + el_chain_copied(graph).packets ==
	       graph->left.packets + el_chain_dropped(graph).packets + el_chain_waiting(graph) +
		       at_hand;
}
