/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "bpf/abi/own_element.h"
#include "user/lib/log.h"
#include "user/datapath/bpf_object.h"

static char last_warning[256];

__attribute__((format(printf, 2, 0))) static int print(enum libbpf_print_level level,
						       const char *format, va_list args)
{
	int n;

	if (level > LIBBPF_WARN)
		return 0;
	n = vsnprintf(last_warning, sizeof(last_warning), format, args);
	last_warning[strcspn(last_warning, "\n")] = '\0';
	sl_debug("%s", last_warning);
	return n;
}

const char *sl_bpf_object_said(void)
{
	return last_warning[0] ? last_warning : "libbpf gave no reason";
}

static void listen_to_libbpf(void)
{
	libbpf_set_print(print);
	last_warning[0] = '\0';
}

static int opened(struct bpf_object *object)
{
	struct bpf_map *map;

	if (!object)
		return -errno;
	bpf_object__for_each_map(map, object)
		bpf_map__set_pin_path(map, NULL);
	return 0;
}

int sl_bpf_object_open(const char *path, struct bpf_object **out)
{
	listen_to_libbpf();
	*out = bpf_object__open_file(path, NULL);
	return opened(*out);
}

int sl_bpf_object_open_bytes(const void *bytes, size_t n_bytes, struct bpf_object **out)
{
	LIBBPF_OPTS(bpf_object_open_opts, opts, .object_name = "sluice");

	listen_to_libbpf();
	*out = bpf_object__open_mem(bytes, n_bytes, &opts);
	return opened(*out);
}

int sl_bpf_object_read(const char *path, void **bytes, size_t *n_bytes)
{
	FILE *f = fopen(path, "re");
	struct stat is;
	int err = 0;

	*bytes = NULL;
	if (!f || fstat(fileno(f), &is))
		err = -errno;
	if (!err) {
		*n_bytes = (size_t)is.st_size;
		*bytes = malloc(*n_bytes ? *n_bytes : 1);
		err = *bytes ? 0 : -ENOMEM;
	}
	if (!err && fread(*bytes, 1, *n_bytes, f) != *n_bytes) {
		free(*bytes);
		*bytes = NULL;
		err = -EIO;
	}
	if (f)
		fclose(f);
	return err;
}

/* --- Linking --- */

#define FD_PATH_BYTES 32

/* libbpf links files by their paths. */
static void path_of(int fd, char path[FD_PATH_BYTES])
{
	snprintf(path, FD_PATH_BYTES, "/proc/self/fd/%d", fd);
}

static int add(struct bpf_linker *linker, const struct sl_bpf_bytes *object)
{
	int fd = memfd_create("sluice-object", MFD_CLOEXEC), err = fd < 0 ? -errno : 0;
	char path[FD_PATH_BYTES];

	path_of(fd, path);
	if (!err && write(fd, object->bytes, object->n_bytes) != (ssize_t)object->n_bytes)
		err = -EIO;
	if (!err)
		err = bpf_linker__add_file(linker, path, NULL);
	if (fd >= 0)
		close(fd);
	return err;
}

int sl_bpf_object_link(const struct sl_bpf_bytes *objects, size_t n, struct sl_bpf_bytes *out)
{
	int fd = memfd_create("sluice-linked", MFD_CLOEXEC), err = fd < 0 ? -errno : 0;
	struct bpf_linker *linker = NULL;
	char path[FD_PATH_BYTES];

	*out = (struct sl_bpf_bytes){ 0 };
	listen_to_libbpf();
	path_of(fd, path);
	if (!err) {
		linker = bpf_linker__new(path, NULL);
		err = linker ? 0 : -errno;
	}
	for (size_t i = 0; i < n && !err; i++)
		err = add(linker, &objects[i]);
	if (!err)
		err = bpf_linker__finalize(linker);
	bpf_linker__free(linker);
	if (!err)
		err = sl_bpf_object_read(path, &out->bytes, &out->n_bytes);
	if (fd >= 0)
		close(fd);
	return err;
}

/* The name stands, with its zero, in the strings of ELF and of BTF. */
int sl_bpf_object_place(struct sl_bpf_bytes *object, uint32_t slot)
{
	const size_t letter = sizeof(SL_OWN_FUNCTION) - 2;
	char *at, *from = object->bytes, *end = from + object->n_bytes;
	int err = -ENOENT;

	while ((at = memmem(from, (size_t)(end - from), SL_OWN_FUNCTION,
			    sizeof(SL_OWN_FUNCTION)))) {
		at[letter] = (char)('0' + slot);
		from = at + letter;
		err = 0;
	}
	return err;
}

/* FNV-1a */
uint32_t sl_bpf_object_hash(const struct sl_bpf_bytes *object)
{
	const uint8_t *bytes = object->bytes;
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < object->n_bytes; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return hash ? hash : 1;
}

/* --- Read-only data --- */

/* libbpf keeps one map per data section, named after the object. */
struct bpf_map *sl_bpf_object_rodata(const struct bpf_object *object)
{
	struct bpf_map *map;

	bpf_object__for_each_map(map, object) {
		const char *dot = strchr(bpf_map__name(map), '.');

		if (dot && strcmp(dot, ".rodata") == 0)
			return map;
	}
	return NULL;
}

/* Where the variable lies in the section, by the object's BTF. */
static const struct btf_var_secinfo *find_variable(const struct btf *btf, const char *variable)
{
	int id = btf ? btf__find_by_name_kind(btf, ".rodata", BTF_KIND_DATASEC) : -ENOENT;
	const struct btf_type *section = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	for (int i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *info = btf_var_secinfos(section) + i;
		const struct btf_type *type = btf__type_by_id(btf, info->type);

		if (strcmp(btf__name_by_offset(btf, type->name_off), variable) == 0)
			return info;
	}
	return NULL;
}

int sl_bpf_object_set_rodata(struct bpf_object *object, const char *variable, const void *value,
			     size_t value_bytes)
{
	const struct btf_var_secinfo *info = find_variable(bpf_object__btf(object), variable);
	struct bpf_map *map = sl_bpf_object_rodata(object);
	const void *initial;
	size_t data_bytes;
	char *data;
	int err;

	if (!info || !map || info->size != value_bytes)
		return -EINVAL;
	initial = bpf_map__initial_value(map, &data_bytes);
	if (!initial || info->offset + value_bytes > data_bytes)
		return -EINVAL;
	data = malloc(data_bytes);
	if (!data)
		return -ENOMEM;
	memcpy(data, initial, data_bytes);
	memcpy(data + info->offset, value, value_bytes);
	err = bpf_map__set_initial_value(map, data, data_bytes);
	free(data);
	return err;
}
