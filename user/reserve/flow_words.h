/* SPDX-License-Identifier: BSD-2-Clause */
/* A flow with ports as its five values in JSON, in the words of filter rules. */
#ifndef SL_FLOW_WORDS_H
#define SL_FLOW_WORDS_H

#include <jansson.h>
#include <stdint.h>

#include "bpf/abi/reserved.h"

#define SL_FLOW_WHY_BYTES 160

/*
 * Read {"source": "10.0.0.1", "destination": ..., "protocol": "udp" or "tcp" or a number,
 * "source_port": "1000", "destination_port": ...}: all five, as texts. 0, or -EINVAL with the
 * reason in why.
 */
int sl_flow_read(const json_t *words, struct sl_flow_key *out, char why[SL_FLOW_WHY_BYTES]);

/* The same object of a flow, a new reference. */
json_t *sl_flow_json(const struct sl_flow_key *flow);

/* AF_INET or AF_INET6 */
uint8_t sl_flow_family(const struct sl_flow_key *flow);

#endif
