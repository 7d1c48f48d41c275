/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pinned set: one directory in a BPF file system that always holds one complete generation.
 *
 * A new set is written to a directory beside it, DIR-new, and the two are exchanged by one
 * renameat2(RENAME_EXCHANGE); then the old set is removed. A process killed at any point leaves DIR
 * complete; what it left in DIR-new is removed by the next one that stages a set. The caller holds
 * the daemon's lock.
 */
#ifndef SL_PINS_H
#define SL_PINS_H

#include <stddef.h>

struct sl_pin {
	char name[16];
	int fd; /* borrowed */
};

/*
 * Can DIR be used? 0, -ENOENT: its parent is missing; -EMEDIUMTYPE: its parent is not in a BPF file
 * system.
 */
int sl_pins_check(const char *dir);
/*
 * Open one object of the published set (staged != 0: of the set beside it). A descriptor or -errno.
 */
int sl_pins_get(const char *dir, int staged, const char *name);
/* Write a set beside the published one; a leftover there is removed first. */
int sl_pins_stage(const char *dir, const struct sl_pin *pins, size_t n);
/*
 * Give add() a descriptor, which it then owns, of each object of a set whose name begins so, until
 * it returns an error. 0 or that error.
 */
int sl_pins_get_all(const char *dir, int staged, const char *beginning,
		    int (*add)(void *ctx, int fd), void *ctx);
/* Add one object to the published or the staged set, replacing one of that name. */
int sl_pins_add(const char *dir, int staged, const char *name, int fd);
/* Remove one object from that set. */
void sl_pins_drop(const char *dir, int staged, const char *name);
/* Exchange the staged set with the published one, and remove the latter. */
int sl_pins_publish(const char *dir);
/* Remove both sets, and the directories. 0 also when there is nothing. */
int sl_pins_remove(const char *dir);

#endif
