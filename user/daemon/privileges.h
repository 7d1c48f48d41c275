/* SPDX-License-Identifier: BSD-2-Clause */
/* The capabilities that the daemon needs: which of them does it lack? */
#ifndef SL_PRIVILEGES_H
#define SL_PRIVILEGES_H

#include <stddef.h>

/*
 * Write the names of the missing ones to out, separated by ", "; "" if none is missing. 0 or
 * -errno.
 */
int sl_privileges_missing(char *out, size_t out_bytes);

#endif
