/* SPDX-License-Identifier: BSD-2-Clause */
/* A table for people: columns as wide as their widest cell, two spaces between. */
#ifndef SL_TABLE_H
#define SL_TABLE_H

#include <stdio.h>

struct sl_table;

/* n headers; one that begins with '>' is right-aligned (for numbers). NULL: not enough memory. */
struct sl_table *sl_table_create(const char *const *headers, unsigned int n);
void sl_table_destroy(struct sl_table *table);
/* The next cell, from left to right and top to bottom. */
void sl_table_cell(struct sl_table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Write headers and rows, without spaces at the ends of lines. 0, or -ENOMEM if a cell was lost. */
int sl_table_print(const struct sl_table *table, FILE *out);

#endif
