/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/agent/node_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "user/config/config.h"
#include "user/lib/new_file.h"

#define MODE 0644 /* of a file that was not there before; the cluster's key is in another one */

static void beside(const struct sl_node_file *file, const char *ending, char out[PATH_MAX])
{
	snprintf(out, PATH_MAX, "%.4000s.%s", file->path, ending);
}

/* A new text with a NUL behind. NULL with 0: there is no such file. */
static int read_text(const char *path, char **out, size_t *bytes)
{
	FILE *f = fopen(path, "re");
	int err = 0;

	*out = NULL;
	*bytes = 0;
	if (!f)
		return errno == ENOENT ? 0 : -errno;
	*out = malloc(SL_YAML_FILE_MAX + 1);
	if (!*out)
		err = -ENOMEM;
	else
		*bytes = fread(*out, 1, SL_YAML_FILE_MAX, f);
	if (!err && ferror(f))
		err = -EIO;
	fclose(f);
	if (err) {
		free(*out);
		*out = NULL;
	} else {
		(*out)[*bytes] = '\0';
	}
	return err;
}

/* Write a file beside PATH, with that ending, and group and mode of PATH, down to the disk. */
static int write_beside(const struct sl_node_file *file, const char *ending, const char *text,
			size_t bytes)
{
	char path[PATH_MAX];
	struct stat had;
	const bool is_new = stat(file->path, &had);
	const mode_t mode = is_new ? MODE : had.st_mode & 07777;
	size_t written = 0;
	int fd, err = 0;

	beside(file, ending, path);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	if (fd < 0)
		return -errno;
	while (!err && written < bytes) {
		ssize_t n = write(fd, text + written, bytes - written);

		if (n < 0 && errno != EINTR)
			err = -errno;
		else if (n > 0)
			written += (size_t)n;
	}
	if (!err && !is_new && fchown(fd, (uid_t)-1, had.st_gid))
		err = -errno;
	if (!err && (fchmod(fd, mode) || fsync(fd)))
		err = -errno;
	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlink(path);
	return err;
}

static int move(const struct sl_node_file *file, const char *from, const char *to)
{
	char source[PATH_MAX], target[PATH_MAX];

	snprintf(source, sizeof(source), "%s", file->path);
	snprintf(target, sizeof(target), "%s", file->path);
	if (*from)
		beside(file, from, source);
	if (*to)
		beside(file, to, target);
	return rename(source, target) ? -errno : 0;
}

/* What FILE.version says, if that is of this text. */
static void read_version(struct sl_node_file *file)
{
	char path[PATH_MAX], sum[20];
	json_t *record;

	beside(file, "version", path);
	record = json_load_file(path, 0, NULL);
	snprintf(sum, sizeof(sum), "%016" PRIx64, file->sum);
	file->version = file->recorded = 0;
	if (json_is_string(json_object_get(record, "sum"))) {
		file->recorded = json_integer_value(json_object_get(record, "version"));
		if (strcmp(json_string_value(json_object_get(record, "sum")), sum) == 0)
			file->version = file->recorded;
	}
	json_decref(record);
}

int sl_node_file_read(struct sl_node_file *file)
{
	char *text;
	size_t bytes;
	int err = read_text(file->path, &text, &bytes);

	file->sum = text ? sl_settings_sum(text, bytes) : 0;
	free(text);
	if (!err)
		read_version(file);
	return err;
}

bool sl_node_file_is(const struct sl_node_file *file, const char *text, size_t bytes)
{
	char *has;
	size_t n;
	bool same;

	if (read_text(file->path, &has, &n) || !has)
		return false;
	same = n == bytes && memcmp(has, text, n) == 0;
	free(has);
	return same;
}

int sl_node_file_replace(struct sl_node_file *file, const char *text, size_t bytes)
{
	char former[PATH_MAX];
	int err = write_beside(file, "new", text, bytes);

	if (err)
		return err;
	/* A former one that is there already is from an agent that died: that is the good one. */
	beside(file, "former", former);
	if (link(file->path, former) && errno != EEXIST && errno != ENOENT)
		err = -errno;
	if (!err)
		err = move(file, "new", "");
	if (!err)
		err = sl_new_file_sync_folder(file->path);
	if (!err)
		file->sum = sl_settings_sum(text, bytes);
	return err;
}

int sl_node_file_keep(struct sl_node_file *file, long long version)
{
	char path[PATH_MAX], text[96];
	int n = snprintf(text, sizeof(text), "{\"version\": %lld, \"sum\": \"%016" PRIx64 "\"}\n",
			 version, file->sum);
	int err = write_beside(file, "version.new", text, (size_t)n);

	if (!err)
		err = move(file, "version.new", "version");
	if (err)
		return err;
	beside(file, "former", path);
	unlink(path);
	beside(file, "refused", path);
	unlink(path);
	file->version = file->recorded = version;
	return sl_new_file_sync_folder(file->path);
}

int sl_node_file_take_back(struct sl_node_file *file)
{
	char former[PATH_MAX], refused[PATH_MAX];
	int err = 0;

	beside(file, "former", former);
	beside(file, "refused", refused);
	if (access(former, F_OK))
		return -ENOENT;
	unlink(refused);
	/* At no moment there is no file. */
	if (link(file->path, refused))
		err = -errno;
	if (!err)
		err = move(file, "former", "");
	if (!err)
		err = sl_new_file_sync_folder(file->path);
	return err ? err : sl_node_file_read(file);
}
