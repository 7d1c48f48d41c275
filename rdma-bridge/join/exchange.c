/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * opener                                  responder
 * OPEN     node, nonce          ->
 *                               <-        ANSWER   node, nonce, MAC
 * CONFIRM  introduction, MAC    ->
 *                               <-        VERDICT  code, introduction, MAC
 *                               <->       REFUSE   code, in the place of any message
 * KNOCK    node                 ->        alone, from a higher id: call me
 *
 * A MAC covers a label that is different for each message, both node ids, both nonces, and the
 * content before it. The opener trusts nothing before it has checked ANSWER's MAC, the responder
 * nothing before CONFIRM's. Neither tells where its queue pairs are before that. The responder
 * answers by the first of its keys, and the opener goes on by that key if it has it at all: so two
 * nodes need not change the first key at the same time. REFUSE carries no proof: it ends the
 * exchange and tells a person why, and an attacker that can forge it could end the exchange anyway.
 * KNOCK carries none either: it must come from the peer's address, and it causes no more than an
 * exchange.
 *
 * OPEN, KNOCK and REFUSE have the same bytes in every version, and tell which versions their sender
 * speaks: the header has the oldest one, and the newest one is behind node or code. The responder
 * answers in the newest one that both speak, or refuses if there is none. The introductions, which
 * are proven, repeat the newest one: so nobody on the way makes two nodes use an older one.
 */
#include "rdma-bridge/join/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "rdma-bridge/wire/bytes.h"

#define MAGIC		   0x534c5831u /* "SLX1" */
#define HEADER_BYTES	   8
#define NODE_BYTES	   4 /* node id, newest version, two zeros */
#define CODE_BYTES	   4 /* code, newest version, two zeros */
#define INTRODUCTION_BYTES 80

enum type { OPEN = 1, ANSWER = 2, CONFIRM = 3, VERDICT = 4, REFUSE = 5, KNOCK = 6 };

static const uint32_t message_bytes[] = {
	[OPEN] = HEADER_BYTES + NODE_BYTES + RB_NONCE_BYTES,
	[ANSWER] = HEADER_BYTES + NODE_BYTES + RB_NONCE_BYTES + RB_MAC_BYTES,
	[CONFIRM] = HEADER_BYTES + INTRODUCTION_BYTES + RB_MAC_BYTES,
	[VERDICT] = HEADER_BYTES + CODE_BYTES + INTRODUCTION_BYTES + RB_MAC_BYTES,
	[REFUSE] = HEADER_BYTES + CODE_BYTES,
	[KNOCK] = HEADER_BYTES + NODE_BYTES,
};

const struct rb_versions rb_exchange_versions = { RB_EXCHANGE_OLDEST, RB_EXCHANGE_NEWEST };

#define NAME(id, name, text) name,
static const char *const refusal_names[] = { RB_REFUSALS(NAME) };
#undef NAME
#define TEXT(id, name, text) text,
static const char *const refusal_texts[] = { RB_REFUSALS(TEXT) };
#undef TEXT

const char *rb_refusal_name(enum rb_refusal refusal)
{
	return refusal_names[refusal];
}

const char *rb_refusal_text(enum rb_refusal refusal)
{
	return refusal_texts[refusal];
}

static int read_key(const char *path, struct rb_key *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	uint8_t bytes[RB_KEY_MAX_BYTES + 2];
	struct stat st;
	ssize_t n;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		err = -errno;
		goto out;
	}
	if (st.st_mode & 077) {
		err = -EACCES;
		goto out;
	}
	n = read(fd, bytes, sizeof(bytes));
	if (n < 0) {
		err = -errno;
		goto out;
	}
	if (n > 0 && bytes[n - 1] == '\n')
		n--;
	if (n < RB_KEY_MIN_BYTES || n > RB_KEY_MAX_BYTES) {
		err = -EINVAL;
		goto out;
	}
	memcpy(out->bytes, bytes, (size_t)n);
	out->n_bytes = (uint32_t)n;
out:
	OPENSSL_cleanse(bytes, sizeof(bytes));
	close(fd);
	return err;
}

