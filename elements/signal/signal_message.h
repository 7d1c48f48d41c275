/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A signal: a packet by which somebody sets up, configures, tears down or asks about a chain, and
 * the answer to it. The bytes: docs/PROTOCOL.md, "Signals".
 */
#ifndef EL_SIGNAL_MESSAGE_H
#define EL_SIGNAL_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EL_SIGNAL_PROTOCOL	253 /* of IP, for experiments (RFC 3692); so it is off by default */
#define EL_SIGNAL_VERSION	1
#define EL_SIGNAL_HEADER_BYTES	32u
#define EL_SIGNAL_MAC_BYTES	32u
#define EL_SIGNAL_TEXT_MAX	8192u
#define EL_SIGNAL_KEY_BYTES	16u /* a key's name, with its NUL */
#define EL_SIGNAL_MESSAGE_BYTES (EL_SIGNAL_HEADER_BYTES + EL_SIGNAL_TEXT_MAX + EL_SIGNAL_MAC_BYTES)

enum el_signal_command {
	EL_SIGNAL_SETUP = 1, /* the text is that of a chain that is not there */
	EL_SIGNAL_CONFIGURE, /* ...of one that this key has set up */
	EL_SIGNAL_TEARDOWN,  /* the text is the name of such a chain */
	EL_SIGNAL_QUERY,     /* the same */
	EL_SIGNAL_COMMANDS   /* one more than the last */
};

enum el_signal_outcome {
	EL_SIGNAL_DONE,
	EL_SIGNAL_REFUSED,     /* the answer's text says why */
	EL_SIGNAL_UNAUTHENTIC, /* no such key, or its MAC is another */
	EL_SIGNAL_STALE,       /* too old, too new, or not newer than the latest of that key */
	EL_SIGNAL_MALFORMED,
	EL_SIGNAL_BUSY,	   /* the same message may be sent again later */
	EL_SIGNAL_OUTCOMES /* one more than the last */
};

struct el_signal {
	uint8_t command;	       /* enum el_signal_command */
	bool is_answer;		       /* else outcome is 0 */
	uint8_t outcome;	       /* enum el_signal_outcome */
	uint64_t time_ns;	       /* since 1970, by the sender's clock; an answer repeats it */
	char key[EL_SIGNAL_KEY_BYTES]; /* its name */
	const char *text;	       /* borrowed; no NUL at the end */
	uint32_t text_bytes;	       /* 0..EL_SIGNAL_TEXT_MAX */
};

/* Whence and whither a request goes; IPv4 as ::ffff:a.b.c.d (RFC 4291 2.5.5.2). */
struct el_signal_way {
	uint8_t source[16], destination[16];
};

/* The name of a command, "setup"; of an outcome, "done". */
const char *el_signal_command_name(uint8_t command);
const char *el_signal_outcome_name(uint8_t outcome);

/* An IPv4 address in network order as in a way. */
void el_signal_map4(const uint8_t address[4], uint8_t out[16]);

/*
 * Read a message, which out borrows. 0; -EPROTO: it is no signal, but something else of this
 * protocol; -EINVAL: malformed, or of another version. The MAC is not looked at.
 */
int el_signal_parse(const uint8_t *message, size_t n, struct el_signal *out);

/*
 * Write a message, sealed with the secret. An answer is sealed with the way of its request; without
 * a secret (NULL) the MAC is zero. out: EL_SIGNAL_MESSAGE_BYTES. Returns the bytes of the message,
 * or 0: libcrypto has failed.
 */
size_t el_signal_write(const struct el_signal *signal, const struct el_signal_way *way,
		       const uint8_t *secret, size_t secret_bytes, uint8_t *out);

/* Is the MAC of a message that was parsed that of this secret? Takes the same time for all. */
bool el_signal_is_sealed(const uint8_t *message, size_t n, const struct el_signal_way *way,
			 const uint8_t *secret, size_t secret_bytes);

#endif
