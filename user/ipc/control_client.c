/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "bpf/abi/abi.h"
#include "user/ipc/control_client.h"
#include "user/lib/unix_address.h"

struct sl_client {
	int fd;	      /* owned */
	FILE *stream; /* owned; reads from fd */
	char *line;   /* owned, getline's */
	size_t line_bytes;
	json_t *end; /* owned; the daemon's last line */
	const char *error;
};

/*
 * The kernel does not restart a read with a timeout after a signal, as from a terminal that is
 * resized, or a stop.
 */
static ssize_t read_on(void *client, char *out, size_t n_bytes)
{
	const struct sl_client *c = client;
	ssize_t n;

	do
		n = read(c->fd, out, n_bytes);
	while (n < 0 && errno == EINTR);
	return n;
}

/* Send a request; the socket of a new connection has room for it. */
static int send_request(int fd, const json_t *request)
{
	char *text = json_dumps(request, JSON_COMPACT), newline = '\n';
	struct iovec iov[] = { { text, text ? strlen(text) : 0 }, { &newline, 1 } };
	const struct msghdr msg = { .msg_iov = iov, .msg_iovlen = 2 };
	const bool sent = text && sendmsg(fd, &msg, MSG_NOSIGNAL) == (ssize_t)iov[0].iov_len + 1;

	free(text);
	return sent ? 0 : -EPIPE;
}

/* 0; -ETIMEDOUT: no line came in time; -EPROTO: the connection ended, or the line is no JSON. */
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

static int connect_to(int fd, const char *socket_path)
{
	struct sockaddr_un address;
	socklen_t len;
	int err = sl_unix_address(socket_path, &address, &len);

	if (err)
		return err;
	if (!connect(fd, (struct sockaddr *)&address, len))
		return 0;
	/* EAGAIN: the queue of a process that listens and accepts no connection is full. */
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

/*
 * Connect, and read what the process says of itself, a new reference. A daemon that is too busy
 * sends an error instead: -EPROTO.
 */
static int greet(const char *socket_path, uint32_t patience_ms, struct sl_client **out,
		 json_t **hello)
{
	const struct timeval patience = { patience_ms / 1000, patience_ms % 1000 * 1000 };
	struct sl_client *c = calloc(1, sizeof(*c));
	json_t *line = NULL;
	int err = -ENOMEM;

	*hello = NULL;
	*out = c;
	if (!c)
		return err;
	c->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		return -errno;
	setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	err = connect_to(c->fd, socket_path);
	if (err)
		return err;
	c->stream = fopencookie(c, "r", (cookie_io_functions_t){ .read = read_on });
	err = c->stream ? read_line(c, &line) : -errno;
	*hello = json_incref(json_object_get(line, "hello"));
	json_decref(line);
	return !err && !*hello ? -EPROTO : err;
}

int sl_client_version(const char *socket_path, uint32_t patience_ms,
		      char out[SL_CLIENT_VERSION_BYTES])
{
	struct sl_client *c;
	json_t *hello;
	int err = greet(socket_path, patience_ms, &c, &hello);
	const char *version = json_string_value(json_object_get(hello, "version"));

	if (!err && !version)
		err = -EPROTO;
	snprintf(out, SL_CLIENT_VERSION_BYTES, "%s", err ? "" : version);
	json_decref(hello);
	sl_client_close(c);
	return err;
}

int sl_client_open(const char *socket_path, json_t *request, uint32_t patience_ms,
		   struct sl_client **out)
{
	struct sl_client *c = NULL;
	json_t *hello = NULL;
	int err = request ? greet(socket_path, patience_ms, &c, &hello) : -ENOMEM;

	*out = NULL;
	if (!err && json_integer_value(json_object_get(hello, "abi")) != SL_ABI_VERSION)
		err = -EPROTO;
	if (!err)
		err = send_request(c->fd, request);
	json_decref(hello);
	json_decref(request);
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
	if (c->fd >= 0)
		close(c->fd);
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
