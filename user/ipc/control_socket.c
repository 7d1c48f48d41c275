/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "bpf/abi/abi.h"
#include "user/ipc/control_socket.h"
#include "user/lib/unix_address.h"

#define CHILD_BUFFER_BYTES 65536

struct sl_ctl_answer {
	int fd;	      /* >= 0: a child writes here; -1: the answer stays in `bytes` */
	char *bytes;  /* owned */
	size_t n;     /* in bytes */
	size_t size;  /* of bytes */
	size_t limit; /* of n; a child flushes before it gets there */
	int err;      /* not 0: the client is gone, or memory ran out */
	char error[256];
};

struct client {
	int fd; /* -1: free */
	bool answering;
	time_t deadline_s;
	size_t request_bytes, request_room;
	char *request; /* owned; grows as the request comes */
	struct sl_ctl_answer answer;
	size_t sent_bytes;
};

struct sl_ctl {
	int listen_fd, epoll_fd;
	uint32_t request_max;
	char *path;			       /* owned */
	const struct sl_ctl_command *commands; /* borrowed */
	void *ctx;			       /* borrowed during sl_ctl_poll */
	pid_t children[SL_CTL_CHILDREN_MAX];   /* 0: free */
	struct client clients[SL_CTL_CLIENTS_MAX];
};

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

/* --- Answers --- */

/* The socket blocks: a short send means that the client has read nothing for SL_CTL_PATIENCE_S. */
static int flush(struct sl_ctl_answer *a)
{
	ssize_t n = send(a->fd, a->bytes, a->n, MSG_NOSIGNAL);

	if (n != (ssize_t)a->n)
		return n < 0 ? -errno : -ETIMEDOUT;
	a->n = 0;
	return 0;
}

static int append(const char *data, size_t n, void *arg)
{
	struct sl_ctl_answer *a = arg;

	if (a->fd >= 0 && a->n + n > a->limit && a->n)
		a->err = flush(a);
	if (!a->err && a->n + n > a->limit)
		a->err = -EMSGSIZE;
	if (!a->err && a->n + n > a->size) {
		size_t size = (a->n + n) * 2;
		char *bytes = realloc(a->bytes, size);

		if (bytes) {
			a->bytes = bytes;
			a->size = size;
		} else {
			a->err = -ENOMEM;
		}
	}
	if (a->err)
		return -1;
	memcpy(a->bytes + a->n, data, n);
	a->n += n;
	return 0;
}

static void put_line(struct sl_ctl_answer *a, const json_t *line)
{
	if (!a->err && json_dump_callback(line, append, a, JSON_COMPACT) && !a->err)
		a->err = -ENOMEM;
	if (!a->err)
		append("\n", 1, a);
}

int sl_ctl_put(struct sl_ctl_answer *answer, json_t *row)
{
	if (!row && !answer->err)
		answer->err = -ENOMEM;
	if (row && !answer->error[0])
		put_line(answer, row);
	json_decref(row);
	return answer->err || answer->error[0] ? -1 : 0;
}

void sl_ctl_fail(struct sl_ctl_answer *answer, const char *format, ...)
{
	va_list args;

	if (answer->error[0])
		return;
	va_start(args, format);
	vsnprintf(answer->error, sizeof(answer->error), format, args);
	va_end(args);
}

static void put_end(struct sl_ctl_answer *a)
{
	json_t *end;

	/* A short answer that outgrew its limit is dropped, and the reason sent instead. */
	if (a->fd < 0 && a->err) {
		a->n = 0;
		if (!a->error[0])
			sl_ctl_fail(a, "%s",
				    a->err == -EMSGSIZE ? "the answer is too long"
							: strerror(-a->err));
		a->err = 0;
	}
	end = a->error[0] ? json_pack("{s:{s:s}}", "end", "error", a->error)
			  : json_pack("{s:{}}", "end");
	if (end)
		put_line(a, end);
	json_decref(end);
}

