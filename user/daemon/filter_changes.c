/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/daemon/command_lists.h"
#include "user/daemon/filter_changes.h"
#include "user/lib/log.h"

static int __attribute__((format(printf, 3, 4)))
refuse(int err, char error[SL_YAML_ERROR_BYTES], const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, SL_YAML_ERROR_BYTES, format, args);
	va_end(args);
	return err;
}

static const struct sl_yaml_list *in_force(const struct sl_router *router)
{
	return &sl_router_settings(router)->filters;
}

static enum sl_filter_origin changed_origin(const struct sl_filter_list_settings *former)
{
	if (!former || former->origin == SL_ORIGIN_COMMAND)
		return SL_ORIGIN_COMMAND;
	return SL_ORIGIN_CHANGED;
}

/*
 * The lists in force, but those of *news in place of their namesakes, and without the one named
 * gone, if that is not NULL. What the lists hold is not copied. 0 or -ENOMEM.
 */
static int merge(const struct sl_yaml_list *old, const struct sl_yaml_list *news, const char *gone,
		 struct sl_yaml_list *out)
{
	struct sl_filter_list_settings *items = calloc(old->n + news->n + 1, sizeof(*items));

	if (!items)
		return -ENOMEM;
	*out = (struct sl_yaml_list){ .items = items };
	for (uint32_t i = 0; i < old->n; i++) {
		const struct sl_filter_list_settings *list = sl_filter_list(old, i);
		const struct sl_filter_list_settings *other = sl_filters_find(news, list->name);

		if (!gone || strcmp(gone, list->name) != 0)
			items[out->n++] = other ? *other : *list;
	}
	for (uint32_t i = 0; i < news->n; i++)
		if (!sl_filters_find(old, sl_filter_list(news, i)->name))
			items[out->n++] = *sl_filter_list(news, i);
	return 0;
}

/* Of `lists`, those that have no part in `kept` are left. */
static void take_out_kept(struct sl_yaml_list *lists, const struct sl_yaml_list *kept)
{
	struct sl_filter_list_settings *items = lists->items;
	uint32_t n = 0;

	for (uint32_t i = 0; i < lists->n; i++) {
		const struct sl_filter_list_settings *same = sl_filters_find(kept, items[i].name);

		if (!same || same->name != items[i].name)
			items[n++] = items[i];
	}
	lists->n = n;
}

/* Put *news, which is freed or becomes the router's, in force. */
static int change(struct sl_router *router, const char *name, struct sl_yaml_list *news,
		  const char *gone, json_t *changed, char error[SL_YAML_ERROR_BYTES])
{
	struct sl_yaml_list next = { 0 };
	int err;

	for (uint32_t i = 0; i < news->n; i++) {
		struct sl_filter_list_settings *list =
			(struct sl_filter_list_settings *)news->items + i;

		list->origin = changed_origin(sl_filters_find(in_force(router), list->name));
	}
	/* each list alone first, so that an error names its place in the text */
	err = sl_filters_settings_check(news, name, error);
	if (!err)
		err = merge(in_force(router), news, gone, &next);
	if (!err && next.n > SL_FILTER_LISTS)
		err = refuse(-ENOSPC, error,
			     "%s: there would be %u filter lists, and at most %u fit", name, next.n,
			     SL_FILTER_LISTS);
	if (!err)
		err = sl_filters_settings_check(&next, name, error);
	if (!err) {
		struct sl_yaml_list former = next;

		err = sl_router_set_filters(router, &former);
		if (err) {
			refuse(err, error, "%s: %s (the daemon's log says more)", name,
			       strerror(-err));
		} else {
			take_out_kept(&former, in_force(router));
			sl_router_put_aside(router, &former);
		}
	}
	if (err) {
		free(next.items);
		sl_filters_free(news);
		return err == -ENOMEM ? refuse(err, error, "not enough memory") : err;
	}
	for (uint32_t i = 0; i < news->n; i++)
		json_array_append_new(changed,
				      json_pack("{s:s, s:i}", "list", sl_filter_list(news, i)->name,
						"rules", (int)sl_filter_list(news, i)->rules.n));
	free(news->items);
	err = sl_filters_save(in_force(router));
	if (err) /* it is in force, and would be lost with the daemon */
		sl_warning("cannot write " SL_COMMAND_LISTS_PATH ": %s; a restart of sluiced "
			   "forgets the filter lists of commands",
			   strerror(-err));
	return 0;
}

