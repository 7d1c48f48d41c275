/* SPDX-License-Identifier: BSD-2-Clause */
/* A filter list, as the image that the fast path reads (bpf/abi/classifier.h). */
#ifndef SL_COMPILE_H
#define SL_COMPILE_H

#include <stddef.h>
#include <stdint.h>

#include "user/classify/rule.h"

struct sl_image {
	void *bytes; /* owned: struct sl_classifier and its pool */
	size_t n_bytes;
};

/*
 * Make the image of those of the n rules that concern `family`; default_action (SL_RULE_*) and
 * default_number, the counter, are for packets that none matches. 0; -ENOMEM; -E2BIG: more than
 * SL_RULES_MAX rules, or SL_AUXILIARY_MAX auxiliary ones and as many less of the others; -ENOSPC:
 * the image would be larger than struct sl_classifier_large, *out->n_bytes says how large. The
 * caller frees out->bytes.
 *
 * Takes some 25 ms for 4,096 rules.
 */
int sl_compile(const struct sl_rule *rules, uint32_t n, uint8_t family, uint32_t default_action,
	       uint32_t default_number, struct sl_image *out);

#endif
