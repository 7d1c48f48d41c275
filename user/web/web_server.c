/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <microhttpd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/text/listen_address.h"
#include "user/web/web_token.h"
#include "user/web/web_server.h"

#define CLIENTS_MAX 32
#define PATIENCE_S  10
#define LISTS_AT    "/api/"
#define COOKIE	    "sluice_token"

struct event {
	uint32_t users; /* streams that send it, and the server while it is the newest one */
	size_t bytes;
	char text[];
};

/* A client of /events. */
struct stream {
	struct sl_web_server *server;
	struct MHD_Connection *connection;
	struct event *event; /* that is being sent; NULL: none yet */
	size_t sent;
	bool waits; /* for the next event; the connection is suspended */
	struct stream *next;
};

struct sl_web_server {
	struct MHD_Daemon *http; /* owned; with its listening socket */
	const char *page, *token;
	sl_web_list list;
	void *arg;
	struct event *newest; /* or NULL */
	struct stream *streams;
	bool ends;
};

static const char plain[] = "text/plain; charset=utf-8", json[] = "application/json",
		  html[] = "text/html; charset=utf-8";
static const char token_form[] =
	"<!DOCTYPE html><html lang='en'><head><meta charset='utf-8'><title>sluice</title>\n"
	"<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
	"<style>:root { color-scheme: light dark }\n"
	"body { font: 16px/1.6 system-ui, sans-serif; margin: 2em auto; max-width: 30em; padding: 0 "
	"1em }\n"
	"input, button { font: inherit; padding: .3em .6em }</style></head>\n"
	"<body><main><h1>sluice</h1><form action='/'><p><label for='token'>Token</label><br>\n"
	"<input id='token' name='token' type='password' required autofocus "
	"autocomplete='current-password'>\n"
	"<button>Open</button></p></form></main></body></html>\n";

/* --- Answers --- */

static void add_headers(struct MHD_Response *response, const char *type)
{
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "Referrer-Policy", "no-referrer");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(response, "X-Frame-Options", "DENY");
	/* The page brings its own script and style, and asks nobody else. */
	MHD_add_response_header(response, "Content-Security-Policy",
				"default-src 'none'; script-src 'unsafe-inline'; style-src "
				"'unsafe-inline'; connect-src 'self'; form-action 'self'");
}

/* Takes the response, which may be NULL. */
static enum MHD_Result send_response(struct MHD_Connection *connection, unsigned int status,
				     struct MHD_Response *response)
{
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	result = MHD_queue_response(connection, status, response);
	MHD_destroy_response(response);
	return result;
}

/* text is copied unless it is owned. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned int status,
			      const char *text, bool owned, const char *type)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		strlen(text), (void *)(uintptr_t)text,
		owned ? MHD_RESPMEM_MUST_FREE : MHD_RESPMEM_MUST_COPY);

	if (response)
		add_headers(response, type);
	if (response && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	return send_response(connection, status, response);
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

/* --- Events --- */

static void event_release(struct event *event)
{
	if (event && --event->users == 0)
		free(event);
}

/* Content of a stream, for libmicrohttpd, which asks for more whenever there is room. */
static ssize_t stream_read(void *arg, uint64_t position, char *out, size_t room)
{
	struct stream *stream = arg;
	struct sl_web_server *server = stream->server;
	size_t n;

	(void)position;
	if (server->ends)
		return MHD_CONTENT_READER_END_OF_STREAM;
	if (!stream->event || stream->sent == stream->event->bytes) {
		if (stream->event == server->newest) {
			stream->waits = true;
			MHD_suspend_connection(stream->connection);
			return 0;
		}
		event_release(stream->event);
		stream->event = server->newest;
		stream->event->users++;
		stream->sent = 0;
	}
	n = stream->event->bytes - stream->sent;
	n = n < room ? n : room;
	memcpy(out, stream->event->text + stream->sent, n);
	stream->sent += n;
	return (ssize_t)n;
}

static void stream_end(void *arg)
{
	struct stream *stream = arg, **at = &stream->server->streams;

	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	event_release(stream->event);
	free(stream);
}

static enum MHD_Result answer_events(struct sl_web_server *server,
				     struct MHD_Connection *connection)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	struct MHD_Response *response;

	if (!stream)
		return MHD_NO;
	*stream = (struct stream){ .server = server,
				   .connection = connection,
				   .next = server->streams };
	server->streams = stream;
	response = MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, 4096, stream_read, stream,
						     stream_end);
	if (!response)
		stream_end(stream);
	else
		add_headers(response, "text/event-stream");
	return send_response(connection, MHD_HTTP_OK, response);
}

static void wake(struct sl_web_server *server)
{
	for (struct stream *stream = server->streams; stream; stream = stream->next)
		if (stream->waits) {
			stream->waits = false;
			MHD_resume_connection(stream->connection);
		}
	MHD_run(server->http);
}

uint32_t sl_web_server_watched(const struct sl_web_server *server)
{
	uint32_t n = 0;

	for (const struct stream *stream = server->streams; stream; stream = stream->next)
		n++;
	return n;
}

