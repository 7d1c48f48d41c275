/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside cluster control.
 *
 *   cluster.c         open, poll, what is due, events of the kernel
 *   cluster_relay.c   to and from the bridge: announcements, requests, peers
 *   cluster_view.c    what is shown of it
 *   cluster_kernel.c  to the kernel: remote ports, and a peer's entries; what an earlier life left
 *                     there
 */
#ifndef SL_CLUSTER_IMPL_H
#define SL_CLUSTER_IMPL_H

#include "user/cluster/cluster.h"
#include "user/cluster/local_state.h"
#include "user/ipc/relay_client.h"
#include "user/cluster/remote_port.h"
#include "user/cluster/remote_state.h"
#include "user/rtnl/rtnl_request.h"
#include "user/rtnl/rtnl_socket.h"

#define SL_WANTED_MAX 256 /* addresses asked for in one poll; the kernel asks again */
#define SL_NS_PER_MS  1000000ULL
#define SL_NEVER      UINT64_MAX

struct sl_peer {
	uint8_t node;
	uint8_t family, address[16]; /* on the fabric */
	bool up;
	/* its bridge does not answer ours, or ours is gone. Neither that nor up: not known yet */
	bool silent;
	uint32_t epoch;
	uint64_t down_since_ns;
	struct sl_assembly assembly;
	struct sl_remote_entry *entries; /* owned; what the kernel was given, ascending */
	size_t n_entries;
};

struct sl_wanted {
	uint16_t system_port;
	uint8_t family, addr[16];
};

struct sl_cluster {
	const struct sl_cluster_settings *settings; /* borrowed */
	const struct sl_cluster_ops *ops;	    /* borrowed */
	void *ctx;
	struct sl_relay_client relay;
	struct sl_rtnl_socket *events, *dumps; /* owned */
	struct sl_rtnl_request *requests;      /* owned */
	int epoll_fd, timer_fd;

	struct sl_local_state local;
	uint32_t generation;
	struct sl_remote_port *ports; /* owned */
	uint32_t n_ports;
	struct sl_peer *peers; /* owned */
	uint32_t n_peers;
	struct sl_wanted wanted[SL_WANTED_MAX];
	uint32_t n_wanted;

	/* When each is due next, CLOCK_MONOTONIC; SL_NEVER: not */
	uint64_t read_ns, repeat_ns, connect_ns, refresh_ns, armed_ns;
	uint64_t read_after_ns; /* no reading of the own state before */
};

struct sl_peer *sl_cluster_peer(struct sl_cluster *c, uint32_t node); /* or NULL, as the next */
struct sl_remote_port *sl_cluster_port_by_ifindex(const struct sl_cluster *c, uint32_t ifindex);
struct sl_remote_port *sl_cluster_port_by_number(const struct sl_cluster *c, uint16_t system_port);

/* cluster_relay.c */
void sl_cluster_connect(struct sl_cluster *c); /* try, and say when to try again */
void sl_cluster_poll_relay(struct sl_cluster *c);
void sl_cluster_announce(struct sl_cluster *c, uint8_t node); /* this node's state; 0: to all */
void sl_cluster_send_port(struct sl_cluster *c, const struct sl_remote_port *port);
void sl_cluster_send_gone(struct sl_cluster *c, const struct sl_remote_port *port);
/* Ask the owner to resolve an address; sent by sl_cluster_send_wanted. */
void sl_cluster_want(struct sl_cluster *c, uint16_t system_port, uint8_t family,
		     const uint8_t addr[16]);
void sl_cluster_send_wanted(struct sl_cluster *c);

/* cluster_kernel.c */
/* its newest complete generation */
void sl_peer_apply(struct sl_cluster *c, struct sl_peer *peer);
/* What the kernel has lost (a port was down, an address went) is given to it again; port 0: all. */
void sl_peer_ensure(struct sl_cluster *c, struct sl_peer *peer, uint16_t system_port);
/* remove all that it announced */
void sl_peer_forget(struct sl_cluster *c, struct sl_peer *peer);
/*
 * Make the remote ports that are not there. The first error; logged, and tried again with each
 * refresh.
 */
int sl_cluster_make_ports(struct sl_cluster *c);
void sl_cluster_delete_ports(struct sl_cluster *c);
int sl_cluster_adopt(struct sl_cluster *c); /* what an earlier life left; 0 or -errno */

#endif
