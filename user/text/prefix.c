/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/text/prefix.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

uint8_t sl_addr_bits(uint8_t family)
{
	return family == AF_INET ? 32 : family == AF_INET6 ? 128 : 0;
}

int sl_addr_parse(const char *text, uint8_t *family, uint8_t addr[16])
{
	uint8_t bytes[16] = { 0 };
	uint8_t found = strchr(text, ':') ? AF_INET6 : AF_INET;

	if (inet_pton(found, text, bytes) != 1)
		return -EINVAL;
	*family = found;
	memcpy(addr, bytes, sizeof(bytes));
	return 0;
}

/* Decimal digits only, no leading zero, at most three of them. */
static int parse_len(const char *text, unsigned int *len)
{
	unsigned int value = 0;
	size_t digits = strspn(text, "0123456789");

	if (digits == 0 || text[digits] || (digits > 1 && text[0] == '0'))
		return -EINVAL;
	if (digits > 3)
		return -ERANGE;
	for (; *text; text++)
		value = value * 10 + (unsigned int)(*text - '0');
	*len = value;
	return 0;
}

int sl_prefix_parse(const char *text, struct sl_prefix *out)
{
	struct sl_prefix prefix = { 0 };
	char addr[SL_PREFIX_STRLEN];
	const char *slash = strchr(text, '/');
	size_t addr_len = slash ? (size_t)(slash - text) : strlen(text);
	unsigned int len;
	int rc;

	if (addr_len >= sizeof(addr))
		return -EINVAL;
	memcpy(addr, text, addr_len);
	addr[addr_len] = '\0';
	rc = sl_addr_parse(addr, &prefix.family, prefix.addr);
	if (rc)
		return rc;
	len = sl_addr_bits(prefix.family);
	if (slash) {
		rc = parse_len(slash + 1, &len);
		if (rc)
			return rc;
		if (len > sl_addr_bits(prefix.family))
			return -ERANGE;
	}
	prefix.len = (uint8_t)len;
	if (!sl_prefix_valid(&prefix))
		return -EDOM;
	*out = prefix;
	return 0;
}

const char *sl_addr_format(uint8_t family, const uint8_t *addr, char buf[SL_PREFIX_STRLEN])
{
	if (!inet_ntop(family, addr, buf, SL_PREFIX_STRLEN))
		snprintf(buf, SL_PREFIX_STRLEN, "family %u", family);
	return buf;
}

const char *sl_prefix_format(const struct sl_prefix *prefix, char buf[SL_PREFIX_STRLEN])
{
	size_t n;

	sl_addr_format(prefix->family, prefix->addr, buf);
	n = strlen(buf);
	snprintf(buf + n, SL_PREFIX_STRLEN - n, "/%u", prefix->len);
	return buf;
}

void sl_addr_mask(uint8_t addr[16], unsigned int len)
{
	unsigned int whole = len / 8;

	if (whole >= 16)
		return;
	addr[whole] &= (uint8_t)(0xff00 >> (len % 8));
	memset(addr + whole + 1, 0, 15 - whole);
}

bool sl_addr_match(const uint8_t *a, const uint8_t *b, unsigned int len)
{
	unsigned int whole = len / 8;

	if (memcmp(a, b, whole))
		return false;
	return len % 8 == 0 || (uint8_t)((a[whole] ^ b[whole]) & (0xff00 >> (len % 8))) == 0;
}

bool sl_prefix_valid(const struct sl_prefix *prefix)
{
	uint8_t masked[16];

	if (sl_addr_bits(prefix->family) == 0 || prefix->len > sl_addr_bits(prefix->family))
		return false;
	memcpy(masked, prefix->addr, sizeof(masked));
	sl_addr_mask(masked, prefix->len);
	return memcmp(masked, prefix->addr, sizeof(masked)) == 0;
}
