/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <libgen.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "user/datapath/pins.h"

/* The BPF file system refuses names with a dot. */
#define STAGED_SUFFIX "-new"

static int staged_path(char path[PATH_MAX], const char *dir)
{
	int n = snprintf(path, PATH_MAX, "%s" STAGED_SUFFIX, dir);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int sl_pins_check(const char *dir)
{
	char copy[PATH_MAX];
	struct statfs fs;

	if (strlen(dir) >= sizeof(copy))
		return -ENAMETOOLONG;
	memcpy(copy, dir, strlen(dir) + 1);
	if (statfs(dirname(copy), &fs))
		return -errno;
	return fs.f_type == BPF_FS_MAGIC ? 0 : -EMEDIUMTYPE;
}

static int pin_path(char path[PATH_MAX], const char *dir, int staged, const char *name)
{
	int n = snprintf(path, PATH_MAX, "%s%s/%s", dir, staged ? STAGED_SUFFIX : "", name);

	return n < 0 || n >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int sl_pins_get(const char *dir, int staged, const char *name)
{
	char path[PATH_MAX];
	int err = pin_path(path, dir, staged, name);

	return err ? err : bpf_obj_get(path);
}

int sl_pins_get_all(const char *dir, int staged, const char *beginning,
		    int (*add)(void *ctx, int fd), void *ctx)
{
	char path[PATH_MAX];
	struct dirent *entry;
	DIR *d;
	int err = pin_path(path, dir, staged, "");

	if (err)
		return err;
	d = opendir(path);
	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while (!err && (entry = readdir(d))) {
		int fd = -1;

		if (strncmp(entry->d_name, beginning, strlen(beginning)) == 0)
			fd = sl_pins_get(dir, staged, entry->d_name);
		if (fd >= 0)
			err = add(ctx, fd);
	}
	closedir(d);
	return err;
}

static int remove_set(const char *dir)
{
	struct dirent *entry;
	DIR *d = opendir(dir);
	int err = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	while ((entry = readdir(d))) {
		if (entry->d_name[0] == '.')
			continue;
		if (unlinkat(dirfd(d), entry->d_name, 0))
			err = -errno;
	}
	closedir(d);
	if (rmdir(dir))
		err = -errno;
	return err;
}

int sl_pins_stage(const char *dir, const struct sl_pin *pins, size_t n)
{
	char staged[PATH_MAX], path[PATH_MAX + sizeof(pins->name)];
	int err = staged_path(staged, dir);

	if (err)
		return err;
	err = remove_set(staged);
	if (err)
		return err;
	if (mkdir(staged, 0755))
		return -errno;
	for (size_t i = 0; i < n && !err; i++) {
		snprintf(path, sizeof(path), "%s/%s", staged, pins[i].name);
		err = bpf_obj_pin(pins[i].fd, path);
	}
	return err;
}

int sl_pins_add(const char *dir, int staged, const char *name, int fd)
{
	char path[PATH_MAX];
	int err = pin_path(path, dir, staged, name);

	if (err)
		return err;
	if (unlink(path) && errno != ENOENT)
		return -errno;
	return bpf_obj_pin(fd, path);
}

void sl_pins_drop(const char *dir, int staged, const char *name)
{
	char path[PATH_MAX];

	if (!pin_path(path, dir, staged, name))
		unlink(path);
}

int sl_pins_publish(const char *dir)
{
	char staged[PATH_MAX];
	int err = staged_path(staged, dir);

	if (err)
		return err;
	if (mkdir(dir, 0755) && errno != EEXIST)
		return -errno;
	if (renameat2(AT_FDCWD, staged, AT_FDCWD, dir, RENAME_EXCHANGE))
		return -errno;
	return remove_set(staged);
}

int sl_pins_remove(const char *dir)
{
	char staged[PATH_MAX];
	int err = staged_path(staged, dir), err_staged;

	if (err)
		return err;
	err_staged = remove_set(staged);
	err = remove_set(dir);
	return err ? err : err_staged;
}
