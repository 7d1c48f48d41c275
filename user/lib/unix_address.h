/* SPDX-License-Identifier: BSD-2-Clause */
/* The address of a UNIX socket, from its path. */
#ifndef SL_UNIX_ADDRESS_H
#define SL_UNIX_ADDRESS_H

#include <sys/socket.h>
#include <sys/un.h>

/*
 * Fill address and its length. A path that begins with '@' names an abstract socket.
 * 0, or -ENAMETOOLONG beyond 107 bytes.
 */
int sl_unix_address(const char *path, struct sockaddr_un *address, socklen_t *len);

#endif
