/* SPDX-License-Identifier: BSD-2-Clause */
/* Two ends of the start-up exchange: every refusal, every byte tampered with, replays. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>

#include "rdma-bridge/join/exchange.h"

#define KEY_A                               \
	{                                   \
		"sixteen bytes or more", 21 \
	}
#define KEY_B                                \
	{                                    \
		"sixteen bytes or other", 22 \
	}
static const struct rb_keys key_a = { 1, { KEY_A } }, key_b = { 1, { KEY_B } };
static const struct rb_keys key_ab = { 2, { KEY_A, KEY_B } }, key_ba = { 2, { KEY_B, KEY_A } };
static uint8_t peers[256];
static const uint8_t nonce_1[RB_NONCE_BYTES] = { 1, 1 }, nonce_2[RB_NONCE_BYTES] = { 2, 2 };

static struct rb_introduction intro(uint8_t node)
{
	struct rb_introduction i = {
		.node = node,
		.transport = RB_TRANSPORT_UD,
		.pkey = 0xffff,
		.epoch = 0xe0000000u + node,
		.gid = { 0xfd, [15] = node },
		.qpn = 0x1000u + node,
		.qkey = 0xdeadbe00u + node,
		.message_max_bytes = 3448,
		.liveness_ms = 50u * node,
		.express_sends = node,
		.express_takes = (uint8_t)(2 * node),
		.hop_limit = (uint8_t)(250 + node),
		.versions = { 4, 5 },
	};

	memset(i.table_hash, 0x5a, sizeof(i.table_hash));
	return i;
}

/* Records what the two ends say, and spoils one byte of it. */
struct tap {
	uint8_t said[2][1024]; /* by opener, by responder */
	uint32_t n[2];
	int spoil_side; /* -1: none */
	uint32_t spoil_at;
};

static void carry(struct rb_exchange *from, struct rb_exchange *to, struct tap *tap, int side,
		  uint32_t piece)
{
	uint32_t n = from->n_out < piece ? from->n_out : piece;
	uint8_t *copy = tap->said[side] + tap->n[side];

	assert_true(tap->n[side] + n <= sizeof(tap->said[side]));
	memcpy(copy, from->out, n);
	rb_exchange_sent(from, n);
	if (tap->spoil_side == side && tap->spoil_at >= tap->n[side] &&
	    tap->spoil_at < tap->n[side] + n)
		copy[tap->spoil_at - tap->n[side]] ^= 0x40;
	tap->n[side] += n;
	rb_exchange_input(to, copy, n);
}

/* Carry bytes both ways, in pieces, until both are silent; then the connection closes. */
static void converse(struct rb_exchange *opener, struct rb_exchange *responder, struct tap *tap,
		     uint32_t piece)
{
	while (opener->n_out || responder->n_out) {
		carry(opener, responder, tap, 0, piece);
		carry(responder, opener, tap, 1, piece);
	}
	rb_exchange_closed(opener);
	rb_exchange_closed(responder);
}

static struct rb_exchange opener, responder;
static struct rb_introduction one, two;
static struct tap tap;

static int setup(void **state)
{
	(void)state;
	memset(peers, 0, sizeof(peers));
	peers[1] = RB_STANDING_PEER;
	one = intro(1);
	two = intro(2);
	tap = (struct tap){ .spoil_side = -1 };
	rb_exchange_open(&opener, &key_a, &one, 2, nonce_1);
	rb_exchange_answer(&responder, &key_a, &two, peers, nonce_2);
	return 0;
}

static void equal_introduction(const struct rb_introduction *a, const struct rb_introduction *b)
{
	assert_int_equal(a->node, b->node);
	assert_int_equal(a->transport, b->transport);
	assert_int_equal(a->pkey, b->pkey);
	assert_true(a->epoch == b->epoch);
	assert_memory_equal(a->gid, b->gid, 16);
	assert_true(a->qpn == b->qpn && a->qkey == b->qkey);
	assert_int_equal(a->message_max_bytes, b->message_max_bytes);
	assert_memory_equal(a->table_hash, b->table_hash, RB_TABLE_HASH_BYTES);
	assert_true(a->liveness_ms == b->liveness_ms);
	assert_int_equal(a->express_sends, b->express_sends);
	assert_int_equal(a->express_takes, b->express_takes);
	assert_int_equal(a->hop_limit, b->hop_limit);
}

static void nodes_with_one_key_learn_each_other_whatever_the_pieces(void **state)
{
	for (uint32_t piece = 1; piece < 200; piece++) {
		setup(state);
		converse(&opener, &responder, &tap, piece);
		assert_int_equal(opener.state, RB_EXCHANGE_DONE);
		assert_int_equal(responder.state, RB_EXCHANGE_DONE);
		equal_introduction(&opener.peer, &two);
		equal_introduction(&responder.peer, &one);
	}
}