static void answer_reset(struct sl_ctl_answer *a)
{
	free(a->bytes);
	*a = (struct sl_ctl_answer){ .fd = -1, .limit = SL_CTL_ANSWER_MAX };
}

/* --- Clients --- */

static void client_close(struct client *c)
{
	if (c->fd >= 0)
		close(c->fd);
	answer_reset(&c->answer);
	c->fd = -1;
	c->answering = false;
	free(c->request);
	c->request = NULL;
	c->request_bytes = c->request_room = 0;
	c->sent_bytes = 0;
}

static void client_write(struct sl_ctl *ctl, struct client *c)
{
	struct epoll_event event = { .events = EPOLLOUT, .data.ptr = c };

	while (c->sent_bytes < c->answer.n) {
		ssize_t n = send(c->fd, c->answer.bytes + c->sent_bytes,
				 c->answer.n - c->sent_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN) {
			epoll_ctl(ctl->epoll_fd, EPOLL_CTL_MOD, c->fd, &event);
			return;
		}
		if (n <= 0)
			break;
		c->sent_bytes += (size_t)n;
		c->deadline_s = now_s() + SL_CTL_PATIENCE_S;
	}
	client_close(c);
}

static const struct sl_ctl_command *find_command(const struct sl_ctl *ctl, const json_t *request)
{
	const char *name = json_string_value(json_object_get(request, "command"));

	for (const struct sl_ctl_command *cmd = ctl->commands; name && cmd->name; cmd++)
		if (strcmp(cmd->name, name) == 0)
			return cmd;
	return NULL;
}

