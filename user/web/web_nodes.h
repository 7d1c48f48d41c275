/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `sluice web` of other nodes says of them. Each is asked at an address by HTTP, one request
 * at a time, without waiting. The others are programs of this kind: no more of HTTP is understood
 * than what they answer to a request of HTTP/1.0.
 */
#ifndef SL_WEB_NODES_H
#define SL_WEB_NODES_H

#include <jansson.h>
#include <poll.h>
#include <stdint.h>

#define SL_WEB_NODES_MAX 64

struct sl_web_nodes;

/* token: borrowed; may be filled in later; "": the others want none. 0 or -ENOMEM. */
int sl_web_nodes_create(const char *token, struct sl_web_nodes **out);
/* 0; -EINVAL: no address (sl_listen_address_parse); -E2BIG: there are SL_WEB_NODES_MAX. */
int sl_web_nodes_add(struct sl_web_nodes *nodes, const char *address);

/* Ask each node, unless its last answer is still under way. */
void sl_web_nodes_ask(struct sl_web_nodes *nodes, uint64_t now_ms);
/* What to wait for: at most SL_WEB_NODES_MAX entries. Returns their number. */
uint32_t sl_web_nodes_fds(const struct sl_web_nodes *nodes, struct pollfd *fds);
/*
 * Go on where something can be done, after poll(2) on those entries; give up what took too long. A
 * node whose answer has a wrong shape is logged once.
 */
void sl_web_nodes_step(struct sl_web_nodes *nodes, uint64_t now_ms);

/*
 * Append an object for each node: "from", its address; "lists", its latest answer, and "age_ms",
 * how old that is, and "odd" if something in it had a shape that the page cannot show; or "why"
 * there is none. The caller owns the array.
 */
void sl_web_nodes_put(const struct sl_web_nodes *nodes, uint64_t now_ms, json_t *array);

/* NULL is fine. */
void sl_web_nodes_destroy(struct sl_web_nodes *nodes);

#endif
