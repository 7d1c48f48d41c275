/* SPDX-License-Identifier: BSD-2-Clause */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elements/install/store.h"

#define SUFFIX	   ".element"
#define NEW_SUFFIX ".new"

static int path_in(const char *dir, const char *name, const char *suffix, char *path, size_t n)
{
	int length = snprintf(path, n, "%s/%s%s", dir, name, suffix);

	return length < 0 || (size_t)length >= n ? -ENAMETOOLONG : 0;
}

int el_store_fault_path(const char *dir, const char *name, char *path, size_t path_bytes)
{
	return path_in(dir, name, ".fault", path, path_bytes);
}

void el_store_fault(const char *dir, const char *name, char why[EL_WHY_BYTES])
{
	char path[PATH_MAX];
	FILE *f;

	why[0] = '\0';
	if (el_store_fault_path(dir, name, path, sizeof(path)))
		return;
	f = fopen(path, "re");
	if (!f)
		return;
	if (!fgets(why, EL_WHY_BYTES, f) || why[0] == '\n')
		snprintf(why, EL_WHY_BYTES, "it crashed");
	why[strcspn(why, "\n")] = '\0';
	fclose(f);
}

static int write_all(int fd, const uint8_t *bytes, size_t n)
{
	while (n) {
		ssize_t done = write(fd, bytes, n);

		if (done < 0)
			return -errno;
		bytes += done;
		n -= (size_t)done;
	}
	return 0;
}

static int write_synced(const char *path, const struct el_store_save *save)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), err;

	if (fd < 0)
		return -errno;
	err = write_all(fd, save->signature, EL_SIGNATURE_BYTES);
	if (!err)
		err = write_all(fd, save->object, save->object_bytes);
	if (!err && fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

/* A name is on the disk when its directory is. */
static int sync_directory(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), err = 0;

	if (fd < 0)
		return -errno;
	if (fsync(fd))
		err = -errno;
	close(fd);
	return err;
}

static int save_all(const struct el_store_save *save)
{
	char path[PATH_MAX], fresh[PATH_MAX], fault[PATH_MAX];
	int err = path_in(save->dir, save->name, SUFFIX, path, sizeof(path));

	if (!err)
		err = path_in(save->dir, save->name, NEW_SUFFIX, fresh, sizeof(fresh));
	if (!err)
		err = el_store_fault_path(save->dir, save->name, fault, sizeof(fault));
	if (err)
		return err;
	if (mkdir(save->dir, 0700) && errno != EEXIST)
		return -errno;
	err = write_synced(fresh, save);
	if (!err && rename(fresh, path))
		err = -errno;
	if (err) {
		unlink(fresh);
		return err;
	}
	unlink(fault);
	return sync_directory(save->dir);
}

static void *save_thread(void *arg)
{
	const uint64_t one = 1;
	struct el_store_save *save = arg;

	save->err = save->before ? save->before(save->owner, save->why) : 0;
	if (!save->err) {
		save->err = save_all(save);
		if (save->err && save->undo)
			save->undo(save->owner);
	}
	(void)!write(save->fd, &one, sizeof(one));
	return NULL;
}

int el_store_save_start(struct el_store_save *save)
{
	sigset_t all, before;
	int err;

	save->fd = eventfd(0, EFD_CLOEXEC);
	if (save->fd < 0)
		return -errno;
	/* Signals are the main thread's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = -pthread_create(&save->thread, NULL, save_thread, save);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (err) {
		close(save->fd);
		save->fd = -1;
	}
	return err;
}

bool el_store_save_over(struct el_store_save *save, int *err)
{
	struct pollfd done = { .fd = save->fd, .events = POLLIN };

	if (poll(&done, 1, 0) <= 0)
		return false;
	el_store_save_finish(save);
	*err = save->err;
	return true;
}

void el_store_save_finish(struct el_store_save *save)
{
	if (save->fd < 0)
		return;
	pthread_join(save->thread, NULL);
	close(save->fd);
	save->fd = -1;
}

int el_store_remove(const char *dir, const char *name)
{
	char path[PATH_MAX], fault[PATH_MAX];
	int err = path_in(dir, name, SUFFIX, path, sizeof(path));

	if (!err)
		err = el_store_fault_path(dir, name, fault, sizeof(fault));
	if (err)
		return err;
	if (unlink(path) && errno != ENOENT)
		return -errno;
	unlink(fault);
	return 0;
}

/* The length of a name before SUFFIX; 0: the file is no element. */
static size_t stem_bytes(const char *file)
{
	size_t n = strlen(file), suffix = strlen(SUFFIX);

	if (n <= suffix || n - suffix >= EL_STORE_NAME_BYTES || strcmp(file + n - suffix, SUFFIX))
		return 0;
	return n - suffix;
}

static int read_file(const char *path, uint8_t *bytes, size_t room, size_t *n)
{
	FILE *f = fopen(path, "re");
	int err = 0;

	if (!f)
		return -errno;
	*n = fread(bytes, 1, room, f);
	if (ferror(f))
		err = -EIO;
	fclose(f);
	return err;
}

int el_store_each(const char *dir,
		  int (*each)(void *arg, const char *name,
			      const uint8_t signature[EL_SIGNATURE_BYTES], const uint8_t *object,
			      size_t n),
		  void *arg)
{
	const size_t room = EL_SIGNATURE_BYTES + EL_OBJECT_MAX_BYTES + 1;
	DIR *d = opendir(dir);
	const struct dirent *entry;
	uint8_t *bytes;
	int err = 0;

	if (!d)
		return errno == ENOENT ? 0 : -errno;
	bytes = malloc(room);
	if (!bytes)
		err = -ENOMEM;
	while (!err && (entry = readdir(d))) {
		char name[EL_STORE_NAME_BYTES], path[PATH_MAX];
		size_t stem = stem_bytes(entry->d_name), n = 0;

		if (!stem)
			continue;
		memcpy(name, entry->d_name, stem);
		name[stem] = '\0';
		err = path_in(dir, name, SUFFIX, path, sizeof(path));
		if (!err)
			err = read_file(path, bytes, room, &n);
		if (!err)
			err = each(arg, name, bytes, bytes + EL_SIGNATURE_BYTES,
				   n > EL_SIGNATURE_BYTES ? n - EL_SIGNATURE_BYTES : 0);
	}
	free(bytes);
	closedir(d);
	return err;
}