int sl_filters_replace(struct sl_router *router, const char *name, const char *text,
		       json_t *changed, char error[SL_YAML_ERROR_BYTES])
{
	struct sl_yaml_list news;
	int err = sl_filters_parse(name, text, strlen(text), &news, error);

	if (err) {
		sl_filters_free(&news);
		return err == -ENOMEM ? refuse(err, error, "not enough memory") : err;
	}
	return change(router, name, &news, NULL, changed, error);
}

/* The list as JSON, to be changed; a new reference, or NULL with the reason in error. */
static json_t *list_json(const struct sl_router *router, const char *name, int *err,
			 char error[SL_YAML_ERROR_BYTES])
{
	const struct sl_filter_list_settings *list = sl_filters_find(in_force(router), name);
	json_t *json = list ? sl_filter_list_json(list) : NULL;

	*err = json ? 0 : list ? -ENOMEM : -ENOENT;
	if (!list)
		refuse(*err, error,
		       "\"%.64s\" is not a filter list: write one that `sluice filter list` shows, "
		       "or make it by `sluice filter replace`",
		       name);
	else if (!json)
		refuse(*err, error, "not enough memory");
	return json;
}

/* Takes the reference. */
static int put_json(struct sl_router *router, json_t *list, json_t *changed,
		    char error[SL_YAML_ERROR_BYTES])
{
	json_t *root = json_pack("{s:[o]}", "filters", list);
	char *text = root ? json_dumps(root, 0) : NULL;
	int err = text ? sl_filters_replace(router, "sluice filter", text, changed, error)
		       : refuse(-ENOMEM, error, "not enough memory");

	free(text);
	json_decref(root);
	return err;
}

int sl_filters_add(struct sl_router *router, const char *name, json_t *rule, json_int_t at,
		   json_t *changed, char error[SL_YAML_ERROR_BYTES])
{
	int err;
	json_t *list = list_json(router, name, &err, error), *rules;

	if (!list)
		return err;
	rules = json_object_get(list, "rules");
	if (at < 0)
		at = (json_int_t)json_array_size(rules);
	if ((size_t)at > json_array_size(rules)) {
		err = refuse(-EINVAL, error, "%lld is no place in list \"%.64s\": write 0 to %zu",
			     (long long)at, name, json_array_size(rules));
		json_decref(list);
		return err;
	}
	json_array_insert(rules, (size_t)at, rule);
	return put_json(router, list, changed, error);
}

/* The number of the rule; -1: the list has none such. */
static ssize_t find_rule(const json_t *rules, const char *rule)
{
	char *end;
	unsigned long number = strtoul(rule, &end, 10);
	const json_t *each;
	size_t i;

	json_array_foreach(rules, i, each) {
		const char *name = json_string_value(json_object_get(each, "name"));

		if (name && !strcmp(name, rule))
			return (ssize_t)i;
	}
	return isdigit((unsigned char)*rule) && !*end && number < json_array_size(rules)
		       ? (ssize_t)number
		       : -1;
}

static int delete_rule(struct sl_router *router, const char *name, const char *rule,
		       json_t *changed, char error[SL_YAML_ERROR_BYTES])
{
	int err;
	json_t *list = list_json(router, name, &err, error), *rules;
	ssize_t i;

	if (!list)
		return err;
	rules = json_object_get(list, "rules");
	i = find_rule(rules, rule);
	if (i < 0) {
		err = refuse(
			-ENOENT, error,
			"\"%.64s\" is not a rule of list \"%.64s\": write a number below %zu, or "
			"the name of one",
			rule, name, json_array_size(rules));
		json_decref(list);
		return err;
	}
	json_array_remove(rules, (size_t)i);
	return put_json(router, list, changed, error);
}

int sl_filters_delete(struct sl_router *router, const char *name, const char *rule, json_t *changed,
		      char error[SL_YAML_ERROR_BYTES])
{
	struct sl_yaml_list none = { 0 };
	json_t *list;
	int err;

	if (rule)
		return delete_rule(router, name, rule, changed, error);
	list = list_json(router, name, &err, error);
	if (!list)
		return err;
	json_decref(list);
	err = change(router, name, &none, name, changed, error);
	if (!err)
		json_array_append_new(changed, json_pack("{s:s, s:n}", "list", name, "rules"));
	return err;
}
