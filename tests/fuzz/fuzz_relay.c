/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes as a message between the daemons of a node. What is accepted keeps the relay's rules,
 * and encodes to the same bytes again.
 */
#include <stdlib.h>
#include <string.h>

#include "user/ipc/relay.h"

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void check(const struct sl_relay_message *m, const uint8_t *bytes, size_t n)
{
	static uint8_t again[SL_RELAY_MAX_BYTES];
	char name[IF_NAMESIZE];

	require(sl_relay_encode(m, again) == n && memcmp(again, bytes, n) == 0);
	require(m->kind == SL_RELAY_SEND || m->kind == SL_RELAY_PORT || m->kind == SL_RELAY_FLOW ||
		m->node);
	if (m->kind == SL_RELAY_FLOW)
		require(m->gone == !m->weight && (m->flow.version == 4 || m->flow.version == 6));
	if (m->kind == SL_RELAY_PORT || m->kind == SL_RELAY_FLOW) {
		require(m->system_port >> 8 && m->system_port & 0xff);
		sl_relay_tap_name(m->system_port, name);
		require(strlen(name) < sizeof(name));
	}
	if (m->kind == SL_RELAY_PEER)
		require(m->up == (m->epoch != 0));
	if (m->part)
		require(m->part >= bytes && m->part + m->part_bytes == bytes + n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_relay_message message;
	uint8_t *exact = malloc(size ? size : 1); /* so that the sanitizer sees a read beyond */

	memcpy(exact, data, size);
	if (sl_relay_parse(exact, size, &message) == 0)
		check(&message, exact, size);
	free(exact);
	return 0;
}
