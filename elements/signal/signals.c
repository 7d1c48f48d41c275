/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "elements/signal/signals.h"
#include "user/lib/log.h"

#define SECOND_NS 1000000000ULL

/* A request that is being judged. */
struct request {
	const uint8_t *mac;
	const struct el_signal_way *way;
	const char *from;
	struct el_signal signal;
};

/* Take one of `at_once`, of which `per_s` come in a second. False: there is none. */
static bool take_one(struct el_signal_bucket *bucket, uint32_t per_s, uint32_t at_once,
		     uint64_t now_ns)
{
	const uint64_t each_ns = SECOND_NS / per_s, full_ns = each_ns * at_once;

	if (now_ns - bucket->empty_ns > full_ns)
		bucket->empty_ns = now_ns - full_ns;
	if (now_ns - bucket->empty_ns < each_ns)
		return false;
	bucket->empty_ns += each_ns;
	return true;
}

void el_signals_init(struct el_signals *s, const struct el_signal_ops *ops, void *owner,
		     uint64_t wall_ns)
{
	memset(s, 0, sizeof(*s));
	s->ops = ops;
	s->owner = owner;
	/* A former process may have taken messages that were so far ahead. */
	s->floor_ns = wall_ns + EL_SIGNAL_AHEAD_MAX_NS;
}

static const struct el_signal_sender *find_sender(const struct el_signal_sender *senders,
						  uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(senders[i].name, name) == 0)
			return &senders[i];
	return NULL;
}

void el_signals_set_keys(struct el_signals *s, const struct el_signal_keys *keys)
{
	struct el_signal_sender former[EL_SIGNAL_KEYS_MAX];
	const uint32_t n_former = s->keys.n;

	memcpy(former, s->senders, sizeof(former));
	/* A key that goes and comes again takes none of its messages twice. */
	for (uint32_t i = 0; i < n_former; i++)
		if (former[i].latest_ns > s->floor_ns)
			s->floor_ns = former[i].latest_ns;
	s->keys = *keys;
	memset(s->senders, 0, sizeof(s->senders));
	for (uint32_t i = 0; i < keys->n; i++) {
		const char *name = keys->keys[i].name;
		const struct el_signal_sender *kept = find_sender(former, n_former, name);

		if (kept) {
			s->senders[i] = *kept;
			continue;
		}
		memcpy(s->senders[i].name, name, EL_SIGNAL_KEY_BYTES);
		s->senders[i].latest_ns = s->floor_ns;
	}
}

void el_signals_fini(struct el_signals *s)
{
	el_signal_keys_wipe(&s->keys);
}

static size_t write_answer(const struct request *r, const struct el_signal_key *key,
			   uint8_t outcome, const char *said, uint8_t *answer)
{
	struct el_signal signal = {
		.command = r->signal.command,
		.is_answer = true,
		.outcome = outcome,
		.time_ns = r->signal.time_ns,
		.text = said,
		.text_bytes = (uint32_t)strlen(said),
	};

	memcpy(signal.key, r->signal.key, sizeof(signal.key));
	return el_signal_write(&signal, r->way, key ? key->secret : NULL,
			       key ? key->secret_bytes : 0, answer);
}

/* --- Who is not known --- */

static size_t answer_stranger(struct el_signals *s, const struct request *r, uint8_t outcome,
			      uint64_t now_ns, uint8_t *answer)
{
	const char *said = outcome == EL_SIGNAL_MALFORMED ? "no signal of version 1"
							  : "no such key, or a wrong MAC";

	if (outcome == EL_SIGNAL_MALFORMED)
		s->malformed++;
	else
		s->unauthentic++;
	if (!take_one(&s->strangers, EL_SIGNAL_STRANGERS_PER_S, EL_SIGNAL_STRANGERS_PER_S,
		      now_ns)) {
		s->unanswered++;
		return 0;
	}
	sl_event("signal",
		 SL_LOG_FIELDS({ "source", r->from, 0 },
			       { "outcome", el_signal_outcome_name(outcome), 0 }),
		 "a signal of %s: %s: %s", r->from, el_signal_outcome_name(outcome), said);
	return write_answer(r, NULL, outcome, said, answer);
}

/* --- Who is --- */

