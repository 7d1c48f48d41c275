/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "user/config/sysport.h"

#define TABLE_VERSION 1

/* The first place whose port is not lower than this one. */
static uint32_t place_of(const struct sl_sysport_table *table, uint16_t system_port)
{
	uint32_t low = 0, high = table->n;

	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (table->port[middle] < system_port)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int sl_sysport_add(struct sl_sysport_table *table, uint16_t system_port)
{
	uint32_t place = place_of(table, system_port);

	if (!(system_port >> 8) || !(system_port & 0xff))
		return -EINVAL;
	if (place < table->n && table->port[place] == system_port)
		return -EEXIST;
	if (table->n == SL_SYSTEM_PORTS_MAX)
		return -ENOSPC;
	memmove(&table->port[place + 1], &table->port[place],
		(table->n - place) * sizeof(table->port[0]));
	table->port[place] = system_port;
	table->index[table->n] = (uint16_t)table->n;
	table->n++;
	return 0;
}

int sl_sysport_index(const struct sl_sysport_table *table, uint16_t system_port)
{
	uint32_t place = place_of(table, system_port);

	return place < table->n && table->port[place] == system_port ? table->index[place]
								     : -ENOENT;
}

uint16_t sl_sysport_of_index(const struct sl_sysport_table *table, uint32_t index)
{
	for (uint32_t i = 0; i < table->n; i++)
		if (table->index[i] == index)
			return table->port[i];
	return 0;
}

/* --- Indices that stay --- */

struct indices {
	const uint16_t *held;
	const bool *in_use;
	bool taken[SL_SYSTEM_PORTS_MAX];
};

/* The lowest one that nobody has taken; `spare` says how much to spare the former owners. */
static uint32_t find_free(const struct indices *x, uint32_t spare)
{
	uint32_t i = 0;

	while (i < SL_SYSTEM_PORTS_MAX &&
	       (x->taken[i] || (spare > 0 && x->held[i]) || (spare > 1 && x->in_use[i])))
		i++;
	return i;
}

void sl_sysport_keep(struct sl_sysport_table *table, const uint16_t held[SL_SYSTEM_PORTS_MAX],
		     const bool in_use[SL_SYSTEM_PORTS_MAX])
{
	struct indices x = { .held = held, .in_use = in_use };
	bool keeps[SL_SYSTEM_PORTS_MAX] = { false };

	for (uint32_t i = 0; i < SL_SYSTEM_PORTS_MAX; i++) {
		uint32_t place = place_of(table, held[i]);

		if (!held[i] || place == table->n || table->port[place] != held[i] || keeps[place])
			continue;
		table->index[place] = (uint16_t)i;
		keeps[place] = x.taken[i] = true;
	}
	for (uint32_t place = 0; place < table->n; place++) {
		uint32_t i = SL_SYSTEM_PORTS_MAX;

		for (uint32_t spare = 3; !keeps[place] && i == SL_SYSTEM_PORTS_MAX && spare-- > 0;)
			i = find_free(&x, spare);
		if (keeps[place])
			continue;
		table->index[place] = (uint16_t)i;
		x.taken[i] = true;
	}
}

static void put16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

size_t sl_sysport_encode(const struct sl_sysport_table *table, uint8_t bytes[SL_SYSPORT_BYTES_MAX])
{
	memcpy(bytes, "SLPT", 4);
	bytes[4] = TABLE_VERSION;
	bytes[5] = 0;
	put16(bytes + 6, table->n);
	for (uint32_t i = 0; i < table->n; i++)
		put16(bytes + 8 + 2 * i, table->port[i]);
	return 8 + 2 * table->n;
}
