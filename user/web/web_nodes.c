/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/web/web_nodes.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/text/listen_address.h"
#include "user/web/web_lists.h"

#define PATIENCE_MS 3000       /* for an answer */
#define KEPT_MS	    10000      /* an older answer says nothing of now */
#define ANSWER_MAX  (4U << 20) /* bytes */
#define REQUEST_MAX 512

struct node {
	struct sockaddr_storage where;
	socklen_t where_bytes;
	char address[128]; /* as it was given */
	/* The request under way; fd -1: none. */
	int fd;
	uint64_t begun_ms;
	char *answer; /* owned, answer_room bytes */
	size_t answer_bytes, answer_room;
	/* What the former ones gave. */
	json_t *lists; /* owned, or NULL */
	uint64_t lists_ms;
	char why[160];	/* the last one failed */
	char odd[160];	/* what of `lists` had another shape than it should, or "" */
	char said[160]; /* the latest of those that was logged */
};

struct sl_web_nodes {
	const char *token;
	uint32_t n;
	struct node node[SL_WEB_NODES_MAX];
};

int sl_web_nodes_create(const char *token, struct sl_web_nodes **out)
{
	*out = calloc(1, sizeof(**out));
	if (!*out)
		return -ENOMEM;
	(*out)->token = token;
	return 0;
}

int sl_web_nodes_add(struct sl_web_nodes *nodes, const char *address)
{
	struct node *node = &nodes->node[nodes->n];
	int bytes;

	if (nodes->n == SL_WEB_NODES_MAX)
		return -E2BIG;
	bytes = sl_listen_address_parse(address, &node->where);
	if (bytes < 0 || strlen(address) >= sizeof(node->address))
		return -EINVAL;
	node->where_bytes = (socklen_t)bytes;
	memcpy(node->address, address, strlen(address) + 1);
	node->fd = -1;
	snprintf(node->why, sizeof(node->why), "not asked yet");
	nodes->n++;
	return 0;
}

static void end(struct node *node)
{
	if (node->fd >= 0)
		close(node->fd);
	node->fd = -1;
	free(node->answer);
	node->answer = NULL;
	node->answer_bytes = node->answer_room = 0;
}

static void fail(struct node *node, const char *why)
{
	snprintf(node->why, sizeof(node->why), "%s", why);
	end(node);
}

static void begin(struct node *node, uint64_t now_ms)
{
	node->fd = socket(node->where.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	node->begun_ms = now_ms;
	if (node->fd < 0 ||
	    (connect(node->fd, (const struct sockaddr *)&node->where, node->where_bytes) &&
	     errno != EINPROGRESS))
		fail(node, strerror(errno));
}

void sl_web_nodes_ask(struct sl_web_nodes *nodes, uint64_t now_ms)
{
	for (uint32_t i = 0; i < nodes->n; i++)
		if (nodes->node[i].fd < 0)
			begin(&nodes->node[i], now_ms);
}

static bool is_sent(const struct node *node)
{
	return node->answer != NULL;
}

uint32_t sl_web_nodes_fds(const struct sl_web_nodes *nodes, struct pollfd *fds)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < nodes->n; i++)
		if (nodes->node[i].fd >= 0)
			fds[n++] = (struct pollfd){ .fd = nodes->node[i].fd,
						    .events = is_sent(&nodes->node[i]) ? POLLIN
										       : POLLOUT };
	return n;
}

/* The request is one line and two headers: it leaves in one piece or not at all. */
static void send_request(struct node *node, const char *token)
{
	const char *colon = strrchr(node->address, ':');
	char request[REQUEST_MAX];
	ssize_t n;
	int len;

	len = snprintf(
		request, sizeof(request), "GET /api/node HTTP/1.0\r\nHost: %.*s\r\n%s%s%s\r\n",
		colon ? (int)(colon - node->address) : 9, colon ? node->address : "127.0.0.1",
		*token ? "Authorization: Bearer " : "", token, *token ? "\r\n" : "");
	n = send(node->fd, request, (size_t)len, MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == ENOTCONN))
		return;
	if (n != len) {
		fail(node, n < 0 ? strerror(errno) : "it takes no request");
		return;
	}
	node->answer_room = 65536;
	node->answer = malloc(node->answer_room);
	if (!node->answer)
		fail(node, strerror(ENOMEM));
}

