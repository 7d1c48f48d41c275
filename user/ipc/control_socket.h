/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The control socket: a UNIX stream socket over which a daemon answers in JSON, one object a line.
 * A connection carries one request.
 *
 *   daemon: {"hello": {"version": "0.1.0", "abi": 1}}
 *   client: {"command": "show", "what": "routes"}
 *   daemon: {...}                                         any number of rows
 *   daemon: {"end": {}}   or   {"end": {"error": "..."}}
 *
 * No client can hold up the daemon. The daemon keeps a short answer in memory (at most
 * SL_CTL_ANSWER_MAX) and writes as the client reads. A forked child writes a long one, from the
 * tables as they were at the fork. A client that reads nothing for SL_CTL_PATIENCE_S is dropped.
 */
#ifndef SL_CONTROL_SOCKET_H
#define SL_CONTROL_SOCKET_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SL_CTL_CLIENTS_MAX  32
#define SL_CTL_CHILDREN_MAX 8
#define SL_CTL_REQUEST_MAX  4096u      /* bytes of a request with its newline, unless: */
#define SL_CTL_ANSWER_MAX   (1u << 20) /* bytes of a short answer */
#define SL_CTL_PATIENCE_S   10

struct sl_ctl;
struct sl_ctl_answer;

struct sl_ctl_command {
	const char *name; /* NULL ends the table */
	/* a forked child answers: `run` sees all state, and cannot change the daemon's */
	bool is_long;
	/* Put the rows, or fail. `request` is borrowed. */
	void (*run)(void *ctx, const json_t *request, struct sl_ctl_answer *answer);
};

/*
 * Put one row; takes the reference to `row`. NULL counts as out of memory. Non-zero: the client is
 * gone or the answer has failed, so that further rows are of no use.
 */
int sl_ctl_put(struct sl_ctl_answer *answer, json_t *row);
/* End the answer with an error, one line. Only the first call counts. */
void sl_ctl_fail(struct sl_ctl_answer *answer, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Listen at path with the permissions `mode` and, unless group is NULL, that group. A missing
 * directory is made; a socket that a dead daemon left is replaced. commands is borrowed until
 * close. 0 or -errno (-ENOENT: no such group; -EADDRINUSE: a process listens there).
 */
int sl_ctl_open(const char *path, mode_t mode, const char *group,
		const struct sl_ctl_command *commands, struct sl_ctl **out);
/* Take requests of so many bytes; a power of two, from SL_CTL_REQUEST_MAX on. */
void sl_ctl_allow_requests(struct sl_ctl *ctl, uint32_t bytes_max);
/* Close every connection and remove the socket. Children die with the process. NULL is fine. */
void sl_ctl_close(struct sl_ctl *ctl);

int sl_ctl_fd(const struct sl_ctl *ctl); /* epoll-able: readable when sl_ctl_poll has work */
void sl_ctl_poll(struct sl_ctl *ctl, void *ctx); /* ctx: for the commands */
/* Call it once a second: it drops clients that were idle too long, and reaps children. */
void sl_ctl_tick(struct sl_ctl *ctl);

#endif
