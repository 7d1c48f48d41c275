/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "delay/capture/tapped_link.h"
#include "user/text/rate.h"

#define DEPTH_MAX 65535

static int refuse(char *why, size_t why_bytes, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(char *why, size_t why_bytes, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why, why_bytes, format, args);
	va_end(args);
	return -EINVAL;
}

/* A decimal number up to `max`, and nothing else. */
static bool number(const char *text, unsigned long max, uint32_t *out)
{
	unsigned long value;
	char *end;

	if (!isdigit((unsigned char)*text))
		return false;
	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || *end || value > max)
		return false;
	*out = (uint32_t)value;
	return true;
}

static int set_option(struct sl_tapped_link *link, const char *key, const char *value, char *why,
		      size_t why_bytes)
{
	struct sl_rate rate;

	if (strcmp(key, "rate") == 0) {
		if (sl_rate_parse(value, &rate) || rate.frames)
			return refuse(
				why, why_bytes,
				"rate=%s: a rate in bit, kbit, mbit or gbit is wanted, as in rate=10gbit",
				value);
		link->rate_bps = rate.per_s * 8;
	} else if (strcmp(key, "overhead") == 0) {
		if (!number(value, DEPTH_MAX, &link->overhead_bytes))
			return refuse(why, why_bytes, "overhead=%s: bytes in 0..%d are wanted",
				      value, DEPTH_MAX);
		link->overhead_given = true;
	} else if (strcmp(value, "end") == 0) {
		link->stamp = SL_STAMP_END;
	} else if (strcmp(value, "start") == 0) {
		link->stamp = SL_STAMP_START;
	} else if (number(value, DEPTH_MAX, &link->depth_bytes)) {
		link->stamp = SL_STAMP_DEPTH;
	} else {
		return refuse(why, why_bytes,
			      "stamp=%s: end, start, or bytes of the IP packet in 0..%d are wanted",
			      value, DEPTH_MAX);
	}
	return 0;
}

/* The next `,KEY=` that we know, at or behind `text`; NULL if there is none. */
static char *next_option(char *text, const char **key)
{
	static const char *const keys[] = { "rate", "overhead", "stamp", "filter" };

	for (char *at = strchr(text, ','); at; at = strchr(at + 1, ','))
		for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
			if (strncmp(at + 1, keys[i], strlen(keys[i])) == 0 &&
			    at[1 + strlen(keys[i])] == '=') {
				*key = keys[i];
				return at;
			}
	return NULL;
}

/* Take the options off the end of `text`. */
static int parse_options(struct sl_tapped_link *link, char *text, char *why, size_t why_bytes)
{
	const char *key, *next_key;
	char *at = next_option(text, &key), *value, *next;

	while (at) {
		*at = '\0';
		value = at + 1 + strlen(key) + 1;
		if (strcmp(key, "filter") == 0) {
			link->filter = strdup(value);
			return link->filter ? 0 : -ENOMEM;
		}
		next = next_option(value, &next_key);
		if (next)
			*next = '\0';
		if (set_option(link, key, value, why, why_bytes))
			return -EINVAL;
		at = next;
		key = next_key;
	}
	return 0;
}

/* The file's name without its directory and ending */
static int name_by_path(struct sl_tapped_link *link, char *why, size_t why_bytes)
{
	const char *slash = strrchr(link->path, '/'), *base = slash ? slash + 1 : link->path;
	const size_t bytes = strcspn(base, ".");

	if (!bytes || bytes >= SL_LINK_NAME_MAX)
		return refuse(why, why_bytes,
			      "%s: give the link a name of 1..%d letters, as in eth1=FILE",
			      link->path, SL_LINK_NAME_MAX - 1);
	memcpy(link->name, base, bytes);
	return 0;
}

int sl_tapped_link_parse(const char *text, bool output, struct sl_tapped_link *link, char *why,
			 size_t why_bytes)
{
	char *copy, *equals;
	int err;

	*link = (struct sl_tapped_link){ .output = output };
	copy = strdup(text);
	if (!copy)
		return -ENOMEM;
	err = parse_options(link, copy, why, why_bytes);
	if (err)
		goto out;
	/* A slash before the equals sign makes it a part of the path. */
	equals = strchr(copy, '=');
	if (equals && memchr(copy, '/', (size_t)(equals - copy)))
		equals = NULL;
	if (equals && (equals == copy || equals - copy >= SL_LINK_NAME_MAX)) {
		err = refuse(why, why_bytes, "%s: the link's name has 1..%d letters", text,
			     SL_LINK_NAME_MAX - 1);
		goto out;
	}
	link->path = strdup(equals ? equals + 1 : copy);
	if (!link->path) {
		err = -ENOMEM;
		goto out;
	}
	if (!*link->path)
		err = refuse(why, why_bytes,
			     "\"%s\" names no file: [NAME=]FILE[,OPTION=VALUE] is wanted", text);
	else if (equals)
		memcpy(link->name, copy, (size_t)(equals - copy));
	else
		err = name_by_path(link, why, why_bytes);
	if (!err && link->stamp != SL_STAMP_END && !link->rate_bps)
		err = refuse(
			why, why_bytes,
			"%s: a stamp before the packet's end needs the link's rate, too: add rate=RATE",
			link->name);
out:
	free(copy);
	return err;
}

void sl_tapped_link_fini(struct sl_tapped_link *link)
{
	free(link->path);
	free(link->filter);
	*link = (struct sl_tapped_link){ .name = "" };
}

uint32_t sl_tapped_link_wire_bytes(const struct sl_tapped_link *link, uint32_t ip_bytes,
				   uint32_t vlan_tags)
{
	if (link->overhead_given)
		return ip_bytes + link->overhead_bytes;
	return (ip_bytes < link->type->least_bytes ? link->type->least_bytes : ip_bytes) +
	       link->type->overhead_bytes + 4 * vlan_tags;
}

uint64_t sl_tapped_link_correction_ns(const struct sl_tapped_link *link, uint32_t ip_bytes,
				      uint32_t vlan_tags)
{
	uint64_t bytes;

	switch (link->stamp) {
	case SL_STAMP_START:
		bytes = (ip_bytes < link->type->least_bytes ? link->type->least_bytes : ip_bytes) +
			link->type->frame_bytes + 4ULL * vlan_tags;
		break;
	case SL_STAMP_DEPTH:
		bytes = ip_bytes > link->depth_bytes ? ip_bytes - link->depth_bytes : 0;
		break;
	default:
		return 0;
	}
	return (bytes * 8000000000ULL + link->rate_bps / 2) / link->rate_bps;
}
