/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bridge's end of the relay (user/ipc/relay.h): a socket where sluiced connects, hands over its
 * announcements, names the remote ports that it made, and hears of peers. It serves one client, the
 * latest. Never blocks; not thread-safe.
 */
#ifndef RB_RELAY_SERVER_H
#define RB_RELAY_SERVER_H

#include <stdbool.h>
#include <stdint.h>

struct rb_relay;
struct sl_flow_key;

/* Callbacks for what sluiced does; rb_relay_accept and rb_relay_serve call them. */
struct rb_relay_ops {
	/* It has connected and knows nothing of any peer. */
	void (*connected)(void *context);
	/* It has made the netdev of a remote port, or removed it; up: as the port's owner says. */
	void (*port)(void *context, uint16_t system_port, bool up, bool gone);
	/* A flow has a queue of its own at a port of this node, with this weight; 0: no longer. */
	void (*flow)(void *context, uint16_t system_port, const struct sl_flow_key *flow,
		     uint32_t weight);
	/* An announcement to a node, 0: to all; the bytes are borrowed during the call. */
	void (*announce)(void *context, uint8_t node, const uint8_t *bytes, uint32_t n_bytes,
			 uint64_t now_ns);
};

/*
 * Listen at a path; the descriptors are put into epoll_fd with a NULL pointer. path, ops and
 * context are borrowed until rb_relay_close. 0 or -errno; a failure to bind is logged.
 */
int rb_relay_open(const char *path, int epoll_fd, const struct rb_relay_ops *ops, void *context,
		  struct rb_relay **out);
void rb_relay_close(struct rb_relay *relay); /* NULL is fine */

void rb_relay_accept(struct rb_relay *relay);
void rb_relay_serve(struct rb_relay *relay, uint64_t now_ns);

/*
 * Tell sluiced of a peer's state; epoch and MTU (relay.h) count if it is up. A client that does not
 * read is dropped.
 */
void rb_relay_tell_peer(struct rb_relay *relay, uint8_t node, bool up, uint32_t epoch,
			uint32_t mtu_bytes);
/* Tell sluiced what a peer announced, unless its socket is full: peers repeat themselves. */
void rb_relay_tell_announced(struct rb_relay *relay, uint8_t node, const uint8_t *bytes,
			     uint32_t n_bytes);

#endif
