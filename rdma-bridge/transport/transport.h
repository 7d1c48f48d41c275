/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What carries messages between nodes: one table of operations, as verbs has them, so that RDMA
 * adapters, our own RoCE over AF_XDP and memory are used alike. tests/lib/transport_contract.c
 * holds every implementation to the words below.
 *
 * A transport sends datagrams: whole or not at all, perhaps lost, never damaged, between queue
 * pairs that proved their queue key. A receiver posts chunks of packet memory; a message takes one
 * of them. A message that finds no chunk is lost and counted. Messages of one path keep their order
 * unless the network changes it.
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

#define RB_PIECES_MAX (RB_RECORDS_MAX + 1) /* no transport is given more gather entries */

/* A sender that names a key with bit 31 set sends, by verbs, its own key instead. */
#define RB_QKEY_MAX 0x7fffffffU

/* How a queue pair is reached; nodes tell each other in the start-up exchange. */
struct rb_endpoint {
	uint8_t gid[16]; /* IPv6 address, or v4-mapped IPv4 */
	/* of the next hop towards it; 0 where the transport resolves by itself */
	uint8_t mac[6];
	uint32_t qpn;		    /* 24 bits */
	uint32_t qkey;		    /* at most RB_QKEY_MAX */
	uint32_t message_max_bytes; /* the largest message it receives */
};

/* What a path leads to is the caller's: completions give it back. */
struct rb_path; /* owned by the transport */

enum rb_completion_kind {
	RB_RECEIVED, /* a message: offset, len_bytes, context, ce */
	RB_SENT,     /* the pieces of the send with this cookie are the caller's again */
};

struct rb_completion {
	enum rb_completion_kind kind;
	bool ce;	    /* RECEIVED: the network marked congestion on the way */
	uint32_t len_bytes; /* RECEIVED */
	uint64_t
		/*
		 * RECEIVED: first byte of the message in packet memory; its chunk is the caller's
		 * now
		 */
		offset;
	void *context;	 /* RECEIVED: of the path to the sender; NULL: no path leads there */
	uint64_t cookie; /* SENT */
};

/*
 * Counters since the transport was opened. A message counts in exactly one of received and the
 * drops.
 */
struct rb_transport_stats {
	uint64_t sent, sent_bytes;	   /* messages handed to the network; message bytes */
	uint64_t received, received_bytes; /* messages delivered */
	uint64_t no_buffer;		   /* dropped: no chunk was posted, or none in time */
	uint64_t ring_full;		   /* dropped: not polled in time */
	uint64_t send_failed;		   /* accepted and then refused by the device */
	uint64_t cnp_sent, cnp_received;   /* congestion notifications */
	uint64_t marked;		   /* received with a congestion mark */
	uint64_t bytes_copied;		   /* message bytes the CPU moved to send */
};

struct rb_transport;

struct rb_transport_ops {
	const char *name;

	/*
	 * Chunks still posted or not yet polled stay in RB_OWNER_RECEIVE: the caller reclaims them.
	 */
	void (*close)(struct rb_transport *t);

	/* How we are reached. */
	void (*endpoint)(struct rb_transport *t, struct rb_endpoint *out);

	/*
	 * A path to a remote queue pair. The messages of that queue pair are delivered with
	 * `context`. -EINVAL: an endpoint that cannot be, -EEXIST: there is a path to it, -ENOSPC,
	 * -ENOMEM.
	 */
	int (*path_create)(struct rb_transport *t, const struct rb_endpoint *remote, void *context,
			   struct rb_path **out);
	/*
	 * Its messages are delivered with context NULL from now on. Sends under way still complete.
	 */
	void (*path_destroy)(struct rb_transport *t, struct rb_path *path);

	/*
	 * Give chunks to receive into, each by the offset of its first byte; the caller has moved
	 * them to RB_OWNER_RECEIVE. Returns how many were taken, 0..n, the first ones.
	 */
	uint32_t (*post_receive)(struct rb_transport *t, const uint64_t *offsets, uint32_t n);

	/*
	 * Send a message made of n pieces, 1..pieces_max. Nothing leaves for sure before flush.
	 * Returns 1: sent or copied, the pieces are the caller's already and no completion follows;
	 * 0: the pieces are borrowed until a completion RB_SENT brings the cookie back;
	 * -EMSGSIZE: larger than this path takes; -EINVAL: no byte or too many pieces;
	 * -EAGAIN: no room now, poll and try again.
	 */
	int (*post_send)(struct rb_transport *t, struct rb_path *path,
			 const struct rb_piece *pieces, uint32_t n, uint64_t cookie);
	/*
	 * Ring the doorbell for everything posted. 0, or -EAGAIN if some waits for the next flush.
	 */
	int (*flush)(struct rb_transport *t);

	/*
	 * Take completions, at most max. Chunks of messages delivered are in RB_OWNER_MESSAGE, used
	 * once. now_ns: CLOCK_MONOTONIC; paces notifications.
	 */
	uint32_t (*poll)(struct rb_transport *t, struct rb_completion *out, uint32_t max,
			 uint64_t now_ns);

	/*
	 * A descriptor that poll(2) finds readable when there may be something to poll. Owned by
	 * the transport.
	 */
	int (*wait_fd)(struct rb_transport *t);
	/*
	 * Before sleeping on wait_fd: true if something is there already and sleeping would be
	 * wrong.
	 */
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
 * What every post_send begins with: the bytes of a message, or why it is none for a path that takes
 * max_bytes.
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
