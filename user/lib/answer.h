/* SPDX-License-Identifier: BSD-2-Clause */
/* What a program prints for who has asked it something, which a full disk may cut short. */
#ifndef SL_ANSWER_H
#define SL_ANSWER_H

#include <stdbool.h>

/*
 * Flush standard output. False if it has not taken all that was written to it; `program` has said
 * so on standard error then.
 */
bool sl_answer_flush(const char *program);

#endif
