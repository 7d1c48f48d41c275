/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/etcd/etcd_store.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY_BYTES 256

/* --- Keys and values --- */

/* PREFIX NAME as base64, a new value; NULL: not enough memory. */
static json_t *key_of(const char *prefix, const char *name)
{
	char key[KEY_BYTES], *text;
	json_t *value;

	snprintf(key, sizeof(key), "%s%s", prefix, name);
	text = sl_etcd_base64(key, strlen(key));
	value = text ? json_string(text) : NULL;
	free(text);
	return value;
}

static json_t *numbered(const char *prefix, const char *folder, long long number)
{
	char name[64];

	snprintf(name, sizeof(name), "%s/%010lld", folder, number);
	return key_of(prefix, name);
}

static json_t *value_of(const void *bytes, size_t n)
{
	char *text = sl_etcd_base64(bytes, n);
	json_t *value = text ? json_string(text) : NULL;

	free(text);
	return value;
}

/* The bytes of a member of a key-value pair; NULL: it has none, or not enough memory. */
static char *bytes_of(const json_t *pair, const char *member, size_t *n)
{
	return sl_etcd_bytes(json_string_value(json_object_get(pair, member)), n);
}

/* All pairs below PREFIX FOLDER/, in the order of their keys. */
static int read_folder(struct sl_etcd *etcd, const char *prefix, const char *folder,
		       json_t **answer)
{
	char from[64], to[64];

	snprintf(from, sizeof(from), "%s/", folder);
	snprintf(to, sizeof(to), "%s0", folder); /* what follows the slash */
	return sl_etcd_call(etcd, "/v3/kv/range",
			    json_pack("{s:o, s:o}", "key", key_of(prefix, from), "range_end",
				      key_of(prefix, to)),
			    answer);
}

/* What follows the last slash of the key of a pair, into name. */
static bool name_of(const json_t *pair, char name[64])
{
	size_t n;
	char *key = bytes_of(pair, "key", &n);
	const char *slash = key ? strrchr(key, '/') : NULL;

	if (slash)
		snprintf(name, 64, "%s", slash + 1);
	free(key);
	return slash;
}

static json_t *object_of(const json_t *pair)
{
	size_t n;
	char *text = bytes_of(pair, "value", &n);
	json_t *value = text ? json_loadb(text, n, 0, NULL) : NULL;

	free(text);
	if (!json_is_object(value)) {
		json_decref(value);
		return json_object();
	}
	return value;
}

/* --- Reading --- */

int sl_etcd_read_current(struct sl_etcd *etcd, const char *prefix, struct sl_etcd_current *out)
{
	const json_t *header, *pair;
	json_t *answer;
	char *text;
	size_t n;
	int err;

	*out = (struct sl_etcd_current){ 0 };
	err = sl_etcd_call(etcd, "/v3/kv/range",
			   json_pack("{s:o}", "key", key_of(prefix, "current")), &answer);
	if (err)
		return err;
	header = json_object_get(answer, "header");
	pair = json_array_get(json_object_get(answer, "kvs"), 0);
	out->now = sl_etcd_number(header, "revision");
	out->cluster = (unsigned long long)sl_etcd_number(header, "cluster_id");
	out->revision = sl_etcd_number(pair, "mod_revision");
	text = pair ? bytes_of(pair, "value", &n) : NULL;
	out->number = text ? strtoll(text, NULL, 10) : 0;
	if (out->number < 0 || out->number > SL_ETCD_NUMBER_MAX)
		out->number = 0;
	free(text);
	json_decref(answer);
	return 0;
}

int sl_etcd_read_version(struct sl_etcd *etcd, const char *prefix, long long number, char **text,
			 size_t *bytes)
{
	const json_t *pair;
	json_t *answer;
	int err;

	*text = NULL;
	*bytes = 0;
	err = sl_etcd_call(etcd, "/v3/kv/range",
			   json_pack("{s:o}", "key", numbered(prefix, "versions", number)),
			   &answer);
	if (err)
		return err;
	pair = json_array_get(json_object_get(answer, "kvs"), 0);
	if (pair) {
		*text = bytes_of(pair, "value", bytes);
		err = *text ? 0 : -ENOMEM;
	}
	json_decref(answer);
	return err;
}

