/* SPDX-License-Identifier: BSD-2-Clause */
/* The files of a node that begins: settings of etcd, configuration, keys. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/document/document.h"
#include "user/join/join_request.h"

#define UNITS "sluice-bridge sluiced sluice-cluster"

static int no_memory(void)
{
	fputs("sluice: cluster: not enough memory\n", stderr);
	return SL_EXIT_FAILED;
}

/* --- Settings of etcd --- */

static bool has_etcd_options(const struct sl_start_options *o)
{
	return o->prefix || o->ca || o->certificate || o->key || o->user || o->password_file;
}

static int parse_settings(struct sl_join_request *r, const char *text)
{
	char error[SL_YAML_ERROR_BYTES] = "";

	sl_etcd_settings_free(r->version.settings);
	if (!sl_etcd_settings_parse(r->version.settings_path, text, strlen(text),
				    &r->version.settings, error))
		return SL_EXIT_OK;
	fprintf(stderr, "sluice: cluster: %s\n", error);
	return SL_EXIT_USAGE;
}

/* There is a settings file: it holds, and says which node this is, or will. */
static int complete_settings(struct sl_join_request *r)
{
	const char *path = r->version.settings_path;
	int status;

	if (has_etcd_options(&r->options)) {
		fprintf(stderr,
			"sluice: cluster: \"%s\" says already how to reach etcd: write --prefix, "
			"--ca, --certificate, --key, --user and --password-file there\n",
			path);
		return SL_EXIT_USAGE;
	}
	status = parse_settings(r, r->former);
	if (status != SL_EXIT_OK || r->version.settings->node == r->options.node)
		return status;
	if (r->version.settings->node) {
		fprintf(stderr,
			"sluice: cluster: \"%s\" says that this is node %u, not %u: write another "
			"--node, or take \"node\" out of it\n",
			path, r->version.settings->node, r->options.node);
		return SL_EXIT_USAGE;
	}
	r->settings = sl_start_settings(&r->options, r->former);
	if (!r->settings)
		return no_memory();
	status = parse_settings(r, r->settings);
	if (status != SL_EXIT_OK)
		fprintf(stderr, "sluice: cluster: write \"node\": %u into \"%s\"\n",
			r->options.node, path);
	return status;
}

int sl_join_settings(struct sl_join_request *r)
{
	struct sl_version_text text = { 0 };
	int status;

	if (access(r->version.settings_path, F_OK) == 0) {
		status = sl_version_read_file(r->version.settings_path, &text);
		r->former = text.text;
		return status == SL_EXIT_OK ? complete_settings(r) : status;
	}
	if (!r->options.endpoints) {
		fprintf(stderr,
			"sluice: cluster: where is etcd?: write --etcd ENDPOINTS, or settings to "
			"\"%s\"\n",
			r->version.settings_path);
		return SL_EXIT_USAGE;
	}
	r->settings = sl_start_settings(&r->options, NULL);
	return r->settings ? parse_settings(r, r->settings) : no_memory();
}

/* --- Configuration --- */

int sl_join_own(struct sl_join_request *r, const char *name, const char *text, size_t bytes)
{
	char error[SL_YAML_ERROR_BYTES] = "";
	struct sl_settings *settings = NULL;
	int err;

	free(r->own);
	free(r->key_file);
	free(r->also);
	r->key_file = r->also = NULL;
	err = sl_document_for_node(name, text, bytes, r->options.node, &r->own, &r->own_bytes,
				   error);
	if (!err)
		err = sl_settings_parse(name, r->own, r->own_bytes, &settings, error);
	if (!err) {
		r->key_file = strdup(settings->cluster.key_file);
		if (!r->key_file || asprintf(&r->also, "%s" SL_KEY_ALSO, r->key_file) < 0)
			err = -ENOMEM;
	}
	sl_settings_free(settings);
	if (!err)
		return SL_EXIT_OK;
	if (err == -ENOMEM)
		return no_memory();
	fprintf(stderr, "sluice: cluster: %s\n", error);
	return SL_EXIT_USAGE;
}

/* --- Files --- */

static int files_failed(const struct sl_join_request *r, const char *at, int err)
{
	if (err != -EEXIST)
		fprintf(stderr, "sluice: cluster: cannot write \"%s\": %s; nothing is changed\n",
			at, strerror(-err));
	else
		fprintf(stderr,
			"sluice: cluster: \"%s\" is there already, %s: move it away, if this node "
			"is to be of this cluster; nothing is changed\n",
			at,
			strcmp(at, r->version.settings->config) == 0
				? "and another configuration may be in force"
				: "and may be the key of another cluster");
	return SL_EXIT_FAILED;
}

/* Settings that are there stay as private as they are. */
static mode_t settings_mode(const struct sl_join_request *r)
{
	struct stat st;

	return r->former && !stat(r->version.settings_path, &st) ? st.st_mode & 07777 : 0644;
}

int sl_join_write_files(struct sl_join_request *r, const struct sl_join_keys *keys)
{
	const char *at = "";
	int err;

	sl_start_files_close(&r->files);
	sl_start_files_add(&r->files, &(struct sl_start_file){ .path = r->key_file,
							       .bytes = keys->key,
							       .n = keys->key_bytes,
							       .mode = 0600 });
	sl_start_files_add(&r->files, &(struct sl_start_file){
					      .path = r->also,
					      .bytes = keys->also_bytes ? keys->also : NULL,
					      .n = keys->also_bytes,
					      .mode = 0600,
				      });
	sl_start_files_add(&r->files, &(struct sl_start_file){
					      .path = r->version.settings->config,
					      .bytes = r->own,
					      .n = r->own_bytes,
					      .mode = 0644,
				      });
	sl_start_files_add(&r->files, &(struct sl_start_file){
					      .path = r->version.settings_path,
					      .bytes = r->settings,
					      .n = r->settings ? strlen(r->settings) : 0,
					      .mode = settings_mode(r),
					      .former = r->former,
				      });
	err = sl_start_files_write(&r->files, &at);
	return err ? files_failed(r, at, err) : SL_EXIT_OK;
}

int sl_join_place_files(struct sl_join_request *r)
{
	const char *at = "";
	int err = sl_start_files_place(&r->files, &at);

	return err ? files_failed(r, at, err) : SL_EXIT_OK;
}

void sl_join_say_next(struct sl_join_request *r)
{
	json_t *written = json_array();

	for (unsigned int i = 0; i < r->files.n; i++) {
		json_array_append_new(written, json_string(r->files.file[i].path));
		if (!r->version.json)
			printf("written: %s\n", r->files.file[i].path);
	}
	sl_version_say(&r->version,
		       json_pack("{s:i, s:o, s:s}", "node", (int)r->options.node, "files", written,
				 "start", "systemctl enable --now " UNITS));
	if (r->version.json)
		return;
	printf("next, on this node: sluice check && systemctl enable --now " UNITS "\n");
}
