/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/wire/peer.h"

#include <errno.h>
#include <string.h>

static uint64_t *seen_word(struct rb_seq *seq, uint32_t sequence)
{
	return &seq->seen[sequence % RB_SEQ_WINDOW / 64];
}

static uint64_t seen_bit(uint32_t sequence)
{
	return 1ULL << sequence % 64;
}

void rb_seq_restart(struct rb_seq *seq)
{
	seq->span = 0;
	seq->next = 0;
	seq->jump = 0;
	seq->doubtful = false;
	memset(seq->seen, 0, sizeof(seq->seen));
}

/* Skip `ahead` numbers and make `sequence` the newest. */
static void advance(struct rb_seq *seq, uint32_t sequence, uint32_t ahead)
{
	if (ahead >= RB_SEQ_WINDOW) {
		memset(seq->seen, 0, sizeof(seq->seen));
		seq->span = RB_SEQ_WINDOW;
	} else {
		for (uint32_t s = seq->next; s != sequence; s++)
			*seen_word(seq, s) &= ~seen_bit(s);
		seq->span += ahead + 1;
		if (seq->span > RB_SEQ_WINDOW)
			seq->span = RB_SEQ_WINDOW;
	}
	*seen_word(seq, sequence) |= seen_bit(sequence);
	seq->next = sequence + 1;
	seq->doubtful = false;
	seq->lost += ahead;
	seq->skipped = ahead;
	seq->received++;
}

enum rb_verdict rb_seq_judge(struct rb_seq *seq, uint32_t sequence)
{
	uint32_t ahead = sequence - seq->next;
	uint32_t behind = seq->next - 1 - sequence;

	const bool is_ahead = ahead < 1U << 31;

	if (seq->span == 0) {
		seq->next = sequence;
		advance(seq, sequence, 0);
		return RB_VERDICT_OK;
	}
	if (ahead < RB_SEQ_JUMP) {
		advance(seq, sequence, ahead);
		return RB_VERDICT_OK;
	}
	if (is_ahead && sequence == seq->jump) {
		rb_seq_restart(seq);
		return rb_seq_judge(seq, sequence);
	}
	if (seq->doubtful && (is_ahead || behind >= seq->span)) {
		/* The newest message was forged, so what it skipped has not been sent yet. */
		seq->lost -= seq->skipped < seq->lost ? seq->skipped : seq->lost;
		rb_seq_restart(seq);
		return rb_seq_judge(seq, sequence);
	}
	if (is_ahead || behind >= seq->span) {
		seq->jump = sequence + 1;
		seq->stale++;
		return RB_VERDICT_STALE;
	}
	if (*seen_word(seq, sequence) & seen_bit(sequence)) {
		seq->duplicate++;
		return RB_VERDICT_DUPLICATE;
	}
	*seen_word(seq, sequence) |= seen_bit(sequence);
	seq->lost--;
	seq->late++;
	seq->received++;
	return RB_VERDICT_OK;
}

const char *rb_peer_state_name(enum rb_peer_state state)
{
	static const char *const names[] = { "down", "one-way", "up" };

	return names[state];
}

int rb_peers_init(struct rb_peers *peers, uint8_t self, uint32_t self_epoch, uint64_t dead_after_ns)
{
	if (self == 0 || self_epoch == 0 || dead_after_ns == 0)
		return -EINVAL;
	memset(peers, 0, sizeof(*peers));
	peers->self = self;
	peers->self_epoch = self_epoch;
	peers->dead_after_ns = dead_after_ns;
	return 0;
}

int rb_peers_add(struct rb_peers *peers, uint8_t node)
{
	if (node == 0 || node == peers->self)
		return -EINVAL;
	if (peers->peer[node].configured)
		return -EEXIST;
	peers->peer[node].configured = true;
	peers->peer[node].dead_after_ns = peers->dead_after_ns;
	return 0;
}

void rb_peers_remove(struct rb_peers *peers, uint8_t node)
{
	peers->peer[node] = (struct rb_peer){ 0 };
}

static void set_state(struct rb_peer *peer, enum rb_peer_state state)
{
	if (state == RB_PEER_UP)
		peer->ups++;
	if (peer->state == RB_PEER_UP)
		peer->downs++;
	__atomic_store_n(&peer->state, state, __ATOMIC_RELAXED); /* for rb_peer_state_now */
}

int rb_peers_introduce(struct rb_peers *peers, uint8_t node, uint32_t epoch)
{
	struct rb_peer *peer = &peers->peer[node];

	if (epoch == 0)
		return -EINVAL;
	if (!peer->configured)
		return -ENOENT;
	if (peer->introduced && peer->epoch == epoch)
		return 0;
	if (peer->state != RB_PEER_DOWN)
		set_state(peer, RB_PEER_DOWN);
	peer->introduced = true;
	peer->epoch = epoch;
	peer->heard_ns = 0;
	peer->hears_us_ns = 0;
	for (int i = 0; i < RB_STREAMS_MAX; i++)
		rb_seq_restart(&peer->seq[i]);
	return 0;
}

