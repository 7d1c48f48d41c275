/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the lab's own commands: messages, arguments, time, results. */
#ifndef LAB_TOOL_H
#define LAB_TOOL_H

#include <jansson.h>
#include <stdint.h>

#define NSEC_PER_SEC 1000000000ULL

/*
 * "PROGRAM: message" on standard error; returns status, which is that of exit: 1 failed, 2 wrong
 * use.
 */
int lab_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The argument of option --name: 0, or 2 after a message; *out is then untouched. */
int lab_parse_number(const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *out);
int lab_parse_u32(const char *name, const char *text, uint32_t min, uint32_t max, uint32_t *out);
/* Seconds, up to a day, fractions too. */
int lab_parse_duration(const char *text, uint64_t *ns);

uint64_t lab_now_ns(void); /* CLOCK_MONOTONIC */
/* Processor time of this process, what the kernel does on its behalf included. */
uint64_t lab_cpu_ns(void);
void lab_sleep_until(uint64_t time_ns);

/*
 * The value for main to return: status, or 1 after a message if standard output did not take all
 * that was written.
 */
int lab_exit_status(int status);

/* On standard output, with a newline; takes the reference. */
void lab_print_json(json_t *json);

#endif
