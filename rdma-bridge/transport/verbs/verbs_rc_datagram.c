/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/transport/verbs/verbs_rc_datagram.h"

#include <string.h>

#include "rdma-bridge/wire/bytes.h"

static const uint8_t magic[4] = { 'S', 'L', 'R', 'C' };

void rb_rc_datagram_encode(const struct rb_rc_datagram *d, uint8_t *out)
{
	memcpy(out, magic, 4);
	out[4] = 1;
	out[5] = d->type;
	out[6] = d->mtu;
	out[7] = 0;
	rb_put32(out + 8, d->attempt);
	rb_put32(out + 12, d->instance);
	rb_put32(out + 16, d->qpn);
	rb_put32(out + 20, d->psn);
	rb_put32(out + 24, d->credit);
}

bool rb_rc_datagram_decode(const uint8_t *bytes, uint32_t n_bytes, struct rb_rc_datagram *out)
{
	if (n_bytes != RB_RC_DATAGRAM_BYTES || memcmp(bytes, magic, 4) != 0 || bytes[4] != 1 ||
	    bytes[7])
		return false;
	*out = (struct rb_rc_datagram){
		.type = bytes[5],
		.mtu = bytes[6],
		.attempt = rb_get32(bytes + 8),
		.instance = rb_get32(bytes + 12),
		.qpn = rb_get32(bytes + 16),
		.psn = rb_get32(bytes + 20),
		.credit = rb_get32(bytes + 24),
	};
	if (out->type < RB_RC_CONNECT || out->type > RB_RC_WANT || out->instance == 0)
		return false;
	return out->type > RB_RC_ACCEPT ||
	       (out->mtu >= RB_RC_MTU_MIN && out->mtu <= RB_RC_MTU_MAX && out->attempt &&
		out->qpn >= 2 && out->qpn < 0xffffff && out->psn <= 0xffffff);
}
