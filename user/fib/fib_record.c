/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/fib/fib_record.h"

#include <string.h>

#include "user/fib/fib_store.h"

#define WORD_BITS 32

typedef uint16_t __attribute__((may_alias)) narrow_value;
typedef uint32_t __attribute__((may_alias)) wide_value;

static struct sl_record *at(const struct sl_records *records, uint32_t record)
{
	uint32_t unit = record & SL_WORD_UNIT_MASK;

	return &records->pages[unit / SL_PAGE_UNITS].unit[unit % SL_PAGE_UNITS];
}

static void *values(const struct sl_records *records, uint32_t record)
{
	return (uint8_t *)at(records, record) + offsetof(struct sl_record, value);
}

/* The lengths of a narrow record's values. */
static uint8_t *lengths(const struct sl_records *records, uint32_t record)
{
	return (uint8_t *)(records->pieces.note + (record & SL_WORD_UNIT_MASK));
}

static uint32_t up_to(const struct sl_record *r, uint32_t slot)
{
	uint32_t w = slot / WORD_BITS;

	return r->before[w] +
	       (uint32_t)__builtin_popcount(r->starts[w] & ((2u << slot % WORD_BITS) - 1));
}

uint32_t sl_record_runs(const struct sl_records *records, uint32_t record)
{
	return up_to(at(records, record), SL_RECORD_SLOTS - 1);
}

uint32_t sl_record_run_of(const struct sl_records *records, uint32_t record, uint32_t slot)
{
	return up_to(at(records, record), slot) - 1;
}

bool sl_record_starts_at(const struct sl_records *records, uint32_t record, uint32_t slot)
{
	return at(records, record)->starts[slot / WORD_BITS] >> slot % WORD_BITS & 1;
}

void sl_record_bounds(const struct sl_records *records, uint32_t record, uint32_t slot,
		      uint32_t *first, uint32_t *last)
{
	const struct sl_record *r = at(records, record);
	const uint32_t mask = (2u << slot % WORD_BITS) - 1;
	uint32_t i = slot / WORD_BITS, bits = r->starts[i] & mask;

	while (!bits) /* a run starts at slot 0 */
		bits = r->starts[--i];
	*first = i * WORD_BITS + WORD_BITS - 1 - (uint32_t)__builtin_clz(bits);
	i = slot / WORD_BITS;
	bits = r->starts[i] & ~mask;
	while (!bits && ++i < SL_RECORD_SLOTS / WORD_BITS)
		bits = r->starts[i];
	*last = bits ? i * WORD_BITS + (uint32_t)__builtin_ctz(bits) - 1 : SL_RECORD_SLOTS - 1;
}

uint32_t sl_record_word(const struct sl_records *records, uint32_t record, uint32_t run)
{
	if (record & SL_WORD_WIDE)
		return ((const wide_value *)values(records, record))[run];
	return sl_word(lengths(records, record)[run],
		       ((const narrow_value *)values(records, record))[run]);
}

void sl_record_set(struct sl_records *records, uint32_t record, uint32_t run, uint32_t word)
{
	if (record & SL_WORD_WIDE) {
		__atomic_store_n((wide_value *)values(records, record) + run, word,
				 __ATOMIC_RELEASE);
		return;
	}
	lengths(records, record)[run] = (uint8_t)sl_word_len(word);
	__atomic_store_n((narrow_value *)values(records, record) + run, (uint16_t)sl_word_id(word),
			 __ATOMIC_RELEASE);
}

bool sl_record_uniform(const struct sl_records *records, uint32_t record)
{
	uint32_t first = sl_record_word(records, record, 0), n = sl_record_runs(records, record);

	for (uint32_t run = 1; run < n; run++)
		if (sl_record_word(records, record, run) != first)
			return false;
	return true;
}

/* --- Apart and together --- */

void sl_runs_fill(struct sl_runs *runs, uint32_t word)
{
	runs->n = 1;
	runs->start[0] = 0;
	runs->word[0] = word;
}

uint32_t sl_runs_split(struct sl_runs *runs, uint32_t slot)
{
	uint32_t i = runs->n, after;

	if (slot == SL_RECORD_SLOTS)
		return runs->n;
	while (runs->start[i - 1] > slot)
		i--;
	if (runs->start[i - 1] == slot)
		return i - 1;
	after = runs->n++ - i;
	memmove(&runs->start[i + 1], &runs->start[i], after * sizeof(runs->start[0]));
	memmove(&runs->word[i + 1], &runs->word[i], after * sizeof(runs->word[0]));
	runs->start[i] = (uint8_t)slot;
	runs->word[i] = runs->word[i - 1];
	return i;
}

void sl_record_read(const struct sl_records *records, uint32_t record, struct sl_runs *runs)
{
	const struct sl_record *r = at(records, record);

	runs->n = 0;
	for (uint32_t w = 0; w < SL_RECORD_SLOTS / WORD_BITS; w++)
		for (uint32_t bits = r->starts[w]; bits; bits &= bits - 1)
			runs->start[runs->n++] =
				(uint8_t)(w * WORD_BITS + (uint32_t)__builtin_ctz(bits));
	for (uint32_t run = 0; run < runs->n; run++)
		runs->word[run] = sl_record_word(records, record, run);
}

static bool is_wide(const struct sl_records *records, const struct sl_runs *runs)
{
	uint32_t any = records->all_wide ? SL_WORD_RECORD : 0;

	for (uint32_t run = 0; run < runs->n; run++)
		any |= runs->word[run];
	return any & SL_WORD_RECORD;
}

static uint32_t units_for(uint32_t runs, bool wide)
{
	uint32_t value_bytes = wide ? sizeof(wide_value) : sizeof(narrow_value);
	uint32_t bytes = (uint32_t)offsetof(struct sl_record, value) + runs * value_bytes;

	return (bytes + sizeof(struct sl_record) - 1) / sizeof(struct sl_record);
}

uint32_t sl_record_units(const struct sl_records *records, const struct sl_runs *runs)
{
	return units_for(runs->n, is_wide(records, runs));
}

uint32_t sl_record_write(struct sl_records *records, const struct sl_runs *runs, uint32_t unit)
{
	uint32_t record = SL_WORD_RECORD | (is_wide(records, runs) ? SL_WORD_WIDE : 0) | unit;
	struct sl_record *r = at(records, record);
	uint32_t before = 0;

	memset(r->starts, 0, sizeof(r->starts));
	for (uint32_t run = 0; run < runs->n; run++) {
		r->starts[runs->start[run] / WORD_BITS] |= 1u << runs->start[run] % WORD_BITS;
		sl_record_set(records, record, run, runs->word[run]);
	}
	for (uint32_t w = 0; w < SL_RECORD_SLOTS / WORD_BITS; w++) {
		r->before[w] = (uint8_t)before;
		before += (uint32_t)__builtin_popcount(r->starts[w]);
	}
	return record;
}

uint32_t sl_record_size(const struct sl_records *records, uint32_t record)
{
	return units_for(sl_record_runs(records, record), record & SL_WORD_WIDE);
}

uint32_t sl_record_copy(struct sl_records *records, uint32_t record, uint32_t unit)
{
	const uint32_t copy = (record & ~SL_WORD_UNIT_MASK) | unit;
	const uint32_t units = sl_record_size(records, record);

	memcpy(at(records, copy), at(records, record), units * sizeof(struct sl_record));
	memcpy(lengths(records, copy), lengths(records, record), units * SL_NOTE_BYTES);
	return copy;
}
