/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/text/listen_address.h"
#include "user/web/web_server.h"

#define CLIENTS_MAX 16
#define PATIENCE_S  10
#define LISTS_AT    "/api/"

struct sl_web_server {
	struct MHD_Daemon *http; /* owned; with its listening socket */
	const char *page;
	sl_web_list list;
	void *arg;
};

static const char plain[] = "text/plain; charset=utf-8", json[] = "application/json";

/* text is copied unless it is owned. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status,
			      const char *text, bool owned, const char *type)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text,
		owned ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "X-Frame-Options", "DENY");
	/* The page brings its own script and style, and asks nobody else. */
	MHD_add_response_header(response, "Content-Security-Policy",
				"default-src 'none'; script-src 'unsafe-inline'; style-src "
				"'unsafe-inline'; connect-src 'self'");
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* Is Host an address or localhost, with or without a port? */
static bool names_no_other_host(const char *host)
{
	char name[64], *end;
	uint8_t address[16];
	size_t n;

	if (!host || strlen(host) >= sizeof(name))
		return false;
	memcpy(name, host, strlen(host) + 1);
	if (name[0] == '[') {
		end = strchr(name, ']');
		if (!end || (end[1] && end[1] != ':'))
			return false;
		*end = '\0';
		return inet_pton(AF_INET6, name + 1, address) == 1;
	}
	n = strcspn(name, ":");
	name[n] = '\0';
	return strcasecmp(name, "localhost") == 0 || inet_pton(AF_INET, name, address) == 1;
}

static enum MHD_Result answer_list(struct sl_web_server *server, struct MHD_Connection *connection,
				   const char *name)
{
	const char *why = NULL;
	json_t *list = server->list(server->arg, name, &why);
	char *text = list ? json_dumps(list, JSON_COMPACT) : NULL;

	json_decref(list);
	if (text)
		return answer(connection, MHD_HTTP_OK, text, true, json);
	if (!why)
		return answer(connection, MHD_HTTP_NOT_FOUND, "no such list\n", false, plain);
	return answer(connection, MHD_HTTP_SERVICE_UNAVAILABLE, why, false, plain);
}

static enum MHD_Result on_request(void *arg, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *body,
				  size_t *body_bytes, void **state)
{
	struct sl_web_server *server = arg;
	const char *host = MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");

	(void)version, (void)body, (void)state;
	*body_bytes = 0;
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return answer(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "GET or HEAD\n", false,
			      plain);
	if (!names_no_other_host(host))
		return answer(
			connection, MHD_HTTP_FORBIDDEN,
			"write this page's address with the host's IP address, or localhost\n",
			false, plain);
	if (strcmp(url, "/") == 0)
		return answer(connection, MHD_HTTP_OK, server->page, false,
			      "text/html; charset=utf-8");
	if (strncmp(url, LISTS_AT, strlen(LISTS_AT)) == 0)
		return answer_list(server, connection, url + strlen(LISTS_AT));
	return answer(connection, MHD_HTTP_NOT_FOUND, "see /\n", false, plain);
}

int sl_web_server_open(const char *address, const char *page, sl_web_list list, void *arg,
		       struct sl_web_server **out)
{
	struct sl_web_server *server = calloc(1, sizeof(*server));
	int fd = server ? sl_listen_open(address, CLIENTS_MAX) : -ENOMEM;

	*out = NULL;
	if (fd < 0) {
		free(server);
		return fd;
	}
	*server = (struct sl_web_server){ .page = page, .list = list, .arg = arg };
	server->http = MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, server,
					MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
					(unsigned int)CLIENTS_MAX, MHD_OPTION_CONNECTION_TIMEOUT,
					(unsigned int)PATIENCE_S, MHD_OPTION_END);
	if (!server->http) {
		close(fd);
		free(server);
		return -ENOMEM;
	}
	*out = server;
	return 0;
}

int sl_web_server_run(struct sl_web_server *server, int stop_fd)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(server->http, MHD_DAEMON_INFO_EPOLL_FD);
	struct pollfd fds[] = { { .fd = info ? info->epoll_fd : -1, .events = POLLIN },
				{ .fd = stop_fd, .events = POLLIN } };

	while (!fds[1].revents) {
		if (poll(fds, 2, PATIENCE_S * 100) < 0 && errno != EINTR)
			return -errno;
		MHD_run(server->http);
	}
	return 0;
}

void sl_web_server_close(struct sl_web_server *server)
{
	if (!server)
		return;
	MHD_stop_daemon(server->http);
	free(server);
}
