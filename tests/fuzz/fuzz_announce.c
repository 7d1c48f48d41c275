/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Read any bytes as a part of another node's announcement, or of its claims: no record that is
 * delivered is out of range.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "user/ipc/announce.h"
#include "user/ipc/claim_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(void *ctx, const struct sl_announce_record *record)
{
	unsigned int *n = ctx;

	assert(record->system_port >> 8 && record->system_port & 0xff);
	if (record->type == SL_ANNOUNCE_PORT)
		assert(record->mtu_bytes >= 68 && record->mtu_bytes <= UINT16_MAX);
	else
		assert(record->family == AF_INET || record->family == AF_INET6);
	++*n;
}

static void check_claim(void *ctx, enum sl_claim_kind kind, const struct sl_claim_record *record)
{
	unsigned int *n = ctx;

	assert(record->system_port >> 8 == (kind == SL_CLAIM_ASK ? 1 : 2));
	assert(record->system_port & 0xff);
	assert(record->flow.version == 4 || record->flow.version == 6);
	assert(record->verdict < SL_CLAIM_VERDICTS);
	assert((kind == SL_CLAIM_ANSWER) == (record->verdict != SL_CLAIM_NONE));
	++*n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sl_announce_header header;
	enum sl_claim_kind kind;
	/* of the exact size, so that the sanitizer sees a read beyond the end */
	uint8_t *exact = malloc(size ? size : 1);
	unsigned int n = 0;

	memcpy(exact, data, size);
	if (sl_announce_parse(exact, size, 2, 1, &header, check, &n))
		assert(n == 0);
	n = 0;
	if (sl_claim_parse(exact, size, 2, 1, &kind, check_claim, &n))
		assert(n == 0);
	free(exact);
	return 0;
}
