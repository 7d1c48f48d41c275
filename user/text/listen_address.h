/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a TCP server listens, as a person writes it. */
#ifndef SL_LISTEN_ADDRESS_H
#define SL_LISTEN_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>

/*
 * Read PORT (1 to 65535; the address is 127.0.0.1 then), ADDRESS:PORT, or [ADDRESS]:PORT for IPv6.
 * Returns how many bytes of *out are the address, or -EINVAL.
 */
int sl_listen_address_parse(const char *text, struct sockaddr_storage *out);

/* Does only this host reach it: 127.0.0.0/8 or ::1? A text that is no address is not local. */
bool sl_listen_is_local(const char *text);

/* Listen there, without blocking, for up to `backlog` callers that wait. The socket, or -errno. */
int sl_listen_open(const char *text, int backlog);

#endif
