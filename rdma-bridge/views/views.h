/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The bridge's answers on its control socket (user/ipc/control_socket.h), as rows of JSON.
 *
 *   status         node, epoch, packet memory by owner, rounds, frame counters
 *   peers          the other nodes: state, messages and sequence numbers
 *   fabric         the transport: messages, drops by name, exchanges
 *   voqs           virtual output queues: rate, backlog, what left
 *   egress-queues  queues of the edge ports: waiting, arrived, departed, dropped
 *   frames         {after: {PORT: NUMBER}}: the last measured frames of each port that left, beyond
 *                  that number of the port: first bytes, and how long in each stage; at most 1000,
 *                  so ask again
 *   cc             controllers: of our queues, and of the VOQs
 *   cc-set         {port, controller, words}: give a port of ours another controller or other
 *                  parameters
 *   cc-trace       {port, class, after_ns, max}: at most so many intervals of a queue or VOQ since
 *                  then; the first request begins the trace
 */
#ifndef RB_VIEWS_H
#define RB_VIEWS_H

#include <stdint.h>

#include "rdma-bridge/bridge/bridge.h"

struct rb_views;

int rb_views_open(const char *path, struct rb_views **out); /* 0 or -errno */
void rb_views_close(struct rb_views *views);		    /* NULL is fine */
int rb_views_fd(const struct rb_views *views);
/* Answer requests. Call it at least every 100 ms, so that it notices slow clients. */
void rb_views_poll(struct rb_views *views, struct rb_bridge *bridge, uint64_t now_ns);

#endif
