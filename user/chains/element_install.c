/* SPDX-License-Identifier: BSD-2-Clause */
#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "user/chains/element_install.h"
#include "user/chains/fetch.h"

/* As elements/install/ has them; it refuses what is beyond. */
#define OBJECT_MAX_BYTES    (1u << 20)
#define SIGNATURE_MAX_BYTES 1024u
#define PAUSE_MIN_NS	    1000000
#define PAUSE_MAX_NS	    50000000

/* The file's bytes in base64, or NULL after a message. The caller frees it. */
static char *fetch_text(const char *where, size_t max)
{
	char why[SL_FETCH_WHY_BYTES], *text;
	uint8_t *bytes;
	size_t n;

	if (sl_fetch(where, max, &bytes, &n, why)) {
		fprintf(stderr, "sluice: cannot fetch \"%s\": %s\n", where, why);
		return NULL;
	}
	text = malloc(n / 3 * 4 + 5);
	if (text)
		EVP_EncodeBlock((unsigned char *)text, bytes, (int)n);
	else
		fprintf(stderr, "sluice: not enough memory\n");
	free(bytes);
	return text;
}

static char *fetch_signature(const char *where)
{
	size_t n = strlen(where) + sizeof(".sig");
	char *path = malloc(n), *text = NULL;

	if (path) {
		snprintf(path, n, "%s.sig", where);
		text = fetch_text(path, SIGNATURE_MAX_BYTES);
	}
	free(path);
	return text;
}

static void keep_row(void *arg, const json_t *row)
{
	json_t **kept = arg;

	json_decref(*kept);
	*kept = json_copy((json_t *)row);
}

static void print_row(const struct sl_cmd_options *options, const json_t *row)
{
	if (options->json)
		sl_cmd_dump(row);
	else if (json_object_get(row, "version"))
		printf("%s, version %lld: %s\n", sl_cmd_text(row, "class"),
		       sl_cmd_number(row, "version"), sl_cmd_text(row, "state"));
	else
		printf("%s: %s\n", sl_cmd_text(row, "class"), sl_cmd_text(row, "state"));
}

/* Ask until the trial is over. */
static int await(const struct sl_cmd_options *options, long long ticket)
{
	struct timespec pause = { .tv_nsec = PAUSE_MIN_NS };
	json_t *row = NULL;
	int status;

	for (;;) {
		status = sl_cmd_ask_elements(
			options,
			json_pack("{s:s, s:I}", "command", "installation", "ticket", ticket),
			keep_row, &row);
		if (status != SL_EXIT_OK || strcmp(sl_cmd_text(row, "state"), "trial"))
			break;
		nanosleep(&pause, NULL);
		if (pause.tv_nsec < PAUSE_MAX_NS)
			pause.tv_nsec += pause.tv_nsec / 2;
	}
	if (status == SL_EXIT_OK)
		print_row(options, row);
	json_decref(row);
	return status;
}

int sl_element_install(const struct sl_cmd_options *options, const char *where)
{
	char *object = fetch_text(where, OBJECT_MAX_BYTES);
	char *signature = object ? fetch_signature(where) : NULL;
	int status = SL_EXIT_FAILED;
	json_t *row = NULL;

	if (object && signature)
		status = sl_cmd_ask_elements(options,
					     json_pack("{s:s, s:s, s:s}", "command", "install",
						       "object", object, "signature", signature),
					     keep_row, &row);
	free(object);
	free(signature);
	if (status == SL_EXIT_OK)
		status = await(options, sl_cmd_number(row, "ticket"));
	json_decref(row);
	return status;
}

int sl_element_remove(const struct sl_cmd_options *options, const char *class)
{
	json_t *row = NULL;
	int status = sl_cmd_ask_elements(
		options, json_pack("{s:s, s:s}", "command", "remove", "class", class), keep_row,
		&row);

	if (status == SL_EXIT_OK)
		print_row(options, row);
	json_decref(row);
	return status;
}
