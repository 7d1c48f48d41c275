/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Copies of packets that XDP makes for rules (bpf/abi/copy.h), in a thread of their own: sent to
 * the netdev that the rule names, or answered because the rule rejects.
 */
#ifndef SL_COPIES_H
#define SL_COPIES_H

#include <stdint.h>

#define SL_COPY_NETDEV_BYTES 16 /* IFNAMSIZ */

struct sl_copies;

/* A rule that mirrors. */
struct sl_copy_target {
	uint32_t number;
	char netdev[SL_COPY_NETDEV_BYTES];
};

/* Since the object was made. */
struct sl_copy_stats {
	uint64_t mirrored; /* sent to a netdev */
	uint64_t failed;   /* a netdev that is not there, is down, or did not take the frame */
	uint64_t answered;
	uint64_t unanswered; /* such as an ICMP error, or there is no route to the sender */
	uint64_t lost;	     /* XDP found the ring full */
};

int sl_copies_create(struct sl_copies **out); /* 0 or -ENOMEM */
void sl_copies_destroy(struct sl_copies *copies);

/*
 * Serve the ring of map_fd (sl_copies of the fast path in force) for these n rules, in place of
 * what was served before; -1: none. targets is copied. 0, or -errno: then nothing is copied.
 */
int sl_copies_serve(struct sl_copies *copies, int map_fd, const struct sl_copy_target *targets,
		    uint32_t n);

void sl_copies_stats(struct sl_copies *copies, struct sl_copy_stats *out);

#endif
