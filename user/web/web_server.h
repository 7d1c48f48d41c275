/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An HTTP server of one page, of lists as JSON, and of events that follow what happens. It only
 * answers GET and HEAD.
 */
#ifndef SL_WEB_SERVER_H
#define SL_WEB_SERVER_H

#include <jansson.h>
#include <stdint.h>

struct sl_web_server;

/*
 * The list of this name; the caller owns it. NULL: there is none of that name, or it cannot be had,
 * and *why, unless it stays NULL, is a static text that says why. Called by one thread.
 */
typedef json_t *(*sl_web_list)(void *arg, const char *name, const char **why);

/*
 * Listen at `address` (sl_listen_address_parse). page and token are borrowed until the server is
 * closed. With a token, only requests that carry it are answered: as "Authorization: Bearer TOKEN",
 * in the cookie that "/?token=TOKEN" sets, or by the form that is shown without it.
 *
 * A browser can be made to ask any address by a foreign page whose name suddenly has another
 * address. So a request is refused whose header Host is neither an address nor "localhost".
 *
 * 0; -EINVAL: no such address; -EPERM: others than this host would reach it, and there is no token;
 * -EADDRINUSE and others of bind(2); -ENOMEM.
 */
int sl_web_server_open(const char *address, const char *page, const char *token, sl_web_list list,
		       void *arg, struct sl_web_server **out);
/* When this descriptor is readable, call step; also from time to time, to end idle connections. */
int sl_web_server_fd(const struct sl_web_server *server);
void sl_web_server_step(struct sl_web_server *server);

/* How many clients follow "/events". */
uint32_t sl_web_server_watched(const struct sl_web_server *server);
/*
 * Send a value to them, as a server-sent event without a name. A client that is slow gets the
 * newest one next, and none of those between. 0 or -ENOMEM.
 */
int sl_web_server_publish(struct sl_web_server *server, const json_t *value);
/* NULL is fine. */
void sl_web_server_close(struct sl_web_server *server);

#endif
