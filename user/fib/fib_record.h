/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records, as bpf/sluice.h draws them, for the writer: read, change a value in place, take apart,
 * put together. A record is named by the word that leads to it. In a narrow one the values that XDP
 * reads have no room for the lengths of prefixes: those are in the notes beside its units.
 */
#ifndef SL_FIB_RECORD_H
#define SL_FIB_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi/forwarding.h"
#include "user/fib/fib_piece.h"

/* Where the records of one family live. */
struct sl_records {
	struct sl_page *pages; /* borrowed from sl_fib_tables */
	struct sl_pieces pieces;
	bool all_wide; /* some next-hop ids do not fit into 16 bits */
};

/* A record taken apart. Run i takes the slots start[i]..start[i + 1] - 1, the last one the rest. */
struct sl_runs {
	uint32_t n; /* 1..SL_RECORD_SLOTS */
	uint8_t start[SL_RECORD_SLOTS];
	uint32_t word[SL_RECORD_SLOTS];
};

/* Number of runs, and the run that a slot is in. */
uint32_t sl_record_runs(const struct sl_records *records, uint32_t record);
uint32_t sl_record_run_of(const struct sl_records *records, uint32_t record, uint32_t slot);
/* Does a run start there? */
bool sl_record_starts_at(const struct sl_records *records, uint32_t record, uint32_t slot);
/* First and last slot of the run that a slot is in. */
void sl_record_bounds(const struct sl_records *records, uint32_t record, uint32_t slot,
		      uint32_t *first, uint32_t *last);

uint32_t sl_record_word(const struct sl_records *records, uint32_t record, uint32_t run);
/* One store for XDP. A word that leads to a record is only for a wide one. */
void sl_record_set(struct sl_records *records, uint32_t record, uint32_t run, uint32_t word);
/* Do all runs say the same? */
bool sl_record_uniform(const struct sl_records *records, uint32_t record);

/* Every slot says `word`. */
void sl_runs_fill(struct sl_runs *runs, uint32_t word);
/* Make a run start at the slot; its index. SL_RECORD_SLOTS gives runs->n. */
uint32_t sl_runs_split(struct sl_runs *runs, uint32_t slot);

void sl_record_read(const struct sl_records *records, uint32_t record, struct sl_runs *runs);
/* Units that the runs need. */
uint32_t sl_record_units(const struct sl_records *records, const struct sl_runs *runs);
/* Write them into a piece that XDP cannot see. Returns the word that leads to the record. */
uint32_t sl_record_write(struct sl_records *records, const struct sl_runs *runs, uint32_t unit);

/* Units that a record needs. */
uint32_t sl_record_size(const struct sl_records *records, uint32_t record);
/* Copy a record into a piece that XDP cannot see. Returns the word that leads to the copy. */
uint32_t sl_record_copy(struct sl_records *records, uint32_t record, uint32_t unit);

#endif
