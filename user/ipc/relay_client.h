/* SPDX-License-Identifier: BSD-2-Clause */
/* sluiced's end of the relay (relay.h). No function here blocks. */
#ifndef SL_RELAY_CLIENT_H
#define SL_RELAY_CLIENT_H

#include "user/ipc/relay.h"

struct sl_relay_client {
	int fd; /* -1: not connected */
	uint8_t bytes[SL_RELAY_MAX_BYTES + 1];
};

/* 0; -ENOENT or -ECONNREFUSED: no bridge offers the socket now; else -errno. */
int sl_relay_connect(struct sl_relay_client *client, const char *path);
void sl_relay_disconnect(struct sl_relay_client *client);

/*
 * 0; -ENOTCONN; -EAGAIN: the bridge has not read what was sent before; else -errno: the connection
 * is over.
 */
int sl_relay_send(struct sl_relay_client *client, const struct sl_relay_message *message);
/*
 * The next message; its `part` is valid until the next call. 0; -EAGAIN: there is none now;
 * -EPROTO, -EMSGSIZE or -EINVAL as sl_relay_parse: it was refused; -ENOTCONN, -EPIPE or others: the
 * connection is over.
 */
int sl_relay_receive(struct sl_relay_client *client, struct sl_relay_message *message);

#endif
