/* SPDX-License-Identifier: BSD-2-Clause */
/* The client of a control socket; control_socket.h describes the protocol. */
#ifndef SL_CONTROL_CLIENT_H
#define SL_CONTROL_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_client;

/* How long a person waits for each piece of an answer. A daemon that is well takes milliseconds. */
#define SL_CLIENT_PATIENCE_MS 10000

/* Does a process listen there? Returns at once. */
bool sl_client_listens(const char *socket_path);

/*
 * The version of the process that listens there, whatever the request that it could take. 0, or as
 * sl_client_open returns, with out empty.
 */
#define SL_CLIENT_VERSION_BYTES 32
int sl_client_version(const char *socket_path, uint32_t patience_ms,
		      char out[SL_CLIENT_VERSION_BYTES]);

/*
 * Connect and send one request; takes the reference to it. patience_ms, 1 or more, is how long to
 * wait for each piece of the answer; the whole answer may take longer. 0; -ENOENT or -ECONNREFUSED:
 * no daemon runs; -EACCES; -ETIMEDOUT: it listens and does not answer; -EPROTO: it is too busy, or
 * no sluiced of this version.
 */
int sl_client_open(const char *socket_path, json_t *request, uint32_t patience_ms,
		   struct sl_client **out);
/* The next row, a new reference; NULL at the end of the answer. */
json_t *sl_client_row(struct sl_client *client);
/* After the last row: NULL, or why the answer is not complete; borrowed until close. */
const char *sl_client_error(const struct sl_client *client);
void sl_client_close(struct sl_client *client);

/*
 * Ask and wait: all rows of the answer, a new array; or NULL, with the reason in why, which names
 * the daemon by `name`. The other arguments are those of sl_client_open.
 */
json_t *sl_client_ask(const char *name, const char *socket_path, json_t *request,
		      uint32_t patience_ms, char *why, size_t why_bytes);

#endif
