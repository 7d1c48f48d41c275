/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/versions/node_marks.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "user/document/document_edit.h"

#define NODE_MAX 255

int sl_version_node(const char *text, uint32_t *node)
{
	long long number;

	if (!sl_version_number(text, &number) || number < 1 || number > NODE_MAX) {
		fprintf(stderr, "sluice: cluster: \"%s\" is not a node id: write 1 to 255\n", text);
		return SL_EXIT_USAGE;
	}
	*node = (uint32_t)number;
	return SL_EXIT_OK;
}

int sl_version_read_mark(struct sl_version_request *r, uint32_t node, long long *version,
			 bool *drained)
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

static int change(const struct sl_version_edit *edit, const struct sl_version_text *former,
		  char **out, size_t *out_bytes, char error[SL_YAML_ERROR_BYTES])
{
	const bool *drain = edit->arg;

	return sl_document_set_drain(former->name, former->text, former->bytes, edit->node, *drain,
				     out, out_bytes, error);
}

int sl_version_mark(struct sl_version_request *r, uint32_t node, const char *word, bool drain)
{
	const struct sl_version_edit edit = {
		.word = word, .node = node, .change = change, .arg = &drain
	};

	return sl_version_edit(r, &edit);
}

enum sl_rest sl_version_rest(const json_t *its, long long version, char words[SL_AWAIT_WORDS])
{
	const json_t *drain = json_object_get(its, "drain");

	if (!its) {
		snprintf(words, SL_AWAIT_WORDS, "no agent is present, which would tell");
		return SL_ABSENT;
	}
	if (sl_cmd_number(its, "version") < version || !drain) {
		snprintf(words, SL_AWAIT_WORDS, "it does not have version %lld yet", version);
		return SL_BUSY;
	}
	sl_version_traffic(its, words, SL_AWAIT_WORDS);
	return json_is_true(json_object_get(drain, "at_rest")) ? SL_AT_REST : SL_BUSY;
}
