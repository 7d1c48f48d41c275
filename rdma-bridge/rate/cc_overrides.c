/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/rate/cc_overrides.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <jansson.h>

#include "user/lib/log.h"
#include "user/ipc/relay.h"

char *rb_cc_overrides_path(const char *control_socket)
{
	char *path;

	return asprintf(&path, "%s.controllers", control_socket) < 0 ? NULL : path;
}

/* An empty object if there is no such file. */
static json_t *load(const char *path)
{
	json_error_t error;
	json_t *all;

	if (access(path, F_OK))
		return json_object();
	all = json_load_file(path, 0, &error);
	if (json_is_object(all))
		return all;
	sl_warning("the settings of `cc set` are lost: %s: %s", path,
		   all ? "not an object" : error.text);
	json_decref(all);
	return json_object();
}

/* Replace the file as a whole: a bridge may die at any time. */
static int store(const char *path, const json_t *all)
{
	char *next;
	int err = 0;

	if (asprintf(&next, "%s.next", path) < 0)
		return -ENOMEM;
	if (json_dump_file(all, next, JSON_INDENT(1) | JSON_SORT_KEYS) || rename(next, path))
		err = errno ? -errno : -EIO;
	if (err)
		unlink(next);
	free(next);
	return err;
}

static const char *member(const json_t *entry, const char *name)
{
	const char *text = json_string_value(json_object_get(entry, name));

	return text ? text : "";
}

/* Does an entry still hold beside this configuration? Then *out is what it set. */
static bool holds(const json_t *entry, const char *port, const struct sl_cc_settings *configured,
		  struct sl_cc_settings *out)
{
	struct sl_cc_settings set;
	char why[SL_CC_WHY_BYTES];
	char *text;
	bool same;

	if (sl_cc_settings_text(configured, &text))
		return false;
	same = strcmp(text, member(entry, "configured")) == 0;
	free(text);
	if (!same) {
		sl_info("port %s: the configuration has changed since `cc set`, and wins", port);
		return false;
	}
	if (sl_cc_settings_read(&set, member(entry, "set"), why)) {
		sl_warning("port %s: the setting of `cc set` no longer holds: %s", port, why);
		return false;
	}
	*out = set;
	return true;
}

void rb_cc_overrides_find(const char *path, uint16_t system_port,
			  const struct sl_cc_settings *configured, struct sl_cc_settings *out)
{
	json_t *all = load(path);
	const json_t *entry;
	char port[IF_NAMESIZE];
	int err;

	*out = *configured;
	sl_relay_tap_name(system_port, port);
	entry = json_object_get(all, port);
	if (!entry)
		goto out;
	if (holds(entry, port, configured, out)) {
		sl_info("port %s: controller %s, as set by `cc set`", port, out->ops->name);
		goto out;
	}
	json_object_del(all, port);
	err = store(path, all);
	if (err)
		sl_warning("%s: cannot be written: %s", path, strerror(-err));
out:
	json_decref(all);
}

int rb_cc_overrides_put(const char *path, uint16_t system_port,
			const struct sl_cc_settings *configured, const struct sl_cc_settings *set)
{
	char *before = NULL, *now = NULL;
	json_t *all = load(path);
	int err = -ENOMEM;
	char port[IF_NAMESIZE];

	sl_relay_tap_name(system_port, port);
	if (sl_cc_settings_text(configured, &before) || sl_cc_settings_text(set, &now))
		goto out;
	if (strcmp(before, now) == 0)
		json_object_del(all, port);
	else if (json_object_set_new(all, port,
				     json_pack("{s:s, s:s}", "configured", before, "set", now)))
		goto out;
	err = store(path, all);
out:
	free(before);
	free(now);
	json_decref(all);
	return err;
}
