/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets through one instance of a class, whole and broken ones: does the element do what its
 * class says, and nothing else? What crashes or does not end is the caller's to contain.
 */
#ifndef EL_EXERCISE_H
#define EL_EXERCISE_H

#include "elements/core/package.h"
#include "elements/install/signature.h"

/* parameters: text as in a chain, or NULL. 0; -EINVAL with the reason in why; -ENOMEM. */
int el_exercise(const struct el_class *class, const char *parameters, char why[EL_WHY_BYTES]);

#endif
