/* SPDX-License-Identifier: BSD-2-Clause */
/* Standard output of a program that answers a question. A full disk may cut the answer short. */
#ifndef SL_ANSWER_H
#define SL_ANSWER_H

#include <stdbool.h>

/*
 * Flush standard output. False if it did not take all that was written; a line on standard error,
 * in the name of `program`, has said so.
 */
bool sl_answer_flush(const char *program);

#endif
