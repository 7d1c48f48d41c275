/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The log of a daemon: one line for each event on standard error, with a level. Under systemd
 * (JOURNAL_STREAM is set) a line starts with the journal's "<N>" instead of the level's name.
 * Nothing is logged per packet.
 */
#ifndef SL_LOG_H
#define SL_LOG_H

enum sl_log_level { SL_LOG_ERROR, SL_LOG_WARNING, SL_LOG_INFO, SL_LOG_DEBUG };

/* Lines of a higher level are not written. The default is SL_LOG_INFO. */
void sl_log_set_level(enum sl_log_level level);
enum sl_log_level sl_log_get_level(void);
/* Put before each message, e.g. "sluiced: "; borrowed for the life of the process. */
void sl_log_set_prefix(const char *prefix);

/* Write a line, given without its newline and cut after 1000 bytes. errno is preserved. */
void sl_log(enum sl_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define sl_error(...)	sl_log(SL_LOG_ERROR, __VA_ARGS__)
#define sl_warning(...) sl_log(SL_LOG_WARNING, __VA_ARGS__)
#define sl_info(...)	sl_log(SL_LOG_INFO, __VA_ARGS__)
#define sl_debug(...)	sl_log(SL_LOG_DEBUG, __VA_ARGS__)

#endif
