/* SPDX-License-Identifier: BSD-2-Clause */
#include "netns-lab/gen/tool.h"
#include "user/lib/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DURATION_MAX_S 86400

int lab_fail(int status, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return status;
}

int lab_exit_status(int status)
{
	if (!fflush(stdout) && !ferror(stdout))
		return status;
	return lab_fail(status ? status : 1,
			"standard output did not take the whole result: is its disk full?");
}

int lab_parse_number(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || value < min || value > max)
		return lab_fail(2, "--%s: \"%s\" is not a number from %" PRIu64 " to %" PRIu64,
				name, text, min, max);
	*out = value;
	return 0;
}

int lab_parse_u32(const char *name, const char *text, uint32_t min, uint32_t max, uint32_t *out)
{
	uint64_t value;
	int status = lab_parse_number(name, text, min, max, &value);

	if (!status)
		*out = (uint32_t)value;
	return status;
}

int lab_parse_duration(const char *text, uint64_t *ns)
{
	char *end;
	double seconds = strtod(text, &end);

	if (end == text || *end || !(seconds > 0 && seconds <= DURATION_MAX_S))
		return lab_fail(2, "--duration: \"%s\" is not a number of seconds up to %d", text,
				DURATION_MAX_S);
	*ns = (uint64_t)(seconds * NSEC_PER_SEC);
	return 0;
}

uint64_t lab_now_ns(void)
{
	return sl_clock_ns(CLOCK_MONOTONIC);
}

uint64_t lab_cpu_ns(void)
{
	return sl_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void lab_sleep_until(uint64_t time_ns)
{
	struct timespec t = { .tv_sec = (time_t)(time_ns / NSEC_PER_SEC),
			      .tv_nsec = (long)(time_ns % NSEC_PER_SEC) };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

void lab_print_json(json_t *json)
{
	json_dumpf(json, stdout, JSON_INDENT(1));
	putchar('\n');
	json_decref(json);
}
