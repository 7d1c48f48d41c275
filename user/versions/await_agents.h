/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for what the agents of nodes say in etcd. */
#ifndef SL_AWAIT_AGENTS_H
#define SL_AWAIT_AGENTS_H

#include "user/versions/version_request.h"

#define SL_AWAIT_WORDS 600

struct sl_await {
	uint32_t node; /* that messages name, and whose agent is heard at once */
	/* Is it so? present: what all agents say, by id; words: how it stands, either way. */
	bool (*is_so)(void *arg, json_t *present, char words[SL_AWAIT_WORDS]);
	void *arg; /* borrowed: of that function */
};

/*
 * Wait r->timeout_s at most, with a line every five seconds that says how it stands. *so: it is so;
 * words: the last ones. Returns an exit status: SL_EXIT_OK also if it did not become so.
 */
int sl_version_await(struct sl_version_request *r, const struct sl_await *await, bool *so,
		     char words[SL_AWAIT_WORDS]);

#endif
