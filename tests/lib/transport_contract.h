/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What rdma-bridge/transport/transport.h promises, as tests that run on any transport. A suite
 * opens a pair of transports that reach each other and calls transport_contract_run.
 */
#ifndef TRANSPORT_CONTRACT_H
#define TRANSPORT_CONTRACT_H

#include "rdma-bridge/transport/transport.h"

#define RB_CONTRACT_CONTENT_BYTES 65536

struct transport_pair {
	/* each with chunks of its own, at least 64 * spread free ones */
	struct rb_transport *t[2];
	uint32_t spread; /* receive queues over which posted chunks are spread, 1 or more */
	/*
	 * RB_CONTRACT_CONTENT_BYTES that messages are sent from; NULL: anywhere outside of packet
	 * memory.
	 */
	uint8_t *content;
	/* a message without a chunk is lost, but the device does not tell */
	bool silent_no_buffer;
	/* Over connections: what finds no chunk waits, and a closed path takes nothing any more. */
	bool reliable;
	bool (*settled)(struct transport_pair *pair); /* NULL, or: are the connections made? */
	void *private;				      /* the suite's */
	/* Called again and again while a test waits for something to happen. */
	void (*let_pass)(struct transport_pair *pair);
};

typedef int (*transport_pair_open_fn)(struct transport_pair *pair);
typedef void (*transport_pair_close_fn)(struct transport_pair *pair);

/*
 * Run the contract; open and close are called around each test. Returns the number of failed tests.
 */
int transport_contract_run(const char *name, transport_pair_open_fn open,
			   transport_pair_close_fn close);

#endif
