/* SPDX-License-Identifier: BSD-2-Clause */
/* What the commands about versions share: options, etcd, texts, messages. */
#ifndef SL_VERSION_REQUEST_H
#define SL_VERSION_REQUEST_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/cli/cmd.h"
#include "user/etcd/etcd_store.h"
#include "user/text/yaml.h"

struct sl_version_request {
	const char *settings_path, *endpoints; /* of the options; endpoints may be NULL */
	long long based_on;		       /* -1: not given */
	double wait_s, timeout_s;
	bool json, force, all;
	/* upgrade: the release, and the operator's commands; routing may be NULL */
	const char *to, *command, *routing;
	int argc; /* the words behind the command's */
	char **argv;
	struct sl_etcd_settings *settings; /* owned */
	struct sl_etcd *etcd;		   /* owned */
	json_t *answer;			   /* owned: with `json`, what is printed at the end */
};

/* A text with the name by which messages quote it. */
struct sl_version_text {
	char name[256];
	char *text; /* owned */
	size_t bytes;
};

int sl_version_apply(struct sl_version_request *r);
int sl_version_rollback(struct sl_version_request *r);
int sl_version_diff(struct sl_version_request *r);
int sl_version_history(struct sl_version_request *r);
int sl_version_status(struct sl_version_request *r);
int sl_version_drain(struct sl_version_request *r);
int sl_version_undrain(struct sl_version_request *r);
int sl_version_leave(struct sl_version_request *r);
int sl_version_upgrade(struct sl_version_request *r);

/* All below return an exit status, and have written to standard error why it is not SL_EXIT_OK. */

/* Read the settings, unless there are some, and open etcd. */
int sl_version_open(struct sl_version_request *r);
/* Print the answer, if there is one, and release all. Returns the status that it was given. */
int sl_version_close(struct sl_version_request *r, int status);
/* With `json`: these members are in the answer, too. Takes the reference. */
void sl_version_say(struct sl_version_request *r, json_t *members);
/* What etcd said; err is of user/etcd/. */
int sl_version_failed(const struct sl_version_request *r, int err);
int sl_version_read_file(const char *path, struct sl_version_text *out);
int sl_version_read(struct sl_version_request *r, long long number, struct sl_version_text *out);
/* What differs between two texts, as sl_document_diff has it; `from` may have none. */
int sl_version_compare(const struct sl_version_text *from, const struct sl_version_text *to,
		       json_t **out);

/* A change of the current version at one node. */
struct sl_version_edit {
	const char *word; /* of the command: what was applied has it, with the node */
	uint32_t node;
	/* Make the new text, by user/document/document_edit.h, and return what that does. */
	int (*change)(const struct sl_version_edit *edit, const struct sl_version_text *former,
		      char **out, size_t *out_bytes, char error[SL_YAML_ERROR_BYTES]);
	void *arg; /* borrowed: of these functions */
	/*
	 * NULL, or what is done before it is written, when all nodes would take it; and as soon as
	 * it is, before they are waited for. Both return an exit status.
	 */
	int (*prepare)(const struct sl_version_edit *edit, const struct sl_version_text *text);
	int (*written)(const struct sl_version_edit *edit);
	const struct sl_etcd_token *token; /* NULL, or what the same transaction uses up */
	unsigned int again; /* so often it begins anew if another version came in between */
};

/* Write the current version with that change as the next one, and wait for the nodes. */
int sl_version_edit(struct sl_version_request *r, const struct sl_version_edit *edit);
/* Write the first version, if none has been written. */
int sl_version_create(struct sl_version_request *r, const char *name, const char *text,
		      size_t bytes);
/* Check a text as all nodes would; *nodes has their ids, a new reference. */
int sl_version_check(const char *name, const char *text, size_t bytes, json_t **nodes);
/* What user/document/document_edit.h returned. */
int sl_version_edit_failed(int err, const char *error);

/* Of what an agent says: whether its node is at rest, or what uses its ports; "" if not drained. */
void sl_version_traffic(const json_t *present, char *words, size_t bytes);

/* Of what an agent says: the nodes that its bridge does not reach; "" if it reaches all. */
void sl_version_away(const json_t *present, char *words, size_t bytes);

/* "7" into 7. */
bool sl_version_number(const char *text, long long *out);
/* A row of sl_document_diff as a line, with that indent. */
void sl_version_print_change(const json_t *row, const char *indent);
/* How a node stands with a version, in words; *done: it has it in force; *refused: it does not. */
void sl_version_stand(const json_t *present, long long number, char *words, size_t bytes,
		      bool *done, bool *refused);

#endif