int sl_etcd_read_applied(struct sl_etcd *etcd, const char *prefix, json_t **out)
{
	const json_t *pair;
	json_t *answer, *row;
	char name[64];
	size_t i;
	int err;

	*out = NULL;
	err = read_folder(etcd, prefix, "applied", &answer);
	if (err)
		return err;
	*out = json_array();
	json_array_foreach(json_object_get(answer, "kvs"), i, pair) {
		if (!name_of(pair, name))
			continue;
		row = object_of(pair);
		json_object_set_new(row, "version", json_integer(strtoll(name, NULL, 10)));
		json_array_append_new(*out, row);
	}
	json_decref(answer);
	return *out ? 0 : -ENOMEM;
}

int sl_etcd_read_present(struct sl_etcd *etcd, const char *prefix, json_t **out)
{
	const json_t *pair;
	json_t *answer;
	char name[64];
	size_t i;
	int err;

	*out = NULL;
	err = read_folder(etcd, prefix, "present", &answer);
	if (err)
		return err;
	*out = json_object();
	json_array_foreach(json_object_get(answer, "kvs"), i, pair)
		if (name_of(pair, name))
			json_object_set_new(*out, name, object_of(pair));
	json_decref(answer);
	return *out ? 0 : -ENOMEM;
}

/* --- Writing --- */

static json_t *put(json_t *key, json_t *value)
{
	return json_pack("{s:{s:o, s:o}}", "request_put", "key", key, "value", value);
}

static json_t *forget(const char *prefix, const char *folder, long long below)
{
	return json_pack("{s:{s:o, s:o}}", "request_delete_range", "key",
			 numbered(prefix, folder, 0), "range_end", numbered(prefix, folder, below));
}

/* --- Tokens --- */

static json_t *token_key(const char *prefix, const char *id)
{
	char name[64];

	snprintf(name, sizeof(name), "tokens/%.40s", id);
	return key_of(prefix, name);
}

static json_t *token_is_there(const char *prefix, const struct sl_etcd_token *token)
{
	return json_pack("{s:o, s:s, s:s, s:I}", "key", token_key(prefix, token->id), "target",
			 "MOD", "result", "EQUAL", "mod_revision", (json_int_t)token->revision);
}

static json_t *remove_token(const char *prefix, const struct sl_etcd_token *token)
{
	return json_pack("{s:{s:o}}", "request_delete_range", "key", token_key(prefix, token->id));
}

/* A transaction that asks for one thing and does another; -ESTALE: it did not. */
static int transact(struct sl_etcd *etcd, json_t *compare, json_t *success)
{
	json_t *answer = NULL;
	int err = sl_etcd_call(etcd, "/v3/kv/txn",
			       json_pack("{s:[o], s:[o]}", "compare", compare, "success", success),
			       &answer);

	if (!err && !json_is_true(json_object_get(answer, "succeeded")))
		err = -ESTALE;
	json_decref(answer);
	return err;
}

int sl_etcd_write_token(struct sl_etcd *etcd, const char *prefix, const char *id, const void *bytes,
			size_t n, long long lease)
{
	json_t *is_new = json_pack("{s:o, s:s, s:s, s:i}", "key", token_key(prefix, id), "target",
				   "CREATE", "result", "EQUAL", "create_revision", 0);
	json_t *write =
		json_pack("{s:{s:o, s:o, s:I}}", "request_put", "key", token_key(prefix, id),
			  "value", value_of(bytes, n), "lease", (json_int_t)lease);
	int err = transact(etcd, is_new, write);

	return err == -ESTALE ? -EEXIST : err;
}

int sl_etcd_read_token(struct sl_etcd *etcd, const char *prefix, struct sl_etcd_token *token,
		       char **bytes, size_t *n)
{
	const json_t *pair;
	json_t *answer;
	int err;

	*bytes = NULL;
	*n = 0;
	err = sl_etcd_call(etcd, "/v3/kv/range",
			   json_pack("{s:o}", "key", token_key(prefix, token->id)), &answer);
	if (err)
		return err;
	pair = json_array_get(json_object_get(answer, "kvs"), 0);
	token->revision = sl_etcd_number(pair, "mod_revision");
	if (pair) {
		*bytes = bytes_of(pair, "value", n);
		err = *bytes ? 0 : -ENOMEM;
	}
	json_decref(answer);
	return err;
}

int sl_etcd_use_token(struct sl_etcd *etcd, const char *prefix, const struct sl_etcd_token *token)
{
	return transact(etcd, token_is_there(prefix, token), remove_token(prefix, token));
}

/* --- Writing a version --- */

