/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/etcd/etcd_settings.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

#include "user/config/config.h"

#define FILE_MAX_BYTES 65536

static bool valid_path(const char *text)
{
	return text[0] == '/' && text[1] && strlen(text) < PATH_MAX - 64 &&
	       text[strlen(text) - 1] != '/';
}

static bool valid_socket(const char *text)
{
	return valid_path(text) && strlen(text) < sizeof(((struct sockaddr_un *)0)->sun_path);
}

/* One URL of bytes: a scheme, and an authority of printable ASCII without path or user. */
static bool valid_url(const char *url, size_t bytes)
{
	size_t scheme = strncmp(url, "https://", 8) == 0  ? 8
			: strncmp(url, "http://", 7) == 0 ? 7
							  : 0;

	if (!scheme || bytes <= scheme || bytes > 300)
		return false;
	for (size_t i = scheme; i < bytes; i++)
		if (url[i] <= ' ' || url[i] > '~' || strchr("/@?#\\\"", url[i]))
			return false;
	return true;
}

static bool valid_endpoints(const char *text)
{
	unsigned int n = 0;

	for (;;) {
		size_t bytes = strcspn(text, ",");

		if (!valid_url(text, bytes) || ++n > SL_ETCD_ENDPOINTS_MAX)
			return false;
		if (!text[bytes])
			return true;
		text += bytes + 1;
	}
}

static bool valid_prefix(const char *text)
{
	const size_t n = strlen(text);

	if (n < 1 || n > 200 || text[0] != '/' || text[n - 1] != '/')
		return false;
	for (const char *c = text; *c; c++)
		if (*c <= ' ' || *c > '~')
			return false;
	return true;
}

static bool valid_user(const char *text)
{
	return *text && strlen(text) < 256;
}

#define TEXT_KEY(key, field, check, text)                                             \
	{                                                                             \
		.name = (key), .type = SL_YAML_STRING,                                \
		.offset = offsetof(struct sl_etcd_settings, field), .valid = (check), \
		.what = (text)                                                        \
	}

static const char a_file[] = "a file: write an absolute path";

static const struct sl_yaml_key settings_keys[] = {
	{ .name = "node",
	  .type = SL_YAML_UINT,
	  .offset = offsetof(struct sl_etcd_settings, node),
	  .min = 1,
	  .max = 255,
	  .what = "a node id" },
	{ .name = "endpoints",
	  .type = SL_YAML_STRING,
	  .offset = offsetof(struct sl_etcd_settings, endpoints),
	  .required = true,
	  .valid = valid_endpoints,
	  .what = "a list of etcd's endpoints: write https://HOST:PORT, up to 16 with commas "
		  "between" },
	TEXT_KEY("prefix", prefix, valid_prefix,
		 "a prefix of keys: write one that begins and ends with a slash"),
	TEXT_KEY("ca", ca, valid_path, a_file),
	TEXT_KEY("certificate", certificate, valid_path, a_file),
	TEXT_KEY("key", key, valid_path, a_file),
	TEXT_KEY("user", user, valid_user, "a user of etcd"),
	TEXT_KEY("password_file", password_file, valid_path, a_file),
	TEXT_KEY("config", config, valid_path, a_file),
	TEXT_KEY("control", control, valid_socket,
		 "a socket's path: write an absolute one of at most 107 characters"),
	{ .name = "lease_s",
	  .type = SL_YAML_UINT,
	  .offset = offsetof(struct sl_etcd_settings, lease_s),
	  .min = 3,
	  .max = 3600,
	  .what = "a time in seconds" },
	{ 0 },
};

static int make_defaults(struct sl_etcd_settings **out)
{
	struct sl_etcd_settings *s = calloc(1, sizeof(*s));

	*out = s;
	if (!s)
		return -ENOMEM;
	s->lease_s = 15;
	s->prefix = strdup(SL_ETCD_DEFAULT_PREFIX);
	s->config = strdup(SL_CONFIG_DEFAULT_PATH);
	s->control = strdup(SL_CONFIG_DEFAULT_AGENT_CONTROL);
	return s->prefix && s->config && s->control ? 0 : -ENOMEM;
}

