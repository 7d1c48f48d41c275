/* SPDX-License-Identifier: BSD-2-Clause */
/* Read a file, or get it by HTTP or HTTPS. */
#ifndef SL_FETCH_H
#define SL_FETCH_H

#include <stddef.h>
#include <stdint.h>

#define SL_FETCH_WHY_BYTES 256

/*
 * where: a path, or a URL that begins with http://, https:// or file://. At most max bytes. 0, and
 * bytes that the caller frees; or -errno, with the reason in why.
 */
int sl_fetch(const char *where, size_t max, uint8_t **out, size_t *n, char why[SL_FETCH_WHY_BYTES]);

#endif
