/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transports `verbs-ud` and `verbs-rc`: messages carried by an RDMA device, through libibverbs.
 *
 * Packet memory is one memory region. The device gathers a message from its pieces there, which
 * stay borrowed until the device is done. A message of small pieces is copied instead
 * (RB_VERBS_COPY_BELOW). The device writes received messages straight into chunks.
 *
 * verbs-ud: one queue pair of datagrams, which is the endpoint. A message is one packet, so at most
 * the path MTU. verbs-rc: a reliable connection for each path. A message may be as large as a
 * chunk. The endpoint is a datagram queue pair, by which the ends of a path agree on a connection
 * (docs/PROTOCOL.md section 2.1), and on the next one when it breaks. A stranger does not know the
 * queue key of that queue pair, so it gets no connection.
 */
#ifndef RB_VERBS_H
#define RB_VERBS_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/transport/transport.h"

enum rb_verbs_kind { RB_VERBS_UD, RB_VERBS_RC };

struct rb_verbs_config {
	enum rb_verbs_kind kind;
	/* Ours on the fabric: a GID of a device of this host, RoCE v2 or InfiniBand. */
	uint8_t address[16];
	uint32_t qkey;	       /* random per session, at most RB_QKEY_MAX */
	uint8_t traffic_class; /* of the IP header: DSCP and ECN of what we send */
	uint8_t service_level; /* 0..7; RoCE: the priority of a VLAN tag */
	/*
	 * TTL of what we send, not 0. For datagrams, the kernel takes that of its route instead
	 * (net.ipv4.ip_default_ttl, hoplimit).
	 */
	uint8_t hop_limit;
	struct rb_chunks *chunks; /* packet memory, of the transport's thread */
	uint64_t area_bytes;	  /* the whole area that chunks->area points to */
	uint32_t receive_depth;	  /* most chunks posted to receive into */
	uint32_t send_depth;	  /* most messages under way on each queue pair */
	/*
	 * verbs-rc: the device sends a lost packet again within a quarter of it; 0:
	 * RB_VERBS_PATIENCE_NS.
	 */
	uint64_t patience_ns;
	uint32_t copy_below_bytes; /* 1: gather whenever possible; 0: RB_VERBS_COPY_BELOW */
};
/*
 * Copying a message of n pieces saves n - 1 gather entries. A message is copied if it has fewer
 * bytes than this for each saved entry: n - 1 frames follow the headers, so their mean size
 * decides. Measured over the kernel's RoCE with many frames, smaller frames gain up to a half by
 * copying, larger ones 7 per cent at most (docs/BENCHMARKS.md).
 */
#define RB_VERBS_COPY_BELOW  512
#define RB_VERBS_PATIENCE_NS 50000000ULL

/*
 * 0; -ENOSYS: no libibverbs; -ENODEV: no device has this address; -EPROTONOSUPPORT: a device has
 * it, but not as RoCE v2; -ENETDOWN: its port is not active; -EOPNOTSUPP: it gathers fewer than 2
 * pieces; -EINVAL, -ENOMEM, -EPERM, else -errno of the device.
 */
int rb_verbs_open(const struct rb_verbs_config *config, struct rb_transport **out);
/*
 * Would rb_verbs_open find a device with this address and an active port? 0, or the error that it
 * would return.
 */
int rb_verbs_find(const uint8_t address[16]);
/*
 * Was the device removed, or has it failed for good? Then close the transport. Until then, the
 * removal of the device may have to wait. Makes system calls: not for every round.
 */
bool rb_verbs_is_lost(struct rb_transport *t);
/* One line that tells an operator why rb_verbs_open failed, static; NULL: strerror tells. */
const char *rb_verbs_problem(int err);

/* The names that users see of completion statuses, in the order of enum ibv_wc_status. */
#define RB_VERBS_STATUSES(X)      \
	X("success")              \
	X("local-length")         \
	X("local-queue-pair")     \
	X("local-ee-context")     \
	X("local-protection")     \
	X("flushed")              \
	X("window-bind")          \
	X("bad-response")         \
	X("local-access")         \
	X("remote-invalid")       \
	X("remote-access")        \
	X("remote-operation")     \
	X("retries-exceeded")     \
	X("rnr-retries-exceeded") \
	X("local-rdd")            \
	X("remote-rdd")           \
	X("remote-abort")         \
	X("ee-context-number")    \
	X("ee-context-state")     \
	X("fatal")                \
	X("response-timeout")     \
	X("general")              \
	X("tag-matching")         \
	X("rendezvous-incomplete")
#define RB_VERBS_STATUS_ONE(name) +1
enum { RB_VERBS_STATUS_COUNT = 0 RB_VERBS_STATUSES(RB_VERBS_STATUS_ONE) };
const char *rb_verbs_status_name(uint32_t status);

/* Facts that only these transports have. */
struct rb_verbs_info {
	char device[64];
	uint32_t path_mtu_bytes;
	uint32_t send_pieces_max;  /* gather entries that the device takes */
	uint32_t inline_max_bytes; /* messages up to this size travel inside their request */
	uint64_t region_address;   /* of the memory region, in this process */
	uint64_t region_bytes;
	uint32_t queue_pairs;
	uint32_t connected;    /* verbs-rc: paths whose connection is up */
	uint64_t recoveries;   /* times that a queue pair left the error state */
	uint64_t not_expected; /* verbs-rc: datagrams ignored as invalid or unexpected */
	uint64_t no_credit;    /* verbs-rc: sends that had to wait for the receiver */
	uint64_t statuses[RB_VERBS_STATUS_COUNT]; /* completions, by status */
};
void rb_verbs_info(struct rb_transport *t, struct rb_verbs_info *out);

/*
 * For tests: put every queue pair into the error state, as a fault of the device does. 0 or -errno.
 */
int rb_verbs_break(struct rb_transport *t);

#endif
