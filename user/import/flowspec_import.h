/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow specifications of a routing daemon as the rules of a filter list. */
#ifndef SL_FLOWSPEC_IMPORT_H
#define SL_FLOWSPEC_IMPORT_H

#include <jansson.h>
#include <stdint.h>

#include "user/import/flowspec_text.h"

/* The route target AS:NUMBER of a redirect, and the kernel's table that stands for its VRF. */
struct sl_flowspec_redirect {
	uint16_t as;
	uint32_t number, table;
};

/*
 * Does a packet that both match belong to `a` rather than to `b`? Less than 0: yes; greater: no; 0:
 * they are the same. RFC 8955 5.1. BIRD does not show in how many bytes a value came: each counts
 * with the fewest that hold it.
 */
int sl_flowspec_compare(const struct sl_flowspec *a, const struct sl_flowspec *b);

/*
 * The rules of all specifications in BIRD's answers, the one that counts first, as *rules, a new
 * reference to an array as a filter list has it; and as *refused one to an array of texts, a line
 * for each specification that rules cannot say, and why. Such a one has no rule at all. 0; -EINVAL:
 * more rules than a list may have; -ENOMEM.
 */
int sl_flowspec_import(const char *answers, const struct sl_flowspec_redirect *redirects,
		       uint32_t n_redirects, json_t **rules, json_t **refused);

#endif