/* Keys that go together. */
static int check_pairs(const char *path, const struct sl_etcd_settings *s,
		       char error[SL_YAML_ERROR_BYTES])
{
	const char *given = NULL, *missing = NULL;

	if (!s->certificate != !s->key) {
		given = s->key ? "key" : "certificate";
		missing = s->key ? "certificate" : "key";
	} else if (!s->user != !s->password_file) {
		given = s->user ? "user" : "password_file";
		missing = s->user ? "password_file" : "user";
	}
	if (!given)
		return 0;
	sl_yaml_error(error, path, 1, "", missing, "is missing beside %s: write \"%s: ...\"", given,
		      missing);
	return -EINVAL;
}

/* At most FILE_MAX_BYTES. Returns how many, or -errno. */
static ssize_t read_text(const char *path, char *text)
{
	FILE *f = fopen(path, "re");
	ssize_t n;

	if (!f)
		return -errno;
	n = (ssize_t)fread(text, 1, FILE_MAX_BYTES, f);
	if (ferror(f))
		n = -EIO;
	else if (fgetc(f) != EOF)
		n = -EFBIG;
	fclose(f);
	return n;
}

int sl_etcd_settings_parse(const char *path, const char *text, size_t bytes,
			   struct sl_etcd_settings **out, char error[SL_YAML_ERROR_BYTES])
{
	int err = make_defaults(out);

	error[0] = '\0';
	if (!err)
		err = sl_yaml_parse(path, text, bytes, settings_keys, *out, error);
	if (!err)
		err = check_pairs(path, *out, error);
	if (err) {
		if (!error[0])
			snprintf(error, SL_YAML_ERROR_BYTES, "%.200s: not enough memory", path);
		sl_etcd_settings_free(*out);
		*out = NULL;
	}
	return err;
}

int sl_etcd_settings_load(const char *path, struct sl_etcd_settings **out,
			  char error[SL_YAML_ERROR_BYTES])
{
	char *text = malloc(FILE_MAX_BYTES);
	ssize_t n = text ? read_text(path, text) : -ENOMEM;
	int err = n < 0 ? (int)n : 0;

	*out = NULL;
	if (err)
		snprintf(error, SL_YAML_ERROR_BYTES, "%.200s: cannot read the settings of etcd: %s",
			 path, strerror(-err));
	else
		err = sl_etcd_settings_parse(path, text, (size_t)n, out, error);
	free(text);
	return err;
}

int sl_etcd_settings_set_endpoints(struct sl_etcd_settings *settings, const char *endpoints,
				   char error[SL_YAML_ERROR_BYTES])
{
	char *copy;

	if (!valid_endpoints(endpoints)) {
		snprintf(error, SL_YAML_ERROR_BYTES,
			 "--etcd: \"%.200s\" is not a list of etcd's endpoints: write "
			 "https://HOST:PORT, up to 16 with commas between",
			 endpoints);
		return -EINVAL;
	}
	copy = strdup(endpoints);
	if (!copy) {
		snprintf(error, SL_YAML_ERROR_BYTES, "not enough memory");
		return -ENOMEM;
	}
	free(settings->endpoints);
	settings->endpoints = copy;
	return 0;
}

int sl_etcd_settings_make(const char *endpoints, struct sl_etcd_settings **out,
			  char error[SL_YAML_ERROR_BYTES])
{
	int err = make_defaults(out);

	if (err)
		snprintf(error, SL_YAML_ERROR_BYTES, "not enough memory");
	else
		err = sl_etcd_settings_set_endpoints(*out, endpoints, error);
	if (err) {
		sl_etcd_settings_free(*out);
		*out = NULL;
	}
	return err;
}

void sl_etcd_settings_free(struct sl_etcd_settings *settings)
{
	if (!settings)
		return;
	sl_yaml_free(settings_keys, settings);
	free(settings);
}