int rb_keys_read(const char *path, const char *also, struct rb_keys *out)
{
	struct rb_keys keys = { .n = 1 };
	int err = read_key(path, &keys.key[0]);

	if (!err) {
		err = read_key(also, &keys.key[1]);
		keys.n += !err;
		err = err == -ENOENT ? 0 : err;
	}
	if (!err)
		*out = keys;
	OPENSSL_cleanse(&keys, sizeof(keys));
	return err;
}

void rb_key_name(const struct rb_key *key, uint8_t name[RB_KEY_NAME_BYTES])
{
	static const uint8_t text[] = "name";
	unsigned int len = RB_MAC_BYTES;
	uint8_t bytes[RB_MAC_BYTES];

	HMAC(EVP_sha256(), key->bytes, (int)key->n_bytes, text, sizeof(text) - 1, bytes, &len);
	memcpy(name, bytes, RB_KEY_NAME_BYTES);
}

/* --- Bytes --- */

/* A node that speaks one version alone writes 0, as those did that knew of no other. */
static uint8_t newest(const struct rb_introduction *i)
{
	return i->versions.newest == i->versions.oldest ? 0 : i->versions.newest;
}

static void put_introduction(uint8_t *p, const struct rb_introduction *i)
{
	p[0] = i->node;
	p[1] = i->transport;
	rb_put16(p + 2, i->pkey);
	rb_put32(p + 4, i->epoch);
	memcpy(p + 8, i->gid, 16);
	rb_put32(p + 24, i->qpn);
	rb_put32(p + 28, i->qkey);
	rb_put32(p + 32, i->message_max_bytes);
	rb_put32(p + 36, i->further_qps);
	memcpy(p + 40, i->table_hash, RB_TABLE_HASH_BYTES);
	rb_put32(p + 72, i->liveness_ms);
	p[76] = i->express_sends;
	p[77] = i->express_takes;
	p[78] = i->hop_limit;
	p[79] = newest(i);
}

static void get_introduction(const uint8_t *p, uint8_t version, struct rb_introduction *i)
{
	*i = (struct rb_introduction){
		.node = p[0],
		.transport = p[1],
		.pkey = rb_get16(p + 2),
		.epoch = rb_get32(p + 4),
		.qpn = rb_get32(p + 24),
		.qkey = rb_get32(p + 28),
		.message_max_bytes = rb_get32(p + 32),
		.further_qps = rb_get32(p + 36),
		.liveness_ms = rb_get32(p + 72),
		.express_sends = p[76],
		.express_takes = p[77],
		.hop_limit = p[78],
		.versions = { version, p[79] ? p[79] : version },
	};
	memcpy(i->gid, p + 8, 16);
	memcpy(i->table_hash, p + 40, RB_TABLE_HASH_BYTES);
}

/* The HMAC over the label (the type), both ids, both nonces, and the content. */
static void mac(const struct rb_exchange *x, enum type label, const uint8_t *content, uint32_t n,
		uint8_t out[RB_MAC_BYTES])
{
	uint8_t text[4 + 2 * RB_NONCE_BYTES + CODE_BYTES + INTRODUCTION_BYTES];
	unsigned int len = RB_MAC_BYTES;

	text[0] = x->version;
	text[1] = (uint8_t)label;
	text[2] = x->node[0];
	text[3] = x->node[1];
	memcpy(text + 4, x->nonce, sizeof(x->nonce));
	if (n)
		memcpy(text + 4 + sizeof(x->nonce), content, n);
	HMAC(EVP_sha256(), x->keys->key[x->key].bytes, (int)x->keys->key[x->key].n_bytes, text,
	     4 + sizeof(x->nonce) + n, out, &len);
}

static bool mac_is_right(const struct rb_exchange *x, enum type label, const uint8_t *content,
			 uint32_t n)
{
	uint8_t expected[RB_MAC_BYTES];

	mac(x, label, content, n, expected);
	return CRYPTO_memcmp(expected, content + n, RB_MAC_BYTES) == 0;
}

/* By which of our keys is the MAC right? By that key the exchange goes on. */
static bool find_key(struct rb_exchange *x, enum type label, const uint8_t *content, uint32_t n)
{
	for (x->key = 0; x->key < x->keys->n; x->key++)
		if (mac_is_right(x, label, content, n))
			return true;
	x->key = 0;
	return false;
}