/* A node that stays as it is says the same again with each answer: that is logged once. */
static void say_odd(struct node *node)
{
	if (!*node->odd || strcmp(node->odd, node->said) == 0)
		return;
	memcpy(node->said, node->odd, sizeof(node->said));
	fprintf(stderr, "sluice: web: %s: %s: left out\n", node->address, node->odd);
}

/* The whole answer has come: "HTTP/1.0 200 OK", headers, an empty line, and the lists. */
static void take(struct node *node, uint64_t now_ms)
{
	const char *body =
		node->answer_bytes ? memmem(node->answer, node->answer_bytes, "\r\n\r\n", 4) : NULL;
	char line[160] = "";
	json_t *lists = NULL;

	snprintf(line, sizeof(line), "%.*s", (int)node->answer_bytes, node->answer);
	line[strcspn(line, "\r\n")] = '\0';
	if (body && strncmp(line, "HTTP/1.", 7) == 0 && strncmp(line + 8, " 200 ", 5) == 0)
		lists = json_loadb(body + 4, node->answer_bytes - (size_t)(body + 4 - node->answer),
				   0, NULL);
	if (lists && !json_is_object(lists)) {
		json_decref(lists);
		lists = NULL;
	}
	if (!lists) {
		fail(node, *line ? line : "it says nothing");
		return;
	}
	json_decref(node->lists);
	node->lists = sl_web_lists_take(lists, node->odd, sizeof(node->odd));
	json_decref(lists);
	say_odd(node);
	node->lists_ms = now_ms;
	node->why[0] = '\0';
	end(node);
}

static void receive(struct node *node, uint64_t now_ms)
{
	for (;;) {
		ssize_t n;

		if (node->answer_bytes == node->answer_room) {
			char *more = node->answer_room < ANSWER_MAX
					     ? realloc(node->answer, node->answer_room * 2)
					     : NULL;

			if (!more) {
				fail(node, "it says too much");
				return;
			}
			node->answer = more;
			node->answer_room *= 2;
		}
		n = recv(node->fd, node->answer + node->answer_bytes,
			 node->answer_room - node->answer_bytes, 0);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			fail(node, strerror(errno));
			return;
		}
		if (n == 0) {
			take(node, now_ms);
			return;
		}
		node->answer_bytes += (size_t)n;
	}
}

void sl_web_nodes_step(struct sl_web_nodes *nodes, uint64_t now_ms)
{
	for (uint32_t i = 0; i < nodes->n; i++) {
		struct node *node = &nodes->node[i];

		if (node->fd < 0)
			continue;
		if (!is_sent(node))
			send_request(node, nodes->token);
		else
			receive(node, now_ms);
		if (node->fd >= 0 && now_ms - node->begun_ms > PATIENCE_MS)
			fail(node, "it does not answer");
	}
}

void sl_web_nodes_put(const struct sl_web_nodes *nodes, uint64_t now_ms, json_t *array)
{
	for (uint32_t i = 0; i < nodes->n; i++) {
		const struct node *node = &nodes->node[i];
		json_t *object = json_pack("{s:s}", "from", node->address);

		if (node->lists && now_ms - node->lists_ms <= KEPT_MS) {
			json_object_set(object, "lists", node->lists);
			json_object_set_new(object, "age_ms",
					    json_integer((json_int_t)(now_ms - node->lists_ms)));
			if (*node->odd)
				json_object_set_new(object, "odd", json_string(node->odd));
		} else {
			json_object_set_new(object, "why", json_string(node->why));
		}
		json_array_append_new(array, object);
	}
}

void sl_web_nodes_destroy(struct sl_web_nodes *nodes)
{
	if (!nodes)
		return;
	for (uint32_t i = 0; i < nodes->n; i++) {
		end(&nodes->node[i]);
		json_decref(nodes->node[i].lists);
	}
	free(nodes);
}
