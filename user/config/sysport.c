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
	table->n++;
	return 0;
}

int sl_sysport_index(const struct sl_sysport_table *table, uint16_t system_port)
{
	uint32_t place = place_of(table, system_port);

	return place < table->n && table->port[place] == system_port ? (int)place : -ENOENT;
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