/* Do all versions have it? */
static bool is_common(uint8_t type)
{
	return type == OPEN || type == KNOCK || type == REFUSE;
}

/*
 * Append a message of this type to the bytes to send; the caller fills in the content returned, but
 * for the newest version.
 */
static uint8_t *begin(struct rb_exchange *x, enum type type)
{
	uint8_t *p = x->out + x->n_out;

	rb_put32(p, MAGIC);
	p[4] = (uint8_t)type;
	p[5] = is_common(type) ? x->self.versions.oldest : x->version;
	rb_put16(p + 6, (uint16_t)message_bytes[type]);
	memset(p + HEADER_BYTES, 0, message_bytes[type] - HEADER_BYTES);
	if (is_common(type))
		p[HEADER_BYTES + 1] = newest(&x->self);
	x->n_out += message_bytes[type];
	return p + HEADER_BYTES;
}

void rb_exchange_sent(struct rb_exchange *x, uint32_t n)
{
	x->n_out -= n;
	memmove(x->out, x->out + n, x->n_out);
}

/* --- The state machine --- */

static void fail(struct rb_exchange *x, enum rb_refusal why, bool by_peer)
{
	x->state = RB_EXCHANGE_REFUSED;
	x->refusal = why;
	x->by_peer = by_peer;
}

/* Refuse, and tell the peer. Earlier bytes are not sent any more, so there is room. */
static void refuse(struct rb_exchange *x, enum rb_refusal why)
{
	fail(x, why, false);
	x->n_out = 0;
	begin(x, REFUSE)[0] = (uint8_t)why;
}

static bool introduction_can_be(const struct rb_introduction *i)
{
	static const uint8_t zero[16];

	return i->epoch != 0 && i->qpn > 1 && i->qpn < 0xffffff && i->message_max_bytes >= 256 &&
	       i->liveness_ms > 0 && i->liveness_ms <= RB_LIVENESS_MAX_MS &&
	       i->express_sends <= SL_EXPRESS_ICRC && memcmp(i->gid, zero, sizeof(zero)) != 0;
}

/* The newest version that we and a node of those versions speak; 0: none. */
static uint8_t common_version(const struct rb_exchange *x, struct rb_versions its)
{
	const struct rb_versions ours = x->self.versions;
	uint8_t version = its.newest < ours.newest ? its.newest : ours.newest;

	return version < its.oldest || version < ours.oldest ? 0 : version;
}

/* Judge a proven introduction against ours. */
static enum rb_refusal judge_introduction(const struct rb_exchange *x)
{
	if (x->peer.node != x->peer_node || !introduction_can_be(&x->peer))
		return RB_REFUSAL_INTRODUCTION;
	if (common_version(x, x->peer.versions) != x->version)
		return RB_REFUSAL_VERSION;
	if (x->peer.transport != x->self.transport)
		return RB_REFUSAL_TRANSPORT;
	if (x->peer.further_qps != x->self.further_qps)
		return RB_REFUSAL_WORKERS;
	return RB_REFUSAL_NONE;
}

static void start(struct rb_exchange *x, const struct rb_keys *keys,
		  const struct rb_introduction *self)
{
	memset(x, 0, sizeof(*x));
	x->keys = keys;
	x->self = *self;
}

void rb_exchange_open(struct rb_exchange *x, const struct rb_keys *keys,
		      const struct rb_introduction *self, uint8_t peer, const uint8_t *nonce)
{
	uint8_t *p;

	start(x, keys, self);
	x->expected = peer;
	x->node[0] = self->node;
	memcpy(x->nonce[0], nonce, RB_NONCE_BYTES);
	p = begin(x, OPEN);
	p[0] = self->node;
	memcpy(p + NODE_BYTES, nonce, RB_NONCE_BYTES);
	x->step = ANSWER;
}

