/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a worker sends messages to other nodes and receives theirs: one table of operations, modelled
 * on verbs, for RDMA adapters, for our own RoCE over AF_XDP and for a network in memory.
 * tests/lib/transport_contract.c holds each implementation to the words below.
 *
 * A transport carries datagrams between queue pairs that know each other's queue key. A datagram
 * arrives whole and undamaged, or not at all. A receiver posts chunks of packet memory, and each
 * message takes one. A message that finds no chunk is lost and counted. Messages of one path keep
 * their order unless the network changes it.
 *
 * Not thread-safe: an open transport belongs to one thread.
 */
#ifndef RB_TRANSPORT_H
#define RB_TRANSPORT_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/queue/chunk.h"
#include "rdma-bridge/queue/pack.h"

#define RB_PIECES_MAX (RB_RECORDS_MAX + 1) /* most gather entries of any transport */

/* Verbs sends the sender's own key in the place of a key with bit 31 set. */
#define RB_QKEY_MAX 0x7fffffffU

/* How to reach a queue pair. Nodes tell each other in the start-up exchange. */
struct rb_endpoint {
	uint8_t gid[16]; /* IPv6 address, or v4-mapped IPv4 */
	/* of the next hop towards it; 0 if the transport resolves addresses by itself */
	uint8_t mac[6];
	uint32_t qpn;		    /* 24 bits */
	uint32_t qkey;		    /* at most RB_QKEY_MAX */
	uint32_t message_max_bytes; /* the largest message it receives */
	/*
	 * TTL of what it sends; 0: its adapter chooses. From one that sends SL_FABRIC_HOP_LIMIT, a
	 * path takes nothing that was forwarded.
	 */
	uint8_t hop_limit;
};

/* A way to one remote queue pair. Completions of received messages name its context. */
struct rb_path; /* owned by the transport */

enum rb_completion_kind {
	RB_RECEIVED, /* a message: offset, len_bytes, context, ce, came_ns */
	RB_SENT,     /* the pieces of the send with this cookie are the caller's again */
};

struct rb_completion {
	enum rb_completion_kind kind;
	bool ce;	    /* RECEIVED: the network marked congestion on the way */
	bool numbered;	    /* RECEIVED: the transport has judged its sequence number */
	uint32_t len_bytes; /* RECEIVED */
	/* RECEIVED: first byte of the message in packet memory. The caller now owns the chunk. */
	uint64_t offset;
	void *context; /* RECEIVED: of the path to the sender; NULL: we have no such path */
	/* RECEIVED: when the network brought it (CLOCK_MONOTONIC); 0: now, as far as we know */
	uint64_t came_ns;
	uint64_t cookie; /* SENT */
};

/* Counters since the transport was opened. A message that arrives is received or dropped, once. */
struct rb_transport_stats {
	uint64_t sent, sent_bytes;	   /* messages handed to the network; message bytes */
	uint64_t received, received_bytes; /* messages delivered */
	uint64_t no_buffer;		   /* dropped: no chunk for it */
	uint64_t ring_full;		   /* dropped: not polled in time */
	uint64_t send_failed;		   /* accepted, then refused by the device */
	uint64_t cnp_sent, cnp_received;   /* congestion notifications */
	uint64_t marked;		   /* received with a congestion mark */
	uint64_t bytes_copied;		   /* message bytes the CPU moved to send */
};

struct rb_transport;

struct rb_transport_ops {
	const char *name;

	/* Chunks not given back by poll stay in RB_OWNER_RECEIVE: the caller reclaims them. */
	void (*close)(struct rb_transport *t);

	/* How others reach us. */
	void (*endpoint)(struct rb_transport *t, struct rb_endpoint *out);

	/*
	 * Make a path to a remote queue pair. Messages from that queue pair come with `context`. 0,
	 * -EINVAL: no such endpoint can exist, -EEXIST: it has a path, -ENOSPC, -ENOMEM.
	 */
	int (*path_create)(struct rb_transport *t, const struct rb_endpoint *remote, void *context,
			   struct rb_path **out);
	/* Its messages come with context NULL from now on. Sends under way still complete. */
	void (*path_destroy)(struct rb_transport *t, struct rb_path *path);

	/*
	 * Give chunks to receive into, each by the offset of its first byte. The caller has moved
	 * them to RB_OWNER_RECEIVE. Returns how many were taken, 0..n, the first ones.
	 */
	uint32_t (*post_receive)(struct rb_transport *t, const uint64_t *offsets, uint32_t n);

	/*
	 * Send a message made of n pieces, 1..pieces_max. It may stay here until flush. Returns
	 *   1          the pieces are the caller's again already; no completion follows
	 *   0          the pieces are borrowed until an RB_SENT completion brings the cookie back
	 *   -EMSGSIZE  the message is larger than this path takes
	 *   -EINVAL    it has no byte, or too many pieces
	 *   -EAGAIN    no room now: poll and try again
	 */
	int (*post_send)(struct rb_transport *t, struct rb_path *path,
			 const struct rb_piece *pieces, uint32_t n, uint64_t cookie);
	/* Send everything posted. 0, or -EAGAIN if some of it waits for the next flush. */
	int (*flush)(struct rb_transport *t);

	/*
	 * Take completions, at most max. Returns how many. The chunks of received messages are in
	 * RB_OWNER_MESSAGE with 1 use. now_ns: CLOCK_MONOTONIC, for what the transport does by
	 * time.
	 */
	uint32_t (*poll)(struct rb_transport *t, struct rb_completion *out, uint32_t max,
			 uint64_t now_ns);

	/*
	 * A descriptor that poll(2) finds readable when there may be completions. Owned by the
	 * transport.
	 */
	int (*wait_fd)(struct rb_transport *t);
	/* Before sleeping on wait_fd: true if there may be completions already, so do not sleep. */
	bool (*arm)(struct rb_transport *t);

	void (*stats)(struct rb_transport *t, struct rb_transport_stats *out);
};

/* The first member of each implementation. */
struct rb_transport {
	const struct rb_transport_ops *ops;
	struct rb_chunks *chunks; /* borrowed until close: packet memory, of the same thread */
	uint32_t pieces_max;	  /* gather entries of one message it takes, 2..RB_PIECES_MAX */
};

/*
 * The check that every post_send begins with. Returns the bytes of the message, or -EINVAL or
 * -EMSGSIZE for a path that takes max_bytes.
 */
static inline int rb_message_bytes(const struct rb_transport *t, const struct rb_piece *pieces,
				   uint32_t n, uint32_t max_bytes)
{
	uint64_t len_bytes = 0;

	if (n > t->pieces_max)
		return -EINVAL;
	for (uint32_t i = 0; i < n; i++)
		len_bytes += pieces[i].len_bytes;
	if (len_bytes == 0)
		return -EINVAL;
	return len_bytes > max_bytes ? -EMSGSIZE : (int)len_bytes;
}

#endif