void rb_peers_set_liveness(struct rb_peers *peers, uint8_t node, uint64_t dead_after_ns)
{
	peers->peer[node].dead_after_ns =
		dead_after_ns > peers->dead_after_ns ? dead_after_ns : peers->dead_after_ns;
}

enum rb_verdict rb_peers_judge_numbered(struct rb_peers *peers, const struct rb_msg_header *header,
					uint64_t now_ns)
{
	struct rb_peer *peer = &peers->peer[header->source];

	if (!peer->introduced)
		return RB_VERDICT_UNKNOWN_NODE;
	if (header->epoch != peer->epoch)
		return RB_VERDICT_EPOCH;
	peer->heard_ns = now_ns;
	return RB_VERDICT_OK;
}

enum rb_verdict rb_peers_judge(struct rb_peers *peers, const struct rb_msg_header *header,
			       uint64_t now_ns)
{
	struct rb_peer *peer = &peers->peer[header->source];
	enum rb_verdict verdict;

	if (!peer->introduced)
		return RB_VERDICT_UNKNOWN_NODE;
	if (header->epoch != peer->epoch)
		return RB_VERDICT_EPOCH;
	verdict = rb_seq_judge(&peer->seq[header->stream], header->sequence);
	if (verdict == RB_VERDICT_OK)
		peer->heard_ns = now_ns;
	return verdict;
}

static bool recent(const struct rb_peer *peer, uint64_t then_ns, uint64_t now_ns)
{
	return then_ns != 0 && now_ns - then_ns <= peer->dead_after_ns;
}

/* After a stall of ours: may a peer that does not hear us just not have had the time to? */
static bool excused(const struct rb_peers *peers, const struct rb_peer *peer, uint64_t now_ns)
{
	return peers->back_ns != 0 &&
	       now_ns - peers->back_ns <= RB_PEERS_EXCUSE * peer->dead_after_ns;
}

void rb_peers_hello(struct rb_peers *peers, uint8_t node, const struct rb_hello *hello,
		    uint64_t now_ns)
{
	struct rb_peer *peer = &peers->peer[node];

	if (hello->heard_epoch == peers->self_epoch)
		peer->hears_us_ns = now_ns;
	else if (!excused(peers, peer, now_ns))
		peer->hears_us_ns = 0;
}

/* Move a time forward by a pause of ours, so that the pause does not count as silence. */
static void forgive(uint64_t *then_ns, uint64_t pause_ns, uint64_t now_ns)
{
	if (*then_ns == 0)
		return;
	/* A time after the pause is not moved beyond now. */
	*then_ns = *then_ns + pause_ns < now_ns ? *then_ns + pause_ns : now_ns;
}

void rb_peers_run(struct rb_peers *peers, uint64_t now_ns)
{
	const uint64_t usual_ns = peers->dead_after_ns / RB_PEERS_STALL;
	uint64_t pause_ns = peers->ran_ns ? now_ns - peers->ran_ns : 0;

	peers->ran_ns = now_ns;
	if (pause_ns <= usual_ns)
		return;
	peers->stalls++;
	peers->back_ns = now_ns;
	for (int i = 1; i < 256; i++) {
		if (!peers->peer[i].introduced)
			continue;
		forgive(&peers->peer[i].heard_ns, pause_ns - usual_ns, now_ns);
		forgive(&peers->peer[i].hears_us_ns, pause_ns - usual_ns, now_ns);
	}
}

uint32_t rb_peers_heard_epoch(const struct rb_peers *peers, uint8_t node, uint64_t now_ns)
{
	const struct rb_peer *peer = &peers->peer[node];

	return recent(peer, peer->heard_ns, now_ns) ? peer->epoch : 0;
}

bool rb_peers_tick(struct rb_peers *peers, uint8_t node, uint64_t now_ns)
{
	struct rb_peer *peer = &peers->peer[node];
	enum rb_peer_state state = RB_PEER_DOWN;
	bool hears_us = recent(peer, peer->hears_us_ns, now_ns) ||
			(peer->state == RB_PEER_UP && excused(peers, peer, now_ns));

	if (recent(peer, peer->heard_ns, now_ns))
		state = hears_us ? RB_PEER_UP : RB_PEER_ONE_WAY;
	if (state == peer->state)
		return false;
	for (int i = 0; i < RB_STREAMS_MAX && state == RB_PEER_DOWN; i++)
		peer->seq[i].doubtful = true;
	set_state(peer, state);
	return true;
}
