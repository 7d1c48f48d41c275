/* SPDX-License-Identifier: BSD-2-Clause */
/* Which capabilities the daemon needs, and which of them it lacks. */
#ifndef SL_PRIVILEGES_H
#define SL_PRIVILEGES_H

#include <stddef.h>

/*
 * Names of the capabilities that are needed and not effective, separated by ", ", into out; "" if
 * all are there. 0 or -errno.
 */
int sl_privileges_missing(char *out, size_t out_bytes);

#endif
