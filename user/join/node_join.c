/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sluice cluster join. Everything that may fail comes before the token is used, which is the same
 * transaction of etcd that adds the node: files are on disk by then, but have no names.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/document/document_edit.h"
#include "user/document/document_tree.h"
#include "user/join/join_request.h"

#define AGAIN 20 /* nodes that join at a time */

struct join {
	struct sl_join_request *r;
	const struct sl_join_keys *keys;
	char *entry; /* owned; NULL: the node is in the configuration */
	const char *id;
};

static bool has_entry(const struct sl_join_request *r)
{
	return r->file || r->options.address || r->options.ports;
}

/* --- The token --- */

static int open_token(struct sl_join_request *r, const struct sl_join_token *token,
		      struct sl_etcd_token *in_etcd, struct sl_join_keys *keys)
{
	char *sealed;
	size_t n;
	int err = sl_etcd_read_token(r->version.etcd, r->version.settings->prefix, in_etcd, &sealed,
				     &n);

	if (err)
		return sl_version_failed(&r->version, err);
	if (!sealed) {
		fprintf(stderr,
			"sluice: cluster: etcd has no token %s under %s: it is used, or expired, or "
			"mistyped; make another one by `sluice cluster token` on a node of the "
			"cluster\n",
			in_etcd->id, r->version.settings->prefix);
		return SL_EXIT_FAILED;
	}
	err = sl_join_open(token, (const uint8_t *)sealed, n, keys);
	free(sealed);
	if (!err)
		return SL_EXIT_OK;
	if (err == -EBADMSG)
		fprintf(stderr,
			"sluice: cluster: the token does not open what etcd has as %s: what follows "
			"the point is mistyped, or somebody has altered the bytes in etcd; if it is "
			"as `sluice cluster token` printed it, make another one\n",
			in_etcd->id);
	else
		fprintf(stderr, "sluice: cluster: token %s: %s\n", in_etcd->id,
			err == -EPROTO
				? "another version of sluice has made it, with contents that "
				  "this one does not know: install that version here"
				: strerror(-err));
	return SL_EXIT_FAILED;
}

/* --- The node --- */

/* Nobody else may be that node. */
static int is_absent(struct sl_join_request *r)
{
	json_t *present = NULL;
	char id[16];
	int err = sl_etcd_read_present(r->version.etcd, r->version.settings->prefix, &present);
	bool there;

	if (err)
		return sl_version_failed(&r->version, err);
	snprintf(id, sizeof(id), "%u", r->options.node);
	there = json_object_get(present, id);
	json_decref(present);
	if (!there)
		return SL_EXIT_OK;
	fprintf(stderr,
		"sluice: cluster: node %u is in use: its agent is present in etcd; write another "
		"--node\n",
		r->options.node);
	return SL_EXIT_FAILED;
}

/* The entry of the node, by file or options, which must say that it is of this node. */
static int read_entry(struct join *j)
{
	struct sl_version_text text = { 0 };
	json_t *tree;
	bool ours;

	if (!j->r->file) {
		j->entry = sl_start_entry(&j->r->options);
		return j->entry ? SL_EXIT_OK : SL_EXIT_FAILED;
	}
	if (sl_version_read_file(j->r->file, &text) != SL_EXIT_OK)
		return SL_EXIT_USAGE;
	j->entry = text.text;
	tree = sl_document_tree(text.text, text.bytes);
	ours = strtoul(sl_cmd_text(tree, "id"), NULL, 10) == j->r->options.node;
	json_decref(tree);
	if (ours)
		return SL_EXIT_OK;
	fprintf(stderr,
		"sluice: cluster: %s: is no entry of node %u: write \"id: %u\", \"address: ...\" "
		"and \"ports: ...\", as under cluster.nodes\n",
		j->r->file, j->r->options.node, j->r->options.node);
	return SL_EXIT_USAGE;
}

static int add_node(const struct sl_version_edit *edit, const struct sl_version_text *former,
		    char **out, size_t *out_bytes, char error[SL_YAML_ERROR_BYTES])
{
	const struct join *j = edit->arg;
	int err = sl_document_add_node(former->name, former->text, former->bytes, edit->node,
				       j->entry, out, out_bytes, error);

	if (err == -EEXIST)
		snprintf(error, SL_YAML_ERROR_BYTES,
			 "node %u is in use, in %.100s: write another --node; or join without "
			 "--address, --port and --file to be the node that is there",
			 edit->node, former->name);
	return err;
}

