/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/metrics/metrics_format.h"

void sl_metrics_put_head(FILE *f, const char *name, const char *type, const char *help)
{
	fprintf(f, "# HELP sluice_%s %s\n# TYPE sluice_%s %s\n", name, help, name, type);
}

void sl_metrics_put_label(FILE *f, const char *value)
{
	for (; *value; value++) {
		if (*value == '\n')
			fputs("\\n", f);
		else
			fprintf(f, "%s%c", *value == '\\' || *value == '"' ? "\\" : "", *value);
	}
}

const char *sl_metrics_member(const json_t *row, const char *key)
{
	const char *value = json_string_value(json_object_get(row, key));

	return value ? value : "";
}
