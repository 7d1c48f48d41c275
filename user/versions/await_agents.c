/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/versions/await_agents.h"

#include <errno.h>
#include <stdio.h>

#include "user/etcd/etcd_watch.h"
#include "user/lib/clock.h"

#define PATIENT_MS 1000		 /* a watch that has died without a sign costs so much */
#define SAY_NS	   5000000000ULL /* between two lines about how it stands */

static int look(struct sl_version_request *r, const struct sl_await *await, bool *so,
		char words[SL_AWAIT_WORDS])
{
	json_t *present = NULL;
	int err = sl_etcd_read_present(r->etcd, r->settings->prefix, &present);

	if (!err)
		*so = await->is_so(await->arg, present, words);
	json_decref(present);
	return err;
}

int sl_version_await(struct sl_version_request *r, const struct sl_await *await, bool *so,
		     char words[SL_AWAIT_WORDS])
{
	const uint64_t end_ns = sl_now_ns() + (uint64_t)(r->timeout_s * 1e9);
	struct sl_etcd_watch *watch = NULL;
	struct sl_etcd_current current;
	uint64_t said_ns = 0;
	char name[32];
	int err = sl_etcd_watch_create(&watch);

	*so = false;
	snprintf(words, SL_AWAIT_WORDS, "etcd does not answer");
	snprintf(name, sizeof(name), "present/%u", await->node);
	while (!err || err == -EHOSTUNREACH) {
		/* The watch first, so that nothing comes unseen between the two. */
		err = sl_etcd_read_current(r->etcd, r->settings->prefix, &current);
		if (!err && !sl_etcd_watch_is_open(watch, sl_etcd_chosen(r->etcd)))
			err = sl_etcd_watch_open(watch, r->etcd, r->settings->prefix, name,
						 current.now + 1);
		if (!err)
			err = look(r, await, so, words);
		if (*so || sl_now_ns() >= end_ns)
			break;
		if (!r->json && sl_now_ns() - said_ns >= SAY_NS) {
			printf("node %u: %s\n", await->node, words);
			fflush(stdout);
			said_ns = sl_now_ns();
		}
		sl_etcd_watch_wait(watch, NULL, 0, PATIENT_MS);
	}
	sl_etcd_watch_destroy(watch);
	return err ? sl_version_failed(r, err) : SL_EXIT_OK;
}
