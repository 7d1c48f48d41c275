/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice cluster init */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "user/join/join_request.h"

#define KEY_BYTES 32

/* The document: a file, or what the options say. */
static int first_text(struct sl_join_request *r, struct sl_version_text *out)
{
	struct sl_settings *settings = NULL;
	char error[SL_YAML_ERROR_BYTES];

	if (!r->version.argc) {
		snprintf(out->name, sizeof(out->name), "the options");
		out->text = sl_start_document(&r->options);
		out->bytes = out->text ? strlen(out->text) : 0;
		return out->text ? SL_EXIT_OK : SL_EXIT_FAILED;
	}
	if (sl_version_read_file(r->version.argv[0], out) != SL_EXIT_OK)
		return SL_EXIT_USAGE;
	/* Without --node, this is the node of the file. */
	if (!r->options.node &&
	    !sl_settings_parse(out->name, out->text, out->bytes, &settings, error))
		r->options.node = settings->cluster.node;
	sl_settings_free(settings);
	return SL_EXIT_OK;
}

static int refuse_second(struct sl_join_request *r, long long number)
{
	const char *prefix = r->version.settings->prefix;
	json_t *applied = NULL;
	const json_t *last;

	sl_etcd_read_applied(r->version.etcd, prefix, &applied);
	last = json_array_get(applied, json_array_size(applied) - 1);
	fprintf(stderr,
		"sluice: cluster: there is a cluster already under %s at %s, with version %lld, "
		"written by %s at %s: add this node by `sluice cluster token` there and `sluice "
		"cluster join` here; for another cluster, write another --prefix\n",
		prefix, sl_etcd_endpoint(r->version.etcd, sl_etcd_chosen(r->version.etcd)), number,
		last ? sl_cmd_text(last, "by") : "?", last ? sl_cmd_text(last, "time") : "?");
	json_decref(applied);
	return SL_EXIT_FAILED;
}

static int is_free(struct sl_join_request *r)
{
	struct sl_etcd_current current;
	int err = sl_etcd_read_current(r->version.etcd, r->version.settings->prefix, &current);

	if (err)
		return sl_version_failed(&r->version, err);
	return current.number ? refuse_second(r, current.number) : SL_EXIT_OK;
}

static int create(struct sl_join_request *r, const struct sl_version_text *text)
{
	struct sl_join_keys keys = { .key_bytes = KEY_BYTES };
	int status;

	if (getrandom(keys.key, KEY_BYTES, 0) != KEY_BYTES) {
		fprintf(stderr, "sluice: cluster: no random bytes for a key: %s\n",
			strerror(errno));
		return SL_EXIT_FAILED;
	}
	status = sl_join_write_files(r, &keys);
	explicit_bzero(&keys, sizeof(keys));
	/* Files first: a cluster in etcd whose key nobody has is harder to get rid of. */
	if (status == SL_EXIT_OK)
		status = sl_join_place_files(r);
	if (status != SL_EXIT_OK)
		return status;
	r->version.wait_s = 0;
	status = sl_version_create(&r->version, text->name, text->text, text->bytes);
	if (status != SL_EXIT_OK) {
		sl_start_files_undo(&r->files);
		return status;
	}
	sl_join_say_next(r);
	if (!r->version.json)
		puts("for each other node: `sluice cluster token` here, `sluice cluster join TOKEN` "
		     "there");
	return SL_EXIT_OK;
}

int sl_join_init(struct sl_join_request *r)
{
	struct sl_version_text text = { 0 };
	json_t *nodes = NULL;
	int status = first_text(r, &text);

	if (status == SL_EXIT_OK)
		status = sl_version_check(text.name, text.text, text.bytes, &nodes);
	if (status == SL_EXIT_OK)
		status = sl_join_own(r, text.name, text.text, text.bytes);
	if (status == SL_EXIT_OK)
		status = sl_join_settings(r);
	if (status == SL_EXIT_OK)
		status = sl_version_open(&r->version);
	if (status == SL_EXIT_OK)
		status = is_free(r);
	if (status == SL_EXIT_OK)
		status = create(r, &text);
	json_decref(nodes);
	free(text.text);
	return status;
}