static void expect_refusal(const struct rb_exchange *x, enum rb_refusal why, bool by_peer)
{
	if (x->state != RB_EXCHANGE_REFUSED || x->refusal != why || x->by_peer != by_peer)
		print_error("state %d, %s%s\n", x->state, rb_refusal_name(x->refusal),
			    x->by_peer ? " by peer" : "");
	assert_int_equal(x->state, RB_EXCHANGE_REFUSED);
	assert_int_equal(x->refusal, why);
	assert_int_equal(x->by_peer, by_peer);
}

static void other_key_is_refused_and_both_know(void **state)
{
	(void)state;
	rb_exchange_answer(&responder, &key_b, &two, peers, nonce_2);
	converse(&opener, &responder, &tap, 1000);
	expect_refusal(&opener, RB_REFUSAL_KEY, false);
	expect_refusal(&responder, RB_REFUSAL_KEY, true);
	assert_int_equal(responder.peer.qkey, 0);
	assert_int_equal(opener.peer.qkey, 0);
}

/*
 * The three steps by which a cluster changes its key from A to B: add B, put B first, remove A. A
 * node in any step understands one in the same step or the next.
 */
static void nodes_one_step_apart_in_a_change_of_keys_understand_each_other(void **state)
{
	static const struct {
		const struct rb_keys *opener, *responder;
		bool met;
		const struct rb_key *proven;
	} cases[] = {
		{ &key_ab, &key_a, true, &key_a.key[0] },
		{ &key_a, &key_ab, true, &key_a.key[0] },
		{ &key_ab, &key_ab, true, &key_a.key[0] },
		{ &key_ba, &key_ab, true, &key_a.key[0] },
		{ &key_ab, &key_ba, true, &key_b.key[0] },
		{ &key_ba, &key_ba, true, &key_b.key[0] },
		{ &key_b, &key_ba, true, &key_b.key[0] },
		{ &key_ba, &key_b, true, &key_b.key[0] },
		{ &key_b, &key_b, true, &key_b.key[0] },
		/* Two steps apart: by chance of who answers, or not at all. */
		{ &key_a, &key_ba, false, NULL },
		{ &key_b, &key_ab, false, NULL },
		{ &key_a, &key_b, false, NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct rb_key *by_opener, *by_responder;

		setup(state);
		rb_exchange_open(&opener, cases[i].opener, &one, 2, nonce_1);
		rb_exchange_answer(&responder, cases[i].responder, &two, peers, nonce_2);
		converse(&opener, &responder, &tap, 1000);
		if (!cases[i].met) {
			expect_refusal(&opener, RB_REFUSAL_KEY, false);
			expect_refusal(&responder, RB_REFUSAL_KEY, true);
			continue;
		}
		assert_int_equal(opener.state, RB_EXCHANGE_DONE);
		assert_int_equal(responder.state, RB_EXCHANGE_DONE);
		by_opener = &cases[i].opener->key[opener.key];
		by_responder = &cases[i].responder->key[responder.key];
		assert_memory_equal(by_opener, cases[i].proven, sizeof(*by_opener));
		assert_memory_equal(by_responder, cases[i].proven, sizeof(*by_responder));
	}
}

/* Do these bytes hold any of the values that lead to the queue pairs of `two`? */
static bool tells_queue_pairs(const uint8_t *bytes, uint32_t n)
{
	const uint32_t values[] = { htobe32(two.epoch), htobe32(two.qpn), htobe32(two.qkey) };

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
		if (memmem(bytes, n, &values[i], sizeof(values[i])))
			return true;
	return false;
}

/* The opener has no key, only the CONFIRM of a conversation with another responder. */
static void responder_tells_its_queue_pairs_only_to_a_node_that_has_the_key(void **state)
{
	static struct rb_exchange other;

	(void)state;
	rb_exchange_input(&responder, opener.out, opener.n_out);
	assert_int_equal(responder.state, RB_EXCHANGE_RUNNING);
	assert_false(tells_queue_pairs(responder.out, responder.n_out));
	rb_exchange_sent(&responder, responder.n_out);
	rb_exchange_answer(&other, &key_a, &two, peers, nonce_1);
	carry(&opener, &other, &tap, 0, 1000);
	carry(&other, &opener, &tap, 1, 1000);
	rb_exchange_input(&responder, opener.out, opener.n_out);
	expect_refusal(&responder, RB_REFUSAL_KEY, false);
	assert_false(tells_queue_pairs(responder.out, responder.n_out));
	/* The other one's MAC was right. */
	carry(&opener, &other, &tap, 0, 1000);
	assert_true(tells_queue_pairs(other.out, other.n_out));
}

static void same_node_id_is_refused_and_both_know(void **state)
{
	(void)state;
	two.node = 1;
	rb_exchange_answer(&responder, &key_a, &two, peers, nonce_2);
	converse(&opener, &responder, &tap, 1000);
	expect_refusal(&responder, RB_REFUSAL_NODE_SAME, false);
	expect_refusal(&opener, RB_REFUSAL_NODE_SAME, true);
}

static void unknown_node_is_refused(void **state)
{
	(void)state;
	peers[1] = 0;
	converse(&opener, &responder, &tap, 1000);
	expect_refusal(&responder, RB_REFUSAL_NODE_UNKNOWN, false);
	expect_refusal(&opener, RB_REFUSAL_NODE_UNKNOWN, true);
	assert_int_equal(responder.peer_node, 1);
}

static void higher_id_that_opens_is_refused(void **state)
{
	(void)state;
	peers[3] = RB_STANDING_PEER;
	one.node = 3;
	rb_exchange_open(&opener, &key_a, &one, 2, nonce_1);
	converse(&opener, &responder, &tap, 1000);
	expect_refusal(&responder, RB_REFUSAL_ROLE, false);
}

static void higher_id_knocks_and_the_lower_one_is_asked_to_call(void **state)
{
	(void)state;
	peers[2] = RB_STANDING_PEER;
	rb_exchange_knock(&opener, &two);
	assert_int_equal(opener.n_out, 12);
	rb_exchange_answer(&responder, &key_a, &one, peers, nonce_1);
	for (uint32_t piece = 1; piece < 13; piece++) {
		rb_exchange_knock(&opener, &two);
		rb_exchange_answer(&responder, &key_a, &one, peers, nonce_1);
		converse(&opener, &responder, &tap, piece);
		assert_int_equal(responder.state, RB_EXCHANGE_KNOCKED);
		assert_int_equal(responder.peer_node, 2);
		expect_refusal(&opener, RB_REFUSAL_CLOSED, false);
	}
}

static void knock_of_a_lower_id_a_stranger_or_ourselves_is_refused(void **state)
{
	static const struct {
		uint8_t node, standing;
		enum rb_refusal why;
	} cases[] = {
		{ 1, RB_STANDING_PEER, RB_REFUSAL_ROLE },
		{ 2, RB_STANDING_PEER, RB_REFUSAL_NODE_SAME },
		{ 3, RB_STANDING_NONE, RB_REFUSAL_NODE_UNKNOWN },
		{ 3, RB_STANDING_ELSEWHERE, RB_REFUSAL_ADDRESS },
		{ 0, RB_STANDING_NONE, RB_REFUSAL_NODE_UNKNOWN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		memset(peers, 0, sizeof(peers));
		peers[cases[i].node] = cases[i].standing;
		one.node = cases[i].node;
		tap = (struct tap){ .spoil_side = -1 };
		rb_exchange_knock(&opener, &one);
		rb_exchange_answer(&responder, &key_a, &two, peers, nonce_2);
		converse(&opener, &responder, &tap, 1000);
		expect_refusal(&responder, cases[i].why, false);
		expect_refusal(&opener, cases[i].why, true);
	}
}

static void knock_in_the_middle_of_a_conversation_is_refused(void **state)
{
	static struct rb_exchange knocker;

	(void)state;
	peers[3] = RB_STANDING_PEER;
	rb_exchange_input(&responder, opener.out, opener.n_out);
	assert_int_equal(responder.state, RB_EXCHANGE_RUNNING);
	two.node = 3;
	rb_exchange_knock(&knocker, &two);
	rb_exchange_input(&responder, knocker.out, knocker.n_out);
	expect_refusal(&responder, RB_REFUSAL_MALFORMED, false);
}

static void node_that_opens_from_another_address_is_refused_before_any_proof(void **state)
{
	(void)state;
	peers[1] = RB_STANDING_ELSEWHERE;
	converse(&opener, &responder, &tap, 1000);
	expect_refusal(&responder, RB_REFUSAL_ADDRESS, false);
	expect_refusal(&opener, RB_REFUSAL_ADDRESS, true);
	assert_int_equal(responder.peer_node, 1);
}

static void another_node_at_the_address_is_refused(void **state)
{
	(void)state;
	rb_exchange_open(&opener, &key_a, &one, 3, nonce_1);
	converse(&opener, &responder, &tap, 1000);
	expect_refusal(&opener, RB_REFUSAL_NODE_OTHER, false);
	expect_refusal(&responder, RB_REFUSAL_NODE_OTHER, true);
	assert_int_equal(opener.peer_node, 2);
}

static void other_system_ports_are_no_reason_to_refuse_and_both_know_of_them(void **state)
{
	(void)state;
	two.table_hash[0] = 0x77;
	rb_exchange_answer(&responder, &key_a, &two, peers, nonce_2);
	converse(&opener, &responder, &tap, 1000);
	assert_int_equal(opener.state, RB_EXCHANGE_DONE);
	assert_int_equal(responder.state, RB_EXCHANGE_DONE);
	assert_int_equal(opener.peer.table_hash[0], 0x77);
	assert_int_equal(responder.peer.table_hash[0], 0x5a);
}

static void other_transport_is_refused(void **state)
{
	(void)state;
	two.transport = RB_TRANSPORT_RC;
	rb_exchange_answer(&responder, &key_a, &two, peers, nonce_2);
	converse(&opener, &responder, &tap, 1000);
	expect_refusal(&opener, RB_REFUSAL_TRANSPORT, false);
	expect_refusal(&responder, RB_REFUSAL_TRANSPORT, false);
}

static void other_number_of_workers_is_refused_and_both_know(void **state)
{
	(void)state;
	two.further_qps = 3;
	rb_exchange_answer(&responder, &key_a, &two, peers, nonce_2);
	converse(&opener, &responder, &tap, 1000);
	expect_refusal(&opener, RB_REFUSAL_WORKERS, false);
	expect_refusal(&responder, RB_REFUSAL_WORKERS, false);
	assert_int_equal(opener.peer.further_qps, 3);
	assert_int_equal(responder.peer.further_qps, 0);
}

static void introduction_that_cannot_be_is_refused(void **state)
{
	for (int i = 0; i < 9; i++) {
		setup(state);
		if (i == 0)
			two.epoch = 0;
		else if (i == 1)
			two.qpn = 1;
		else if (i == 2)
			two.qpn = 0xffffff;
		else if (i == 3)
			memset(two.gid, 0, sizeof(two.gid));
		else if (i == 4)
			two.message_max_bytes = 255;
		else if (i == 5)
			two.liveness_ms = 0;
		else if (i == 6)
			two.liveness_ms = RB_LIVENESS_MAX_MS + 1;
		else if (i == 7)
			two.express_sends = SL_EXPRESS_ICRC + 1;
		else
			one.qpn = 0x1000000;
		rb_exchange_open(&opener, &key_a, &one, 2, nonce_1);
		rb_exchange_answer(&responder, &key_a, &two, peers, nonce_2);
		converse(&opener, &responder, &tap, 1000);
		/* The responder has spoken its verdict when the opener judges. */
		if (i < 8) {
			expect_refusal(&opener, RB_REFUSAL_INTRODUCTION, false);
			assert_int_equal(responder.state, RB_EXCHANGE_DONE);
		} else {
			expect_refusal(&opener, RB_REFUSAL_INTRODUCTION, true);
			expect_refusal(&responder, RB_REFUSAL_INTRODUCTION, false);
		}
	}
}

/* Whatever one byte becomes on its way, a side is done only with true introductions. */
static void changed_byte_never_makes_a_false_introduction(void **state)
{
	uint32_t total[2];
	int refused = 0;

	setup(state);
	converse(&opener, &responder, &tap, 1000);
	total[0] = tap.n[0];
	total[1] = tap.n[1];
	for (int side = 0; side < 2; side++)
		for (uint32_t at = 0; at < total[side]; at++) {
			setup(state);
			tap.spoil_side = side;
			tap.spoil_at = at;
			converse(&opener, &responder, &tap, 1000);
			/*
			 * Spoiling the very last message leaves the responder done, and rightly so.
			 */
			if (opener.state == RB_EXCHANGE_DONE)
				equal_introduction(&opener.peer, &two);
			if (responder.state == RB_EXCHANGE_DONE)
				equal_introduction(&responder.peer, &one);
			refused += opener.state == RB_EXCHANGE_REFUSED;
			assert_true(opener.state == RB_EXCHANGE_REFUSED ||
				    responder.state == RB_EXCHANGE_DONE);
		}
	/* Only the three zeros after the node id of OPEN and of ANSWER are not looked at. */
	assert_int_equal(refused, total[0] + total[1] - 6);
}

static void replayed_conversation_is_refused(void **state)
{
	static const uint8_t nonce_3[RB_NONCE_BYTES] = { 3 };
	struct tap old;

	setup(state);
	converse(&opener, &responder, &tap, 1000);
	old = tap;
	rb_exchange_answer(&responder, &key_a, &two, peers, nonce_3);
	assert_int_equal(rb_exchange_input(&responder, old.said[0], old.n[0]), RB_EXCHANGE_REFUSED);
	expect_refusal(&responder, RB_REFUSAL_KEY, false);
	rb_exchange_open(&opener, &key_a, &one, 2, nonce_3);
	assert_int_equal(rb_exchange_input(&opener, old.said[1], old.n[1]), RB_EXCHANGE_REFUSED);
	expect_refusal(&opener, RB_REFUSAL_KEY, false);
}

static void reflected_messages_are_refused(void **state)
{
	setup(state);
	/* The opener's own first message comes back at it. */
	assert_int_equal(rb_exchange_input(&opener, opener.out, opener.n_out), RB_EXCHANGE_REFUSED);
	expect_refusal(&opener, RB_REFUSAL_MALFORMED, false);
}

static void header_that_cannot_be_is_refused(void **state)
{
	/* Where the opener's first message is changed, to what, and the refusal. */
	static const struct {
		uint32_t at;
		uint8_t value;
		enum rb_refusal why;
	} cases[] = {
		{ 0, 'X', RB_REFUSAL_MALFORMED }, { 4, 0, RB_REFUSAL_MALFORMED },
		{ 4, 6, RB_REFUSAL_MALFORMED },	  { 4, 2, RB_REFUSAL_MALFORMED },
		{ 5, 6, RB_REFUSAL_VERSION },	  { 9, 3, RB_REFUSAL_VERSION },
		{ 6, 1, RB_REFUSAL_MALFORMED },	  { 7, 43, RB_REFUSAL_MALFORMED },
		{ 7, 255, RB_REFUSAL_MALFORMED }, { 8, 0, RB_REFUSAL_NODE_UNKNOWN },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t bytes[64];
		uint32_t n;

		setup(state);
		n = opener.n_out;
		memcpy(bytes, opener.out, n);
		bytes[cases[i].at] = cases[i].value;
		rb_exchange_input(&responder, bytes, n);
		expect_refusal(&responder, cases[i].why, false);
		assert_int_equal(responder.n_out, 12);
	}
}

/*
 * Once version 1 had an introduction of 72 bytes. Its messages have other lengths, and other bytes
 * at the same places.
 */
static void node_of_an_older_version_is_refused_by_version_and_not_as_malformed(void **state)
{
	/* OPEN, CONFIRM, and KNOCK with a length that no version has. */
	static const uint8_t headers[][44] = {
		{ 'S', 'L', 'X', '1', 1, 1, 0, 44, 1 },
		{ 'S', 'L', 'X', '1', 3, 1, 0, 112 },
		{ 'S', 'L', 'X', '1', 6, 1, 0xff, 0xff },
		{ 'S', 'L', 'X', '1', 3, 0, 0, 112 },
	};

	for (size_t i = 0; i < sizeof(headers) / sizeof(headers[0]); i++) {
		setup(state);
		rb_exchange_input(&responder, headers[i], sizeof(headers[i]));
		expect_refusal(&responder, RB_REFUSAL_VERSION, false);
		assert_int_equal(responder.speaks.newest, headers[i][5]);
	}
}

static void refusal_of_an_older_version_is_understood(void **state)
{
	static const uint8_t refuse[] = { 'S', 'L', 'X', '1', 5, 1, 0, 12, 2, 0, 0, 0 };
	static struct rb_exchange knocker;

	setup(state);
	rb_exchange_input(&opener, refuse, sizeof(refuse));
	expect_refusal(&opener, RB_REFUSAL_VERSION, true);
	assert_int_equal(opener.speaks.newest, 1);
	rb_exchange_knock(&knocker, &two);
	rb_exchange_input(&knocker, refuse, sizeof(refuse));
	expect_refusal(&knocker, RB_REFUSAL_VERSION, true);
}

/* SHA-256 of all that both sides say. */
static void expect_bytes(const uint8_t known[SHA256_DIGEST_LENGTH])
{
	uint8_t hash[SHA256_DIGEST_LENGTH];
	EVP_MD_CTX *context = EVP_MD_CTX_new();

	assert_int_equal(EVP_DigestInit_ex(context, EVP_sha256(), NULL), 1);
	for (int side = 0; side < 2; side++)
		assert_int_equal(EVP_DigestUpdate(context, tap.said[side], tap.n[side]), 1);
	assert_int_equal(EVP_DigestFinal_ex(context, hash, NULL), 1);
	EVP_MD_CTX_free(context);
	assert_memory_equal(hash, known, SHA256_DIGEST_LENGTH);
}

/* Node 1 opens, node 2 answers, each with its versions. */
static void meet(struct rb_versions of_one, struct rb_versions of_two)
{
	setup(NULL);
	one.versions = of_one;
	two.versions = of_two;
	rb_exchange_open(&opener, &key_a, &one, 2, nonce_1);
	rb_exchange_answer(&responder, &key_a, &two, peers, nonce_2);
	converse(&opener, &responder, &tap, 1000);
}

/*
 * All bytes of a conversation. If this fails because a layout has changed, the version changes
 * with it: nodes of the release before must not take the new bytes for damaged ones. The bytes of
 * version 4 are those of the release that spoke no other.
 */
static void bytes_of_a_conversation_are_those_of_its_version(void **state)
{
	static const uint8_t known_4[] = {
		0x60, 0x86, 0xad, 0x16, 0x34, 0x65, 0xd4, 0x06, 0x0f, 0x51, 0xf4,
		0x37, 0x61, 0x05, 0x5c, 0x06, 0xc4, 0x4e, 0x75, 0xf0, 0x9a, 0x35,
		0x5f, 0xc7, 0xf7, 0x4b, 0x1f, 0x98, 0x35, 0x43, 0x7b, 0xa8,
	};
	static const uint8_t known_5[] = {
		0x3e, 0xd1, 0x1e, 0xff, 0x4c, 0x21, 0x96, 0x97, 0x7b, 0x15, 0x81,
		0xeb, 0x5c, 0xd9, 0xf6, 0xe5, 0xc4, 0xce, 0xd7, 0x82, 0x8c, 0xac,
		0x5d, 0xb2, 0x8a, 0x02, 0xe6, 0xad, 0xd3, 0xd7, 0x75, 0x03,
	};

	(void)state;
	meet((struct rb_versions){ 4, 4 }, (struct rb_versions){ 4, 4 });
	assert_int_equal(opener.state, RB_EXCHANGE_DONE);
	expect_bytes(known_4);
	meet(rb_exchange_versions, rb_exchange_versions);
	assert_int_equal(opener.state, RB_EXCHANGE_DONE);
	assert_int_equal(opener.version, 5);
	expect_bytes(known_5);
}

static void nodes_use_the_newest_version_that_both_speak(void **state)
{
	static const struct {
		struct rb_versions one, two;
		uint8_t version; /* 0: none */
	} cases[] = {
		{ { 4, 5 }, { 4, 5 }, 5 },   { { 4, 4 }, { 4, 5 }, 4 },
		{ { 4, 5 }, { 4, 4 }, 4 },   { { 4, 5 }, { 5, 6 }, 5 },
		{ { 5, 6 }, { 4, 5 }, 5 },   { { 5, 5 }, { 4, 5 }, 5 },
		{ { 4, 5 }, { 6, 7 }, 0 },   { { 6, 7 }, { 4, 5 }, 0 },
		{ { 4, 4 }, { 5, 5 }, 0 },   { { 5, 6 }, { 4, 4 }, 0 },
		{ { 1, 255 }, { 4, 5 }, 5 }, { { 254, 255 }, { 1, 255 }, 255 },
	};
	static struct rb_exchange knocker;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		meet(cases[i].one, cases[i].two);
		if (cases[i].version) {
			assert_int_equal(opener.state, RB_EXCHANGE_DONE);
			assert_int_equal(responder.state, RB_EXCHANGE_DONE);
			assert_int_equal(opener.version, cases[i].version);
			assert_int_equal(responder.version, cases[i].version);
			assert_int_equal(opener.peer.versions.oldest, cases[i].version);
			assert_int_equal(opener.peer.versions.newest, cases[i].two.newest);
			assert_int_equal(responder.peer.versions.newest, cases[i].one.newest);
		} else {
			/* Each learns what the other one speaks. */
			expect_refusal(&responder, RB_REFUSAL_VERSION, false);
			expect_refusal(&opener, RB_REFUSAL_VERSION, true);
			assert_memory_equal(&responder.speaks, &cases[i].one, 2);
			assert_memory_equal(&opener.speaks, &cases[i].two, 2);
		}
		/* The same for the other direction: a knock. */
		peers[2] = RB_STANDING_PEER;
		rb_exchange_knock(&knocker, &two);
		rb_exchange_answer(&responder, &key_a, &one, peers, nonce_1);
		converse(&knocker, &responder, &tap, 1000);
		if (cases[i].version)
			assert_int_equal(responder.state, RB_EXCHANGE_KNOCKED);
		else
			expect_refusal(&knocker, RB_REFUSAL_VERSION, true);
	}
}

/* Whoever is on the way takes the newest versions out of OPEN: both would use an older one. */
static void version_that_somebody_lowered_on_the_way_is_refused(void **state)
{
	uint8_t bytes[64];
	uint32_t n;

	setup(state);
	n = opener.n_out;
	memcpy(bytes, opener.out, n);
	rb_exchange_sent(&opener, n);
	assert_int_equal(bytes[9], 5);
	bytes[9] = 0;
	rb_exchange_input(&responder, bytes, n);
	converse(&opener, &responder, &tap, 1000);
	expect_refusal(&responder, RB_REFUSAL_VERSION, false);
	expect_refusal(&opener, RB_REFUSAL_VERSION, false);
}

static void message_out_of_turn_is_refused(void **state)
{
	struct tap old;

	setup(state);
	converse(&opener, &responder, &tap, 1000);
	old = tap;
	/* CONFIRM first: it begins after OPEN's 44 bytes. */
	rb_exchange_answer(&responder, &key_a, &two, peers, nonce_2);
	rb_exchange_input(&responder, old.said[0] + 44, old.n[0] - 44);
	expect_refusal(&responder, RB_REFUSAL_MALFORMED, false);
}

/* The responder's VERDICT, which is next, with another code, and under this key. */
static void answer_by_verdict(uint8_t code, const struct rb_key *key)
{
	enum { HEADER = 8, CODE = 4, INTRODUCTION = 80, VERDICT = 4 };
	uint8_t text[4 + 2 * RB_NONCE_BYTES + CODE + INTRODUCTION] = { 5, VERDICT, 1, 2 };
	uint8_t verdict[HEADER + CODE + INTRODUCTION + RB_MAC_BYTES];

	carry(&opener, &responder, &tap, 0, 1000);
	assert_int_equal(responder.n_out, sizeof(verdict));
	memcpy(verdict, responder.out, sizeof(verdict));
	verdict[HEADER] = code;
	memcpy(text + 4, nonce_1, RB_NONCE_BYTES);
	memcpy(text + 4 + RB_NONCE_BYTES, nonce_2, RB_NONCE_BYTES);
	memcpy(text + 4 + 2 * RB_NONCE_BYTES, verdict + HEADER, CODE + INTRODUCTION);
	HMAC(EVP_sha256(), key->bytes, (int)key->n_bytes, text, sizeof(text),
	     verdict + HEADER + CODE + INTRODUCTION, NULL);
	rb_exchange_input(&opener, verdict, sizeof(verdict));
}

/* A later version may know more refusals. Only the code differs here; the proof is good. */
static void unknown_refusal_of_a_proven_peer_is_malformed(void **state)
{
	setup(state);
	carry(&opener, &responder, &tap, 0, 1000);
	carry(&responder, &opener, &tap, 1, 1000);
	answer_by_verdict(RB_REFUSAL_COUNT, &key_a.key[0]);
	assert_int_equal(opener.refusal, RB_REFUSAL_MALFORMED); /* other numbers have no name */
	expect_refusal(&opener, RB_REFUSAL_MALFORMED, true);
}

/* The opener gives up its second key in the middle: what is left in its place proves nothing. */
static void key_that_is_given_up_during_an_exchange_proves_nothing(void **state)
{
	static const struct rb_key empty;
	struct rb_keys keys = key_ab;

	setup(state);
	rb_exchange_open(&opener, &keys, &one, 2, nonce_1);
	rb_exchange_answer(&responder, &key_b, &two, peers, nonce_2);
	carry(&opener, &responder, &tap, 0, 1000);
	carry(&responder, &opener, &tap, 1, 1000);
	assert_int_equal(opener.key, 1);
	keys = key_a;
	answer_by_verdict(RB_REFUSAL_NONE, &empty);
	expect_refusal(&opener, RB_REFUSAL_KEY, false);
}

/* `switch` in the middle of an exchange: the key by which the peer proves itself is the first now.
 */
static void keys_that_change_places_during_an_exchange_prove_as_before(void **state)
{
	struct rb_keys keys = key_ab;

	setup(state);
	rb_exchange_open(&opener, &keys, &one, 2, nonce_1);
	rb_exchange_answer(&responder, &key_b, &two, peers, nonce_2);
	carry(&opener, &responder, &tap, 0, 1000);
	carry(&responder, &opener, &tap, 1, 1000);
	assert_int_equal(opener.key, 1);
	keys = key_ba;
	carry(&opener, &responder, &tap, 0, 1000);
	carry(&responder, &opener, &tap, 1, 1000);
	assert_int_equal(opener.state, RB_EXCHANGE_DONE);
	assert_int_equal(opener.key, 0);
}

static void silence_is_refused_as_closed(void **state)
{
	setup(state);
	assert_int_equal(rb_exchange_closed(&opener), RB_EXCHANGE_REFUSED);
	expect_refusal(&opener, RB_REFUSAL_CLOSED, false);
}

static void key_file_must_be_private_and_long_enough(void **state)
{
	static const struct {
		const char *content;
		mode_t mode;
		int err;
		uint32_t n;
	} cases[] = {
		{ "0123456789abcdef", 0600, 0, 16 },	   { "0123456789abcdef\n", 0400, 0, 16 },
		{ "0123456789abcde\n", 0600, -EINVAL, 0 }, { "", 0600, -EINVAL, 0 },
		{ "0123456789abcdef", 0640, -EACCES, 0 },  { "0123456789abcdef", 0604, -EACCES, 0 },
	};
	char path[] = "/tmp/rb-key-XXXXXX";
	char also[sizeof(path) + 5];
	struct rb_keys keys = { 0 };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ssize_t n = (ssize_t)strlen(cases[i].content);

		assert_int_equal(ftruncate(fd, 0), 0);
		assert_int_equal(pwrite(fd, cases[i].content, (size_t)n, 0), n);
		assert_int_equal(fchmod(fd, cases[i].mode), 0);
		assert_int_equal(rb_keys_read(path, "/nowhere", &keys), cases[i].err);
		if (!cases[i].err) {
			assert_int_equal(keys.n, 1);
			assert_int_equal(keys.key[0].n_bytes, cases[i].n);
		}
	}
	assert_int_equal(fchmod(fd, 0600), 0);
	snprintf(also, sizeof(also), "%s.also", path);
	assert_int_equal(link(path, also), 0);
	assert_int_equal(rb_keys_read(path, also, &keys), 0);
	assert_int_equal(keys.n, 2);
	assert_memory_equal(&keys.key[0], &keys.key[1], sizeof(keys.key[0]));
	assert_int_equal(unlink(also), 0);
	/* A second key that others may read is refused, not ignored. */
	assert_int_equal(symlink("/dev/null", also), 0);
	assert_int_equal(rb_keys_read(path, also, &keys), -EACCES);
	assert_int_equal(keys.n, 2);
	close(fd);
	unlink(path);
	unlink(also);
	assert_int_equal(rb_keys_read(path, also, &keys), -ENOENT);
}

