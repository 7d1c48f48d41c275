/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * BPF object files: open them, set their read-only data, and repeat what libbpf said of a failure.
 */
#ifndef SL_BPF_OBJECT_H
#define SL_BPF_OBJECT_H

#include <stddef.h>
#include <stdint.h>

struct bpf_object;
struct bpf_map;

/*
 * Open an object file, and ignore the pins that it asks for: pins are written as one set (pins.h).
 * From now on libbpf's warnings go to the log at level debug, and the last one is kept. 0 or
 * -errno.
 */
int sl_bpf_object_open(const char *path, struct bpf_object **out);
/* The same from a file's bytes, which the caller keeps. */
int sl_bpf_object_open_bytes(const void *bytes, size_t n_bytes, struct bpf_object **out);
/* Read a whole object file; the caller frees *bytes. 0 or -errno. */
int sl_bpf_object_read(const char *path, void **bytes, size_t *n_bytes);
struct sl_bpf_bytes {
	void *bytes; /* owned, or borrowed where a function takes it as const */
	size_t n_bytes;
};

/*
 * Link object files into one, whose bytes the caller frees: functions of the later ones take the
 * place of weak ones of the first. 0 or -errno; sl_bpf_object_said has libbpf's reason.
 */
int sl_bpf_object_link(const struct sl_bpf_bytes *objects, size_t n, struct sl_bpf_bytes *out);
/*
 * Give the function of an own element in its object the name that it has in a slot
 * (bpf/abi/own_element.h). 0; -ENOENT: it has no such function, or has its name already.
 */
int sl_bpf_object_place(struct sl_bpf_bytes *object, uint32_t slot);
/* A hash of an object's bytes that is not 0. */
uint32_t sl_bpf_object_hash(const struct sl_bpf_bytes *object);

/* libbpf's last warning since sl_bpf_object_open, or a sentence that there is none. */
const char *sl_bpf_object_said(void);

/* The map of the read-only data, or NULL. */
struct bpf_map *sl_bpf_object_rodata(const struct bpf_object *object);
/*
 * Set a variable of the read-only data before the object is loaded. -EINVAL: the object has no such
 * variable of that size.
 */
int sl_bpf_object_set_rodata(struct bpf_object *object, const char *variable, const void *value,
			     size_t value_bytes);

#endif
