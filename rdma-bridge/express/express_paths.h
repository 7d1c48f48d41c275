/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The express paths of one worker: to which nodes XDP may send messages, and from which it may take
 * them apart, without the worker (bpf/abi/express.h, arrival.h). The worker opens the paths, says
 * when a path or a port must wait for it, and follows what changes.
 *
 * Not thread-safe: belongs to the worker. Every function takes NULL, which means: no express.
 */
#ifndef RB_EXPRESS_PATHS_H
#define RB_EXPRESS_PATHS_H

#include "bpf/abi/arrival.h"
#include "bpf/abi/express.h"
#include "rdma-bridge/worker/worker.h"

struct rb_express; /* opaque */

struct rb_express_config {
	struct rb_worker *worker;    /* borrowed until close, with its transport, a roce-xdp */
	enum sl_express_check check; /* of the messages that this node sends */
	uint32_t n_workers, index;   /* of the bridge; the worker's number */
};

/* What this node takes, as in struct rb_introduction. */
#define RB_EXPRESS_TAKES (1 << SL_EXPRESS_HEADER | 1 << SL_EXPRESS_UDP | 1 << SL_EXPRESS_ICRC)
/* What any other receiver of datagrams takes: a message with an ICRC is like those of bridges. */
#define RB_EXPRESS_TAKES_DATAGRAMS (1 << SL_EXPRESS_ICRC)

/* 0 or -ENOMEM. */
int rb_express_open(const struct rb_express_config *config, struct rb_express **out);
void rb_express_close(struct rb_express *x);

/* The map sl_express, borrowed until the next call; NULL: there is none now. */
void rb_express_set_map(struct rb_express *x, struct sl_express_path *map);

/*
 * The path to a node changes: close it, change it, and open it for the peer's new life, whose queue
 * pair is `remote`. sends, takes: as the peer has said in its introduction.
 */
void rb_express_close_path(struct rb_express *x, uint8_t node);
/* Take nothing from the node any more, either. */
void rb_express_remove_path(struct rb_express *x, uint8_t node);
void rb_express_open_path(struct rb_express *x, uint8_t node, uint32_t epoch, uint8_t sends,
			  uint8_t takes, const struct rb_endpoint *remote);

/* At the end of the worker's round. True if what it sent is not all gone yet. */
bool rb_express_round(struct rb_express *x);
/* Once a tick: peers may be up or down. fabric_takes: its driver takes frames from XDP. */
void rb_express_tick(struct rb_express *x, bool fabric_takes, uint64_t now_ns);
/*
 * Frames of other nodes for our port `number` may leave at once by this netdev, at its rate or,
 * where a controller is at work, at what the controller takes for the port's capacity; 0: they must
 * go by the worker. Once a tick.
 */
void rb_express_set_port(struct rb_express *x, uint8_t number, uint32_t ifindex, uint64_t now_ns);
/* Have frames of other nodes left so since the last rb_express_set_port? */
bool rb_express_is_used(const struct rb_express *x, uint8_t number);
/* They must go by the worker, and the caller has the port's bucket now. */
void rb_express_shut_port(struct rb_express *x, uint8_t number);
/* Our port `number` goes: frames for it must go by the worker. Before the worker removes it. */
void rb_express_remove_port(struct rb_express *x, uint8_t number);

/* Why frames of a VOQ go by the bridge now; names for users. */
#define RB_EXPRESS_STATES(X)                                                            \
	X(OPEN, "yes", "nothing waits")                                                 \
	X(OFF, "off", "the configuration says never, or the transport has no such way") \
	X(OWN, "own-port", "they leave by a port of this node")                         \
	X(DOWN, "peer-down", "the other node is not up")                                \
	X(PEER, "peer", "the other node does not take messages of our check")           \
	X(DRIVER, "driver", "the netdev takes no frames from XDP, or out of order")     \
	X(RATE, "rate", "its rate leaves no token now")                                 \
	X(WAITING, "waiting", "frames wait in the VOQ")                                 \
	X(UNDER_WAY, "under-way", "earlier frames have not reached the network yet")
#define RB_ENUM_EXPRESS(id, name, text) RB_EXPRESS_##id,
enum rb_express_state { RB_EXPRESS_STATES(RB_ENUM_EXPRESS) RB_EXPRESS_STATE_COUNT };
const char *rb_express_state_name(enum rb_express_state state);
const char *rb_express_state_text(enum rb_express_state state);
/* Frames of this VOQ to `node`; fabric_takes as for rb_express_tick. */
enum rb_express_state rb_express_state(struct rb_express *x, uint8_t node, const struct rb_voq *voq,
				       bool fabric_takes, uint64_t now_ns);

/*
 * Give the frames that XDP has sampled to the measurements of their ports, which belong to this
 * worker. rb_express_tick does so, too.
 */
void rb_express_measure(struct rb_express *x);

/* For views: what came from a node; NULL without express. */
const struct sl_arrivals *rb_express_arrivals(const struct rb_express *x, uint8_t node);
/* Frames of a class that XDP redirected to our port `number`. */
struct sl_passed rb_express_taken(const struct rb_express *x, uint8_t number, uint32_t class);

#endif
