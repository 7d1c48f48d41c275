/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "user/lib/unix_address.h"
#include "user/ipc/relay_client.h"

/* Room for a generation of thousands of neighbours, sent at once. */
#define SEND_BUFFER_BYTES (4 << 20)

int sl_relay_connect(struct sl_relay_client *client, const char *path)
{
	const int buffer_bytes = SEND_BUFFER_BYTES;
	struct sockaddr_un address;
	socklen_t len;
	int err = sl_unix_address(path, &address, &len);

	if (err)
		return err;
	client->fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (client->fd < 0)
		return -errno;
	/* With a smaller buffer more parts are lost, and come with the next repetition. */
	setsockopt(client->fd, SOL_SOCKET, SO_SNDBUFFORCE, &buffer_bytes, sizeof(buffer_bytes));
	if (connect(client->fd, (const struct sockaddr *)&address, len)) {
		err = -errno;
		sl_relay_disconnect(client);
	}
	return err;
}

void sl_relay_disconnect(struct sl_relay_client *client)
{
	if (client->fd >= 0)
		close(client->fd);
	client->fd = -1;
}

int sl_relay_send(struct sl_relay_client *client, const struct sl_relay_message *message)
{
	uint8_t bytes[SL_RELAY_MAX_BYTES];
	size_t len = sl_relay_encode(message, bytes);

	if (!len)
		return -EINVAL;
	if (client->fd < 0)
		return -ENOTCONN;
	return send(client->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0 ? -errno : 0;
}

int sl_relay_receive(struct sl_relay_client *client, struct sl_relay_message *message)
{
	ssize_t n;

	if (client->fd < 0)
		return -ENOTCONN;
	/* The buffer has a byte more than the longest message, so that a longer one shows. */
	n = recv(client->fd, client->bytes, sizeof(client->bytes), MSG_DONTWAIT);
	if (n < 0)
		return -errno;
	if (n == 0)
		return -EPIPE;
	return sl_relay_parse(client->bytes, (size_t)n, message);
}
