/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/versions/version_request.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/document/document.h"
#include "user/document/document_diff.h"
#include "user/document/document_tree.h"

#define VALUE_BYTES 160 /* of one side of a change, as a line has it */

int sl_version_open(struct sl_version_request *r)
{
	char error[SL_YAML_ERROR_BYTES] = "", why[SL_ETCD_WHY_BYTES];
	int err = 0;

	/* With --etcd a host needs no settings; if it has some, the rest of them holds. */
	if (!r->settings)
		err = sl_etcd_settings_load(r->settings_path, &r->settings, error);
	if (err == -ENOENT && r->endpoints)
		err = sl_etcd_settings_make(r->endpoints, &r->settings, error);
	else if (!err && r->endpoints)
		err = sl_etcd_settings_set_endpoints(r->settings, r->endpoints, error);
	if (err) {
		fprintf(stderr, "sluice: cluster: %s%s\n", error,
			err == -ENOENT ? ": write them, or --etcd ENDPOINTS" : "");
		return SL_EXIT_USAGE;
	}
	if (sl_etcd_open(r->settings, &r->etcd, why)) {
		fprintf(stderr, "sluice: cluster: etcd: %s\n", why);
		return SL_EXIT_FAILED;
	}
	return SL_EXIT_OK;
}

int sl_version_close(struct sl_version_request *r, int status)
{
	if (r->answer)
		sl_cmd_dump(r->answer);
	json_decref(r->answer);
	sl_etcd_close(r->etcd);
	sl_etcd_settings_free(r->settings);
	return status;
}

void sl_version_say(struct sl_version_request *r, json_t *members)
{
	if (r->json && !r->answer)
		r->answer = json_object();
	if (r->json)
		json_object_update(r->answer, members);
	json_decref(members);
}

int sl_version_failed(const struct sl_version_request *r, int err)
{
	const char *why = sl_etcd_why(r->etcd);

	switch (err) {
	case -EHOSTUNREACH:
		fprintf(stderr, "sluice: cluster: etcd does not answer: %s\n", why);
		return SL_EXIT_NOT_RUNNING;
	case -EACCES:
		fprintf(stderr,
			"sluice: cluster: etcd does not let us in: %s: see ca, certificate, key, "
			"user and password_file in %s\n",
			why, r->settings_path);
		break;
	case -ENOMEM:
		fputs("sluice: cluster: not enough memory\n", stderr);
		break;
	default:
		fprintf(stderr, "sluice: cluster: etcd refuses: %s\n", why);
	}
	return SL_EXIT_FAILED;
}

int sl_version_read_file(const char *path, struct sl_version_text *out)
{
	FILE *f = fopen(path, "re");
	int err = f ? 0 : errno;

	snprintf(out->name, sizeof(out->name), "%s", path);
	out->text = f ? malloc(SL_YAML_FILE_MAX + 1) : NULL;
	if (f && !out->text)
		err = ENOMEM;
	if (out->text) {
		out->bytes = fread(out->text, 1, SL_YAML_FILE_MAX, f);
		if (ferror(f))
			err = EIO;
		else if (fgetc(f) != EOF)
			err = EFBIG;
		out->text[out->bytes] = '\0';
	}
	if (f)
		fclose(f);
	if (!err)
		return SL_EXIT_OK;
	fprintf(stderr, "sluice: cluster: %s: cannot read it: %s\n", path, strerror(err));
	return SL_EXIT_USAGE;
}

int sl_version_read(struct sl_version_request *r, long long number, struct sl_version_text *out)
{
	int err =
		sl_etcd_read_version(r->etcd, r->settings->prefix, number, &out->text, &out->bytes);

	snprintf(out->name, sizeof(out->name), "version %lld", number);
	if (err)
		return sl_version_failed(r, err);
	if (out->text)
		return SL_EXIT_OK;
	fprintf(stderr,
		"sluice: cluster: etcd has no version %lld: write one that `sluice cluster "
		"history` shows\n",
		number);
	return SL_EXIT_FAILED;
}

int sl_version_compare(const struct sl_version_text *from, const struct sl_version_text *to,
		       json_t **out)
{
	json_t *a = from->text ? sl_document_tree(from->text, from->bytes) : json_object();
	json_t *b = sl_document_tree(to->text, to->bytes);

	*out = a && b ? sl_document_diff(a, b) : NULL;
	if (!a || !b)
		fprintf(stderr, "sluice: cluster: %s: is neither YAML nor JSON\n",
			a ? to->name : from->name);
	json_decref(a);
	json_decref(b);
	return *out ? SL_EXIT_OK : SL_EXIT_FAILED;
}

int sl_version_edit_failed(int err, const char *error)
{
	if (!err)
		return SL_EXIT_OK;
	fprintf(stderr, "sluice: cluster: %s\n", err == -ENOMEM ? "not enough memory" : error);
	return err == -ENOENT ? SL_EXIT_USAGE : SL_EXIT_FAILED;
}

