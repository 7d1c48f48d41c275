/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a configuration in a thread of its own: for a large cluster that takes tens of
 * milliseconds, and the packet loop must not wait for it.
 */
#ifndef RB_CONFIG_READER_H
#define RB_CONFIG_READER_H

#include <stdbool.h>

#include "user/config/config.h"

struct rb_config_reader;

/* Called in the thread. 0 with *out, which the caller owns, or -errno. */
typedef int (*rb_config_load_fn)(const void *context, struct sl_settings **out);

/* Begin to read. context is borrowed until the end. 0 or -errno. */
int rb_config_reader_open(rb_config_load_fn load, const void *context,
			  struct rb_config_reader **out);
/* Has it read? True with *err and, if that is 0, *settings, which the caller owns then. */
bool rb_config_reader_has_read(struct rb_config_reader *reader, struct sl_settings **settings,
			       int *err);
/* Waits for the thread. Frees what nobody has taken. NULL is fine. */
void rb_config_reader_close(struct rb_config_reader *reader);

#endif
