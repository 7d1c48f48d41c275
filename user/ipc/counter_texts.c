/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/ipc/counter_texts.h"

#define COUNTER_TEXT(id, name, text) { name, text },
const struct sl_counter_text sl_stat_texts[SL_STAT_COUNT] = { SL_STATS(COUNTER_TEXT) };
const struct sl_counter_text sl_drop_texts[SL_DROP_COUNT] = { SL_DROP_REASONS(COUNTER_TEXT) };
const struct sl_counter_text sl_punt_texts[SL_PUNT_COUNT] = { SL_PUNT_REASONS(COUNTER_TEXT) };
