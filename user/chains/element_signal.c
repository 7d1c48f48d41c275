/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elements/signal/signal_keys.h"
#include "elements/signal/signal_socket.h"
#include "user/chains/element_signal.h"
#include "user/chains/fetch.h"
#include "user/lib/clock.h"

#define KEYS_DEFAULT "/etc/sluice/signal.keys"
#define TRIES	     5 /* of the same bytes, of which a router takes one */
#define TRY_NS	     1000000000ULL
#define MS_NS	     1000000ULL

/* What a signal is about, and the answer to it. */
struct exchange {
	struct el_signal_way way;
	struct el_signal_key key;
	struct el_signal signal;
	uint8_t *text; /* owned: of the signal, or NULL */
	uint8_t message[EL_SIGNAL_MESSAGE_BYTES];
	size_t n;
	uint8_t from[16];			/* of the answer */
	uint8_t buffer[EL_SIGNAL_PACKET_BYTES]; /* of which the answer is a part */
	struct el_signal answer;
};

static int usage(void)
{
	fputs("sluice: element signal: write ADDRESS `setup FILE`, `configure FILE`, `teardown "
	      "CHAIN` or `query CHAIN`, and maybe key=FILE\n",
	      stderr);
	return SL_EXIT_USAGE;
}

static int failed(const char *what, int err)
{
	fprintf(stderr, "sluice: element signal: %s: %s%s\n", what, strerror(-err),
		err == -EPERM ? "; that takes CAP_NET_RAW" : "");
	return SL_EXIT_FAILED;
}

static int read_key(const char *path, struct el_signal_key *out)
{
	struct el_signal_keys *keys = malloc(sizeof(*keys));
	char error[EL_SIGNAL_ERROR_BYTES] = "not enough memory";
	int err = keys ? el_signal_keys_read(path, keys, error) : -ENOMEM;

	if (!err && !keys->n) {
		snprintf(error, sizeof(error), "\"%s\" has no key", path);
		err = -EINVAL;
	}
	if (err)
		fprintf(stderr, "sluice: element signal: %s\n", error);
	else
		*out = keys->keys[0];
	if (keys)
		el_signal_keys_wipe(keys);
	free(keys);
	return err;
}

/* Read the command and what it is about. Returns an exit status. */
static int read_command(const char *command, const char *about, struct exchange *x)
{
	char why[SL_FETCH_WHY_BYTES];
	size_t n;

	for (uint8_t i = 1; i < EL_SIGNAL_COMMANDS; i++)
		if (strcmp(command, el_signal_command_name(i)) == 0)
			x->signal.command = i;
	if (!x->signal.command)
		return usage();
	x->signal.text = about;
	x->signal.text_bytes = (uint32_t)strnlen(about, EL_SIGNAL_TEXT_MAX);
	if (x->signal.command != EL_SIGNAL_SETUP && x->signal.command != EL_SIGNAL_CONFIGURE)
		return SL_EXIT_OK;
	if (sl_fetch(about, EL_SIGNAL_TEXT_MAX, &x->text, &n, why)) {
		fprintf(stderr, "sluice: element signal: cannot read \"%s\": %s\n", about, why);
		return SL_EXIT_FAILED;
	}
	x->signal.text = (const char *)x->text;
	x->signal.text_bytes = (uint32_t)n;
	return SL_EXIT_OK;
}

/* Is the packet the answer? One without a MAC is, too, if it knows the signal's time. */
static bool is_answer(struct exchange *x, const struct el_signal_packet *packet)
{
	const struct el_signal *answer = &x->answer;

	if (el_signal_parse(packet->message, packet->n, &x->answer) || !answer->is_answer ||
	    answer->time_ns != x->signal.time_ns || strcmp(answer->key, x->signal.key) != 0)
		return false;
	memcpy(x->from, packet->way.source, sizeof(x->from));
	return answer->outcome == EL_SIGNAL_UNAUTHENTIC ||
	       el_signal_is_sealed(packet->message, packet->n, &x->way, x->key.secret,
				   x->key.secret_bytes);
}

