/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Read a YAML file into a struct by a schema: tables that name each key, its type, its place in the
 * struct and what a value may be. Every refusal is one line that names file, line and key, quotes
 * the value and says what would be right:
 *
 *   sluice.yaml:7: ports[1].mode: "fast" is not a mode: write auto, native or generic
 */
#ifndef SL_YAML_H
#define SL_YAML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum sl_yaml_type {
	SL_YAML_STRING, /* char *, owned by the struct; `valid` decides */
	SL_YAML_UINT,	/* uint32_t in min..max */
	SL_YAML_OCTAL,	/* uint32_t in min..max, written in octal as file modes are */
	SL_YAML_BOOL,	/* bool */
	SL_YAML_CHOICE, /* int or enum: the value of the choice */
	SL_YAML_MAP,	/* a struct within the struct, described by `keys` */
	/* struct sl_yaml_list of structs of item_bytes, each described by `keys` */
	SL_YAML_LIST,
	/* not a key: a uint32_t that receives the line on which this mapping starts */
	SL_YAML_LINE,
};

struct sl_yaml_choice {
	const char *name; /* NULL ends the table */
	int value;
};

struct sl_yaml_key {
	const char *name; /* NULL ends the table, unless type is SL_YAML_LINE */
	enum sl_yaml_type type;
	size_t offset;
	bool required;
	const char *what; /* completes `"x" is not ...`; NULL for MAP and LIST */
	uint32_t min, max;
	bool (*valid)(const char *text);
	const struct sl_yaml_choice *choices;
	const struct sl_yaml_key *keys;
	size_t item_bytes;
	uint32_t items_max;
};

struct sl_yaml_list {
	void *items; /* owned */
	uint32_t n;
};

#define SL_YAML_ERROR_BYTES 512
#define SL_YAML_FILE_MAX    (8u << 20) /* bytes */

/*
 * Read text into *out, which the caller has filled with defaults (strings allocated or NULL). A key
 * that the text does not name keeps its default. file_name is only quoted. 0; -EINVAL with one line
 * in error; -ENOMEM. The caller calls sl_yaml_free in every case.
 */
int sl_yaml_parse(const char *file_name, const char *text, size_t text_bytes,
		  const struct sl_yaml_key *keys, void *out, char error[SL_YAML_ERROR_BYTES]);
/* Release the strings and lists of a struct; the struct itself is the caller's. */
void sl_yaml_free(const struct sl_yaml_key *keys, void *out);

/* Write `FILE:LINE: PATH: "VALUE" MESSAGE` as the parser does, for a check beyond the schema. */
void sl_yaml_error(char error[SL_YAML_ERROR_BYTES], const char *file_name, uint32_t line,
		   const char *path, const char *value, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

#endif
