/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Claims: the node where a flow enters asks the node where it leaves to reserve a rate at the port
 * there, and gets an answer. They travel as announcements do (announce.h), each in one part. A
 * claim is soft: the sender repeats it every second, and the receiver forgets one that it has not
 * heard of for SL_CLAIM_LIFE_S. Pure: bytes to structs, and back.
 */
#ifndef SL_CLAIM_MESSAGE_H
#define SL_CLAIM_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/reserved.h"
#include "user/ipc/announce.h"

#define SL_CLAIM_REPEAT_S 1
#define SL_CLAIM_LIFE_S	  (7 * SL_CLAIM_REPEAT_S) /* the seventh repetition missed ends it */

/* Kinds of parts, beside enum sl_announce_kind. */
enum sl_claim_kind {
	SL_CLAIM_ASK = 3,    /* of the receiver's ports */
	SL_CLAIM_ANSWER = 4, /* of the sender's ports */
};

enum sl_claim_verdict {
	SL_CLAIM_NONE = 0, /* in ASK */
	SL_CLAIM_GRANTED = 1,
	SL_CLAIM_NO_RATE = 2,  /* the port has not so much left */
	SL_CLAIM_NO_QUEUE = 3, /* all its reserved queues are in use */
	SL_CLAIM_NO_OFFER = 4, /* the port offers no reservations */
	SL_CLAIM_VERDICTS
};

struct sl_claim_record {
	struct sl_flow_key flow;
	uint16_t system_port; /* where the flow leaves */
	uint8_t verdict;      /* enum sl_claim_verdict */
	uint64_t rate_Bps;    /* ASK: 0 gives it back */
	/* ANSWER: what flows may reserve of the port, and what others have reserved. */
	uint64_t limit_Bps, reserved_Bps;
};

/* Begin a part, and add records to it. False: no more fit; send it and begin another. */
void sl_claim_begin(struct sl_announce_part *part, enum sl_claim_kind kind);
bool sl_claim_add(struct sl_announce_part *part, const struct sl_claim_record *record);

/* Is this part, which may be of any bytes, one of claims? */
bool sl_claim_is(const uint8_t *bytes, size_t len_bytes);

/*
 * Check a part as a whole, then deliver its records; arguments and errors as of sl_announce_parse.
 */
int sl_claim_parse(const uint8_t *bytes, size_t len_bytes, uint8_t source_node, uint8_t self_node,
		   enum sl_claim_kind *kind,
		   void (*each)(void *ctx, enum sl_claim_kind kind,
				const struct sl_claim_record *record),
		   void *ctx);

#endif
