/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>
#include <jansson.h>

#include "user/lib/clock.h"
#include "user/lib/journal.h"
#include "user/lib/log.h"

static enum sl_log_level max_level = SL_LOG_INFO;
static enum sl_log_form form = SL_LOG_TEXT;
static const char *line_prefix = "";
static const char *journal_socket = SL_JOURNAL_SOCKET;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t places; /* all struct sl_log_place, and what follows */
static char *caught;	       /* borrowed; NULL: nobody wants an error */

static const char *const level_names[] = { "error", "warning", "info", "debug" };
static const int priorities[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

void sl_log_set_level(enum sl_log_level level)
{
	max_level = level;
}

enum sl_log_level sl_log_get_level(void)
{
	return max_level;
}

int sl_log_set_form(const char *name)
{
	if (strcmp(name, "text") != 0 && strcmp(name, "json") != 0)
		return -EINVAL;
	form = *name == 'j' ? SL_LOG_JSON : SL_LOG_TEXT;
	return 0;
}

void sl_log_set_prefix(const char *prefix)
{
	line_prefix = prefix;
}

void sl_log_set_journal(const char *path)
{
	journal_socket = path;
}

/* What a message quotes may come from another host: it begins no line, and moves no cursor. */
static int text_line(enum sl_log_level level, const char *text, char *line, size_t bytes)
{
	int n;

	if (sl_journal_has_stderr())
		n = snprintf(line, bytes, "<%d>%s\n", priorities[level], text);
	else if (level == SL_LOG_INFO)
		n = snprintf(line, bytes, "%s%s\n", line_prefix, text);
	else
		n = snprintf(line, bytes, "%s%s: %s\n", line_prefix, level_names[level], text);
	for (int i = 0; i < n - 1; i++)
		if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
			line[i] = ' ';
	return n;
}

/* A text that is cut within a character, or was never UTF-8, loses the bytes that are none. */
static json_t *string(const char *text)
{
	json_t *whole = json_string(text);
	char clean[1100];
	size_t n = 0;

	if (whole)
		return whole;
	for (const char *p = text; *p && n < sizeof(clean) - 1; p++)
		if ((unsigned char)*p < 0x80)
			clean[n++] = *p;
	return json_stringn(clean, n);
}

struct event {
	const char *name; /* NULL: the line is of none */
	const struct sl_log_field *fields;
};

static int json_line(const struct sl_log_place *place, enum sl_log_level level,
		     const struct event *event, const char *text, char *line, size_t bytes)
{
	char when[48], where[256];
	struct timespec now;
	struct tm utc;
	json_t *object;
	size_t n;

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	n = strftime(when, sizeof(when), "%Y-%m-%dT%H:%M:%S", &utc);
	snprintf(when + n, sizeof(when) - n, ".%06ldZ", now.tv_nsec / 1000);
	snprintf(where, sizeof(where), "%s:%d", place->file, place->line);
	object = json_pack("{s:s, s:s, s:s%, s:s, s:o}", "time", when, "level", level_names[level],
			   "daemon", line_prefix, strcspn(line_prefix, ":"), "place", where,
			   "message", string(text));
	if (event->name)
		json_object_set_new(object, "event", json_string(event->name));
	for (const struct sl_log_field *field = event->fields; field && field->name; field++)
		json_object_set_new(object, field->name,
				    field->text ? string(field->text)
						: json_integer(field->number));
	n = object ? json_dumpb(object, line, bytes - 1, JSON_COMPACT) : 0;
	json_decref(object);
	if (n == 0 || n > bytes - 1)
		return 0;
	line[n] = '\n';
	return (int)n + 1;
}

/* 0, or -errno: the journal has not got it. */
static int tell_journal(const struct sl_log_place *place, enum sl_log_level level,
			const struct event *event, const char *text)
{
	struct sl_journal_entry entry;
	char daemon[32];

	entry.n = 0;
	snprintf(daemon, sizeof(daemon), "%.*s", (int)strcspn(line_prefix, ":"), line_prefix);
	sl_journal_text(&entry, "", "MESSAGE", text);
	sl_journal_number(&entry, "", "PRIORITY", priorities[level]);
	sl_journal_text(&entry, "", "SYSLOG_IDENTIFIER", daemon);
	sl_journal_text(&entry, "", "CODE_FILE", place->file);
	sl_journal_number(&entry, "", "CODE_LINE", place->line);
	if (event->name)
		sl_journal_text(&entry, "SLUICE_", "EVENT", event->name);
	for (const struct sl_log_field *field = event->fields; field && field->name; field++) {
		if (field->text)
			sl_journal_text(&entry, "SLUICE_", field->name, field->text);
		else
			sl_journal_number(&entry, "SLUICE_", field->name, field->number);
	}
	return sl_journal_send(&entry, journal_socket);
}

static void write_line(const struct sl_log_place *place, enum sl_log_level level,
		       const struct event *event, const char *text)
{
	char line[8192];
	int n;

	if (form == SL_LOG_TEXT && sl_journal_has_stderr() &&
	    tell_journal(place, level, event, text) == 0)
		return;
	n = form == SL_LOG_JSON ? json_line(place, level, event, text, line, sizeof(line))
				: text_line(level, text, line, sizeof(line));

	/*
	 * One write() for a line, so that the lines of several processes on one descriptor do not
	 * mix.
	 */
	if (n > 0 && write(STDERR_FILENO, line, (size_t)n) < 0)
		return;
}

static void begin(void)
{
	pthread_mutex_init(&places, NULL);
}

void sl_log_catch(char line[SL_LOG_CAUGHT_BYTES])
{
	pthread_once(&once, begin);
	pthread_mutex_lock(&places);
	caught = line;
	if (line)
		*line = '\0';
	pthread_mutex_unlock(&places);
}

static void catch_error(const char *text)
{
	pthread_once(&once, begin);
	pthread_mutex_lock(&places);
	if (caught && !*caught)
		snprintf(caught, SL_LOG_CAUGHT_BYTES, "%.*s", SL_LOG_CAUGHT_BYTES - 1, text);
	pthread_mutex_unlock(&places);
}

/* May this place write a line now? *left_out: how many it did not write before. */
static bool may_write(struct sl_log_place *place, uint32_t *left_out)
{
	const uint64_t now_ns = sl_now_ns();
	bool may;

	pthread_once(&once, begin);
	pthread_mutex_lock(&places);
	*left_out = 0;
	if (!place->window_ns || now_ns - place->window_ns >= SL_LOG_WINDOW_NS) {
		*left_out = place->left_out;
		place->window_ns = now_ns;
		place->lines = place->left_out = 0;
	}
	may = place->lines < SL_LOG_LINES_MAX;
	if (may)
		place->lines++;
	else
		place->left_out++;
	pthread_mutex_unlock(&places);
	return may;
}

__attribute__((format(printf, 4, 0))) static void log_line(struct sl_log_place *place,
							   enum sl_log_level level,
							   const struct event *event,
							   const char *format, va_list args)
{
	static const struct event none;
	int saved_errno = errno;
	uint32_t left_out;
	char text[1000];

	if (level > max_level || !may_write(place, &left_out)) {
		errno = saved_errno;
		return;
	}
	vsnprintf(text, sizeof(text), format, args);
	if (level == SL_LOG_ERROR)
		catch_error(text);
	if (left_out) {
		char more[80];

		snprintf(more, sizeof(more), "%u more lines like the next one were left out",
			 left_out);
		write_line(place, level, &none, more);
	}
	write_line(place, level, event, text);
	errno = saved_errno;
}

void sl_log(struct sl_log_place *place, enum sl_log_level level, const char *format, ...)
{
	const struct event none = { 0 };
	va_list args;

	va_start(args, format);
	log_line(place, level, &none, format, args);
	va_end(args);
}

void sl_log_event(struct sl_log_place *place, enum sl_log_level level, const char *event,
		  const struct sl_log_field *fields, const char *format, ...)
{
	const struct event of = { event, fields };
	va_list args;

	va_start(args, format);
	log_line(place, level, &of, format, args);
	va_end(args);
}
