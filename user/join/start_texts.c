/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/join/start_texts.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int sl_start_port_add(struct sl_start_options *options, const char *text)
{
	const char *equals = strchr(text, '=');
	struct sl_start_port port = { .name = equals ? equals + 1 : text };
	unsigned long number = options->ports ? options->port[options->ports - 1].number + 1 : 1;
	char *end;

	if (equals) {
		number = strtoul(text, &end, 10);
		if (!isdigit((unsigned char)text[0]) || end != equals)
			return -EINVAL;
	}
	/* The daemons' reader judges number and name. */
	if (!*port.name || number > UINT32_MAX)
		return -EINVAL;
	if (options->ports == SL_START_PORTS_MAX)
		return -ENOSPC;
	port.number = (uint32_t)number;
	options->port[options->ports++] = port;
	return 0;
}

/* A text as YAML has it: plain where nothing in it has a meaning, else as JSON. */
static void put_text(FILE *f, const char *text)
{
	json_t *value;
	char *quoted;

	if (*text && strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  "0123456789._/") == strlen(text)) {
		fputs(text, f);
		return;
	}
	value = json_string(text);
	quoted = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
	/* What is no UTF-8 no reader takes. */
	fputs(quoted ? quoted : "\"?\"", f);
	free(quoted);
	json_decref(value);
}

static void put_pair(FILE *f, const char *before, const char *key, const char *text)
{
	if (!text)
		return;
	fprintf(f, "%s%s: ", before, key);
	put_text(f, text);
}

static void put_entry(FILE *f, const struct sl_start_options *o)
{
	fprintf(f, "{id: %u", o->node);
	put_pair(f, ", ", "address", o->address);
	fputs(", ports: [", f);
	for (uint32_t i = 0; i < o->ports; i++) {
		fprintf(f, "%s{number: %u", i ? ", " : "", o->port[i].number);
		put_pair(f, ", ", "name", o->port[i].name);
		fputc('}', f);
	}
	fputs("]}\n", f);
}

static void put_document(FILE *f, const struct sl_start_options *o)
{
	fprintf(f, "# Change it with `sluice cluster apply`.\ncluster:\n  node: %u\n", o->node);
	fputs("  fabric: {device: ", f);
	put_text(f, o->fabric ? o->fabric : "");
	put_pair(f, ", ", "transport", o->transport);
	fputs("}\n  nodes:\n    - ", f);
	put_entry(f, o);
}

static void put_settings(FILE *f, const struct sl_start_options *o, const char *former)
{
	fprintf(f, "node: %u\n", o->node);
	if (former) {
		fputs(former, f);
		return;
	}
	put_pair(f, "", "endpoints", o->endpoints);
	put_pair(f, "\n", "prefix", o->prefix);
	put_pair(f, "\n", "ca", o->ca);
	put_pair(f, "\n", "certificate", o->certificate);
	put_pair(f, "\n", "key", o->key);
	put_pair(f, "\n", "user", o->user);
	put_pair(f, "\n", "password_file", o->password_file);
	fputc('\n', f);
}

/* Close a stream in memory: its text, unless something failed. */
static char *finish(FILE *f, char **text)
{
	const int failed = ferror(f);

	if (fclose(f) || failed) {
		free(*text);
		*text = NULL;
	}
	return *text;
}

char *sl_start_entry(const struct sl_start_options *options)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		return NULL;
	put_entry(f, options);
	return finish(f, &text);
}

char *sl_start_document(const struct sl_start_options *options)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		return NULL;
	put_document(f, options);
	return finish(f, &text);
}

char *sl_start_settings(const struct sl_start_options *options, const char *former)
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		return NULL;
	put_settings(f, options, former);
	return finish(f, &text);
}