/* The child reads everything as it was when the daemon forked. It dies with the daemon. */
static void __attribute__((noreturn))
child_run(struct sl_ctl *ctl, struct client *c, const struct sl_ctl_command *cmd,
	  const json_t *request, pid_t parent)
{
	struct timeval patience = { .tv_sec = SL_CTL_PATIENCE_S };
	struct sl_ctl_answer answer = { .fd = c->fd, .limit = CHILD_BUFFER_BYTES };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	/*
	 * A connection ends only when no process has it open: close those of the other clients
	 * here.
	 */
	for (size_t i = 0; i < SL_CTL_CLIENTS_MAX; i++)
		if (ctl->clients[i].fd >= 0 && &ctl->clients[i] != c)
			close(ctl->clients[i].fd);
	close(ctl->listen_fd);
	fcntl(answer.fd, F_SETFL, 0);
	setsockopt(answer.fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	cmd->run(ctl->ctx, request, &answer);
	put_end(&answer);
	_exit(answer.err || flush(&answer) ? 1 : 0);
}

static void reap_children(struct sl_ctl *ctl)
{
	for (size_t i = 0; i < SL_CTL_CHILDREN_MAX; i++)
		if (ctl->children[i] && waitpid(ctl->children[i], NULL, WNOHANG) != 0)
			ctl->children[i] = 0;
}

static void run_long(struct sl_ctl *ctl, struct client *c, const struct sl_ctl_command *cmd,
		     const json_t *request)
{
	pid_t parent = getpid(), *slot = NULL;

	reap_children(ctl);
	for (size_t i = 0; i < SL_CTL_CHILDREN_MAX && !slot; i++)
		if (!ctl->children[i])
			slot = &ctl->children[i];
	if (!slot) {
		sl_ctl_fail(&c->answer, "busy: %d long answers are being written already",
			    SL_CTL_CHILDREN_MAX);
		return;
	}
	*slot = fork();
	if (*slot == 0)
		child_run(ctl, c, cmd, request, parent);
	if (*slot < 0) {
		*slot = 0;
		sl_ctl_fail(&c->answer, "cannot start a process for the answer: %s",
			    strerror(errno));
		return;
	}
	/*
	 * epoll watches a socket until every process has closed it, and the child still has this
	 * one.
	 */
	epoll_ctl(ctl->epoll_fd, EPOLL_CTL_DEL, c->fd, NULL);
	client_close(c);
}

static void handle_request(struct sl_ctl *ctl, struct client *c)
{
	json_error_t why;
	json_t *request = json_loadb(c->request, c->request_bytes, JSON_REJECT_DUPLICATES, &why);
	const struct sl_ctl_command *cmd = NULL;

	c->answering = true;
	answer_reset(&c->answer);
	if (!json_is_object(request))
		sl_ctl_fail(&c->answer, "the request is not a JSON object on one line");
	else if (!(cmd = find_command(ctl, request)))
		sl_ctl_fail(&c->answer, "unknown command");
	else if (cmd->is_long)
		run_long(ctl, c, cmd, request);
	else
		cmd->run(ctl->ctx, request, &c->answer);
	json_decref(request);
	if (c->fd < 0)
		return;
	put_end(&c->answer);
	client_write(ctl, c);
}

/* Make room for more of the request. 0; -EMSGSIZE: it is as long as one may be; -ENOMEM. */
static int client_grow(const struct sl_ctl *ctl, struct client *c)
{
	size_t room = c->request_room ? c->request_room * 2 : SL_CTL_REQUEST_MAX;
	char *request;

	if (c->request_bytes < c->request_room)
		return 0;
	if (room > ctl->request_max)
		return -EMSGSIZE;
	request = realloc(c->request, room);
	if (!request)
		return -ENOMEM;
	c->request = request;
	c->request_room = room;
	return 0;
}

static void client_refuse(struct sl_ctl *ctl, struct client *c, int err)
{
	c->answering = true;
	if (err == -ENOMEM)
		sl_ctl_fail(&c->answer, "not enough memory");
	else
		sl_ctl_fail(&c->answer, "the request is longer than %u bytes", ctl->request_max);
	put_end(&c->answer);
	client_write(ctl, c);
}

static void client_read(struct sl_ctl *ctl, struct client *c)
{
	int err = client_grow(ctl, c);
	char *newline, *at = c->request + c->request_bytes;
	ssize_t n;

	if (err) {
		client_refuse(ctl, c, err);
		return;
	}
	n = recv(c->fd, at, c->request_room - c->request_bytes, MSG_DONTWAIT);
	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0) {
		client_close(c);
		return;
	}
	c->request_bytes += (size_t)n;
	newline = memchr(at, '\n', (size_t)n);
	if (newline) {
		c->request_bytes = (size_t)(newline - c->request);
		handle_request(ctl, c);
		return;
	}
	err = client_grow(ctl, c);
	if (err)
		client_refuse(ctl, c, err);
}

