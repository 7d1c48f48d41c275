/* SPDX-License-Identifier: BSD-2-Clause */
/* Any bytes, in any pieces, to both sides of the exchange: no crash, and no success without key. */
#include <stdlib.h>
#include <string.h>

#include "rdma-bridge/join/exchange.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void feed(struct rb_exchange *x, const uint8_t *data, size_t size, size_t piece)
{
	while (size > 0) {
		size_t n = piece < size ? piece : size;

		rb_exchange_input(x, data, n);
		if (x->n_out > sizeof(x->out) || x->n_in > sizeof(x->in))
			abort();
		rb_exchange_sent(x, x->n_out);
		data += n;
		size -= n;
	}
	rb_exchange_closed(x);
	if (x->state == RB_EXCHANGE_DONE)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct rb_key key = { "a key that no input can hold", 28 };
	static const struct rb_introduction self = {
		.node = 2, .transport = 1, .epoch = 1, .qpn = 2
	};
	static const uint8_t nonce[RB_NONCE_BYTES] = { 9 };
	static uint8_t peers[256];
	struct rb_exchange x;

	peers[1] = 1;
	if (size < 1)
		return 0;
	rb_exchange_answer(&x, &key, &self, peers, nonce);
	feed(&x, data + 1, size - 1, (size_t)data[0] + 1);
	rb_exchange_open(&x, &key, &self, 3, nonce);
	rb_exchange_sent(&x, x.n_out);
	feed(&x, data + 1, size - 1, (size_t)data[0] + 1);
	return 0;
}