static json_t *write_request(const char *prefix, const struct sl_etcd_current *based_on,
			     long long number, const char *text, size_t bytes, const char *applied,
			     const struct sl_etcd_token *token)
{
	char decimal[24];
	json_t *compare, *success;

	snprintf(decimal, sizeof(decimal), "%lld", number);
	compare = json_pack("[{s:o, s:s, s:s, s:I}, {s:o, s:s, s:s, s:i}]", "key",
			    key_of(prefix, "current"), "target", "MOD", "result", "EQUAL",
			    "mod_revision", (json_int_t)based_on->revision, "key",
			    numbered(prefix, "versions", number), "target", "CREATE", "result",
			    "EQUAL", "create_revision", 0);
	success = json_pack(
		"[o, o, o]", put(numbered(prefix, "versions", number), value_of(text, bytes)),
		put(numbered(prefix, "applied", number), value_of(applied, strlen(applied))),
		put(key_of(prefix, "current"), value_of(decimal, strlen(decimal))));
	if (number > SL_ETCD_VERSIONS_KEPT) {
		const long long below = number - SL_ETCD_VERSIONS_KEPT + 1;

		json_array_append_new(success, forget(prefix, "versions", below));
		json_array_append_new(success, forget(prefix, "applied", below));
	}
	if (token) {
		json_array_append_new(compare, token_is_there(prefix, token));
		json_array_append_new(success, remove_token(prefix, token));
	}
	return json_pack("{s:o, s:o}", "compare", compare, "success", success);
}

/* Is this version there, just as we would have written it? An answer may have got lost. */
static int is_ours(struct sl_etcd *etcd, const char *prefix, long long number, const char *applied)
{
	const json_t *pair;
	json_t *answer;
	char *text;
	size_t n;
	int err;

	err = sl_etcd_call(etcd, "/v3/kv/range",
			   json_pack("{s:o}", "key", numbered(prefix, "applied", number)), &answer);
	if (err)
		return err;
	pair = json_array_get(json_object_get(answer, "kvs"), 0);
	text = pair ? bytes_of(pair, "value", &n) : NULL;
	err = text && strcmp(text, applied) == 0 ? 0 : -ESTALE;
	free(text);
	json_decref(answer);
	return err;
}

int sl_etcd_write_version(struct sl_etcd *etcd, const char *prefix,
			  const struct sl_etcd_current *based_on, long long number,
			  const char *text, size_t bytes, const json_t *applied,
			  const struct sl_etcd_token *token)
{
	char *line = json_dumps(applied, JSON_COMPACT | JSON_SORT_KEYS);
	json_t *answer = NULL;
	int err = -ENOMEM;

	if (line)
		err = sl_etcd_call(
			etcd, "/v3/kv/txn",
			write_request(prefix, based_on, number, text, bytes, line, token), &answer);
	if (!err && !json_is_true(json_object_get(answer, "succeeded")))
		err = is_ours(etcd, prefix, number, line);
	json_decref(answer);
	free(line);
	return err;
}

/* --- Leases --- */

int sl_etcd_lease(struct sl_etcd *etcd, unsigned int seconds, long long *lease)
{
	json_t *answer;
	int err = sl_etcd_call(etcd, "/v3/lease/grant", json_pack("{s:i}", "TTL", (int)seconds),
			       &answer);

	*lease = err ? 0 : sl_etcd_number(answer, "ID");
	json_decref(answer);
	return err;
}

int sl_etcd_keep_lease(struct sl_etcd *etcd, long long lease, long long *left)
{
	json_t *answer;
	int err = sl_etcd_call(etcd, "/v3/lease/keepalive",
			       json_pack("{s:I}", "ID", (json_int_t)lease), &answer);

	*left = err ? 0 : sl_etcd_number(json_object_get(answer, "result"), "TTL");
	json_decref(answer);
	return err;
}

int sl_etcd_end_lease(struct sl_etcd *etcd, long long lease)
{
	json_t *answer;
	int err = sl_etcd_call(etcd, "/v3/lease/revoke",
			       json_pack("{s:I}", "ID", (json_int_t)lease), &answer);

	json_decref(answer);
	return err;
}

int sl_etcd_write_present(struct sl_etcd *etcd, const char *prefix, unsigned int node,
			  json_t *value, long long lease)
{
	char name[32], *text = value ? json_dumps(value, JSON_COMPACT) : NULL;
	json_t *answer = NULL;
	int err = -ENOMEM;

	snprintf(name, sizeof(name), "present/%u", node);
	if (text)
		err = sl_etcd_call(etcd, "/v3/kv/put",
				   json_pack("{s:o, s:o, s:I}", "key", key_of(prefix, name),
					     "value", value_of(text, strlen(text)), "lease",
					     (json_int_t)lease),
				   &answer);
	json_decref(answer);
	json_decref(value);
	free(text);
	return err;
}