static const char *judge_time(const struct el_signal_sender *sender, uint64_t time_ns,
			      uint64_t wall_ns)
{
	if (time_ns > wall_ns && time_ns - wall_ns > EL_SIGNAL_AHEAD_MAX_NS)
		return "it is of more than 1 s hence, by the router's clock";
	if (time_ns < wall_ns && wall_ns - time_ns > EL_SIGNAL_AGE_MAX_NS)
		return "it is older than 30 s, by the router's clock";
	if (time_ns <= sender->latest_ns)
		return "it is not younger than the latest, or the router was started since";
	return NULL;
}

static size_t answer_sender(struct el_signal_sender *sender, const struct el_signal_key *key,
			    const struct request *r, uint8_t outcome, const char *said,
			    uint8_t *answer)
{
	const char *command = el_signal_command_name(r->signal.command);
	const char *name = el_signal_outcome_name(outcome);

	sender->outcomes[outcome]++;
	sl_event("signal",
		 SL_LOG_FIELDS({ "source", r->from, 0 }, { "key", key->name, 0 },
			       { "command", command, 0 }, { "outcome", name, 0 }),
		 "a signal of %s, key %s: %s: %s%s%s", r->from, key->name, command, name,
		 *said ? ": " : "", said);
	return write_answer(r, key, outcome, said, answer);
}

/*
 * May a copy or a stale message have an answer? Whoever has heard a message can send copies of it
 * at any rate. Those without an answer are counted here.
 */
static bool may_answer_stale(struct el_signal_sender *sender, uint64_t now_ns)
{
	if (take_one(&sender->stale, EL_SIGNAL_PER_S, 2 * EL_SIGNAL_PER_S, now_ns))
		return true;
	sender->outcomes[EL_SIGNAL_STALE]++;
	sender->unanswered++;
	return false;
}

static size_t take_authentic(struct el_signals *s, struct el_signal_sender *sender,
			     const struct el_signal_key *key, const struct request *r,
			     uint64_t wall_ns, uint64_t now_ns, uint8_t *answer)
{
	char said[EL_SIGNAL_SAID_BYTES] = "";
	const char *stale;
	uint8_t outcome;

	/* A copy of the latest message, whose answer may have been lost */
	if (r->signal.time_ns == sender->latest_ns &&
	    memcmp(r->mac, sender->latest_mac, EL_SIGNAL_MAC_BYTES) == 0) {
		if (!may_answer_stale(sender, now_ns))
			return 0;
		sender->outcomes[EL_SIGNAL_STALE]++;
		return write_answer(r, key, sender->latest_outcome, sender->latest_said, answer);
	}
	stale = judge_time(sender, r->signal.time_ns, wall_ns);
	if (stale)
		return may_answer_stale(sender, now_ns)
			       ? answer_sender(sender, key, r, EL_SIGNAL_STALE, stale, answer)
			       : 0;
	if (!take_one(&sender->bucket, EL_SIGNAL_PER_S, 2 * EL_SIGNAL_PER_S, now_ns))
		return answer_sender(sender, key, r, EL_SIGNAL_BUSY,
				     "this key has sent more than 10 signals a second", answer);
	outcome = s->ops->obey(s->owner, key, r->signal.command, r->signal.text,
			       r->signal.text_bytes, said);
	if (outcome != EL_SIGNAL_BUSY) {
		sender->latest_ns = r->signal.time_ns;
		memcpy(sender->latest_mac, r->mac, EL_SIGNAL_MAC_BYTES);
		sender->latest_outcome = outcome;
		memcpy(sender->latest_said, said, sizeof(said));
	}
	return answer_sender(sender, key, r, outcome, said, answer);
}

size_t el_signals_take(struct el_signals *s, const uint8_t *message, size_t n,
		       const struct el_signal_way *way, uint64_t wall_ns, uint64_t now_ns,
		       const char *from, uint8_t *answer)
{
	struct request r = { .way = way, .from = from };
	int err = el_signal_parse(message, n, &r.signal);
	const struct el_signal_key *key;

	if (err == -EPROTO || (!err && r.signal.is_answer)) {
		s->ignored++;
		return 0;
	}
	if (err) {
		r.signal = (struct el_signal){ 0 };
		return answer_stranger(s, &r, EL_SIGNAL_MALFORMED, now_ns, answer);
	}
	key = el_signal_keys_find(&s->keys, r.signal.key);
	if (!key || !el_signal_is_sealed(message, n, way, key->secret, key->secret_bytes))
		return answer_stranger(s, &r, EL_SIGNAL_UNAUTHENTIC, now_ns, answer);
	r.mac = message + n - EL_SIGNAL_MAC_BYTES;
	return take_authentic(s, &s->senders[key - s->keys.keys], key, &r, wall_ns, now_ns, answer);
}
