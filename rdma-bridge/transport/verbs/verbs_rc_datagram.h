/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The datagrams by which the two ends of a verbs-rc path agree on their connection and on credit
 * (docs/PROTOCOL.md section 2.1): structs to bytes and back. Pure.
 */
#ifndef RB_VERBS_RC_DATAGRAM_H
#define RB_VERBS_RC_DATAGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum rb_rc_say {
	RB_RC_CONNECT = 1, /* leader: attempt n, with my queue pair and first packet number */
	RB_RC_ACCEPT,	   /* follower: connected to that; my queue pair and packet number */
	RB_RC_CONFIRM,	   /* leader: I have connected, too */
	RB_RC_AGAIN,	   /* follower: attempt n has failed, or I have just started */
	RB_RC_CREDIT,	   /* you may have sent so many messages of this attempt */
	RB_RC_WANT,	   /* I have something to send, and no credit */
};

struct rb_rc_datagram {
	uint8_t type;	  /* enum rb_rc_say */
	uint8_t mtu;	  /* enum ibv_mtu; CONNECT, ACCEPT */
	uint32_t attempt; /* 0: none yet */
	/* of the sender's end of the path: a new number for each path, not 0 */
	uint32_t instance;
	uint32_t qpn;	 /* of the sender's connection */
	uint32_t psn;	 /* the sender's first packet number, 24 bits */
	uint32_t credit; /* messages of this attempt that the receiver may have sent */
};

#define RB_RC_DATAGRAM_BYTES 28
#define RB_RC_MTU_MIN	     1 /* 256 bytes */
#define RB_RC_MTU_MAX	     5 /* 4096 bytes */

void rb_rc_datagram_encode(const struct rb_rc_datagram *d, uint8_t *out);
/* False, and the datagram is to be ignored, if a field is none that a sender writes. */
bool rb_rc_datagram_decode(const uint8_t *bytes, uint32_t n_bytes, struct rb_rc_datagram *out);

#endif
