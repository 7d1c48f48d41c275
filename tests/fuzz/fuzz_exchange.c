/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Both sides of the exchange. First any bytes, in any pieces, as what the other side sends: no
 * crash, and no success without the key. Then the other side is real and holds the key, but the
 * input changes what it sends, and the MACs are made anew: so the input gets to where an
 * introduction is judged. A side that succeeds then must have been told only possible values.
 */
#include <stdlib.h>
#include <string.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "rdma-bridge/join/exchange.h"

#define HEADER_BYTES	   8
#define INTRODUCTION_BYTES 80
#define MESSAGE_ANSWER	   2
#define MESSAGE_CONFIRM	   3
#define MESSAGE_VERDICT	   4
#define OPENER		   1
#define RESPONDER	   2

static const struct rb_keys key = {
	2, { { "a key that no input can hold", 28 }, { "another such key", 16 } }
};
static const uint8_t nonces[2][RB_NONCE_BYTES] = { { 9 }, { 8 } };

static void require(bool ok)
{
	if (!ok)
		abort();
}

static struct rb_introduction introduce(uint8_t node)
{
	return (struct rb_introduction){
		.node = node,
		.transport = RB_TRANSPORT_UD,
		.pkey = 0xffff,
		.epoch = node,
		.gid = { 1 },
		.qpn = 2,
		.message_max_bytes = 4096,
		.liveness_ms = 50,
		.versions = { node + 3, node + 4 }, /* they have 5 in common */
	};
}

/* --- Any bytes --- */

static void feed(struct rb_exchange *x, const uint8_t *data, size_t size, size_t piece)
{
	while (size > 0) {
		size_t n = piece < size ? piece : size;

		rb_exchange_input(x, data, n);
		require(x->n_out <= sizeof(x->out) && x->n_in <= sizeof(x->in));
		rb_exchange_sent(x, x->n_out);
		data += n;
		size -= n;
	}
	rb_exchange_closed(x);
	require(x->state != RB_EXCHANGE_DONE);
}

/* --- A peer that holds the key --- */

/* Make the MAC of a message anew, with docs/PROTOCOL.md section 3 as the source. */
static void seal(uint8_t *message, uint32_t bytes)
{
	uint8_t text[4 + 2 * RB_NONCE_BYTES + 4 + INTRODUCTION_BYTES] = { message[5], message[4],
									  OPENER, RESPONDER };
	uint32_t skipped = HEADER_BYTES + (message[4] == MESSAGE_ANSWER ? 4 + RB_NONCE_BYTES : 0),
		 n;
	unsigned int len = RB_MAC_BYTES;

	if (message[4] < MESSAGE_ANSWER || message[4] > MESSAGE_VERDICT ||
	    bytes < skipped + RB_MAC_BYTES)
		return;
	n = bytes - skipped - RB_MAC_BYTES;
	if (n > 4 + INTRODUCTION_BYTES)
		return;
	memcpy(text + 4, nonces, sizeof(nonces));
	memcpy(text + 4 + sizeof(nonces), message + skipped, n);
	HMAC(EVP_sha256(), key.key[0].bytes, (int)key.key[0].n_bytes, text, 4 + sizeof(nonces) + n,
	     message + bytes - RB_MAC_BYTES, &len);
}

struct input {
	const uint8_t *data;
	size_t left;
};

static uint8_t take(struct input *in)
{
	return in->left ? in->left--, *in->data++ : 0;
}

/* Hand over what `from` sends, changed by the next bytes of the input: some bytes, or none. */
static void pass(struct rb_exchange *from, struct rb_exchange *to, struct input *in)
{
	uint8_t message[RB_EXCHANGE_MAX_BYTES];
	uint32_t n = from->n_out;

	memcpy(message, from->out, n);
	rb_exchange_sent(from, n);
	for (uint8_t changes = take(in) % 4; n && changes; changes--) {
		uint8_t place = take(in);

		message[place % n] = take(in);
	}
	if (n >= HEADER_BYTES)
		seal(message, n);
	rb_exchange_input(to, message, n);
	require(to->n_out <= sizeof(to->out) && to->n_in <= sizeof(to->in));
}

static void check(const struct rb_exchange *x, uint8_t peer)
{
	static const uint8_t nobody[16];

	if (x->state != RB_EXCHANGE_DONE)
		return;
	require(x->peer.node == peer && x->peer_node == peer && x->peer.epoch && x->peer.qpn > 1);
	require(x->version >= x->self.versions.oldest && x->version <= x->self.versions.newest);
	require(x->peer.transport == RB_TRANSPORT_UD && x->peer.further_qps == 0);
	require(x->peer.liveness_ms > 0 && x->peer.liveness_ms <= RB_LIVENESS_MAX_MS);
	require(x->peer.message_max_bytes >= 256 &&
		memcmp(x->peer.gid, nobody, sizeof(nobody)) != 0);
}

static void with_key(struct input *in, const uint8_t *peers)
{
	const struct rb_introduction us = introduce(OPENER), them = introduce(RESPONDER);
	struct rb_exchange opener, responder;

	rb_exchange_open(&opener, &key, &us, RESPONDER, nonces[0]);
	rb_exchange_answer(&responder, &key, &them, peers, nonces[1]);
	for (int i = 0; i < 2; i++) {
		pass(&opener, &responder, in);
		pass(&responder, &opener, in);
	}
	check(&opener, RESPONDER);
	check(&responder, OPENER);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct rb_introduction self = introduce(2);
	struct input in = { data + 1, size - 1 };
	static uint8_t peers[256];
	struct rb_exchange x;

	peers[1] = RB_STANDING_PEER;
	peers[3] = RB_STANDING_ELSEWHERE;
	peers[4] = RB_STANDING_PEER;
	if (size < 1)
		return 0;
	if (data[0] & 1) {
		with_key(&in, peers);
		return 0;
	}
	rb_exchange_answer(&x, &key, &self, peers, nonces[1]);
	feed(&x, data + 1, size - 1, (size_t)data[0] + 1);
	rb_exchange_open(&x, &key, &self, 3, nonces[0]);
	rb_exchange_sent(&x, x.n_out);
	feed(&x, data + 1, size - 1, (size_t)data[0] + 1);
	rb_exchange_knock(&x, &self);
	rb_exchange_sent(&x, x.n_out);
	feed(&x, data + 1, size - 1, (size_t)data[0] + 1);
	return 0;
}

/* Some inputs begin as the first message of either role, so that bytes can go on from there. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed)
{
	const struct rb_introduction caller = introduce(1);
	struct rb_exchange x;

	if (size > 1 || size_max <= sizeof(x.out))
		return LLVMFuzzerMutate(data, size, size_max);
	if (seed & 1)
		rb_exchange_open(&x, &key, &caller, 2, nonces[0]);
	else
		rb_exchange_knock(&x, &caller);
	data[0] = (uint8_t)(seed >> 8);
	memcpy(data + 1, x.out, x.n_out);
	return 1 + x.n_out;
}
