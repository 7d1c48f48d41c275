/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The directory of installed elements, from which a worker takes them when it starts. Each is one
 * file, NAME.element: the signature, then the object; so it changes in one step. NAME.fault beside
 * it says why the element is not run any more.
 *
 * A thread of its own writes and waits for the disk, because packets are served meanwhile. What a
 * power failure cuts short has a wrong signature.
 */
#ifndef EL_STORE_H
#define EL_STORE_H

#include <pthread.h>
#include <stdbool.h>

#include "elements/install/object.h"

#define EL_STORE_NAME_BYTES 32

struct el_store_save {
	/* borrowed until it is over */
	const char *dir, *name;
	const uint8_t *signature, *object; /* EL_SIGNATURE_BYTES, object_bytes */
	size_t object_bytes;
	/*
	 * NULL, or what the thread does first, as it may take long, with `owner`: 0, or -errno with
	 * the reason in why; and how that is undone if the store cannot be written.
	 */
	int (*before)(void *owner, char why[EL_WHY_BYTES]);
	void (*undo)(void *owner);
	void *owner;
	char why[EL_WHY_BYTES]; /* of `before`; "": it was not that */
	int fd;			/* owned: readable when it is over; -1: none goes on */
	pthread_t thread;
	int err; /* written by the thread before it ends */
};

/*
 * Begin to put an element in the place of one of that name, whose fault is forgotten. The caller
 * sets dir to object_bytes. 0 or -errno.
 */
int el_store_save_start(struct el_store_save *save);
/*
 * Is it over? Then file and directory are on the disk, or *err is -errno and nothing has changed,
 * but for what a failure of the directory's fsync leaves open. Does not wait.
 */
bool el_store_save_over(struct el_store_save *save, int *err);
/* Wait until it is over, if one goes on. */
void el_store_save_finish(struct el_store_save *save);

/* 0 or -errno. The disk may have it later: after a power failure it may be there again. */
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
