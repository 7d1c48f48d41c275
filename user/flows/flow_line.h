/* SPDX-License-Identifier: BSD-2-Clause */
/* An exact flow as people write it: KEY=VALUE words, in a command or a line of a file. */
#ifndef SL_FLOW_LINE_H
#define SL_FLOW_LINE_H

#include <jansson.h>
#include <stdio.h>

#include "bpf/abi/exact_flow.h"
#include "user/reserve/flow_words.h"

#define SL_FLOW_IDLE_MAX_S 86400

struct sl_flow_line {
	struct sl_flow_key key;
	struct sl_exact_flow flow; /* its counters are 0, and `used` is not set */
	/* With flow.rule: LIST/RULE; or "": nobody knows the name. */
	char as[SL_FLOW_RULE_NAME_BYTES];
};

/*
 * Read an object of texts: the five values of the flow, `action` (permit, deny, kernel,
 * reject, reset) or `as` (LIST/RULE, or the number that stands for one), and perhaps `class`,
 * `set_dscp` and `idle`. Whether there is such a rule is not looked at. 0, or -EINVAL with the
 * reason in why.
 */
int sl_flow_line_read(const json_t *words, struct sl_flow_line *out, char why[SL_FLOW_WHY_BYTES]);

/*
 * Read a line of a file, which is changed: words with blanks between, up to one that begins
 * with "#". 1; 0: there is
 * no flow in it; or -EINVAL with the reason in why.
 */
int sl_flow_line_parse(char *line, struct sl_flow_line *out, char why[SL_FLOW_WHY_BYTES]);

/* The flow as an object, with its counters; a new reference. */
json_t *sl_flow_line_json(const struct sl_flow_line *line);
/* Write it as a line that sl_flow_line_parse reads, with its counters behind a "#". */
void sl_flow_line_write(FILE *file, const struct sl_flow_line *line);

#endif
