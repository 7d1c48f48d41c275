/* SPDX-License-Identifier: BSD-2-Clause */
/* The counters of XDP as users see them, in the answers of daemon and bridge alike. */
#ifndef SL_COUNTER_TEXTS_H
#define SL_COUNTER_TEXTS_H

#include "bpf/abi/reasons.h"

/* Name and explanation of each slot: the strings of bpf/abi/reasons.h. */
struct sl_counter_text {
	const char *name, *text;
};
extern const struct sl_counter_text sl_stat_texts[SL_STAT_COUNT];
extern const struct sl_counter_text sl_drop_texts[SL_DROP_COUNT];
extern const struct sl_counter_text sl_punt_texts[SL_PUNT_COUNT];

#endif
