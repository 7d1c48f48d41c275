/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table for people: each column is as wide as its widest cell, with two spaces between columns.
 */
#ifndef SL_TABLE_H
#define SL_TABLE_H

#include <stdio.h>

struct sl_table;

/*
 * A table of n columns with these headers. A header that begins with '>' aligns its column to the
 * right, for numbers. NULL: not enough memory.
 */
struct sl_table *sl_table_create(const char *const *headers, unsigned int n);
void sl_table_destroy(struct sl_table *table);
/* The next cell, from left to right and top to bottom. */
void sl_table_cell(struct sl_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/*
 * Write the headers and the rows, without blanks at the ends of lines. 0, or -ENOMEM if a cell
 * could not be stored.
 */
int sl_table_print(const struct sl_table *table, FILE *out);

#endif
