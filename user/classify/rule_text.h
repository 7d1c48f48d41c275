/* SPDX-License-Identifier: BSD-2-Clause */
/* The parts of a rule as people write them. Reading changes nothing of *out on an error. */
#ifndef SL_RULE_TEXT_H
#define SL_RULE_TEXT_H

#include "user/classify/rule.h"

/*
 * Values of a field: "80", "80,443,8000-8080"; protocols, DSCPs and fragments by name, too:
 * "tcp,udp", "af41,ef", "first,later". 0; -EINVAL: not of that form, or a value that the field
 * cannot have; -E2BIG: more than SL_RANGES_MAX ranges.
 */
int sl_ranges_parse(enum sl_field field, const char *text, struct sl_ranges *out);

/*
 * TCP flags that are set, and with "!" not set: "syn,!ack". Names: fin, syn, rst, psh, ack, urg,
 * ece, cwr. 0 or -EINVAL.
 */
int sl_flags_parse(const char *text, uint8_t *flags, uint8_t *mask);

/* One in how many packets: 1 to 9,999,999. 0 or -EINVAL. */
int sl_sample_parse(const char *text, uint32_t *out);

/* A burst in bytes, 1 to 4,294,967,296: a number, or one with k or m (1,000). 0 or -EINVAL. */
int sl_burst_parse(const char *text, uint64_t *out_bytes);
/* A rate in bits, as sl_rate_parse reads it. 0 or -EINVAL. */
int sl_police_rate_parse(const char *text, uint64_t *out_Bps);
/* The burst of a rate for which none is written: 100 ms, and at least ten packets of 1,500 bytes.
 */
uint64_t sl_burst_default(uint64_t rate_Bps);

/* Number of a routing table of the kernel: 1 to 4,294,967,295. 0 or -EINVAL. */
int sl_table_parse(const char *text, uint32_t *out);

/* One DSCP, by name or number. 0 or -EINVAL. */
int sl_rule_dscp_parse(const char *text, uint8_t *out);

#endif
