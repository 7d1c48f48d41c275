/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "elements/classes/classes.h"

#define ADDRESS(id) &el_##id,
const struct el_class *const el_classes[] = { EL_CLASSES(ADDRESS) NULL };

static const struct el_class *find(const struct el_class *const *classes, const char *name)
{
	for (; classes && *classes; classes++)
		if (strcmp((*classes)->name, name) == 0)
			return *classes;
	return NULL;
}

const struct el_class *el_class_find(const struct el_class *const *more, const char *name)
{
	const struct el_class *class = find(el_classes, name);

	return class ? class : find(more, name);
}
