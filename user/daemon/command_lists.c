/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/daemon/command_lists.h"
#include "user/lib/log.h"

/* {"filters": [...]}, as sl_filters_parse reads it; NULL: there are none, or not enough memory. */
static char *text_of(const struct sl_yaml_list *lists)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = open_memstream(&text, &bytes);
	uint32_t n = 0;
	bool failed;

	if (!f)
		return NULL;
	for (uint32_t i = 0; i < lists->n; i++) {
		if (sl_filter_list(lists, i)->origin != SL_ORIGIN_COMMAND)
			continue;
		fputs(n++ ? ",\n" : "{\"filters\": [\n", f);
		sl_filter_list_write(f, sl_filter_list(lists, i));
	}
	fputs("\n]}\n", f);
	failed = ferror(f);
	if (fclose(f) || failed || !n) {
		free(text);
		return NULL;
	}
	return text;
}

/* Add those of `lists` whose names are new; what they hold moves, or is freed. 0 or -ENOMEM. */
static int add_lists(struct sl_yaml_list *to, struct sl_yaml_list *lists)
{
	const size_t size = sizeof(struct sl_filter_list_settings);
	struct sl_filter_list_settings *items = realloc(to->items, (to->n + lists->n + 1) * size);
	struct sl_yaml_list rest = { .items = lists->items };

	if (!items)
		return -ENOMEM;
	to->items = items;
	for (uint32_t i = 0; i < lists->n; i++) {
		struct sl_filter_list_settings *list =
			(struct sl_filter_list_settings *)lists->items + i;

		list->origin = SL_ORIGIN_COMMAND;
		if (sl_filters_find(to, list->name))
			((struct sl_filter_list_settings *)rest.items)[rest.n++] = *list;
		else
			items[to->n++] = *list;
	}
	*lists = rest;
	return 0;
}

static int add_text(struct sl_settings *settings, const char *name, const char *text)
{
	char error[SL_YAML_ERROR_BYTES] = "not enough memory";
	struct sl_yaml_list lists;
	uint32_t n = settings->filters.n;
	int err = sl_filters_parse(name, text, strlen(text), &lists, error);

	if (!err)
		err = sl_filters_settings_check(&lists, name, error);
	if (!err)
		err = add_lists(&settings->filters, &lists);
	sl_filters_free(&lists);
	if (!err && settings->filters.n > SL_FILTER_LISTS) {
		snprintf(error, sizeof(error),
			 "filters: there are %u lists with those of commands: at "
			 "most %u fit",
			 settings->filters.n, SL_FILTER_LISTS);
		err = -E2BIG;
	}
	if (!err)
		err = sl_filters_settings_check(&settings->filters, name, error);
	if (err) {
		struct sl_filter_list_settings *items = settings->filters.items;

		sl_error("%s", error);
		while (settings->filters.n > n)
			sl_filter_list_free(&items[--settings->filters.n]);
	}
	return err;
}

int sl_filters_keep(struct sl_settings *settings, const struct sl_yaml_list *in_force)
{
	char *text = text_of(in_force);
	int err = text ? add_text(settings, "lists of commands", text) : 0;

	free(text);
	return err;
}

void sl_filters_restore(struct sl_settings *settings)
{
	FILE *file = fopen(SL_COMMAND_LISTS_PATH, "re");
	char *text = NULL;
	size_t room = 0;

	if (file && getdelim(&text, &room, '\0', file) > 0 &&
	    add_text(settings, SL_COMMAND_LISTS_PATH, text))
		sl_error(
			"the filter lists of commands are not in force: mend or remove " SL_COMMAND_LISTS_PATH);
	free(text);
	if (file)
		fclose(file);
}

int sl_filters_save(const struct sl_yaml_list *in_force)
{
	static const char temporary[] = SL_COMMAND_LISTS_PATH ".new";
	char *text = text_of(in_force);
	mode_t mask = umask(077);
	FILE *file = text ? fopen(temporary, "we") : NULL;
	int err = 0;

	umask(mask);
	if (!text)
		err = unlink(SL_COMMAND_LISTS_PATH) && errno != ENOENT ? -errno : 0;
	else if (!file)
		err = -errno;
	if (file && fputs(text, file) < 0)
		err = -EIO;
	if (file && fclose(file) && !err)
		err = -errno;
	if (file && !err && rename(temporary, SL_COMMAND_LISTS_PATH))
		err = -errno;
	free(text);
	return err;
}
