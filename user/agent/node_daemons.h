/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemons of this node, sluiced and sluice-bridge: which configuration they have in force, and
 * a reload whose outcome is learnt. They know nothing of who asks.
 */
#ifndef SL_NODE_DAEMONS_H
#define SL_NODE_DAEMONS_H

#include <stdbool.h>
#include <stdint.h>

enum sl_daemon_state {
	SL_DAEMON_AWAY,	  /* does not run, so it will read the file when it starts */
	SL_DAEMON_SILENT, /* listens, and does not answer */
	SL_DAEMON_OTHER,  /* has another text in force */
	SL_DAEMON_HAS_IT,
};

#define SL_DAEMON_WHY_BYTES 600

/* How both stand to a text; the bridge first. */
struct sl_node_daemons {
	enum sl_daemon_state bridge, daemon;
};

/* Ask both how they stand to the text of that sum. path is the configuration that names sockets. */
struct sl_node_daemons sl_node_daemons_ask(const char *path, uint64_t sum);

/*
 * Let both reload, first the bridge, which refuses more, and wait for what comes of it. meanwhile
 * is called now and then. 0: whoever runs has it; -EINVAL: one refuses it, and why says who and
 * why; -ETIMEDOUT: no answer within SL_DAEMON_RELOAD_S, likewise. On an error *took tells whether
 * the bridge has it already.
 */
#define SL_DAEMON_RELOAD_S 60
int sl_node_daemons_reload(const char *path, uint64_t sum, void (*meanwhile)(void *arg), void *arg,
			   bool *took, char why[SL_DAEMON_WHY_BYTES]);

#endif
