/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BIRD greets with a line of code 0001. An answer ends with a line whose code is followed by a
 * blank, not by "-": 0000, or from 8000 on what is wrong.
 */
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "user/import/bird_client.h"

#define ANSWER_MAX_BYTES (64u << 20)
#define SILENCE_MS	 10000

struct conversation {
	int fd;
	char *text; /* owned; ends with a byte 0 */
	size_t n, room;
	size_t line; /* where the line begins that is looked at next */
};

static int open_socket(const char *path, int *out)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd, err;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address))) {
		err = -errno;
		close(fd);
		return err;
	}
	*out = fd;
	return 0;
}

static int read_more(struct conversation *c)
{
	struct pollfd readable = { .fd = c->fd, .events = POLLIN };
	ssize_t n;

	if (c->n + 1 >= c->room) {
		const size_t room = c->room ? c->room * 2 : 65536;
		char *larger = room > ANSWER_MAX_BYTES ? NULL : realloc(c->text, room);

		if (!larger)
			return room > ANSWER_MAX_BYTES ? -E2BIG : -ENOMEM;
		c->text = larger;
		c->room = room;
	}
	if (poll(&readable, 1, SILENCE_MS) != 1)
		return -ETIMEDOUT;
	n = read(c->fd, c->text + c->n, c->room - c->n - 1);
	if (n <= 0)
		return n < 0 ? -errno : -EPROTO;
	/* A byte 0 would end the text early; BIRD sends none. */
	if (memchr(c->text + c->n, '\0', (size_t)n))
		return -EPROTO;
	c->n += (size_t)n;
	c->text[c->n] = '\0';
	return 0;
}

/* Read to the last line of an answer, whose code is in *code, and whose text is at *last. */
static int read_answer(struct conversation *c, int *code, const char **last)
{
	for (;;) {
		const char *line = c->text ? c->text + c->line : NULL;
		const char *end = line ? strchr(line, '\n') : NULL;
		size_t digits = 0;
		int err;

		if (!end) {
			err = read_more(c);
			if (err)
				return err;
			continue;
		}
		c->line = (size_t)(end + 1 - c->text);
		while (digits < 4 && isdigit((unsigned char)line[digits]))
			digits++;
		if (digits == 4 && line[4] == ' ') {
			*code = atoi(line);
			*last = line + 5;
			return 0;
		}
		if (*line != ' ' && (digits < 4 || line[4] != '-'))
			return -EPROTO;
	}
}

static bool is_table(const char *name)
{
	const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_");

	return n > 0 && n <= 64 && !name[n];
}

static int ask(struct conversation *c, const char *table, char why[SL_BIRD_WHY_BYTES])
{
	char question[128];
	const char *last;
	int code = 0, err;
	size_t n;

	n = (size_t)snprintf(question, sizeof(question), "show route table %s all primary\n",
			     table);
	if (send(c->fd, question, n, MSG_NOSIGNAL) != (ssize_t)n)
		return -errno;
	err = read_answer(c, &code, &last);
	if (err || code < 8000)
		return err;
	snprintf(why, SL_BIRD_WHY_BYTES, "table %s: %.*s", table, (int)strcspn(last, "\n"), last);
	return -EPROTO;
}

int sl_bird_routes(const char *socket_path, const char *const *tables, char **out,
		   char why[SL_BIRD_WHY_BYTES])
{
	struct conversation c = { .fd = -1 };
	const char *last;
	int code = 0, err;

	*out = NULL;
	*why = '\0';
	for (const char *const *table = tables; *table; table++)
		if (!is_table(*table)) {
			snprintf(
				why, SL_BIRD_WHY_BYTES,
				"\"%.64s\" is not the name of a table: write letters, digits and _",
				*table);
			return -EINVAL;
		}
	err = open_socket(socket_path, &c.fd);
	if (!err)
		err = read_answer(&c, &code, &last);
	if (!err && code != 1)
		err = -EPROTO;
	for (const char *const *table = tables; *table && !err; table++)
		err = ask(&c, *table, why);
	if (c.fd >= 0)
		close(c.fd);
	if (err && !*why)
		snprintf(why, SL_BIRD_WHY_BYTES, "%s",
			 err == -EPROTO ? "what answers is not BIRD 2" : strerror(-err));
	if (err)
		free(c.text);
	else
		*out = c.text;
	return err;
}
