/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice cluster drain, undrain, leave: take a node out of service, and back. */
#include <stdio.h>

#include "user/document/document_edit.h"
#include "user/versions/await_agents.h"
#include "user/versions/node_marks.h"

static int leave(const struct sl_version_edit *edit, const struct sl_version_text *former,
		 char **out, size_t *out_bytes, char error[SL_YAML_ERROR_BYTES])
{
	return sl_document_remove_node(former->name, former->text, former->bytes, edit->node, out,
				       out_bytes, error);
}

/* Open etcd, and read the id. */
static int begin(struct sl_version_request *r, uint32_t *node)
{
	int status = sl_version_node(r->argv[0], node);

	return status == SL_EXIT_OK ? sl_version_open(r) : status;
}

/* --- Coming to rest --- */

struct resting {
	uint32_t node;
	long long version;
};

static enum sl_rest rest_of(const struct resting *what, const json_t *present,
			    char words[SL_AWAIT_WORDS])
{
	char id[16];

	snprintf(id, sizeof(id), "%u", what->node);
	return sl_version_rest(json_object_get(present, id), what->version, words);
}

static bool is_at_rest(void *arg, json_t *present, char words[SL_AWAIT_WORDS])
{
	return rest_of(arg, present, words) == SL_AT_REST;
}

static int conclude(struct sl_version_request *r, uint32_t node, long long version, bool at_rest,
		    const char *words)
{
	sl_version_say(r, json_pack("{s:i, s:I, s:b, s:s}", "node", (int)node, "version",
				    (json_int_t)version, "at_rest", at_rest, "stand", words));
	if (at_rest) {
		if (!r->json)
			printf("node %u is at rest: nothing but control traffic uses its ports\n",
			       node);
		return SL_EXIT_OK;
	}
	fprintf(stderr, "sluice: cluster: node %u has not come to rest within %g s: %s\n", node,
		r->timeout_s, words);
	return SL_EXIT_FAILED;
}

/* The agent of a drained node says in etcd what uses its ports, and a watch tells of each change.
 */
static int await_rest(struct sl_version_request *r, uint32_t node, long long version)
{
	struct resting what = { node, version };
	const struct sl_await await = { .node = node, .is_so = is_at_rest, .arg = &what };
	char words[SL_AWAIT_WORDS];
	bool at_rest;
	int status = sl_version_await(r, &await, &at_rest, words);

	return status == SL_EXIT_OK ? conclude(r, node, version, at_rest, words) : status;
}

/* --- Commands --- */

int sl_version_drain(struct sl_version_request *r)
{
	bool drained = false;
	long long version;
	uint32_t node;
	int status = begin(r, &node);

	if (status == SL_EXIT_OK)
		status = sl_version_read_mark(r, node, &version, &drained);
	if (status == SL_EXIT_OK && drained && !r->json)
		printf("node %u is drained since an earlier version\n", node);
	if (status == SL_EXIT_OK && !drained)
		status = sl_version_mark(r, node, "drain", true);
	if (status == SL_EXIT_OK && !drained)
		status = sl_version_read_mark(r, node, &version, &drained);
	return status == SL_EXIT_OK ? await_rest(r, node, version) : status;
}

int sl_version_undrain(struct sl_version_request *r)
{
	uint32_t node;
	int status = begin(r, &node);

	return status == SL_EXIT_OK ? sl_version_mark(r, node, "undrain", false) : status;
}

/* May the node go? One that has no agent present tells nothing, and may be off already. */
static int may_leave(struct sl_version_request *r, uint32_t node)
{
	struct resting what = { .node = node };
	char words[SL_AWAIT_WORDS];
	json_t *present = NULL;
	enum sl_rest rest;
	bool drained;
	int status = sl_version_read_mark(r, node, &what.version, &drained), err;

	if (status != SL_EXIT_OK || r->force)
		return status;
	if (!drained) {
		fprintf(stderr,
			"sluice: cluster: node %u is not drained: `sluice cluster drain %u` moves its "
			"traffic away first; --force takes it out all the same\n",
			node, node);
		return SL_EXIT_FAILED;
	}
	err = sl_etcd_read_present(r->etcd, r->settings->prefix, &present);
	if (err)
		return sl_version_failed(r, err);
	rest = rest_of(&what, present, words);
	json_decref(present);
	if (rest != SL_BUSY)
		return SL_EXIT_OK;
	fprintf(stderr,
		"sluice: cluster: node %u is not at rest: %s: `sluice cluster drain %u` waits for it; "
		"--force takes it out all the same\n",
		node, words, node);
	return SL_EXIT_FAILED;
}

int sl_version_leave(struct sl_version_request *r)
{
	struct sl_version_edit edit = { .word = "leave", .change = leave };
	int status = begin(r, &edit.node);

	if (status == SL_EXIT_OK)
		status = may_leave(r, edit.node);
	return status == SL_EXIT_OK ? sl_version_edit(r, &edit) : status;
}