static int prepare(const struct sl_version_edit *edit, const struct sl_version_text *text)
{
	const struct join *j = edit->arg;
	int status = sl_join_own(j->r, text->name, text->text, text->bytes);

	return status == SL_EXIT_OK ? sl_join_write_files(j->r, j->keys) : status;
}

static int place(const struct join *j)
{
	int status = sl_join_place_files(j->r);

	if (status != SL_EXIT_OK)
		fprintf(stderr,
			"sluice: cluster: node %u is in the cluster's configuration, and its token "
			"is used: mend that, and join with another token, without --address, --port "
			"and --file\n",
			j->r->options.node);
	return status;
}

static int written(const struct sl_version_edit *edit)
{
	return place(edit->arg);
}

/* The node is in the configuration already: it only gets what it needs. */
static int take_place(struct join *j, const struct sl_etcd_token *token)
{
	struct sl_version_text text = { 0 };
	struct sl_etcd_current current;
	struct sl_join_request *r = j->r;
	bool drained;
	char error[SL_YAML_ERROR_BYTES] = "";
	int err = sl_etcd_read_current(r->version.etcd, r->version.settings->prefix, &current),
	    status;

	if (err)
		return sl_version_failed(&r->version, err);
	status = sl_version_read(&r->version, current.number, &text);
	if (status == SL_EXIT_OK && sl_document_is_drained(text.name, text.text, text.bytes,
							   r->options.node, &drained, error)) {
		fprintf(stderr,
			"sluice: cluster: node %u is not in %s: write its --address and --port, or "
			"--file\n",
			r->options.node, text.name);
		status = SL_EXIT_USAGE;
	}
	if (status == SL_EXIT_OK)
		status = sl_join_own(r, text.name, text.text, text.bytes);
	if (status == SL_EXIT_OK)
		status = sl_join_write_files(r, j->keys);
	free(text.text);
	if (status != SL_EXIT_OK)
		return status;
	err = sl_etcd_use_token(r->version.etcd, r->version.settings->prefix, token);
	if (err == -ESTALE) {
		fprintf(stderr,
			"sluice: cluster: token %s has been used, or has expired, just now; nothing "
			"is changed\n",
			token->id);
		return SL_EXIT_FAILED;
	}
	if (err)
		return sl_version_failed(&r->version, err);
	sl_version_say(&r->version, json_pack("{s:I}", "version", (json_int_t)current.number));
	return place(j);
}

static int join(struct sl_join_request *r, const struct sl_join_token *token)
{
	char id[2 * SL_JOIN_ID_BYTES + 1];
	struct sl_etcd_token in_etcd = { .id = id };
	struct sl_join_keys keys = { 0 };
	struct join j = { .r = r, .keys = &keys, .id = id };
	const struct sl_version_edit edit = {
		.word = "join",
		.node = r->options.node,
		.change = add_node,
		.prepare = prepare,
		.written = written,
		.arg = &j,
		.token = &in_etcd,
		.again = AGAIN,
	};
	int status;

	sl_join_token_id(token, id);
	status = open_token(r, token, &in_etcd, &keys);
	if (status == SL_EXIT_OK)
		status = is_absent(r);
	if (status == SL_EXIT_OK && has_entry(r))
		status = read_entry(&j);
	if (status == SL_EXIT_OK)
		status = j.entry ? sl_version_edit(&r->version, &edit) : take_place(&j, &in_etcd);
	/* Also if another node does not take the version: this one may start. */
	if (r->files.n && r->files.file[0].placed)
		sl_join_say_next(r);
	explicit_bzero(&keys, sizeof(keys));
	free(j.entry);
	return status;
}

int sl_join_node(struct sl_join_request *r)
{
	struct sl_join_token token;
	int status;

	if (sl_join_token_parse(r->version.argv[0], &token)) {
		fputs("sluice: cluster: join: that is no token: write what `sluice cluster token` "
		      "printed, 16 digits, a point and 32 digits, each 0 to 9 or a to f\n",
		      stderr);
		return SL_EXIT_USAGE;
	}
	status = sl_join_settings(r);
	if (status == SL_EXIT_OK)
		status = sl_version_open(&r->version);
	if (status == SL_EXIT_OK)
		status = join(r, &token);
	explicit_bzero(&token, sizeof(token));
	return status;
}
