/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/web/web_lists.h"

#include <stdio.h>

const struct sl_web_list sl_web_lists[SL_WEB_LISTS] = {
	{ "status", "status", false, true, {} },
	{ "ports", "show", false, false, {} },
	{ "counters", "show", false, false, {} },
	{ "drops", "show", false, false, {} },
	{ "system-ports", "show", false, false, {} },
	{ "peers", "peers", true, false, {} },
	{ "voqs", "voqs", true, false, {} },
	{ "egress-queues", "egress-queues", true, false, {} },
	{ "fabric", "fabric", true, true, {} },
	{ "delay", "delay", true, false, { "buckets" } },
	{ "busy", "busy", true, false, { "levels", "episodes" } },
	{ "cc", "cc", true, false, {} },
	{ "cluster", "show", false, true, {} },
};

static bool is_list_of_objects(const json_t *value)
{
	const json_t *row;
	size_t i;

	if (!json_is_array(value))
		return false;
	json_array_foreach(value, i, row)
		if (!json_is_object(row))
			return false;
	return true;
}

/* Borrowed: the member of some row that is not the list it should be; NULL: there is none. */
static const char *wrong_within(const struct sl_web_list *list, const json_t *rows)
{
	const json_t *row;
	size_t i;

	json_array_foreach(rows, i, row)
		for (int k = 0; k < 2 && list->within[k]; k++)
			if (!is_list_of_objects(json_object_get(row, list->within[k])))
				return list->within[k];
	return NULL;
}

/* NULL: it has the shape that it should. */
static json_t *misfit(const struct sl_web_list *list, const json_t *value)
{
	const char *within;

	if (list->is_object)
		return json_is_object(value)
			       ? NULL
			       : json_sprintf("its \"%s\" is not an object", list->name);
	if (!is_list_of_objects(value))
		return json_sprintf("its \"%s\" is not a list of objects", list->name);
	within = wrong_within(list, value);
	return within ? json_sprintf("its \"%s\" has a row without the list \"%s\"", list->name,
				     within)
		      : NULL;
}

json_t *sl_web_lists_take(const json_t *answer, char *why, size_t why_bytes)
{
	json_t *taken = json_object();

	*why = '\0';
	for (size_t i = 0; i < SL_WEB_LISTS; i++) {
		const struct sl_web_list *list = &sl_web_lists[i];
		json_t *value = json_object_get(answer, list->name), *wrong;

		if (!value)
			continue;
		wrong = json_is_string(value) ? NULL : misfit(list, value);
		if (wrong && !*why)
			snprintf(why, why_bytes, "%s", json_string_value(wrong));
		json_object_set_new(taken, list->name, wrong ?: json_incref(value));
	}
	return taken;
}
