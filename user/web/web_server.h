/* SPDX-License-Identifier: BSD-2-Clause */
/* An HTTP server of one page and of lists as JSON, which only answers GET and HEAD. */
#ifndef SL_WEB_SERVER_H
#define SL_WEB_SERVER_H

#include <jansson.h>

struct sl_web_server;

/*
 * The list of this name; the caller owns it. NULL: there is none of that name, or it cannot be had,
 * and *why, unless it stays NULL, is a static text that says why. Called by one thread.
 */
typedef json_t *(*sl_web_list)(void *arg, const char *name, const char **why);

/*
 * Listen at `address` (sl_listen_address_parse). page is borrowed until the server is closed.
 *
 * A browser can be made to ask any address by a foreign page whose name suddenly has another
 * address. So a request is refused whose header Host is neither an address nor "localhost".
 *
 * 0; -EINVAL: no such address; -EADDRINUSE and others of bind(2); -ENOMEM.
 */
int sl_web_server_open(const char *address, const char *page, sl_web_list list, void *arg,
		       struct sl_web_server **out);
/* Serve until the descriptor stop_fd is readable. 0 or -errno. */
int sl_web_server_run(struct sl_web_server *server, int stop_fd);
/* NULL is fine. */
void sl_web_server_close(struct sl_web_server *server);

#endif
