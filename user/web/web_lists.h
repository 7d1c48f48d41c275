/* SPDX-License-Identifier: BSD-2-Clause */
/* The lists that `sluice web` shows and gives to others, and their shapes. */
#ifndef SL_WEB_LISTS_H
#define SL_WEB_LISTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

struct sl_web_list {
	const char *name;      /* in an answer, and below /api/ */
	const char *command;   /* that asks for it */
	bool of_bridge;	       /* the bridge is asked, not sluiced */
	bool is_object;	       /* one object; else a list of objects, the rows */
	const char *within[2]; /* members of each row that are such lists, too; or NULL */
};

#define SL_WEB_LISTS 13
extern const struct sl_web_list sl_web_lists[SL_WEB_LISTS];

/*
 * The lists of another node's answer that the page can show. A text in place of a list says why it
 * cannot be had, and stays. What has another shape becomes such a text, too; why has the first
 * one, or is "". A new reference, or NULL: no memory.
 */
json_t *sl_web_lists_take(const json_t *answer, char *why, size_t why_bytes);

#endif
