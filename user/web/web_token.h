/* SPDX-License-Identifier: BSD-2-Clause */
/* The word that opens the page of `sluice web` to other hosts. */
#ifndef SL_WEB_TOKEN_H
#define SL_WEB_TOKEN_H

#include <stdbool.h>

#define SL_WEB_TOKEN_MIN 16 /* characters, of A-Z a-z 0-9 - _ */
#define SL_WEB_TOKEN_MAX 128

/*
 * Read the first line of a file; token has SL_WEB_TOKEN_MAX + 1 bytes.
 * 0; -EACCES: others than its owner can read or write the file; -EINVAL: the line is no token;
 * else -errno of open(2) and read(2).
 */
int sl_web_token_read(const char *path, char *token);

/* Is the given text, or NULL, the token? Takes as long wherever they differ. */
bool sl_web_token_matches(const char *token, const char *given);

#endif
