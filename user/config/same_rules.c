/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/config/same_rules.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

/* Old rules that no new one has taken yet, in chains by their hash, the first of the list first. */
struct table {
	uint32_t mask;
	uint32_t *head; /* owned; by hash & mask: place in the list, or NONE */
	uint32_t *next; /* owned; by place: the next of its chain */
	uint64_t *hash; /* owned; by place */
};

/* All texts of a rule, in one order. NULL: the key is not there. */
#define TEXTS (8 + SL_SIDES + SL_FIELD_COUNT + SL_POLICE_KEYS + SL_RESERVE_KEYS)
static void texts_of(const struct sl_filter_rule_settings *rule, const char *texts[TEXTS])
{
	*texts++ = rule->name;
	*texts++ = rule->class;
	*texts++ = rule->set_dscp;
	*texts++ = rule->next_hop;
	*texts++ = rule->table;
	*texts++ = rule->chain;
	*texts++ = rule->mirror;
	*texts++ = rule->sample;
	for (unsigned int side = 0; side < SL_SIDES; side++)
		*texts++ = rule->prefix[side];
	for (unsigned int field = 0; field < SL_FIELD_COUNT; field++)
		*texts++ = rule->field[field];
	for (unsigned int key = 0; key < SL_POLICE_KEYS; key++)
		*texts++ = rule->police[key];
	for (unsigned int key = 0; key < SL_RESERVE_KEYS; key++)
		*texts++ = rule->reserve[key];
}

/* FNV-1a, with the end of each text and the absent ones. */
#define FNV_BASIS 14695981039346656037u
#define FNV_PRIME 1099511628211u
static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (const char *c = text; c && *c; c++)
		hash = (hash ^ (uint8_t)*c) * FNV_PRIME;
	return (hash ^ (text ? 256 : 512)) * FNV_PRIME;
}

static uint64_t hash_of(const struct sl_filter_rule_settings *rule)
{
	uint64_t hash = FNV_BASIS ^ (uint32_t)rule->action ^ (uint64_t)rule->family << 8;
	const char *texts[TEXTS];

	texts_of(rule, texts);
	for (uint32_t i = 0; i < TEXTS; i++)
		hash = hash_text(hash, texts[i]);
	return hash;
}

static bool same_rule(const struct sl_filter_rule_settings *a,
		      const struct sl_filter_rule_settings *b)
{
	const char *texts_a[TEXTS], *texts_b[TEXTS];

	if (a->action != b->action || a->family != b->family)
		return false;
	texts_of(a, texts_a);
	texts_of(b, texts_b);
	for (uint32_t i = 0; i < TEXTS; i++)
		if (!texts_a[i] != !texts_b[i] || (texts_a[i] && strcmp(texts_a[i], texts_b[i])))
			return false;
	return true;
}

static int table_open(struct table *t, const struct sl_filter_list_settings *old)
{
	uint32_t n = old ? old->rules.n : 0, size = 1;

	while (size < n)
		size *= 2;
	t->mask = size - 1;
	t->head = calloc(size, sizeof(*t->head));
	t->next = calloc(n + 1, sizeof(*t->next));
	t->hash = calloc(n + 1, sizeof(*t->hash));
	if (!t->head || !t->next || !t->hash)
		return -ENOMEM;
	for (uint32_t i = 0; i < size; i++)
		t->head[i] = NONE;
	for (uint32_t i = n; i-- > 0;) {
		uint32_t *head;

		t->hash[i] = hash_of(sl_filter_rule(old, i));
		head = &t->head[t->hash[i] & t->mask];
		t->next[i] = *head;
		*head = i;
	}
	return 0;
}

static void table_close(struct table *t)
{
	free(t->head);
	free(t->next);
	free(t->hash);
}

/* The first rule in the table that is the same; it leaves the table. -1: there is none. */
static int64_t take(struct table *t, const struct sl_filter_list_settings *old,
		    const struct sl_filter_rule_settings *rule)
{
	uint64_t hash = hash_of(rule);

	for (uint32_t *at = &t->head[hash & t->mask]; *at != NONE; at = &t->next[*at]) {
		uint32_t place = *at;

		if (t->hash[place] != hash || !same_rule(sl_filter_rule(old, place), rule))
			continue;
		*at = t->next[place];
		return place;
	}
	return -1;
}

int sl_same_rules(const struct sl_filter_list_settings *list,
		  const struct sl_filter_list_settings *old, int64_t *out)
{
	struct table table = { 0 };
	int err = table_open(&table, old);

	for (uint32_t i = 0; i < list->rules.n && !err; i++)
		out[i] = take(&table, old, sl_filter_rule(list, i));
	table_close(&table);
	return err;
}

/* --- Identities --- */

struct placed {
	uint64_t hash;
	uint32_t place;
};

static int by_hash_and_place(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return x->place < y->place ? -1 : 1;
}

/* Of a rule of a list, or of its default: whose hash, which of those that are the same. */
static uint64_t identity_of(const struct sl_filter_list_settings *list, const char *kind,
			    uint64_t hash, uint32_t turn)
{
	uint64_t identity = hash_text(hash_text(FNV_BASIS, list->name), kind);

	identity = (identity ^ hash) * FNV_PRIME;
	identity = (identity ^ turn) * FNV_PRIME;
	identity ^= identity >> 32;
	return identity ? identity : 1;
}

int sl_rule_identities(const struct sl_filter_list_settings *list, uint64_t *out)
{
	const uint32_t n = list->rules.n;
	struct placed *rules = calloc(n + 1, sizeof(*rules));
	uint32_t turn = 0;

	if (!rules)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		rules[i] = (struct placed){ hash_of(sl_filter_rule(list, i)), i };
	qsort(rules, n, sizeof(*rules), by_hash_and_place);
	for (uint32_t i = 0; i < n; i++) {
		turn = i && rules[i].hash == rules[i - 1].hash ? turn + 1 : 0;
		out[rules[i].place] = identity_of(list, "rule", rules[i].hash, turn);
	}
	out[n] = identity_of(list, "default", (uint64_t)list->default_action, 0);
	free(rules);
	return 0;
}
