/* SPDX-License-Identifier: BSD-2-Clause */
/* What cluster control asks of the router that runs it. */
#ifndef SL_CLUSTER_OPS_H
#define SL_CLUSTER_OPS_H

#include "user/mirror/mirror.h"

struct sl_cluster_ops {
	/*
	 * A remote port was made: the mirror has to look at its next hops again. May be called
	 * within open.
	 */
	void (*ports_changed)(void *ctx);
	/*
	 * Remote ports are cut off, or no more (sl_cluster_is_cut): the fast path shall know at
	 * once. Never within open.
	 */
	void (*cuts_changed)(void *ctx);
	/* Now; NULL: there is none yet. */
	const struct sl_mirror *(*mirror)(void *ctx);
};

#endif
