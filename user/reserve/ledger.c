/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/reserve/ledger.h"

#include <stdlib.h>
#include <string.h>

void sl_ledger_free(struct sl_ledger *ledger)
{
	free(ledger->claims);
	*ledger = (struct sl_ledger){ 0 };
}

static struct sl_claim *find(const struct sl_ledger *ledger, const struct sl_flow_key *flow,
			     uint16_t system_port)
{
	for (uint32_t i = 0; i < ledger->n; i++)
		if (ledger->claims[i].system_port == system_port &&
		    memcmp(&ledger->claims[i].flow, flow, sizeof(*flow)) == 0)
			return &ledger->claims[i];
	return NULL;
}

uint64_t sl_ledger_reserved_Bps(const struct sl_ledger *ledger, uint16_t system_port, uint32_t *n)
{
	uint64_t sum_Bps = 0;

	*n = 0;
	for (uint32_t i = 0; i < ledger->n; i++) {
		if (ledger->claims[i].system_port != system_port)
			continue;
		sum_Bps += ledger->claims[i].rate_Bps;
		++*n;
	}
	return sum_Bps;
}

/* Room for one more. */
static struct sl_claim *append(struct sl_ledger *ledger)
{
	if (ledger->n == ledger->room) {
		const uint32_t room = ledger->room ? 2 * ledger->room : 16;
		void *claims = realloc(ledger->claims, room * sizeof(*ledger->claims));

		if (!claims)
			return NULL;
		ledger->claims = claims;
		ledger->room = room;
	}
	return &ledger->claims[ledger->n++];
}

static void take_out(struct sl_ledger *ledger, struct sl_claim *claim)
{
	*claim = ledger->claims[--ledger->n];
}

bool sl_ledger_ask(struct sl_ledger *ledger, uint8_t node, uint64_t limit_Bps, uint64_t now_ns,
		   struct sl_claim_record *record)
{
	struct sl_claim *claim = find(ledger, &record->flow, record->system_port);
	const uint64_t old_Bps = claim ? claim->rate_Bps : 0;
	uint32_t n;

	record->limit_Bps = limit_Bps;
	record->reserved_Bps = sl_ledger_reserved_Bps(ledger, record->system_port, &n) - old_Bps;
	if (!limit_Bps)
		record->verdict = SL_CLAIM_NO_OFFER;
	else if (record->rate_Bps > limit_Bps ||
		 record->reserved_Bps > limit_Bps - record->rate_Bps)
		record->verdict = SL_CLAIM_NO_RATE;
	else if (!claim && (n >= SL_RESERVED_PORT_MAX || !(claim = append(ledger))))
		record->verdict = SL_CLAIM_NO_QUEUE;
	else
		record->verdict = SL_CLAIM_GRANTED;
	if (record->verdict != SL_CLAIM_GRANTED && claim && old_Bps == record->rate_Bps) {
		take_out(ledger, claim);
		return true;
	}
	if (record->verdict != SL_CLAIM_GRANTED)
		return false;
	*claim = (struct sl_claim){ .flow = record->flow,
				    .system_port = record->system_port,
				    .node = node,
				    .rate_Bps = record->rate_Bps,
				    .heard_ns = now_ns };
	return old_Bps != record->rate_Bps;
}

bool sl_ledger_give_back(struct sl_ledger *ledger, uint8_t node, const struct sl_flow_key *flow,
			 uint16_t system_port)
{
	struct sl_claim *claim = find(ledger, flow, system_port);

	if (!claim || claim->node != node)
		return false;
	take_out(ledger, claim);
	return true;
}

bool sl_ledger_expire(struct sl_ledger *ledger, uint64_t life_ns, uint64_t now_ns,
		      struct sl_claim *out)
{
	for (uint32_t i = 0; i < ledger->n; i++) {
		if (now_ns - ledger->claims[i].heard_ns < life_ns)
			continue;
		*out = ledger->claims[i];
		take_out(ledger, &ledger->claims[i]);
		return true;
	}
	return false;
}
