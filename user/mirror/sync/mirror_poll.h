/* SPDX-License-Identifier: BSD-2-Clause */
/* A mirror without sockets, for tests that bring the messages; mirror.h has the rest. */
#ifndef SL_MIRROR_POLL_H
#define SL_MIRROR_POLL_H

#include "user/mirror/mirror.h"

/* As sl_mirror_open, but it opens no socket and dumps nothing. 0 or -errno. */
int sl_mirror_create(struct sl_fib *fib, const struct sl_mirror_ops *ops, void *ctx,
		     struct sl_mirror **out);

#endif
