/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transports `verbs-ud` and `verbs-rc`: messages by an RDMA device, through libibverbs.
 *
 * Packet memory is one memory region. A message whose pieces lie in it leaves as a gather list, its
 * pieces borrowed until the device is done; one of small pieces is copied (RB_VERBS_COPY_BELOW).
 * Messages arrive straight in chunks.
 *
 * verbs-ud: one queue pair; a message is one packet, so it is at most the path MTU. The endpoint is
 * that queue pair. verbs-rc: a reliable connection per path, over which a message may be as large
 * as a chunk. The endpoint is a datagram queue pair, by which the ends of a path agree on their
 * connection (docs/PROTOCOL.md section 2.1), also after it broke; so a wrong queue key keeps a
 * stranger out here as well.
 */
#ifndef RB_VERBS_H
#define RB_VERBS_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma-bridge/transport/transport.h"

enum rb_verbs_kind { RB_VERBS_UD, RB_VERBS_RC };

struct rb_verbs_config {
	enum rb_verbs_kind kind;
	uint8_t address
		/* ours on the fabric: a GID of a device of this host, RoCE v2 or InfiniBand */
		[16];
	uint32_t qkey; /* random per session; bit 31 clear, which verbs gives another meaning */
	uint8_t traffic_class;	  /* of the IP header: DSCP and ECN of what we send */
	uint8_t service_level;	  /* 0..7; RoCE: the priority of a VLAN tag */
	uint8_t hop_limit;	  /* TTL of what we send, not 0 */
	struct rb_chunks *chunks; /* packet memory, of the transport's thread */
	uint64_t area_bytes;	  /* the whole area that chunks->area points to */
	uint32_t receive_depth;	  /* chunks it takes to receive into */
	uint32_t send_depth;	  /* messages under way, of each queue pair */
	uint64_t patience_ns; /* verbs-rc: silence that may be noticed; 0: RB_VERBS_PATIENCE_NS */
	uint32_t copy_below_bytes; /* 1: gather whatever can be; 0: RB_VERBS_COPY_BELOW */
};
/*
 * Copying a message of n pieces spares n - 1 gather entries; it is copied if it has fewer bytes
 * than this for each of them. So for n - 1 frames behind their headers, it is their mean size that
 * decides. Measured over the kernel's RoCE: where frames are many, those of less gain up to a half,
 * larger ones 7 per cent at most (docs/BENCHMARKS.md).
 */
#define RB_VERBS_COPY_BELOW  512
#define RB_VERBS_PATIENCE_NS 50000000ULL

/*
 * -ENOSYS: no libibverbs; -ENODEV: no device has this address; -EPROTONOSUPPORT: it has it, but not
 * as RoCE v2; -ENETDOWN: its port is not active; -EMSGSIZE: the path MTU carries nothing; -EINVAL,
 * -ENOMEM, -EPERM, else what the device said.
 */
int rb_verbs_open(const struct rb_verbs_config *config, struct rb_transport **out);
/*
 * Would rb_verbs_open find a device with this address, and its port active? 0, or what that would
 * return.
 */
int rb_verbs_find(const uint8_t address[16]);
/*
 * Has the device been taken away, or failed for good? Then nothing is left but to close the
 * transport; until that is done, the kernel may keep whoever removes the device waiting. Asks the
 * kernel: not for every round.
 */
bool rb_verbs_is_lost(struct rb_transport *t);
/* One line for whoever has to set it right: why rb_verbs_open failed. Static. */
const char *rb_verbs_problem(int err);

/* Statuses of completions, by the names that users see; in verbs' own order. */
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

/* What only these transports have to tell. */
struct rb_verbs_info {
	char device[64];
	uint32_t path_mtu_bytes;
	uint32_t send_pieces_max;  /* gather entries that the device takes */
	uint32_t inline_max_bytes; /* messages up to this size travel inside the request */
	uint64_t region_address;   /* of the memory region, in this process */
	uint64_t region_bytes;
	uint32_t queue_pairs;
	uint32_t connected;    /* verbs-rc: paths that messages can take now */
	uint64_t recoveries;   /* queue pairs that were in error and are not any more */
	uint64_t not_expected; /* verbs-rc: control datagrams that made no sense */
	uint64_t no_credit;    /* verbs-rc: sends that had to wait for the receiver */
	uint64_t statuses[RB_VERBS_STATUS_COUNT]; /* completions, by status */
};
void rb_verbs_info(struct rb_transport *t, struct rb_verbs_info *out);

/*
 * For tests: put every queue pair into the error state, as a fault of the device would. 0 or
 * -errno.
 */
int rb_verbs_break(struct rb_transport *t);

#endif
