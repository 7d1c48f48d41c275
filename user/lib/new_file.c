/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/lib/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int open_folder(const char *path, int flags, mode_t mode)
{
	char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), flags | O_CLOEXEC, mode) : -ENOMEM;

	if (copy && fd < 0)
		fd = -errno;
	free(copy);
	return fd;
}

int sl_new_file_write(const char *path, const void *bytes, size_t n, mode_t mode)
{
	const uint8_t *at = bytes;
	int fd = open_folder(path, O_WRONLY | O_TMPFILE, mode), err = 0;

	if (fd < 0)
		return fd;
	while (n && !err) {
		ssize_t written = write(fd, at, n);

		if (written < 0 && errno != EINTR)
			err = -errno;
		if (written > 0) {
			at += written;
			n -= (size_t)written;
		}
	}
	if (!err && (fchmod(fd, mode) || fsync(fd)))
		err = -errno;
	if (err)
		close(fd);
	return err ? err : fd;
}

int sl_new_file_place(int fd, const char *path)
{
	char own[32];

	snprintf(own, sizeof(own), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, own, AT_FDCWD, path, AT_SYMLINK_FOLLOW))
		return -errno;
	return sl_new_file_sync_folder(path);
}

int sl_new_file_sync_folder(const char *path)
{
	int fd = open_folder(path, O_RDONLY | O_DIRECTORY, 0), err = 0;

	if (fd < 0)
		return fd;
	if (fsync(fd))
		err = -errno;
	close(fd);
	return err;
}
