/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "elements/classes/classes.h"

#define ADDRESS(id) &el_##id,
const struct el_class *const el_classes[] = { EL_CLASSES(ADDRESS) NULL };

const struct el_class *el_class_find(const char *name)
{
	for (const struct el_class *const *class = el_classes; *class; class ++)
		if (strcmp((*class)->name, name) == 0)
			return *class;
	return NULL;
}
