/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice cluster token */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/join/join_request.h"

#define NS_PER_S 1000000000ULL

static int key_failed(const char *path, int err)
{
	if (err == -EINVAL)
		fprintf(stderr, "sluice: cluster: \"%s\" is no key: a key has 16 to 1024 bytes\n",
			path);
	else
		fprintf(stderr, "sluice: cluster: the cluster's key: \"%s\": %s\n", path,
			strerror(-err));
	return SL_EXIT_FAILED;
}

/* The keys of this node, by its configuration. */
static int read_keys(struct sl_join_request *r, struct sl_join_keys *keys)
{
	char error[SL_YAML_ERROR_BYTES] = "";
	struct sl_settings *settings = NULL;
	struct sl_key_files files = { 0 };
	int status = SL_EXIT_USAGE;
	ssize_t n;

	if (sl_settings_load(r->version.settings->config, &settings, error)) {
		fprintf(stderr, "sluice: cluster: %s\n", error);
		return status;
	}
	if (!sl_cluster_has_fabric(&settings->cluster)) {
		fprintf(stderr,
			"sluice: cluster: %s: there is no `cluster:`: make tokens on a node of the "
			"cluster\n",
			r->version.settings->config);
		goto out;
	}
	status = SL_EXIT_FAILED;
	if (sl_key_files_init(&files, settings->cluster.key_file))
		goto out;
	n = sl_key_file_read(files.key, keys->key);
	if (n < 0) {
		key_failed(files.key, (int)n);
		goto out;
	}
	keys->key_bytes = (size_t)n;
	n = sl_key_file_read(files.also, keys->also);
	if (n < 0 && n != -ENOENT) {
		key_failed(files.also, (int)n);
		goto out;
	}
	keys->also_bytes = n < 0 ? 0 : (size_t)n;
	status = SL_EXIT_OK;
out:
	sl_key_files_free(&files);
	sl_settings_free(settings);
	return status;
}

static int write_token(struct sl_join_request *r, const struct sl_join_token *token,
		       const uint8_t *sealed, size_t n)
{
	char id[2 * SL_JOIN_ID_BYTES + 1];
	long long lease = 0;
	int err = sl_etcd_lease(r->version.etcd, (unsigned int)(r->ttl_ns / NS_PER_S), &lease);

	sl_join_token_id(token, id);
	if (!err)
		err = sl_etcd_write_token(r->version.etcd, r->version.settings->prefix, id, sealed,
					  n, lease);
	return err ? sl_version_failed(&r->version, err) : SL_EXIT_OK;
}

/* The token alone on standard output, for scripts. */
static void say(struct sl_join_request *r, const struct sl_join_token *token)
{
	const time_t ends = time(NULL) + (time_t)(r->ttl_ns / NS_PER_S);
	char text[SL_JOIN_TOKEN_CHARS + 1], id[2 * SL_JOIN_ID_BYTES + 1], when[32];
	struct tm utc;

	sl_join_token_text(token, text);
	sl_join_token_id(token, id);
	gmtime_r(&ends, &utc);
	strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%SZ", &utc);
	sl_version_say(&r->version,
		       json_pack("{s:s, s:s, s:s, s:s}", "token", text, "id", id, "expires", when,
				 "endpoints", r->version.settings->endpoints));
	if (!r->version.json) {
		puts(text);
		fflush(stdout);
		fprintf(stderr,
			"for one node, until %s: sluice cluster join TOKEN --etcd %s --node N "
			"--address ADDRESS --port NETDEV\n",
			when, r->version.settings->endpoints);
	}
	explicit_bzero(text, sizeof(text));
}

int sl_join_make_token(struct sl_join_request *r)
{
	uint8_t sealed[SL_JOIN_SEALED_MAX];
	struct sl_join_keys keys = { 0 };
	struct sl_etcd_current current;
	struct sl_join_token token;
	int status = sl_version_open(&r->version), err, n;

	if (status != SL_EXIT_OK)
		return status;
	err = sl_etcd_read_current(r->version.etcd, r->version.settings->prefix, &current);
	if (err)
		return sl_version_failed(&r->version, err);
	if (!current.number) {
		fprintf(stderr,
			"sluice: cluster: there is no cluster under %s: begin one by `sluice "
			"cluster init`, or `apply` this node's configuration\n",
			r->version.settings->prefix);
		return SL_EXIT_FAILED;
	}
	status = read_keys(r, &keys);
	if (status != SL_EXIT_OK)
		return status;
	err = sl_join_token_create(&token);
	n = err ? err : sl_join_seal(&token, &keys, sealed);
	explicit_bzero(&keys, sizeof(keys));
	if (n < 0) {
		fprintf(stderr, "sluice: cluster: cannot seal the key: %s\n", strerror(-n));
		return SL_EXIT_FAILED;
	}
	status = write_token(r, &token, sealed, (size_t)n);
	if (status == SL_EXIT_OK)
		say(r, &token);
	explicit_bzero(&token, sizeof(token));
	return status;
}