int sl_version_check(const char *name, const char *text, size_t bytes, json_t **nodes)
{
	char error[SL_YAML_ERROR_BYTES] = "";
	int err = sl_document_check(name, text, bytes, nodes, error);

	if (!err)
		return SL_EXIT_OK;
	fprintf(stderr, "sluice: cluster: %s\n", err == -ENOMEM ? "not enough memory" : error);
	return SL_EXIT_USAGE;
}

bool sl_version_number(const char *text, long long *out)
{
	char *end;

	errno = 0;
	*out = strtoll(text, &end, 10);
	return isdigit((unsigned char)text[0]) && !*end && !errno && *out <= SL_ETCD_NUMBER_MAX;
}

/* --- Words --- */

/* A value in one line: a text as it is, all else as JSON, cut if it is long. */
static void value_words(const json_t *value, char out[VALUE_BYTES])
{
	char *text = json_is_string(value) ? strdup(json_string_value(value))
					   : json_dumps(value, JSON_ENCODE_ANY);

	snprintf(out, VALUE_BYTES, "%s", text ? text : "?");
	if (text && strlen(text) >= VALUE_BYTES)
		memcpy(out + VALUE_BYTES - 4, "...", 4);
	free(text);
}

void sl_version_print_change(const json_t *row, const char *indent)
{
	const json_t *from = json_object_get(row, "from"), *to = json_object_get(row, "to");
	char was[VALUE_BYTES], is[VALUE_BYTES];

	value_words(from, was);
	value_words(to, is);
	if (!from)
		printf("%s%s: added: %s\n", indent, sl_cmd_text(row, "key"), is);
	else if (!to)
		printf("%s%s: removed, was %s\n", indent, sl_cmd_text(row, "key"), was);
	else
		printf("%s%s: %s, was %s\n", indent, sl_cmd_text(row, "key"), is, was);
}

void sl_version_traffic(const json_t *present, char *words, size_t bytes)
{
	const json_t *drain = json_object_get(present, "drain"), *row;
	const char *comma = ";";
	size_t i, n;

	words[0] = '\0';
	if (!drain)
		return;
	if (json_is_true(json_object_get(drain, "at_rest"))) {
		snprintf(words, bytes, "drained, at rest");
		return;
	}
	if (*sl_cmd_text(drain, "why")) {
		snprintf(words, bytes, "drained, %s", sl_cmd_text(drain, "why"));
		return;
	}
	n = (size_t)snprintf(words, bytes,
			     "drained, packets/s: %lld enter, %lld leave, %lld by the kernel",
			     sl_cmd_number(drain, "in_pps"), sl_cmd_number(drain, "out_pps"),
			     sl_cmd_number(drain, "kernel_pps"));
	json_array_foreach(json_object_get(drain, "ports"), i, row) {
		if (n >= bytes)
			break;
		n += (size_t)snprintf(words + n, bytes - n, "%s %s %lld in, %lld out", comma,
				      sl_cmd_text(row, "port"), sl_cmd_number(row, "rx_pps"),
				      sl_cmd_number(row, "tx_pps"));
		comma = ",";
	}
}

void sl_version_away(const json_t *present, char *words, size_t bytes)
{
	const json_t *row;
	size_t i, n = 0;

	words[0] = '\0';
	json_array_foreach(json_object_get(json_object_get(present, "release"), "away"), i, row) {
		const char *why = sl_cmd_text(row, "why");

		if (n >= bytes)
			break;
		n += (size_t)snprintf(words + n, bytes - n, "%s %lld%s%s%s",
				      i ? "," : "does not reach node", sl_cmd_number(row, "node"),
				      *why ? " (" : "", why, *why ? ")" : "");
	}
}

void sl_version_stand(const json_t *present, long long number, char *words, size_t bytes,
		      bool *done, bool *refused)
{
	const json_t *refusal = json_object_get(present, "refused");
	const long long has = sl_cmd_number(present, "version");
	const char *state = sl_cmd_text(present, "state");

	*done = has == number && strcmp(state, "in-force") == 0;
	*refused = sl_cmd_number(refusal, "version") == number;
	if (!present)
		snprintf(words, bytes, "no agent is present");
	else if (*refused)
		snprintf(words, bytes, "refuses version %lld: %s", number,
			 sl_cmd_text(refusal, "why"));
	else if (*done)
		snprintf(words, bytes, "version %lld is in force", number);
	else if (has == number)
		snprintf(words, bytes, "has version %lld, %s", number,
			 sl_cmd_text(present, "waits"));
	else if (!number)
		snprintf(words, bytes, "is present");
	else
		snprintf(words, bytes, "has not taken version %lld yet", number);
}
