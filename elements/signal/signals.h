/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What becomes of a signal: is it authentic, is it new, may its sender send so many; then its
 * command is obeyed by the owner, and there is an answer.
 *
 * Of each key the latest message is remembered, with its answer. A message must be younger than
 * that one, at most EL_SIGNAL_AGE_MAX_NS old and EL_SIGNAL_AHEAD_MAX_NS ahead of this clock; a copy
 * of the latest one is answered as that was and changes nothing, so that a sender may repeat itself
 * until it hears an answer. What was sent before this object was made is too old, so a restart
 * makes no message new.
 *
 * Every request is answered, but for two kinds. What is not authentic is answered
 * EL_SIGNAL_STRANGERS_PER_S times a second at most, and with at most 64 bytes of text: else a
 * forged source would have the answers. Copies and stale messages of a key are answered
 * EL_SIGNAL_PER_S times a second at most: whoever hears a message can send copies. An answer is
 * never answered.
 *
 * Pure but for the log: times are given, and messages are bytes.
 */
#ifndef EL_SIGNALS_H
#define EL_SIGNALS_H

#include "elements/signal/signal_keys.h"

#define EL_SIGNAL_AGE_MAX_NS	  30000000000ULL
#define EL_SIGNAL_AHEAD_MAX_NS	  1000000000ULL
#define EL_SIGNAL_PER_S		  10u /* of each key; as many at once, twice */
#define EL_SIGNAL_STRANGERS_PER_S 10u
#define EL_SIGNAL_SAID_BYTES	  256

struct el_signal_ops {
	/*
	 * Do what an authentic command says; the text has no NUL at its end. Returns
	 * EL_SIGNAL_DONE, _REFUSED or _BUSY, with a line for the sender in said, which is "" at
	 * first. None may change the keys.
	 */
	enum el_signal_outcome (*obey)(void *owner, const struct el_signal_key *key,
				       enum el_signal_command command, const char *text,
				       uint32_t text_bytes, char said[EL_SIGNAL_SAID_BYTES]);
};

/* So many in a second, and so many at once. */
struct el_signal_bucket {
	uint64_t empty_ns; /* when it was last empty, if it was filled evenly since */
};

/* What is remembered of a key; its name keeps it when the keys are read again. */
struct el_signal_sender {
	char name[EL_SIGNAL_KEY_BYTES];
	uint64_t latest_ns; /* its time */
	uint8_t latest_mac[EL_SIGNAL_MAC_BYTES];
	uint8_t latest_outcome;
	char latest_said[EL_SIGNAL_SAID_BYTES];
	struct el_signal_bucket bucket;	       /* of messages that are obeyed */
	struct el_signal_bucket stale;	       /* of answers to copies and stale ones */
	uint64_t outcomes[EL_SIGNAL_OUTCOMES]; /* requests by outcome; a copy counts as stale */
	uint64_t unanswered;		       /* of these */
};

struct el_signals {
	const struct el_signal_ops *ops;
	void *owner;
	struct el_signal_keys keys;
	struct el_signal_sender senders[EL_SIGNAL_KEYS_MAX]; /* in the order of the keys */
	uint64_t floor_ns;				     /* what a new key's latest time is */
	struct el_signal_bucket strangers;
	/* Of no known key: */
	uint64_t unauthentic, malformed, unanswered;
	uint64_t ignored; /* answers, and packets of this protocol that are no signals */
};

/* Begin without keys. wall_ns: now, since 1970. ops and owner are borrowed. */
void el_signals_init(struct el_signals *signals, const struct el_signal_ops *ops, void *owner,
		     uint64_t wall_ns);
/* Take other keys; what is remembered of those that stay is kept. */
void el_signals_set_keys(struct el_signals *signals, const struct el_signal_keys *keys);
void el_signals_fini(struct el_signals *signals); /* wipe the secrets */

/*
 * A message of n bytes has come by a way. wall_ns: since 1970; now_ns: of the monotonic clock;
 * from: its source, for the log. answer: EL_SIGNAL_MESSAGE_BYTES. Returns the bytes of the answer
 * to its source; 0: there is none.
 */
size_t el_signals_take(struct el_signals *signals, const uint8_t *message, size_t n,
		       const struct el_signal_way *way, uint64_t wall_ns, uint64_t now_ns,
		       const char *from, uint8_t *answer);

#endif
