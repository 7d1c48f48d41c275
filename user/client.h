/* SPDX-License-Identifier: BSD-2-Clause */
/* The other end of the control socket; ctl.h draws what is spoken. */
#ifndef SL_CLIENT_H
#define SL_CLIENT_H

#include <jansson.h>

struct sl_client;

/*
 * Connect and send one request; takes the reference to it.
 * 0; -ENOENT or -ECONNREFUSED: no daemon runs; -EACCES; -EPROTO: what answers is no sluiced of this version.
 */
int sl_client_open(const char *socket_path, json_t *request, struct sl_client **out);
/* The next row, a new reference; NULL at the end of the answer. */
json_t *sl_client_row(struct sl_client *client);
/* After the last row: NULL, or why the answer ended early; borrowed until close. */
const char *sl_client_error(const struct sl_client *client);
void sl_client_close(struct sl_client *client);

#endif
