/* SPDX-License-Identifier: BSD-2-Clause */
/* sluiced's end of the socket that the bridge offers: relay.h. Never blocks. */
#ifndef SL_RELAY_CLIENT_H
#define SL_RELAY_CLIENT_H

#include "user/ipc/relay.h"

struct sl_relay_client {
	int fd; /* -1: not connected */
	uint8_t bytes[SL_RELAY_MAX_BYTES + 1];
};

/* 0, or -errno: nobody offers the socket now (-ENOENT, -ECONNREFUSED), or else. */
int sl_relay_connect(struct sl_relay_client *client, const char *path);
void sl_relay_disconnect(struct sl_relay_client *client);

/* 0; -ENOTCONN; -EAGAIN: the bridge is behind; else -errno: the connection is over. */
int sl_relay_send(struct sl_relay_client *client, const struct sl_relay_message *message);
/* The next message; what it points to is valid until the next call. 0; -EAGAIN: none now; -EPROTO
 * and others as sl_relay_parse: one that makes no sense; -ENOTCONN, -EPIPE or others: the
 * connection is over. */
int sl_relay_receive(struct sl_relay_client *client, struct sl_relay_message *message);

#endif
