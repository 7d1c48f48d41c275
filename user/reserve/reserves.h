/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reserved flows of this node: those that enter here, as commands ask for them, and the ledger of
 * what any node has reserved of the ports here.
 *
 * A flow that enters here and leaves by a port of this node claims its rate of the ledger; one that
 * leaves by a port of another node asks that node, by claim_message.h, and asks again every second.
 * While its claim stands, its policer and its entry are in the fast path. When its route leads
 * elsewhere, it claims anew there. A flow whose maker said `refresh` ends when the maker has not
 * asked for it again seven times.
 *
 * Rules reserve, too: for each flow of which a packet matches, with no word of its sender. Such a
 * flow ends when it has been idle, and gives way to a command that reserves for it.
 */
#ifndef SL_RESERVES_H
#define SL_RESERVES_H

#include <jansson.h>

#include "bpf/abi/policer.h"
#include "user/reserve/ledger.h"
#include "user/reserve/reservation.h"

#define SL_RESERVE_MISSED_MAX 7 /* refreshes of its maker, whereupon a reservation ends */

struct sl_reserves;

/* Flows for which rules reserve, since the object was made. */
struct sl_setup_counts {
	uint64_t told;	  /* by XDP */
	uint64_t set_up;  /* that came in force */
	uint64_t refused; /* by the limits of the rule, of a port or of this node; or without a way
			   */
	uint64_t ended;	  /* that had no packet any more, or no rule */
};

int sl_reserves_create(struct sl_reserves **out); /* 0 or -ENOMEM */
void sl_reserves_destroy(struct sl_reserves *r);  /* NULL is fine */

/*
 * Reserve, or refresh: {"flow": as of flow_words.h, "rate": "10mbit", "port": NETDEV or missing,
 * "refresh_s": number or missing, "pin": truth value or missing}. 0 with the reservation in *out,
 * borrowed until the next call; its state may be ASKED or NO_ROUTE, and is then tried again every
 * second and with each call. -EINVAL, -ENOSPC, -EEXIST, -ENOTSUP, -ENOMEM with the reason in why.
 */
int sl_reserves_add(struct sl_reserves *r, const struct sl_reserves_use *use, const json_t *request,
		    const struct sl_reservation **out, char why[SL_RESERVE_WHY_BYTES]);
/* Give a flow up. 0, -EINVAL or -ENOENT with the reason in why. */
int sl_reserves_delete(struct sl_reserves *r, const struct sl_reserves_use *use, const json_t *flow,
		       char why[SL_RESERVE_WHY_BYTES]);

/*
 * XDP has told of a flow for which a rule reserves. A flow whose route has several next hops is
 * pinned to one.
 */
void sl_reserves_set_up(struct sl_reserves *r, const struct sl_reserves_use *use,
			const struct sl_flow_setup *setup);

/* Once a second: ask again, follow routes, end what was not refreshed. */
void sl_reserves_tick(struct sl_reserves *r, const struct sl_reserves_use *use);
/* A node has sent a claim or an answer. */
void sl_reserves_received(struct sl_reserves *r, const struct sl_reserves_use *use, uint8_t node,
			  enum sl_claim_kind kind, const struct sl_claim_record *record);
/* A bridge has been connected, which knows of no flow. */
void sl_reserves_tell_bridge(const struct sl_reserves *r, const struct sl_reserves_use *use);
/* Put those in force into a fast path that has none. */
void sl_reserves_put(const struct sl_reserves *r, struct sl_datapath *dp);
/* Take up those of an earlier life that had no `refresh`; what cannot be read is logged. */
void sl_reserves_restore(struct sl_reserves *r, const struct sl_reserves_use *use);

/* --- For views --- */

const char *sl_reserve_state_name(enum sl_reserve_state state);
uint32_t sl_reserves_n(const struct sl_reserves *r);
const struct sl_reservation *sl_reservation(const struct sl_reserves *r, uint32_t i);
const struct sl_ledger *sl_reserves_ledger(const struct sl_reserves *r);
const struct sl_setup_counts *sl_reserves_setups(const struct sl_reserves *r);
/* Why it is not in force, or "". */
const char *sl_reservation_why(const struct sl_reservation *v, char why[SL_RESERVE_WHY_BYTES]);
/* What its policer has seen since it is in force. 0 or -errno. */
int sl_reservation_policer(const struct sl_reservation *v, const struct sl_datapath *dp,
			   struct sl_policer *out);

#endif
