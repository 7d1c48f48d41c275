/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as BIRD's answer with flow specifications: what becomes rules is a list that sluiced
 * takes, and all else has a printable reason. Specifications stand in one order, whatever two are
 * compared first.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "user/config/config_filter.h"
#include "user/import/flowspec_import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_rules(json_t *rules)
{
	json_t *root = json_pack("{s:[{s:s, s:O}]}", "filters", "name", "f", "rules", rules);
	char *text = json_dumps(root, 0), error[SL_YAML_ERROR_BYTES];
	struct sl_yaml_list lists;

	if (sl_filters_parse("f", text, strlen(text), &lists, error) ||
	    sl_filters_settings_check(&lists, "f", error)) {
		/* One specification twice, as no table has it, has its name twice. */
		assert(strstr(error, "name"));
	}
	sl_filters_free(&lists);
	free(text);
	json_decref(root);
}

static void check_order(const char *text)
{
	enum { N = 8 };
	static struct sl_flowspec spec[N];
	int n = 0;

	while (n < N && sl_flowspec_next(&text, &spec[n]))
		n++;
	for (int i = 0; i < n; i++)
		for (int j = 0; j < n; j++) {
			const int order = sl_flowspec_compare(&spec[i], &spec[j]);

			assert((order < 0) == (sl_flowspec_compare(&spec[j], &spec[i]) > 0));
			for (int k = 0; k < n && order <= 0; k++)
				if (sl_flowspec_compare(&spec[j], &spec[k]) <= 0)
					assert(sl_flowspec_compare(&spec[i], &spec[k]) <= 0);
		}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct sl_flowspec_redirect redirects[] = { { 65000, 77, 177 } };
	/* of the exact size, so that the sanitizer sees a read beyond the end */
	char *text = malloc(size + 1);
	json_t *rules, *refused, *each;
	size_t i;

	memcpy(text, data, size);
	text[size] = '\0';
	check_order(text);
	if (sl_flowspec_import(text, redirects, 1, &rules, &refused)) {
		assert(!rules && !refused); /* more rules than a list has */
		free(text);
		return 0;
	}
	check_rules(rules);
	json_array_foreach(refused, i, each)
		assert(json_string_length(each));
	json_decref(rules);
	json_decref(refused);
	free(text);
	return 0;
}
