/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice cluster drain, undrain, leave: take a node out of service, and back. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/document/document_edit.h"
#include "user/etcd/etcd_watch.h"
#include "user/lib/clock.h"
#include "user/versions/version_request.h"

#define NODE_MAX   255
#define WORDS	   600
#define PATIENT_MS 1000		 /* a watch that has died without a sign costs so much */
#define SAY_NS	   5000000000ULL /* between two lines about what uses the ports */

static int drain(const struct sl_version_edit *edit, const struct sl_version_text *former,
		 char **out, size_t *out_bytes, char error[SL_YAML_ERROR_BYTES])
{
	return sl_document_set_drain(former->name, former->text, former->bytes, edit->node, true,
				     out, out_bytes, error);
}

static int undrain(const struct sl_version_edit *edit, const struct sl_version_text *former,
		   char **out, size_t *out_bytes, char error[SL_YAML_ERROR_BYTES])
{
	return sl_document_set_drain(former->name, former->text, former->bytes, edit->node, false,
				     out, out_bytes, error);
}

static int leave(const struct sl_version_edit *edit, const struct sl_version_text *former,
		 char **out, size_t *out_bytes, char error[SL_YAML_ERROR_BYTES])
{
	return sl_document_remove_node(former->name, former->text, former->bytes, edit->node, out,
				       out_bytes, error);
}

/* Open etcd, and read the id. */
static int begin(struct sl_version_request *r, uint32_t *node)
{
	long long number;

	if (!sl_version_number(r->argv[0], &number) || number < 1 || number > NODE_MAX) {
		fprintf(stderr, "sluice: cluster: \"%s\" is not a node id: write 1 to 255\n",
			r->argv[0]);
		return SL_EXIT_USAGE;
	}
	*node = (uint32_t)number;
	return sl_version_open(r);
}

/* The current version, and whether it has the node drained. */
static int read_mark(struct sl_version_request *r, uint32_t node, long long *version, bool *drained)
{
	struct sl_version_text text = { 0 };
	struct sl_etcd_current current;
	char error[SL_YAML_ERROR_BYTES] = "";
	int err = sl_etcd_read_current(r->etcd, r->settings->prefix, &current), status;

	if (err)
		return sl_version_failed(r, err);
	*version = current.number;
	if (!current.number) {
		fputs("sluice: cluster: nothing has been applied yet\n", stderr);
		return SL_EXIT_FAILED;
	}
	status = sl_version_read(r, current.number, &text);
	if (status == SL_EXIT_OK)
		status = sl_version_edit_failed(sl_document_is_drained(text.name, text.text,
								       text.bytes, node, drained,
								       error),
						error);
	free(text.text);
	return status;
}

/* --- Coming to rest --- */

enum rest { AT_REST, BUSY, ABSENT };

/* What the node's agent says of that version, or of a later one. */
static enum rest rest_of(const json_t *present, long long version, char words[WORDS])
{
	const json_t *drain = json_object_get(present, "drain");

	if (!present) {
		snprintf(words, WORDS, "no agent is present, which would tell");
		return ABSENT;
	}
	if (sl_cmd_number(present, "version") < version || !drain) {
		snprintf(words, WORDS, "it does not have version %lld yet", version);
		return BUSY;
	}
	sl_version_traffic(present, words, WORDS);
	return json_is_true(json_object_get(drain, "at_rest")) ? AT_REST : BUSY;
}

static int look(struct sl_version_request *r, uint32_t node, long long version, enum rest *rest,
		char words[WORDS])
{
	json_t *present = NULL;
	char id[16];
	int err = sl_etcd_read_present(r->etcd, r->settings->prefix, &present);

	snprintf(id, sizeof(id), "%u", node);
	if (!err)
		*rest = rest_of(json_object_get(present, id), version, words);
	json_decref(present);
	return err;
}

static int conclude(struct sl_version_request *r, uint32_t node, long long version, enum rest rest,
		    const char *words)
{
	sl_version_say(r,
		       json_pack("{s:i, s:I, s:b, s:s}", "node", (int)node, "version",
				 (json_int_t)version, "at_rest", rest == AT_REST, "stand", words));
	if (rest == AT_REST) {
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
	const uint64_t begin_ns = sl_now_ns();
	const uint64_t end_ns = begin_ns + (uint64_t)(r->timeout_s * 1e9);
	char words[WORDS] = "etcd does not answer", name[32];
	struct sl_etcd_watch *watch = NULL;
	struct sl_etcd_current current;
	enum rest rest = BUSY;
	uint64_t said_ns = 0;
	int err = sl_etcd_watch_create(&watch);

	snprintf(name, sizeof(name), "present/%u", node);
	while (!err || err == -EHOSTUNREACH) {
		/* The watch first, so that nothing comes unseen between the two. */
		err = sl_etcd_read_current(r->etcd, r->settings->prefix, &current);
		if (!err && !sl_etcd_watch_is_open(watch, sl_etcd_chosen(r->etcd)))
			err = sl_etcd_watch_open(watch, r->etcd, r->settings->prefix, name,
						 current.now + 1);
		if (!err)
			err = look(r, node, version, &rest, words);
		if (rest == AT_REST || sl_now_ns() >= end_ns)
			break;
		if (!r->json && sl_now_ns() - said_ns >= SAY_NS) {
			printf("node %u: %s\n", node, words);
			fflush(stdout);
			said_ns = sl_now_ns();
		}
		sl_etcd_watch_wait(watch, NULL, 0, PATIENT_MS);
	}
	sl_etcd_watch_destroy(watch);
	if (err && err != -EHOSTUNREACH)
		return sl_version_failed(r, err);
	return conclude(r, node, version, rest, words);
}

/* --- Commands --- */

int sl_version_drain(struct sl_version_request *r)
{
	struct sl_version_edit edit = { .word = "drain", .change = drain };
	bool drained = false;
	long long version;
	int status = begin(r, &edit.node);

	if (status == SL_EXIT_OK)
		status = read_mark(r, edit.node, &version, &drained);
	if (status == SL_EXIT_OK && drained && !r->json)
		printf("node %u is drained since an earlier version\n", edit.node);
	if (status == SL_EXIT_OK && !drained)
		status = sl_version_edit(r, &edit);
	if (status == SL_EXIT_OK && !drained)
		status = read_mark(r, edit.node, &version, &drained);
	return status == SL_EXIT_OK ? await_rest(r, edit.node, version) : status;
}

int sl_version_undrain(struct sl_version_request *r)
{
	struct sl_version_edit edit = { .word = "undrain", .change = undrain };
	int status = begin(r, &edit.node);

	return status == SL_EXIT_OK ? sl_version_edit(r, &edit) : status;
}

/* May the node go? One that has no agent present tells nothing, and may be off already. */
static int may_leave(struct sl_version_request *r, uint32_t node)
{
	char words[WORDS] = "";
	enum rest rest = BUSY;
	long long version;
	bool drained;
	int status = read_mark(r, node, &version, &drained), err;

	if (status != SL_EXIT_OK || r->force)
		return status;
	if (!drained) {
		fprintf(stderr,
			"sluice: cluster: node %u is not drained: `sluice cluster drain %u` moves its "
			"traffic away first; --force takes it out all the same\n",
			node, node);
		return SL_EXIT_FAILED;
	}
	err = look(r, node, version, &rest, words);
	if (err)
		return sl_version_failed(r, err);
	if (rest != BUSY)
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
