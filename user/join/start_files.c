/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/join/start_files.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "user/lib/new_file.h"

void sl_start_files_add(struct sl_start_files *files, const struct sl_start_file *file)
{
	if (!file->bytes || files->n == SL_START_FILES_MAX)
		return;
	files->file[files->n] = *file;
	files->file[files->n].fd = -1;
	files->file[files->n++].placed = false;
}

int sl_start_files_write(struct sl_start_files *files, const char **at)
{
	for (unsigned int i = 0; i < files->n; i++) {
		struct sl_start_file *file = &files->file[i];

		*at = file->path;
		if (!file->former && access(file->path, F_OK) == 0)
			return -EEXIST;
		file->fd = sl_new_file_write(file->path, file->bytes, file->n, file->mode);
		if (file->fd < 0)
			return file->fd;
	}
	return 0;
}

/* Put a file in the place of another one: a link refuses that, a rename does not. */
static int replace(int fd, const char *path)
{
	char new[PATH_MAX];
	int err;

	snprintf(new, sizeof(new), "%.4000s.new", path);
	unlink(new);
	err = sl_new_file_place(fd, new);
	if (!err && rename(new, path)) {
		err = -errno;
		unlink(new);
	}
	return err ? err : sl_new_file_sync_folder(path);
}

int sl_start_files_place(struct sl_start_files *files, const char **at)
{
	int err = 0;

	for (unsigned int i = 0; !err && i < files->n; i++) {
		struct sl_start_file *file = &files->file[i];

		*at = file->path;
		err = file->former ? replace(file->fd, file->path)
				   : sl_new_file_place(file->fd, file->path);
		file->placed = !err;
	}
	if (err)
		sl_start_files_undo(files);
	return err;
}

void sl_start_files_undo(struct sl_start_files *files)
{
	for (unsigned int i = 0; i < files->n; i++) {
		struct sl_start_file *file = &files->file[i];
		int fd;

		if (!file->placed)
			continue;
		if (!file->former) {
			unlink(file->path);
		} else {
			fd = sl_new_file_write(file->path, file->former, strlen(file->former),
					       file->mode);
			if (fd >= 0)
				replace(fd, file->path);
			if (fd >= 0)
				close(fd);
		}
		file->placed = false;
	}
	sl_start_files_close(files);
}

void sl_start_files_close(struct sl_start_files *files)
{
	for (unsigned int i = 0; i < files->n; i++)
		if (files->file[i].fd >= 0)
			close(files->file[i].fd);
	files->n = 0;
}
