/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/keys/key_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "user/config/config_cluster.h"
#include "user/lib/new_file.h"

#define KEY_MIN_BYTES 16

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

bool sl_key_is_one(const uint8_t *bytes, size_t n)
{
	if (n && bytes[n - 1] == '\n')
		n--;
	return n >= KEY_MIN_BYTES && n <= SL_KEY_MAX_BYTES;
}

ssize_t sl_key_file_read(const char *path, uint8_t bytes[SL_KEY_FILE_BYTES])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = read(fd, bytes, SL_KEY_FILE_BYTES);
	if (n < 0)
		n = -errno;
	close(fd);
	return n < 0 || sl_key_is_one(bytes, (size_t)n) ? n : -EINVAL;
}

/* The second key becomes these bytes. */
static int add_bytes(const struct sl_key_files *files, const uint8_t *bytes, size_t n)
{
	int fd = sl_new_file_write(files->also, bytes, n, 0600), err;

	if (fd < 0)
		return fd;
	err = sl_new_file_place(fd, files->also);
	close(fd);
	return err;
}

int sl_key_files_add(const struct sl_key_files *files, const char *from, const char **at)
{
	uint8_t bytes[SL_KEY_FILE_BYTES];
	ssize_t n = sl_key_file_read(from, bytes);
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
	return sl_new_file_sync_folder(files->key);
}

int sl_key_files_look(const struct sl_key_files *files)
{
	return access(files->also, F_OK) ? -errno : 0;
}

int sl_key_files_remove(const struct sl_key_files *files)
{
	return unlink(files->also) ? -errno : sl_new_file_sync_folder(files->also);
}