void rb_exchange_answer(struct rb_exchange *x, const struct rb_keys *keys,
			const struct rb_introduction *self, const uint8_t *peers,
			const uint8_t *nonce)
{
	start(x, keys, self);
	x->peers = peers;
	x->node[1] = self->node;
	memcpy(x->nonce[1], nonce, RB_NONCE_BYTES);
	x->step = OPEN;
}

void rb_exchange_knock(struct rb_exchange *x, const struct rb_introduction *self)
{
	static const struct rb_keys none;

	start(x, &none, self);
	begin(x, KNOCK)[0] = self->node;
	x->step = REFUSE;
}

/* The reason to refuse a caller that claims this id, which nobody has checked yet. */
static enum rb_refusal judge_caller(const struct rb_exchange *x, uint8_t node, bool higher)
{
	if (!common_version(x, x->speaks))
		return RB_REFUSAL_VERSION;
	if (node == x->self.node)
		return RB_REFUSAL_NODE_SAME;
	if (node == 0 || x->peers[node] == RB_STANDING_NONE)
		return RB_REFUSAL_NODE_UNKNOWN;
	if (x->peers[node] == RB_STANDING_ELSEWHERE)
		return RB_REFUSAL_ADDRESS;
	return (node > x->self.node) == higher ? RB_REFUSAL_NONE : RB_REFUSAL_ROLE;
}

static void on_open(struct rb_exchange *x, const uint8_t *p)
{
	enum rb_refusal why = judge_caller(x, p[0], false);
	uint8_t *answer;

	x->peer_node = p[0];
	x->node[0] = p[0];
	memcpy(x->nonce[0], p + NODE_BYTES, RB_NONCE_BYTES);
	if (why != RB_REFUSAL_NONE) {
		refuse(x, why);
		return;
	}
	x->version = common_version(x, x->speaks);
	answer = begin(x, ANSWER);
	answer[0] = x->self.node;
	memcpy(answer + NODE_BYTES, x->nonce[1], RB_NONCE_BYTES);
	mac(x, ANSWER, NULL, 0, answer + NODE_BYTES + RB_NONCE_BYTES);
	x->step = CONFIRM;
}

static void on_knock(struct rb_exchange *x, const uint8_t *p)
{
	enum rb_refusal why = judge_caller(x, p[0], true);

	x->peer_node = p[0];
	if (why == RB_REFUSAL_NONE)
		x->state = RB_EXCHANGE_KNOCKED;
	else
		refuse(x, why);
}

static void on_answer(struct rb_exchange *x, const uint8_t *p)
{
	uint8_t *confirm;

	x->peer_node = p[0];
	x->node[1] = p[0];
	memcpy(x->nonce[1], p + NODE_BYTES, RB_NONCE_BYTES);
	if (p[0] == x->self.node) {
		refuse(x, RB_REFUSAL_NODE_SAME);
		return;
	}
	if (p[0] != x->expected) {
		refuse(x, RB_REFUSAL_NODE_OTHER);
		return;
	}
	if (!find_key(x, ANSWER, p + NODE_BYTES + RB_NONCE_BYTES, 0)) {
		refuse(x, RB_REFUSAL_KEY);
		return;
	}
	confirm = begin(x, CONFIRM);
	put_introduction(confirm, &x->self);
	mac(x, CONFIRM, confirm, INTRODUCTION_BYTES, confirm + INTRODUCTION_BYTES);
	x->step = VERDICT;
}

static void on_confirm(struct rb_exchange *x, const uint8_t *p)
{
	enum rb_refusal why;
	uint8_t *verdict;

	if (!find_key(x, CONFIRM, p, INTRODUCTION_BYTES)) {
		refuse(x, RB_REFUSAL_KEY);
		return;
	}
	get_introduction(p, x->version, &x->peer);
	why = judge_introduction(x);
	verdict = begin(x, VERDICT);
	verdict[0] = (uint8_t)why;
	/*
	 * The peer has proven itself, so it gets our introduction even if we refuse: its log can
	 * then name both values as well.
	 */
	put_introduction(verdict + CODE_BYTES, &x->self);
	mac(x, VERDICT, verdict, CODE_BYTES + INTRODUCTION_BYTES,
	    verdict + CODE_BYTES + INTRODUCTION_BYTES);
	if (why == RB_REFUSAL_NONE)
		x->state = RB_EXCHANGE_DONE;
	else
		fail(x, why, false);
}

