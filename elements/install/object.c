/* SPDX-License-Identifier: BSD-2-Clause */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elements/install/object.h"
#include "elements/install/object_elf.h"

#define PATH_BYTES 32

int el_object_seal(const uint8_t *bytes, size_t n)
{
	const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
	int fd = memfd_create("sluice-element", MFD_CLOEXEC | MFD_ALLOW_SEALING), err = 0;

	if (fd < 0)
		return -errno;
	for (size_t done = 0; !err && done < n;) {
		ssize_t more = write(fd, bytes + done, n - done);

		if (more < 0)
			err = -errno;
		else
			done += (size_t)more;
	}
	if (!err && fcntl(fd, F_ADD_SEALS, seals))
		err = -errno;
	if (!err)
		return fd;
	close(fd);
	return err;
}

static void path_of(int fd, char path[PATH_BYTES])
{
	snprintf(path, PATH_BYTES, "/proc/self/fd/%d", fd);
}

/* What the linker says, without the path, which means nothing to people, on one line. */
static void explain(const char *path, char why[EL_WHY_BYTES])
{
	const char *said = dlerror();

	if (!said)
		said = "it cannot be loaded";
	if (strncmp(said, path, strlen(path)) == 0)
		said += strlen(path);
	said += strspn(said, ": ");
	snprintf(why, EL_WHY_BYTES, "%s", said);
	for (char *c = why; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
}

int el_object_program(int fd, struct sl_bpf_bytes *out)
{
	struct stat is;
	const uint8_t *bytes, *section;
	size_t n = 0;

	*out = (struct sl_bpf_bytes){ 0 };
	if (fstat(fd, &is))
		return -errno;
	bytes = mmap(NULL, (size_t)is.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	section = el_elf_section(bytes, (size_t)is.st_size, EL_FAST_SECTION, &n);
	if (section && n) {
		out->bytes = malloc(n);
		if (out->bytes)
			out->n_bytes = n;
		if (out->bytes)
			memcpy(out->bytes, section, n);
	}
	munmap((void *)bytes, (size_t)is.st_size);
	return section && n && !out->bytes ? -ENOMEM : 0;
}

int el_object_open(int fd, struct el_object *out, char why[EL_WHY_BYTES])
{
	const char *reason = "it has no symbol " EL_PACKAGE_SYMBOL;
	char path[PATH_BYTES];

	*out = (struct el_object){ 0 };
	path_of(fd, path);
	out->handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!out->handle) {
		explain(path, why);
		return -EINVAL;
	}
	out->package = dlsym(out->handle, EL_PACKAGE_SYMBOL);
	if (out->package)
		reason = el_package_check(out->package);
	if (!reason && el_object_program(fd, &out->program))
		reason = "its program cannot be read";
	if (!reason && !out->package->class->fast != !out->program.n_bytes)
		reason = "it has only one of a function `fast` and a program (EL_FAST_PROGRAM)";
	if (!reason)
		return 0;
	snprintf(why, EL_WHY_BYTES, "%s", reason);
	el_object_close(out);
	return -EINVAL;
}

void el_object_close(struct el_object *object)
{
	free(object->program.bytes);
	if (object->handle)
		dlclose(object->handle);
	*object = (struct el_object){ 0 };
}

bool el_object_stays(int fd)
{
	char path[PATH_BYTES];
	void *handle;

	path_of(fd, path);
	handle = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
	if (handle)
		dlclose(handle);
	return handle != NULL;
}