#define T(f) cmocka_unit_test_setup(f, setup)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(nodes_with_one_key_learn_each_other_whatever_the_pieces),
		T(other_key_is_refused_and_both_know),
		T(nodes_one_step_apart_in_a_change_of_keys_understand_each_other),
		T(responder_tells_its_queue_pairs_only_to_a_node_that_has_the_key),
		T(same_node_id_is_refused_and_both_know),
		T(unknown_node_is_refused),
		T(higher_id_that_opens_is_refused),
		T(higher_id_knocks_and_the_lower_one_is_asked_to_call),
		T(knock_of_a_lower_id_a_stranger_or_ourselves_is_refused),
		T(knock_in_the_middle_of_a_conversation_is_refused),
		T(node_that_opens_from_another_address_is_refused_before_any_proof),
		T(another_node_at_the_address_is_refused),
		T(other_system_ports_are_no_reason_to_refuse_and_both_know_of_them),
		T(other_transport_is_refused),
		T(other_number_of_workers_is_refused_and_both_know),
		T(introduction_that_cannot_be_is_refused),
		T(changed_byte_never_makes_a_false_introduction),
		T(replayed_conversation_is_refused),
		T(reflected_messages_are_refused),
		T(header_that_cannot_be_is_refused),
		T(message_out_of_turn_is_refused),
		T(unknown_refusal_of_a_proven_peer_is_malformed),
		T(key_that_is_given_up_during_an_exchange_proves_nothing),
		T(keys_that_change_places_during_an_exchange_prove_as_before),
		T(node_of_an_older_version_is_refused_by_version_and_not_as_malformed),
		T(refusal_of_an_older_version_is_understood),
		T(bytes_of_a_conversation_are_those_of_its_version),
		T(nodes_use_the_newest_version_that_both_speak),
		T(version_that_somebody_lowered_on_the_way_is_refused),
		T(silence_is_refused_as_closed),
		T(key_file_must_be_private_and_long_enough),
	};
	return cmocka_run_group_tests_name("exchange", tests, NULL, NULL);
}