int sl_web_server_publish(struct sl_web_server *server, const json_t *value)
{
	static const char before[] = "data: ", after[] = "\n\n";
	char *text = json_dumps(value, JSON_COMPACT);
	const size_t bytes = text ? strlen(text) : 0;
	const size_t room = bytes + sizeof(before) + sizeof(after);
	struct event *event = text ? malloc(sizeof(*event) + room) : NULL;

	if (event) {
		event->users = 1;
		event->bytes = (size_t)snprintf(event->text, room, "%s%s%s", before, text, after);
		event_release(server->newest);
		server->newest = event;
		wake(server);
	}
	free(text);
	return event ? 0 : -ENOMEM;
}

/* --- Who may ask --- */

static bool has_token(const struct sl_web_server *server, struct MHD_Connection *connection)
{
	static const char bearer[] = "Bearer ";
	const char *header = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_AUTHORIZATION);

	if (!server->token)
		return true;
	if (header && strncmp(header, bearer, strlen(bearer)) == 0 &&
	    sl_web_token_matches(server->token, header + strlen(bearer)))
		return true;
	return sl_web_token_matches(
		server->token, MHD_lookup_connection_value(connection, MHD_COOKIE_KIND, COOKIE));
}

/* With the token in its address, the page is opened once more without: histories keep addresses. */
static enum MHD_Result accept_token(const struct sl_web_server *server,
				    struct MHD_Connection *connection)
{
	struct MHD_Response *response =
		MHD_create_response_from_buffer(0, NULL, MHD_RESPMEM_PERSISTENT);
	char cookie[SL_WEB_TOKEN_MAX + 128];

	snprintf(cookie, sizeof(cookie),
		 COOKIE "=%s; Path=/; HttpOnly; SameSite=Lax; Max-Age=31536000", server->token);
	if (response) {
		add_headers(response, plain);
		MHD_add_response_header(response, MHD_HTTP_HEADER_SET_COOKIE, cookie);
		MHD_add_response_header(response, MHD_HTTP_HEADER_LOCATION, "/");
	}
	return send_response(connection, MHD_HTTP_SEE_OTHER, response);
}

static enum MHD_Result ask_token(struct MHD_Connection *connection, const char *url)
{
	const bool is_page = strcmp(url, "/") == 0;

	return answer(connection, MHD_HTTP_UNAUTHORIZED,
		      is_page ? token_form : "this needs the token\n", false,
		      is_page ? html : plain);
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
	const char *token = MHD_lookup_connection_value(connection, MHD_GET_ARGUMENT_KIND, "token");

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
	if (server->token && strcmp(url, "/") == 0 && sl_web_token_matches(server->token, token))
		return accept_token(server, connection);
	if (!has_token(server, connection))
		return ask_token(connection, url);
	if (strcmp(url, "/") == 0)
		return answer(connection, MHD_HTTP_OK, server->page, false, html);
	if (strcmp(url, "/events") == 0 && strcmp(method, "GET") == 0)
		return answer_events(server, connection);
	if (strncmp(url, LISTS_AT, strlen(LISTS_AT)) == 0)
		return answer_list(server, connection, url + strlen(LISTS_AT));
	return answer(connection, MHD_HTTP_NOT_FOUND, "see /\n", false, plain);
}

int sl_web_server_open(const char *address, const char *page, const char *token, sl_web_list list,
		       void *arg, struct sl_web_server **out)
{
	struct sl_web_server *server;
	int fd;

	struct sockaddr_storage where;

	*out = NULL;
	if (sl_listen_address_parse(address, &where) < 0)
		return -EINVAL;
	if (!token && !sl_listen_is_local(address))
		return -EPERM;
	server = calloc(1, sizeof(*server));
	fd = server ? sl_listen_open(address, CLIENTS_MAX) : -ENOMEM;
	if (fd < 0) {
		free(server);
		return fd;
	}
	*server = (struct sl_web_server){ .page = page, .token = token, .list = list, .arg = arg };
	server->http = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
					on_request, server, MHD_OPTION_LISTEN_SOCKET, fd,
					MHD_OPTION_CONNECTION_LIMIT, (unsigned int)CLIENTS_MAX,
					MHD_OPTION_CONNECTION_TIMEOUT, (unsigned int)PATIENCE_S,
					MHD_OPTION_END);
	if (!server->http) {
		close(fd);
		free(server);
		return -ENOMEM;
	}
	*out = server;
	return 0;
}

int sl_web_server_fd(const struct sl_web_server *server)
{
	const union MHD_DaemonInfo *info =
		MHD_get_daemon_info(server->http, MHD_DAEMON_INFO_EPOLL_FD);

	return info ? info->epoll_fd : -1;
}

void sl_web_server_step(struct sl_web_server *server)
{
	MHD_run(server->http);
}

void sl_web_server_close(struct sl_web_server *server)
{
	if (!server)
		return;
	server->ends = true;
	wake(server); /* a daemon with suspended connections cannot be stopped */
	MHD_stop_daemon(server->http);
	event_release(server->newest);
	free(server);
}
