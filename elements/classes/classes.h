/* SPDX-License-Identifier: BSD-2-Clause */
/* The element classes, each in a file of its own. */
#ifndef EL_CLASSES_H
#define EL_CLASSES_H

#include "elements/core/element.h"

/* Those that a graph can name. All else that lists classes derives from this. */
#define EL_CLASSES(X) \
	X(counter)    \
	X(paint)      \
	X(classifier) \
	X(queue)      \
	X(unqueue)    \
	X(delay)      \
	X(police)     \
	X(mirror)     \
	X(nat44)      \
	X(tunnel)     \
	X(dscp)       \
	X(sample)     \
	X(layered_video)

#define EL_DECLARE(id) extern const struct el_class el_##id;
EL_CLASSES(EL_DECLARE)
EL_DECLARE(input)
EL_DECLARE(output)
EL_DECLARE(discard)
#undef EL_DECLARE

extern const struct el_class *const el_classes[]; /* up to NULL */

/*
 * By its name as it is written, among those above, then among more: up to NULL, or NULL. NULL:
 * there is none.
 */
const struct el_class *el_class_find(const struct el_class *const *more, const char *name);

#endif
