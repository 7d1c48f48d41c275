/* SPDX-License-Identifier: BSD-2-Clause */
/* Callbacks of cluster control into the router that runs it. */
#ifndef SL_CLUSTER_OPS_H
#define SL_CLUSTER_OPS_H

#include "user/ipc/claim_message.h"
#include "user/mirror/mirror.h"

struct sl_cluster_ops {
	/*
	 * A remote port was made: the mirror has to look at its next hops again. sl_cluster_open
	 * may call it.
	 */
	void (*ports_changed)(void *ctx);
	/*
	 * Remote ports were cut off, or can be reached again (sl_cluster_is_cut): the fast path has
	 * to know at once. sl_cluster_open never calls it.
	 */
	void (*cuts_changed)(void *ctx);
	/* A claim or an answer of another node's daemon (user/ipc/claim_message.h). */
	void (*claim)(void *ctx, uint8_t node, enum sl_claim_kind kind,
		      const struct sl_claim_record *record);
	/* A bridge has been connected, which knows of no reserved flow. */
	void (*bridge_connected)(void *ctx);
	/* The present mirror; NULL: there is none yet. */
	const struct sl_mirror *(*mirror)(void *ctx);
};

#endif
