/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets through one instance of a class, whole and broken ones: does the element do what its
 * class says, and nothing else? What crashes or does not end is the caller's to contain.
 */
#ifndef EL_EXERCISE_H
#define EL_EXERCISE_H

#include "elements/core/package.h"
#include "elements/fast/own_trial.h"
#include "elements/install/signature.h"

/*
 * parameters: text as in a chain, or NULL. own: its program, which must do with each IP packet what
 * `process` does; NULL: it has none. 0; -EINVAL with the reason in why; -ENOMEM.
 */
int el_exercise(const struct el_class *class, const char *parameters, struct el_own_trial *own,
		char why[EL_WHY_BYTES]);

#endif
