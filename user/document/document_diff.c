/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/document/document_diff.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define PATH_BYTES 256

static void compare(const char *path, const json_t *from, const json_t *to, json_t *out);

static void put(const char *path, const json_t *from, const json_t *to, json_t *out)
{
	json_t *row = json_pack("{s:s}", "key", path);

	if (from)
		json_object_set(row, "from", (json_t *)from);
	if (to)
		json_object_set(row, "to", (json_t *)to);
	json_array_append_new(out, row);
}

/* --- Maps --- */

static void compare_maps(const char *path, const json_t *from, const json_t *to, json_t *out)
{
	char below[PATH_BYTES];
	const json_t *value;
	const char *key;

	json_object_foreach((json_t *)from, key, value) {
		snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", key);
		compare(below, value, json_object_get(to, key), out);
	}
	json_object_foreach((json_t *)to, key, value) {
		if (json_object_get(from, key))
			continue;
		snprintf(below, sizeof(below), "%s%s%s", path, *path ? "." : "", key);
		compare(below, NULL, value, out);
	}
}

/* --- Lists --- */

/* What names an item among its sisters; NULL: nothing. */
static const char *name_of(const json_t *item)
{
	static const char *const names[] = { "id", "number", "name" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const json_t *value = json_object_get(item, names[i]);

		if (json_is_string(value) && *json_string_value(value))
			return json_string_value(value);
	}
	return NULL;
}

static const json_t *find_named(const json_t *list, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach((json_t *)list, i, item)
		if (name_of(item) && strcmp(name_of(item), name) == 0)
			return item;
	return NULL;
}

/* Does each item of the list have a name that no other one has? */
static bool is_named(const json_t *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach((json_t *)list, i, item)
		if (!name_of(item) || find_named(list, name_of(item)) != item)
			return false;
	return true;
}

static void compare_named(const char *path, const json_t *from, const json_t *to, json_t *out)
{
	char below[PATH_BYTES];
	const json_t *item;
	size_t i;

	json_array_foreach((json_t *)from, i, item) {
		snprintf(below, sizeof(below), "%s[%s]", path, name_of(item));
		compare(below, item, find_named(to, name_of(item)), out);
	}
	json_array_foreach((json_t *)to, i, item) {
		if (find_named(from, name_of(item)))
			continue;
		snprintf(below, sizeof(below), "%s[%s]", path, name_of(item));
		compare(below, NULL, item, out);
	}
}

/* Leave out what both begin with, and what both end with. */
static void compare_placed(const char *path, const json_t *from, const json_t *to, json_t *out)
{
	size_t n = json_array_size(from), m = json_array_size(to), first = 0;
	char below[PATH_BYTES];

	while (first < n && first < m &&
	       json_equal(json_array_get(from, first), json_array_get(to, first)))
		first++;
	while (n > first && m > first &&
	       json_equal(json_array_get(from, n - 1), json_array_get(to, m - 1)))
		n--, m--;
	for (size_t i = first; i < n || i < m; i++) {
		snprintf(below, sizeof(below), "%s[%zu]", path, i);
		compare(below, i < n ? json_array_get(from, i) : NULL,
			i < m ? json_array_get(to, i) : NULL, out);
	}
}

static void compare(const char *path, const json_t *from, const json_t *to, json_t *out)
{
	if (strcmp(path, "cluster.node") == 0)
		return;
	if (json_is_object(from) && json_is_object(to))
		compare_maps(path, from, to, out);
	else if (json_is_array(from) && json_is_array(to) && is_named(from) && is_named(to))
		compare_named(path, from, to, out);
	else if (json_is_array(from) && json_is_array(to))
		compare_placed(path, from, to, out);
	else if (!from || !to || !json_equal(from, to))
		put(path, from, to, out);
}

json_t *sl_document_diff(const json_t *from, const json_t *to)
{
	json_t *out = json_array();

	if (out)
		compare("", from, to, out);
	return out;
}
