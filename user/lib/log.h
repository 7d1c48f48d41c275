/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The log of a daemon: one line for each event on standard error, as text or as a JSON object. Text
 * has the level's name. Where standard error is a stream of systemd's journal, a line of text goes
 * to the journal as an entry with fields: PRIORITY, SYSLOG_IDENTIFIER, CODE_FILE, CODE_LINE,
 * MESSAGE, and of an event SLUICE_EVENT and a field SLUICE_NAME for each of its own. If the journal
 * does not take it, the line goes to standard error with the journal's "<N>" for the level. A
 * control character within a line of text becomes a space. JSON has
 *
 *   {"time": "2026-01-31T12:00:00.123456Z", "level": "warning", "daemon": "sluiced",
 *    "place": "user/daemon/router.c:399", "message": "..."}
 *
 * and, if the line is of an event, the event's name as "event" and its fields as members of their
 * own. Nothing is logged per packet. A place in the source that has more to say than
 * SL_LOG_LINES_MAX lines in SL_LOG_WINDOW_NS says no more until that time is over, and then how
 * many it left out.
 */
#ifndef SL_LOG_H
#define SL_LOG_H

#include <stdint.h>

enum sl_log_level { SL_LOG_ERROR, SL_LOG_WARNING, SL_LOG_INFO, SL_LOG_DEBUG };
enum sl_log_form { SL_LOG_TEXT, SL_LOG_JSON };

#define SL_LOG_LINES_MAX 500
#define SL_LOG_WINDOW_NS 10000000000ULL

/* Where a line comes from. All but the first two: 0 at first; of the log. */
struct sl_log_place {
	const char *file;
	int line;
	uint32_t lines, left_out; /* since window_ns */
	uint64_t window_ns;	  /* CLOCK_MONOTONIC */
};

/* What an event is about: a text, or if that is NULL, a number. */
struct sl_log_field {
	const char *name; /* lower case, none of the members above; NULL ends a list */
	const char *text;
	long long number;
};

/* Lines of a higher level are not written. The default is SL_LOG_INFO. */
void sl_log_set_level(enum sl_log_level level);
enum sl_log_level sl_log_get_level(void);
/* The default is SL_LOG_TEXT. "text" or "json": 0, else -EINVAL and nothing changes. */
int sl_log_set_form(const char *form);
/* The journal's socket; borrowed for the life of the process. The default is SL_JOURNAL_SOCKET. */
void sl_log_set_journal(const char *path);
/* Put before each message of text, e.g. "sluiced: "; borrowed for the life of the process. */
void sl_log_set_prefix(const char *prefix);

/* Write a line, given without its newline and cut after 1000 bytes. errno is preserved. */
void sl_log(struct sl_log_place *place, enum sl_log_level level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* As sl_log, of the event of that name. The message says the fields, too: text has nothing else. */
void sl_log_event(struct sl_log_place *place, enum sl_log_level level, const char *event,
		  const struct sl_log_field *fields, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

/* sl_info, of an event: sl_event("peer", SL_LOG_FIELDS({ "node", NULL, 2 }), "node %u is up", 2).
 */
#define SL_LOG_FIELDS(...)            \
	(const struct sl_log_field[]) \
	{                             \
		__VA_ARGS__,          \
		{                     \
			NULL, NULL, 0 \
		}                     \
	}
#define sl_event(name, fields, ...)                                                \
	do {                                                                       \
		static struct sl_log_place here = { __FILE__, __LINE__, 0, 0, 0 }; \
		sl_log_event(&here, SL_LOG_INFO, name, fields, __VA_ARGS__);       \
	} while (0)

/*
 * Copy the first error that is logged from now on into line, too, which is borrowed and emptied
 * first; NULL ends that. For who must tell somebody else why something failed.
 */
#define SL_LOG_CAUGHT_BYTES 512
void sl_log_catch(char line[SL_LOG_CAUGHT_BYTES]);

#define SL_LOG_HERE(level, ...)                                                    \
	do {                                                                       \
		static struct sl_log_place here = { __FILE__, __LINE__, 0, 0, 0 }; \
		sl_log(&here, level, __VA_ARGS__);                                 \
	} while (0)
#define sl_error(...)	SL_LOG_HERE(SL_LOG_ERROR, __VA_ARGS__)
#define sl_warning(...) SL_LOG_HERE(SL_LOG_WARNING, __VA_ARGS__)
#define sl_info(...)	SL_LOG_HERE(SL_LOG_INFO, __VA_ARGS__)
#define sl_debug(...)	SL_LOG_HERE(SL_LOG_DEBUG, __VA_ARGS__)

#endif