static void on_verdict(struct rb_exchange *x, const uint8_t *p)
{
	enum rb_refusal why;

	/* Our keys may have changed places since ANSWER. */
	if (!find_key(x, VERDICT, p, CODE_BYTES + INTRODUCTION_BYTES)) {
		fail(x, RB_REFUSAL_KEY, false);
		return;
	}
	get_introduction(p + CODE_BYTES, x->version, &x->peer);
	why = judge_introduction(x);
	if (why != RB_REFUSAL_NONE)
		fail(x, why, false);
	else if (p[0] == RB_REFUSAL_NONE)
		x->state = RB_EXCHANGE_DONE;
	else
		fail(x, p[0] < RB_REFUSAL_COUNT ? p[0] : RB_REFUSAL_MALFORMED, true);
}

static void on_message(struct rb_exchange *x, uint8_t type, const uint8_t *content)
{
	if (is_common(type) && content[1])
		x->speaks.newest = content[1];
	if (type == REFUSE) {
		enum rb_refusal why = content[0];

		fail(x,
		     why > RB_REFUSAL_NONE && why < RB_REFUSAL_COUNT ? why : RB_REFUSAL_MALFORMED,
		     true);
		return;
	}
	if (type == KNOCK && x->step == OPEN) {
		on_knock(x, content);
		return;
	}
	if (type != x->step) {
		refuse(x, RB_REFUSAL_MALFORMED);
		return;
	}
	switch (type) {
	case OPEN:
		on_open(x, content);
		break;
	case ANSWER:
		on_answer(x, content);
		break;
	case CONFIRM:
		on_confirm(x, content);
		break;
	default:
		on_verdict(x, content);
		break;
	}
}

/* May a message be of this version? The first one that is not common to all settles it. */
static bool version_fits(struct rb_exchange *x, uint8_t version)
{
	if (!x->version && common_version(x, (struct rb_versions){ version, version }))
		x->version = version;
	return x->version && version == x->version;
}

/* The length of the message that arrives, 0 while unknown. Refuses a header that is none. */
static uint32_t judge_header(struct rb_exchange *x)
{
	const uint8_t *p = x->in;

	if (x->n_in < HEADER_BYTES)
		return 0;
	if (rb_get32(p) != MAGIC) {
		refuse(x, RB_REFUSAL_MALFORMED);
		return 0;
	}
	x->speaks = (struct rb_versions){ p[5], p[5] };
	if (is_common(p[4]) && rb_get16(p + 6) == message_bytes[p[4]])
		return message_bytes[p[4]];
	if (!version_fits(x, p[5])) {
		refuse(x, RB_REFUSAL_VERSION);
		return 0;
	}
	if (p[4] < OPEN || p[4] > KNOCK || rb_get16(p + 6) != message_bytes[p[4]]) {
		refuse(x, RB_REFUSAL_MALFORMED);
		return 0;
	}
	return message_bytes[p[4]];
}

enum rb_exchange_state rb_exchange_input(struct rb_exchange *x, const uint8_t *bytes, size_t n)
{
	while (n > 0 && x->state == RB_EXCHANGE_RUNNING) {
		uint32_t want = judge_header(x), more;

		if (x->state != RB_EXCHANGE_RUNNING)
			break;
		/* First the header, then as much as it says. */
		more = (want ? want : HEADER_BYTES) - x->n_in;
		if (more > n)
			more = (uint32_t)n;
		memcpy(x->in + x->n_in, bytes, more);
		x->n_in += more;
		bytes += more;
		n -= more;
		want = judge_header(x);
		if (x->state == RB_EXCHANGE_RUNNING && want && x->n_in == want) {
			x->n_in = 0;
			on_message(x, x->in[4], x->in + HEADER_BYTES);
		}
	}
	return x->state;
}

enum rb_exchange_state rb_exchange_closed(struct rb_exchange *x)
{
	if (x->state == RB_EXCHANGE_RUNNING)
		fail(x, RB_REFUSAL_CLOSED, false);
	return x->state;
}
