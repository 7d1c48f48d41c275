/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The promises of rdma-bridge/transport/transport.h, as tests that run on any transport. A suite
 * opens a pair of transports that reach each other, and calls transport_contract_run.
 */
#ifndef TRANSPORT_CONTRACT_H
#define TRANSPORT_CONTRACT_H

#include "rdma-bridge/transport/transport.h"

#define RB_CONTRACT_CONTENT_BYTES 65536

struct transport_pair {
	/* each with chunks of its own, at least 64 * spread free ones */
	struct rb_transport *t[2];
	uint32_t spread; /* receive queues over which posted chunks are spread, 1 or more */
	/* Messages come from here, RB_CONTRACT_CONTENT_BYTES; NULL: not in packet memory. */
	uint8_t *content;
	/* the device does not count a message that finds no chunk */
	bool silent_no_buffer;
	/* Over connections: a message without a chunk waits, and a closed path receives nothing. */
	bool reliable;
	bool (*settled)(
		struct transport_pair *pair); /* are all connections up? NULL: there are none */
	void *private;			      /* the suite's */
	/* Called repeatedly while a test waits. */
	void (*let_pass)(struct transport_pair *pair);
};

typedef int (*transport_pair_open_fn)(struct transport_pair *pair);
typedef void (*transport_pair_close_fn)(struct transport_pair *pair);

/* Run the contract; open and close run around each test. Returns the number of failed tests. */
int transport_contract_run(const char *name, transport_pair_open_fn open,
			   transport_pair_close_fn close);

#endif
