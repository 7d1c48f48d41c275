/* SPDX-License-Identifier: BSD-2-Clause */
/* A class in the place of one that has crashed or did not end: no code of that one runs. */
#ifndef EL_QUARANTINE_H
#define EL_QUARANTINE_H

#include "elements/core/element.h"

/*
 * The same name, parameters and ports, so that chains with it go on: packets end in it, dropped as
 * `quarantined`. Names and parameters are borrowed from the class.
 */
struct el_class el_quarantined(const struct el_class *class);

#endif
