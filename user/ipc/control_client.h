/* SPDX-License-Identifier: BSD-2-Clause */
/* The other end of the control socket; control_socket.h shows what is spoken. */
#ifndef SL_CONTROL_CLIENT_H
#define SL_CONTROL_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sl_client;

/* What a person waits for a piece of an answer. A daemon that is well has it in milliseconds. */
#define SL_CLIENT_PATIENCE_MS 10000

/* Does somebody listen there? Waits for nothing. */
bool sl_client_listens(const char *socket_path);

/*
 * Connect and send one request; takes the reference to it. patience_ms, 1 or more: how long to wait
 * for each piece of the answer, so an answer may take as long as it keeps coming. 0; -ENOENT or
 * -ECONNREFUSED: no daemon runs; -EACCES; -ETIMEDOUT: it listens and does not answer; -EPROTO: what
 * answers is no sluiced of this version.
 */
int sl_client_open(const char *socket_path, json_t *request, uint32_t patience_ms,
		   struct sl_client **out);
/* The next row, a new reference; NULL at the end of the answer. */
json_t *sl_client_row(struct sl_client *client);
/* After the last row: NULL, or why the answer ended early; borrowed until close. */
const char *sl_client_error(const struct sl_client *client);
void sl_client_close(struct sl_client *client);

/*
 * All rows of an answer, a new array, or NULL with the reason in why; `name` is who is asked. As
 * sl_client_open otherwise.
 */
json_t *sl_client_ask(const char *name, const char *socket_path, json_t *request,
		      uint32_t patience_ms, char *why, size_t why_bytes);

#endif
