/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice cluster diff, sluice cluster history */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/config/config.h"
#include "user/text/table.h"
#include "user/versions/version_request.h"

/* --- diff --- */

/* A word is the number of a version, or else a file. */
static int read_side(struct sl_version_request *r, const char *word, struct sl_version_text *out)
{
	long long number;

	return sl_version_number(word, &number) ? sl_version_read(r, number, out)
						: sl_version_read_file(word, out);
}

static int read_current(struct sl_version_request *r, struct sl_version_text *out)
{
	struct sl_etcd_current current;
	int err = sl_etcd_read_current(r->etcd, r->settings->prefix, &current);

	if (err)
		return sl_version_failed(r, err);
	if (current.number)
		return sl_version_read(r, current.number, out);
	fputs("sluice: cluster: nothing has been applied yet\n", stderr);
	return SL_EXIT_FAILED;
}

static void print_changes(const struct sl_version_request *r, const char *from, const char *to,
			  const json_t *changes)
{
	const json_t *row;
	size_t i;

	if (r->json) {
		sl_cmd_dump(changes);
		return;
	}
	if (!json_array_size(changes))
		printf("%s and %s say the same\n", from, to);
	else
		printf("from %s to %s:\n", from, to);
	json_array_foreach(changes, i, row)
		sl_version_print_change(row, "  ");
}

/* Without a word: from what is in etcd to this node's file; with one: to that; with two: A to B. */
int sl_version_diff(struct sl_version_request *r)
{
	struct sl_version_text from = { 0 }, to = { 0 };
	json_t *changes = NULL;
	int status = sl_version_open(r);

	if (status == SL_EXIT_OK)
		status = r->argc == 2 ? read_side(r, r->argv[0], &from) : read_current(r, &from);
	if (status == SL_EXIT_OK)
		status = read_side(r, r->argc ? r->argv[r->argc - 1] : r->settings->config, &to);
	if (status == SL_EXIT_OK)
		status = sl_version_compare(&from, &to, &changes);
	if (status == SL_EXIT_OK)
		print_changes(r, from.name, to.name, changes);
	json_decref(changes);
	free(from.text);
	free(to.text);
	return status;
}

/* --- history --- */

/* "drain of node 3", of a version that such a command has written; else "". */
static void edit_words(const json_t *row, char words[64])
{
	static const char *const edits[] = { "drain", "undrain", "upgrade", "leave", "join" };

	words[0] = '\0';
	for (size_t i = 0; i < sizeof(edits) / sizeof(edits[0]); i++)
		if (sl_cmd_number(row, edits[i]))
			snprintf(words, 64, "%s of node %lld", edits[i],
				 sl_cmd_number(row, edits[i]));
}

static void history_cells(struct sl_table *table, const json_t *row, long long current)
{
	const long long version = sl_cmd_number(row, "version");
	const long long rollback = sl_cmd_number(row, "rollback");
	const long long from = sl_cmd_number(row, "from");
	char edit[64];

	edit_words(row, edit);
	sl_table_cell(table, "%lld", version);
	sl_table_cell(table, "%s", sl_cmd_text(row, "time"));
	sl_table_cell(table, "%s", sl_cmd_text(row, "by"));
	sl_table_cell(table, "%lld", sl_cmd_number(row, "bytes"));
	if (rollback)
		sl_table_cell(table, "text of version %lld%s", rollback,
			      version == current ? ", current" : "");
	else if (*edit)
		sl_table_cell(table, "%s%s", edit, version == current ? ", current" : "");
	else if (from && from != version - 1)
		sl_table_cell(table, "from version %lld%s", from,
			      version == current ? ", current" : "");
	else
		sl_table_cell(table, "%s", version == current ? "current" : "");
}

static int print_history(const json_t *applied, long long current)
{
	static const char *const headers[] = { ">version", "applied", "by", ">bytes", "" };
	struct sl_table *table = sl_table_create(headers, 5);
	int err = table ? 0 : -ENOMEM;

	for (size_t i = json_array_size(applied); table && i-- > 0;)
		history_cells(table, json_array_get(applied, i), current);
	if (table)
		err = sl_table_print(table, stdout);
	sl_table_destroy(table);
	return err ? SL_EXIT_FAILED : SL_EXIT_OK;
}

int sl_version_history(struct sl_version_request *r)
{
	struct sl_etcd_current current;
	json_t *applied = NULL;
	int err, status = sl_version_open(r);

	if (status != SL_EXIT_OK)
		return status;
	err = sl_etcd_read_current(r->etcd, r->settings->prefix, &current);
	if (!err)
		err = sl_etcd_read_applied(r->etcd, r->settings->prefix, &applied);
	if (err)
		status = sl_version_failed(r, err);
	else if (r->json)
		sl_cmd_dump(applied);
	else
		status = print_history(applied, current.number);
	json_decref(applied);
	return status;
}
