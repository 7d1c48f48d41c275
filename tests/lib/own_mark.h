/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mark, an element of an operator's own: what tests/bpf/own_mark.bpf.c does in the fast path, for
 * the worker.
 */
#ifndef TEST_OWN_MARK_H
#define TEST_OWN_MARK_H

#include "elements/core/element.h"

#define OWN_MARK_OBJECT "own_mark" /* for edge_link */

/* It alone, up to NULL. */
extern const struct el_class *const own_mark_classes[];

#endif