static void client_accept(struct sl_ctl *ctl)
{
	static const char hello[] = "{\"hello\":{\"version\":\"" SL_VERSION "\",\"abi\":%d}}\n";
	int fd = accept4(ctl->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct epoll_event event = { .events = EPOLLIN };
	struct client *c = NULL;
	char line[128];
	int n;

	if (fd < 0)
		return;
	for (size_t i = 0; i < SL_CTL_CLIENTS_MAX && !c; i++)
		if (ctl->clients[i].fd < 0)
			c = &ctl->clients[i];
	n = snprintf(line, sizeof(line), hello, SL_ABI_VERSION);
	if (send(fd, line, (size_t)n, MSG_NOSIGNAL) != n || !c) {
		static const char busy[] = "{\"end\":{\"error\":\"busy: too many clients\"}}\n";

		if (!c)
			(void)!send(fd, busy, sizeof(busy) - 1, MSG_NOSIGNAL);
		close(fd);
		return;
	}
	event.data.ptr = c;
	c->fd = fd;
	c->deadline_s = now_s() + SL_CTL_PATIENCE_S;
	if (epoll_ctl(ctl->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		client_close(c);
}

/* --- The socket --- */

static int make_parent(const char *path)
{
	char copy[PATH_MAX];

	snprintf(copy, sizeof(copy), "%s", path);
	return mkdir(dirname(copy), 0755) && errno != EEXIST ? -errno : 0;
}

static int listen_at(const char *path, mode_t mode, const char *group)
{
	struct sockaddr_un address;
	struct group *entry = group ? getgrnam(group) : NULL;
	socklen_t len;
	mode_t mask;
	int fd, err;

	if (group && !entry)
		return -ENOENT;
	err = sl_unix_address(path, &address, &len);
	if (!err)
		err = make_parent(path);
	if (err)
		return err;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (sl_unix_is_taken(path)) {
		close(fd);
		return -EADDRINUSE;
	}
	unlink(path);
	mask = umask(0777);
	err = bind(fd, (struct sockaddr *)&address, len) ? -errno : 0;
	umask(mask);
	if (!err && entry && chown(path, (uid_t)-1, entry->gr_gid))
		err = -errno;
	if (!err && chmod(path, mode))
		err = -errno;
	if (!err && listen(fd, SL_CTL_CLIENTS_MAX))
		err = -errno;
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}

int sl_ctl_open(const char *path, mode_t mode, const char *group,
		const struct sl_ctl_command *commands, struct sl_ctl **out)
{
	struct sl_ctl *ctl = calloc(1, sizeof(*ctl));
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = NULL };
	int err = -ENOMEM;

	*out = NULL;
	if (!ctl)
		return err;
	ctl->commands = commands;
	ctl->request_max = SL_CTL_REQUEST_MAX;
	ctl->listen_fd = -1;
	for (size_t i = 0; i < SL_CTL_CLIENTS_MAX; i++) {
		ctl->clients[i].fd = -1;
		answer_reset(&ctl->clients[i].answer);
	}
	ctl->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (ctl->epoll_fd < 0) {
		err = -errno;
		goto out;
	}
	ctl->listen_fd = listen_at(path, mode, group);
	if (ctl->listen_fd < 0) {
		err = ctl->listen_fd;
		goto out;
	}
	ctl->path = strdup(path);
	if (!ctl->path)
		goto out;
	err = epoll_ctl(ctl->epoll_fd, EPOLL_CTL_ADD, ctl->listen_fd, &event) ? -errno : 0;
out:
	if (err)
		sl_ctl_close(ctl);
	else
		*out = ctl;
	return err;
}

void sl_ctl_close(struct sl_ctl *ctl)
{
	if (!ctl)
		return;
	for (size_t i = 0; i < SL_CTL_CLIENTS_MAX; i++)
		client_close(&ctl->clients[i]);
	if (ctl->path)
		unlink(ctl->path);
	if (ctl->listen_fd >= 0)
		close(ctl->listen_fd);
	if (ctl->epoll_fd >= 0)
		close(ctl->epoll_fd);
	free(ctl->path);
	free(ctl);
}

void sl_ctl_allow_requests(struct sl_ctl *ctl, uint32_t bytes_max)
{
	ctl->request_max = bytes_max;
}

int sl_ctl_fd(const struct sl_ctl *ctl)
{
	return ctl->epoll_fd;
}

void sl_ctl_poll(struct sl_ctl *ctl, void *ctx)
{
	struct epoll_event events[SL_CTL_CLIENTS_MAX];
	int n = epoll_wait(ctl->epoll_fd, events, SL_CTL_CLIENTS_MAX, 0);

	ctl->ctx = ctx;
	for (int i = 0; i < n; i++) {
		struct client *c = events[i].data.ptr;

		if (!c)
			client_accept(ctl);
		else if (c->fd < 0)
			continue;
		else if (c->answering)
			client_write(ctl, c);
		else
			client_read(ctl, c);
	}
}

void sl_ctl_tick(struct sl_ctl *ctl)
{
	time_t now = now_s();

	for (size_t i = 0; i < SL_CTL_CLIENTS_MAX; i++)
		if (ctl->clients[i].fd >= 0 && ctl->clients[i].deadline_s < now)
			client_close(&ctl->clients[i]);
	reap_children(ctl);
}
