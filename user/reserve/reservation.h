/* SPDX-License-Identifier: BSD-2-Clause */
/* A reserved flow that enters at this node, and what the router lends to those who serve it. */
#ifndef SL_RESERVATION_H
#define SL_RESERVATION_H

#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

#include "user/classify/rule.h"
#include "user/cluster/cluster.h"
#include "user/config/config.h"
#include "user/datapath/datapath.h"
#include "user/fib/fib.h"
#include "user/ipc/claim_message.h"
#include "user/mirror/mirror.h"

#define SL_RESERVE_WHY_BYTES	320 /* a sentence that says why not */
#define SL_RESERVING_NAME_BYTES 144 /* of a list and a rule */

enum sl_reserve_state {
	SL_RESERVE_NO_ROUTE, /* no way out by the fast path now, or a neighbour is not resolved */
	SL_RESERVE_ASKED,    /* the node of its port has not answered yet */
	SL_RESERVE_IN_FORCE,
	SL_RESERVE_REFUSED, /* by that node, or by this one */
};

/* A flow that enters here. */
struct sl_reservation {
	struct sl_flow_key flow;
	uint64_t rate_Bps;
	uint32_t refresh_s; /* its maker asks again so often; 0: it stays until it is deleted */
	bool pinned;
	/* It was in force once: it stays when it is refused, and tries again. */
	bool keeps;
	/* A rule reserves for it: the rule's number plus 1; 0: a command has asked. */
	uint32_t rule_plus1;
	uint64_t seen_packets;	  /* of such a flow: by its policer, when it was looked at last */
	char netdev[IF_NAMESIZE]; /* where it enters; "": the one towards its source */
	enum sl_reserve_state state;
	struct sl_claim_record claim; /* where it leaves, and the last answer; port 0: nowhere */
	uint32_t l3_ifindex, port_ifindex; /* where it enters */
	uint8_t hop_family, hop[16];	   /* the next hop that it is pinned to */
	uint32_t place;			   /* 0..SL_RESERVED_MAX-1 */
	uint64_t heard_ns;		   /* its maker, or of such a flow a packet */
	uint64_t answered_ns, way_ns; /* when it was granted or refused last, and had a way out */
};

/* A rule that reserves for its flows. */
struct sl_reserving_rule {
	uint32_t number;
	struct sl_flow_template template;
	char name[SL_RESERVING_NAME_BYTES]; /* LIST/RULE */
};

/* What the router has now; borrowed for a call. */
struct sl_reserves_use {
	const struct sl_reserving_rule *rules; /* n_rules */
	uint32_t n_rules;
	const struct sl_settings *settings;
	struct sl_datapath *datapath;
	const struct sl_fib *fib;
	const struct sl_mirror *mirror;
	struct sl_cluster *cluster; /* NULL: the node is alone, and offers none */
};

#endif
