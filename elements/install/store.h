/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of installed elements, from which a worker takes them when it starts. Each is one
 * file, NAME.element: the signature, then the object; so it changes in one step. NAME.fault beside
 * it says why the element is not run any more.
 *
 * Nothing waits for the disk, because packets wait meanwhile: what a power failure cuts short has a
 * wrong signature.
 */
#ifndef EL_STORE_H
#define EL_STORE_H

#include "elements/install/object.h"

#define EL_STORE_NAME_BYTES 32

/* Put it in the place of one of that name, whose fault is forgotten. 0 or -errno; then nothing has
 * changed. */
int el_store_save(const char *dir, const char *name, const uint8_t signature[EL_SIGNATURE_BYTES],
		  const uint8_t *object, size_t n);
/* 0 or -errno. */
int el_store_remove(const char *dir, const char *name);

/*
 * Read all. each: 0, or an error that ends the reading. A missing directory has none. 0 or -errno.
 */
int el_store_each(const char *dir,
		  int (*each)(void *arg, const char *name,
			      const uint8_t signature[EL_SIGNATURE_BYTES], const uint8_t *object,
			      size_t n),
		  void *arg);

/* The path of the file that says why an element is not run any more. 0 or -ENAMETOOLONG. */
int el_store_fault_path(const char *dir, const char *name, char *path, size_t path_bytes);
/* What it says; "" if there is none. */
void el_store_fault(const char *dir, const char *name, char why[EL_WHY_BYTES]);

#endif
