/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of cluster control: its peers, the remote ports, this node's own state, and when each
 * task is due. Private to this folder. cluster.c makes and drives it; the other files change their
 * part:
 *
 *   local            what cluster.c has read from the kernel
 *   peers            up, silent, epoch, assembly: cluster_receive.c; entries: cluster_kernel.c
 *   ports            cluster_kernel.c
 *   wanted           cluster_send.c
 *   relay            cluster_receive.c connects, cluster_send.c writes
 */
#ifndef SL_CLUSTER_STATE_H
#define SL_CLUSTER_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "user/cluster/cluster_ops.h"
#include "user/cluster/local_state.h"
#include "user/cluster/remote_port.h"
#include "user/cluster/remote_state.h"
#include "user/config/config_cluster.h"
#include "user/ipc/relay_client.h"
#include "user/rtnl/rtnl_request.h"
#include "user/rtnl/rtnl_socket.h"

/* Addresses requested in one poll; for the rest, the kernel asks again. */
#define SL_WANTED_MAX 256
#define SL_PEER_STEP  256 /* entries that one poll gives the kernel for a peer */
#define SL_NS_PER_MS  1000000ULL
#define SL_NEVER      UINT64_MAX

struct sl_peer {
	uint8_t node;
	uint8_t family, address[16]; /* on the fabric */
	bool up;
	/* its bridge does not answer ours, or ours is gone. Neither silent nor up: not known yet */
	bool silent;
	uint32_t epoch;
	uint32_t mtu_bytes; /* the largest IP packet that the fabric carries to it */
	uint64_t down_since_ns;
	struct sl_assembly assembly;
	struct sl_remote_entry *entries; /* owned; what this node's kernel was given, ascending */
	size_t n_entries;
	/*
	 * While `changing`, the kernel is on its way from entries to target, in steps of
	 * SL_PEER_STEP: a peer with thousands of routes must not keep this daemon from everything
	 * else.
	 */
	bool changing;
	struct sl_remote_entry *target; /* owned */
	size_t n_target;
	struct sl_remote_cursor at;
	bool ports_due; /* and when it is there, the ports' states are applied */
	/* entries before ensure_at have been given to the kernel again, as was asked */
	bool ensuring, ensure_again;
	size_t ensure_at;
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
	struct sl_remote_port *ports; /* owned; ascending by system port */
	uint32_t n_ports;
	struct sl_peer *peers; /* owned */
	uint32_t n_peers;
	struct sl_wanted wanted[SL_WANTED_MAX];
	uint32_t n_wanted;

	/* When each task is due next, CLOCK_MONOTONIC; SL_NEVER: it is not */
	uint64_t read_ns, repeat_ns, connect_ns, refresh_ns, work_ns, armed_ns;
	uint64_t read_after_ns; /* the own state is not read before */
};

/* Make the lists of ports and peers from c->settings. 0 or -ENOMEM; free them in either case. */
int sl_cluster_make_lists(struct sl_cluster *c);
void sl_cluster_free_lists(struct sl_cluster *c);

/* NULL: there is no such peer or remote port; ifindex 0 is none. */
struct sl_peer *sl_cluster_peer(struct sl_cluster *c, uint32_t node);
struct sl_remote_port *sl_cluster_port_by_ifindex(const struct sl_cluster *c, uint32_t ifindex);
struct sl_remote_port *sl_cluster_port_by_number(const struct sl_cluster *c, uint16_t system_port);
/* The remote ports of a node, *n of them in a row; NULL: there is none. */
struct sl_remote_port *sl_cluster_ports_of(const struct sl_cluster *c, uint8_t node, uint32_t *n);

#endif
