/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is reserved of the ports of this node: for each flow that leaves by one of them, its rate
 * and the node that asked. A claim is let in if its port has so much left; it is soft state, and
 * ends when it is not repeated. Pure.
 */
#ifndef SL_LEDGER_H
#define SL_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

#include "user/ipc/claim_message.h"

struct sl_claim {
	struct sl_flow_key flow;
	uint16_t system_port;
	uint8_t node; /* that asked last */
	uint64_t rate_Bps;
	uint64_t heard_ns;
};

/* Zeroed is empty. */
struct sl_ledger {
	struct sl_claim *claims; /* owned */
	uint32_t n, room;
};

void sl_ledger_free(struct sl_ledger *ledger);

/*
 * Let a claim in, or repeat it; record has flow, port and rate, not 0. limit_Bps is what flows may
 * reserve of the port; 0: it offers none. Fills in verdict, limit_Bps and reserved_Bps (of others)
 * of the record. Returns whether the ledger has changed: the claim is new or has another rate, or
 * it was repeated and fits no more, since the port's limit has changed. A claim to another rate
 * that does not fit leaves what the flow had before.
 */
bool sl_ledger_ask(struct sl_ledger *ledger, uint8_t node, uint64_t limit_Bps, uint64_t now_ns,
		   struct sl_claim_record *record);

/* Give a claim of this node back. Returns whether there was one. */
bool sl_ledger_give_back(struct sl_ledger *ledger, uint8_t node, const struct sl_flow_key *flow,
			 uint16_t system_port);

/* Take out one claim that has not been repeated for life_ns. False: there is none. */
bool sl_ledger_expire(struct sl_ledger *ledger, uint64_t life_ns, uint64_t now_ns,
		      struct sl_claim *out);

/* Reserved of the port, and by how many flows. */
uint64_t sl_ledger_reserved_Bps(const struct sl_ledger *ledger, uint16_t system_port, uint32_t *n);

#endif
