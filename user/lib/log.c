/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "user/lib/log.h"

static enum sl_log_level max_level = SL_LOG_INFO;
static const char *line_prefix = "";

void sl_log_set_level(enum sl_log_level level)
{
	max_level = level;
}

enum sl_log_level sl_log_get_level(void)
{
	return max_level;
}

void sl_log_set_prefix(const char *prefix)
{
	line_prefix = prefix;
}

void sl_log(enum sl_log_level level, const char *format, ...)
{
	static const char *const names[] = { "error: ", "warning: ", "", "debug: " };
	static const char *const journal[] = { "<3>", "<4>", "<6>", "<7>" };
	int saved_errno = errno;
	char text[1000], line[1100];
	va_list args;
	int n;

	if (level > max_level)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (getenv("JOURNAL_STREAM"))
		n = snprintf(line, sizeof(line), "%s%s\n", journal[level], text);
	else
		n = snprintf(line, sizeof(line), "%s%s%s\n", line_prefix, names[level], text);
	/*
	 * One write() for a line, so that the lines of several processes on one descriptor do not
	 * mix.
	 */
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		n = 0;
	errno = saved_errno;
}
