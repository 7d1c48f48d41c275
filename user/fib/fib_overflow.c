/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A treap (Aragon and Seidel, 1989) ordered by address, then length. In that order all prefixes
 * under P that are longer than P follow P without a gap.
 */
#include "user/fib/fib_overflow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int compare(const struct sl_prefix *a, const struct sl_prefix *b)
{
	int order = memcmp(a->addr, b->addr, sizeof(a->addr));

	return order ? order : (int)a->len - (int)b->len;
}

static bool is_before(const struct sl_prefix *item, const struct sl_prefix *at)
{
	return compare(item, at) < 0;
}

/* The first item that is not before `at`, or NULL. */
static const struct sl_overflow_item *first_from(const struct sl_overflow *set,
						 const struct sl_prefix *at)
{
	const struct sl_overflow_item *node = set->root, *next = NULL;

	while (node) {
		if (is_before(&node->prefix, at)) {
			node = node->right;
		} else {
			next = node;
			node = node->left;
		}
	}
	return next;
}

static void split(struct sl_overflow_item *node, const struct sl_prefix *at,
		  struct sl_overflow_item **left, struct sl_overflow_item **right)
{
	while (node) {
		if (is_before(&node->prefix, at)) {
			*left = node;
			left = &node->right;
			node = node->right;
		} else {
			*right = node;
			right = &node->left;
			node = node->left;
		}
	}
	*left = NULL;
	*right = NULL;
}

/* Everything in a comes before everything in b. */
static struct sl_overflow_item *join(struct sl_overflow_item *a, struct sl_overflow_item *b)
{
	struct sl_overflow_item *root = NULL, **link = &root;

	while (a && b) {
		if (a->priority > b->priority) {
			*link = a;
			link = &a->right;
			a = a->right;
		} else {
			*link = b;
			link = &b->left;
			b = b->left;
		}
	}
	*link = a ? a : b;
	return root;
}

void sl_overflow_fini(struct sl_overflow *set)
{
	struct sl_overflow_item *item;

	while ((item = sl_overflow_take(set)))
		free(item);
}

void sl_overflow_put(struct sl_overflow *set, struct sl_overflow_item *item)
{
	struct sl_overflow_item **link = &set->root;

	set->random = set->random * 1664525 + 1013904223;
	item->priority = set->random;
	while (*link && (*link)->priority >= item->priority)
		link = is_before(&(*link)->prefix, &item->prefix) ? &(*link)->right
								  : &(*link)->left;
	split(*link, &item->prefix, &item->left, &item->right);
	*link = item;
	set->count++;
}

int sl_overflow_add(struct sl_overflow *set, const struct sl_prefix *prefix)
{
	struct sl_overflow_item *item = malloc(sizeof(*item));

	if (!item)
		return -ENOMEM;
	*item = (struct sl_overflow_item){ .prefix = *prefix };
	sl_overflow_put(set, item);
	return 0;
}

void sl_overflow_delete(struct sl_overflow *set, const struct sl_prefix *prefix)
{
	struct sl_overflow_item **link = &set->root, *item;
	int order;

	while ((item = *link) && (order = compare(prefix, &item->prefix)))
		link = order > 0 ? &item->right : &item->left;
	if (!item)
		return;
	*link = join(item->left, item->right);
	free(item);
	set->count--;
}

bool sl_overflow_any_under(const struct sl_overflow *set, const struct sl_prefix *prefix)
{
	struct sl_prefix longer = *prefix;
	const struct sl_overflow_item *next;

	longer.len++;
	next = first_from(set, &longer);

	return next && sl_addr_match(next->prefix.addr, prefix->addr, prefix->len);
}

bool sl_overflow_any_between(const struct sl_overflow *set, const uint8_t *first,
			     unsigned int min_len, const uint8_t *last)
{
	struct sl_prefix at = { .len = (uint8_t)min_len };
	const struct sl_overflow_item *next;

	memcpy(at.addr, first, sizeof(at.addr));
	next = first_from(set, &at);
	return next && memcmp(next->prefix.addr, last, sizeof(at.addr)) <= 0;
}

struct sl_overflow_item *sl_overflow_take(struct sl_overflow *set)
{
	struct sl_overflow_item *item = set->root;

	if (item) {
		set->root = join(item->left, item->right);
		set->count--;
	}
	return item;
}

size_t sl_overflow_bytes(const struct sl_overflow *set)
{
	return set->count * sizeof(struct sl_overflow_item);
}
