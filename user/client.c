/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "bpf/sluice.h"
#include "user/client.h"
#include "user/lib/unix_address.h"

struct sl_client {
	FILE *stream; /* owned */
	char *line;   /* owned, getline's */
	size_t line_bytes;
	json_t *end; /* owned; what the daemon said at the end */
	const char *error;
};

/* -ETIMEDOUT: nothing came for as long as the socket waits; -EPROTO: the end, or no JSON. */
static int read_line(struct sl_client *c, json_t **out)
{
	ssize_t n;

	errno = 0;
	n = getline(&c->line, &c->line_bytes, c->stream);
	*out = NULL;
	if (errno == EAGAIN)
		return -ETIMEDOUT;
	if (n > 0)
		*out = json_loadb(c->line, (size_t)n, 0, NULL);
	return *out ? 0 : -EPROTO;
}

/* A daemon that refuses the connection says so instead of its hello. */
static int read_hello(struct sl_client *c)
{
	json_t *line;
	int err = read_line(c, &line);
	json_t *abi = json_object_get(json_object_get(line, "hello"), "abi");

	if (!err && json_integer_value(abi) != SL_ABI_VERSION)
		err = -EPROTO;
	json_decref(line);
	return err;
}

static int connect_to(int fd, const char *socket_path)
{
	struct sockaddr_un address;
	socklen_t len;
	int err = sl_unix_address(socket_path, &address, &len);

	if (err)
		return err;
	if (!connect(fd, (struct sockaddr *)&address, len))
		return 0;
	/* Somebody listens, and takes nobody in. */
	return errno == EAGAIN ? -ETIMEDOUT : -errno;
}

bool sl_client_listens(const char *socket_path)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int err = fd < 0 ? -errno : connect_to(fd, socket_path);

	if (fd >= 0)
		close(fd);
	return err != -ENOENT && err != -ECONNREFUSED;
}

int sl_client_open(const char *socket_path, json_t *request, uint32_t patience_ms,
		   struct sl_client **out)
{
	const struct timeval patience = { patience_ms / 1000, patience_ms % 1000 * 1000 };
	struct sl_client *c = calloc(1, sizeof(*c));
	int fd = -1, err = -ENOMEM;

	*out = NULL;
	if (!c || !request)
		goto out;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0) {
		err = -errno;
		goto out;
	}
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	err = connect_to(fd, socket_path);
	if (err)
		goto out;
	c->stream = fdopen(fd, "r+");
	if (!c->stream) {
		err = -errno;
		goto out;
	}
	fd = -1;
	err = read_hello(c);
	if (err)
		goto out;
	/* Between reading and writing a stream must be positioned, which a socket ignores. */
	fflush(c->stream);
	if (json_dumpf(request, c->stream, JSON_COMPACT) || fputc('\n', c->stream) == EOF ||
	    fflush(c->stream))
		err = -EPIPE;
out:
	json_decref(request);
	if (fd >= 0)
		close(fd);
	if (err)
		sl_client_close(c);
	else
		*out = c;
	return err;
}

json_t *sl_client_row(struct sl_client *c)
{
	json_t *row;
	int err;

	if (c->end || c->error)
		return NULL;
	err = read_line(c, &row);
	if (err) {
		c->error = err == -ETIMEDOUT ? "the answer stopped before its end"
					     : "the daemon ended the answer early";
		return NULL;
	}
	if (json_object_size(row) != 1 || !json_object_get(row, "end"))
		return row;
	c->end = row;
	c->error = json_string_value(json_object_get(json_object_get(row, "end"), "error"));
	return NULL;
}

const char *sl_client_error(const struct sl_client *c)
{
	return c->error;
}

void sl_client_close(struct sl_client *c)
{
	if (!c)
		return;
	if (c->stream)
		fclose(c->stream);
	free(c->line);
	json_decref(c->end);
	free(c);
}

json_t *sl_client_ask(const char *name, const char *socket_path, json_t *request,
		      uint32_t patience_ms, char *why, size_t why_bytes)
{
	struct sl_client *client;
	int err = sl_client_open(socket_path, request, patience_ms, &client);
	json_t *rows, *row;

	if (err) {
		snprintf(why, why_bytes, "%s %s", name,
			 err == -ENOENT || err == -ECONNREFUSED ? "is not running"
			 : err == -EPROTO    ? "is too busy, or of another version"
			 : err == -ETIMEDOUT ? "does not answer"
					     : strerror(-err));
		return NULL;
	}
	rows = json_array();
	while ((row = sl_client_row(client)))
		json_array_append_new(rows, row);
	if (sl_client_error(client)) {
		snprintf(why, why_bytes, "%s", sl_client_error(client));
		json_decref(rows);
		rows = NULL;
	}
	sl_client_close(client);
	return rows;
}
