/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/lib/answer.h"

#include <stdio.h>

bool sl_answer_flush(const char *program)
{
	if (!fflush(stdout) && !ferror(stdout))
		return true;
	fprintf(stderr, "%s: standard output did not take the whole answer: is its disk full?\n",
		program);
	return false;
}
