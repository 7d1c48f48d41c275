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

static json_t *read_line(struct sl_client *c)
{
	ssize_t n = getline(&c->line, &c->line_bytes, c->stream);

	return n > 0 ? json_loadb(c->line, (size_t)n, 0, NULL) : NULL;
}

/* A daemon that refuses the connection says so instead of its hello. */
static int read_hello(struct sl_client *c)
{
	json_t *line = read_line(c);
	json_t *abi = json_object_get(json_object_get(line, "hello"), "abi");
	int err = json_integer_value(abi) == SL_ABI_VERSION ? 0 : -EPROTO;

	json_decref(line);
	return err;
}

int sl_client_open(const char *socket_path, json_t *request, uint32_t patience_ms,
		   struct sl_client **out)
{
	const struct timeval patience = { patience_ms / 1000, patience_ms % 1000 * 1000 };
	struct sockaddr_un address;
	struct sl_client *c = calloc(1, sizeof(*c));
	int fd = -1, err = -ENOMEM;
	socklen_t len;

	*out = NULL;
	if (!c || !request)
		goto out;
	err = sl_unix_address(socket_path, &address, &len);
	if (err)
		goto out;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && patience_ms) {
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	}
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, len)) {
		err = -errno;
		goto out;
	}
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

	if (c->end || c->error)
		return NULL;
	row = read_line(c);
	if (!row) {
		c->error = "the daemon ended the answer early";
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
			 : err == -EPROTO ? "is too busy, or of another version"
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
