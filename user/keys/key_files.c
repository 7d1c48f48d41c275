/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/keys/key_files.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/config/config_cluster.h"

#define KEY_MIN_BYTES 16
#define KEY_MAX_BYTES 1024

int sl_key_files_init(struct sl_key_files *files, const char *key_file)
{
	files->key = strdup(key_file);
	if (!files->key || asprintf(&files->also, "%s" SL_KEY_ALSO, key_file) < 0) {
		free(files->key);
		*files = (struct sl_key_files){ 0 };
		return -ENOMEM;
	}
	return 0;
}

void sl_key_files_free(struct sl_key_files *files)
{
	free(files->key);
	free(files->also);
	*files = (struct sl_key_files){ 0 };
}

/* Names in the folder of a file are on disk. */
static int sync_folder(const char *path)
{
	char *copy = strdup(path);
	int fd, err = 0;

	if (!copy)
		return -ENOMEM;
	fd = open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd))
		err = -errno;
	if (fd >= 0)
		close(fd);
	free(copy);
	return err;
}

/* The bytes of a key, and one newline more if there is one. Returns how many, or -errno. */
static ssize_t read_key(const char *path, uint8_t bytes[KEY_MAX_BYTES + 2])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n, key_bytes;

	if (fd < 0)
		return -errno;
	n = read(fd, bytes, KEY_MAX_BYTES + 2);
	if (n < 0)
		n = -errno;
	close(fd);
	key_bytes = n > 0 && bytes[n - 1] == '\n' ? n - 1 : n;
	return n < 0 || (key_bytes >= KEY_MIN_BYTES && key_bytes <= KEY_MAX_BYTES) ? n : -EINVAL;
}

static int write_new(const char *path, const uint8_t *bytes, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), err = 0;
	ssize_t written;

	if (fd < 0)
		return -errno;
	written = write(fd, bytes, n);
	if (written < 0 || fsync(fd))
		err = -errno;
	else if ((size_t)written < n)
		err = -ENOSPC;
	if (close(fd) && !err)
		err = -errno;
	if (err)
		unlink(path);
	return err;
}

/* The second key becomes these bytes. */
static int add_bytes(const struct sl_key_files *files, const uint8_t *bytes, size_t n)
{
	char *new;
	int err;

	if (asprintf(&new, "%s.%d", files->also, getpid()) < 0)
		return -ENOMEM;
	err = write_new(new, bytes, n);
	/* A link refuses a name that is there. */
	if (!err && link(new, files->also))
		err = -errno;
	unlink(new);
	free(new);
	return err ? err : sync_folder(files->also);
}

int sl_key_files_add(const struct sl_key_files *files, const char *from, const char **at)
{
	uint8_t bytes[KEY_MAX_BYTES + 2];
	ssize_t n = read_key(from, bytes);
	int err = n < 0 ? (int)n : 0;

	*at = from;
	if (!err) {
		*at = files->also;
		err = add_bytes(files, bytes, (size_t)n);
	}
	explicit_bzero(bytes, sizeof(bytes));
	return err;
}

int sl_key_files_switch(const struct sl_key_files *files)
{
	if (renameat2(AT_FDCWD, files->key, AT_FDCWD, files->also, RENAME_EXCHANGE))
		return -errno;
	return sync_folder(files->key);
}

int sl_key_files_look(const struct sl_key_files *files)
{
	return access(files->also, F_OK) ? -errno : 0;
}

int sl_key_files_remove(const struct sl_key_files *files)
{
	return unlink(files->also) ? -errno : sync_folder(files->also);
}
