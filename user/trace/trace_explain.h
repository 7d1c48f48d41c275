/* SPDX-License-Identifier: BSD-2-Clause */
/* What sluiced of the node where a frame entered says of it: as `sluice explain` of the packet. */
#ifndef SL_TRACE_EXPLAIN_H
#define SL_TRACE_EXPLAIN_H

#include <stdbool.h>
#include <stdint.h>
#include <jansson.h>

#include "user/cli/cmd.h"

#define SL_TRACE_ANSWERS   64 /* for as many kinds of packets */
#define SL_TRACE_NODES_MAX 255

struct sl_trace_answer {
	json_t *request; /* owned; NULL: not asked yet */
	json_t *row;	 /* owned; NULL: there was none */
};

/* Of one sluiced. Zeroed is empty. */
struct sl_trace_answers {
	struct sl_trace_answer answer[SL_TRACE_ANSWERS];
	uint32_t n;
	bool away; /* it does not run, and is not asked again */
	bool slow_said;
	uint64_t ask_again_ns; /* CLOCK_MONOTONIC: it did not answer, and is not asked before */
};

/* A trace is of now, so it waits no longer for sluiced, which may hang. */
#define SL_TRACE_PATIENCE_MS 1000

/*
 * May sluiced, whose socket the options name, be asked now? If it does not answer, this says so on
 * standard error, once, and no to whoever asks within the next two seconds.
 */
bool sl_trace_answers_may_ask(struct sl_trace_answers *answers,
			      const struct sl_cmd_options *options);

/*
 * What sluiced, whose socket the options name, says of the packet in the first n bytes of an
 * Ethernet frame that entered by the port, a netdev or a name in the cluster. left: the frame is as
 * it left, so its DSCP may be one that a rule has set. It is asked once for packets that no rule
 * tells apart but by their length. Borrowed until the next call; NULL: it does not say, or not
 * soon, or the frame has no IP packet.
 */
const json_t *sl_trace_explain(struct sl_trace_answers *answers,
			       const struct sl_cmd_options *options, const char *port, bool left,
			       const uint8_t *bytes, uint32_t n);
void sl_trace_answers_fini(struct sl_trace_answers *answers);

/* Print the rule with what it sets, the route and the next hop, a line for each. */
void sl_trace_print_explanation(const json_t *row);

/* Where the daemons of nodes answer. Zeroed is empty. */
struct sl_trace_nodes {
	struct {
		uint32_t id;
		const char *socket_path; /* borrowed from the command's arguments */
	} node[SL_TRACE_NODES_MAX];
	uint32_t n;
};

/* Add NODE=SOCKET. False after a message. */
bool sl_trace_node_add(struct sl_trace_nodes *nodes, const char *text);

/*
 * `trace -s`: frames that the bridge has measured and that pass the filter, count of them (0: until
 * SIGINT or SIGTERM). Returns an exit status.
 */
struct sl_frame_filter;
int sl_trace_stages(const struct sl_cmd_options *options, const struct sl_trace_nodes *nodes,
		    const struct sl_frame_filter *filter, uint64_t count, bool json);

#endif
