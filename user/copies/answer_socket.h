/* SPDX-License-Identifier: BSD-2-Clause */
/* Raw sockets that send the answers of reject.h; the kernel routes them. */
#ifndef SL_ANSWER_SOCKET_H
#define SL_ANSWER_SOCKET_H

#include "user/copies/reject.h"

struct sl_answer_socket {
	int icmp4_fd, icmp6_fd, ip4_fd, ip6_fd; /* owned */
};

/* 0, or -errno: -EPERM without CAP_NET_RAW. Then all is closed. */
int sl_answer_socket_open(struct sl_answer_socket *out);
void sl_answer_socket_close(struct sl_answer_socket *s);
/*
 * Send it. l3_ifindex: where the packet came from, which a link-local address needs. 0 or -errno,
 * such as -ENETUNREACH. Does not wait.
 */
int sl_answer_socket_send(const struct sl_answer_socket *s, const struct sl_reject *answer,
			  uint32_t l3_ifindex);

#endif
