/* SPDX-License-Identifier: BSD-2-Clause */
/* The address of a UNIX socket, from its path. */
#ifndef SL_UNIX_ADDRESS_H
#define SL_UNIX_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

/*
 * Fill address and its length. A path that begins with '@' names an abstract socket.
 * 0, or -ENAMETOOLONG beyond 107 bytes.
 */
int sl_unix_address(const char *path, struct sockaddr_un *address, socklen_t *len);

/*
 * Does a process have a stream or sequenced-packet socket at this path? It notices nothing of the
 * question. A socket that a dead process left, or another file, is none. The answer "yes" takes
 * SL_UNIX_PATIENCE_MS: the threads of a process that was killed keep its sockets until each of them
 * has ended.
 */
#define SL_UNIX_PATIENCE_MS 2000
bool sl_unix_is_taken(const char *path);

#endif