/* Wait for the answer. 0; -ETIMEDOUT; or another -errno. */
static int await(struct el_signal_sockets *sockets, struct exchange *x)
{
	const uint64_t until_ns = sl_now_ns() + TRY_NS;
	struct pollfd waits = { .fd = el_signal_fd(sockets), .events = POLLIN };
	struct el_signal_packet packet;
	int err;

	for (;;) {
		const uint64_t now_ns = sl_now_ns();

		if (now_ns >= until_ns)
			return -ETIMEDOUT;
		err = poll(&waits, 1, (int)((until_ns - now_ns) / MS_NS) + 1);
		if (err < 0 && errno != EINTR)
			return -errno;
		if (err <= 0)
			continue;
		err = el_signal_receive(sockets, x->buffer, &packet);
		if (err == -EAGAIN)
			continue;
		if (err)
			return err;
		if (is_answer(x, &packet))
			return 0;
	}
}

static int send_and_await(struct exchange *x)
{
	struct el_signal_sockets *sockets;
	int err = el_signal_source(x->way.destination, x->way.source);

	if (err)
		return failed("there is no way to that address", err);
	x->n = el_signal_write(&x->signal, &x->way, x->key.secret, x->key.secret_bytes, x->message);
	if (!x->n)
		return failed("cannot seal the signal", -EIO);
	err = el_signal_dial(x->way.source, &sockets);
	if (err)
		return failed("cannot make a raw socket", err);
	err = -ETIMEDOUT;
	for (int i = 0; i < TRIES && err == -ETIMEDOUT; i++) {
		err = el_signal_send(sockets, x->way.destination, x->message, x->n);
		if (!err)
			err = await(sockets, x);
	}
	el_signal_close(sockets);
	if (err == -ETIMEDOUT) {
		fputs("sluice: element signal: no router answers: is one on the way, with "
		      "sluice-elements --signals?\n",
		      stderr);
		return SL_EXIT_NOT_RUNNING;
	}
	return err ? failed("cannot send the signal", err) : SL_EXIT_OK;
}

static int tell(const struct sl_cmd_options *options, const struct exchange *x)
{
	const char *outcome = el_signal_outcome_name(x->answer.outcome);
	const int n = (int)x->answer.text_bytes;
	const bool done = x->answer.outcome == EL_SIGNAL_DONE;
	char text[EL_SIGNAL_TEXT_BYTES];
	const char *from = el_signal_address_text(x->from, text);

	if (options->json) {
		json_t *row = json_pack("{s:s, s:s, s:s%}", "router", from, "outcome", outcome,
					"text", x->answer.text, (size_t)n);

		sl_cmd_dump(row);
		json_decref(row);
	} else {
		fprintf(done ? stdout : stderr, "%s: %s%s%.*s\n", from, outcome, n ? ": " : "", n,
			x->answer.text);
	}
	return done ? SL_EXIT_OK : SL_EXIT_FAILED;
}

int sl_element_signal(const struct sl_cmd_options *options, int argc, char **argv)
{
	const char *keys = KEYS_DEFAULT;
	struct exchange *x;
	int status;

	if (argc == 4 && strncmp(argv[3], "key=", 4) == 0)
		keys = argv[--argc] + 4;
	if (argc != 3)
		return usage();
	x = calloc(1, sizeof(*x));
	if (!x)
		return failed("cannot begin", -ENOMEM);
	status = el_signal_address_parse(argv[0], x->way.destination) ? usage() : SL_EXIT_OK;
	if (status == SL_EXIT_OK)
		status = read_command(argv[1], argv[2], x);
	if (status == SL_EXIT_OK && read_key(keys, &x->key))
		status = SL_EXIT_FAILED;
	memcpy(x->signal.key, x->key.name, sizeof(x->signal.key));
	x->signal.time_ns = sl_clock_ns(CLOCK_REALTIME);
	if (status == SL_EXIT_OK)
		status = send_and_await(x);
	if (status == SL_EXIT_OK)
		status = tell(options, x);
	free(x->text);
	explicit_bzero(x, sizeof(*x));
	free(x);
	return status;
}
