/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/text/table.h"

struct sl_table {
	unsigned int n_columns;
	bool *right;   /* owned, per column */
	size_t *width; /* owned, per column */
	char **cells;  /* owned, the first row is the headers */
	size_t n, size;
	bool lost; /* a cell could not be stored */
};

static void add(struct sl_table *t, char *text)
{
	size_t column = t->n % t->n_columns, width = text ? strlen(text) : 0;

	if (t->n == t->size) {
		size_t size = t->size ? 2 * t->size : 64;
		char **cells = realloc(t->cells, size * sizeof(*cells));

		if (!cells) {
			free(text);
			t->lost = true;
			return;
		}
		t->cells = cells;
		t->size = size;
	}
	t->lost |= !text;
	t->cells[t->n++] = text;
	if (width > t->width[column])
		t->width[column] = width;
}

struct sl_table *sl_table_create(const char *const *headers, unsigned int n)
{
	struct sl_table *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->n_columns = n;
	t->right = calloc(n, sizeof(*t->right));
	t->width = calloc(n, sizeof(*t->width));
	if (!t->right || !t->width) {
		sl_table_destroy(t);
		return NULL;
	}
	for (unsigned int i = 0; i < n; i++) {
		t->right[i] = headers[i][0] == '>';
		add(t, strdup(headers[i] + t->right[i]));
	}
	return t;
}

void sl_table_destroy(struct sl_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->n; i++)
		free(t->cells[i]);
	free(t->cells);
	free(t->right);
	free(t->width);
	free(t);
}

void sl_table_cell(struct sl_table *t, const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	add(t, text);
}

int sl_table_print(const struct sl_table *t, FILE *out)
{
	for (size_t row = 0; row + t->n_columns <= t->n; row += t->n_columns) {
		size_t spaces = 0;

		for (unsigned int c = 0; c < t->n_columns; c++) {
			const char *text = t->cells[row + c] ? t->cells[row + c] : "";
			size_t rest = t->width[c] - strlen(text);

			if (t->right[c])
				spaces += rest;
			if (*text)
				fprintf(out, "%*s%s", (int)spaces, "", text);
			spaces = (*text ? 0 : spaces) + (t->right[c] ? 0 : rest) + 2;
		}
		fputc('\n', out);
	}
	return t->lost ? -ENOMEM : 0;
}
