/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * IPv4 and IPv6 addresses and prefixes as text and as bytes. Parsing is strict: blanks, zones and
 * leading zeros are refused, and so are host bits, which other programs clear in silence.
 */
#ifndef SL_PREFIX_H
#define SL_PREFIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An IPv4 or IPv6 prefix. Host bits are zero; IPv4 uses addr[0..3] and leaves the rest zero. */
struct sl_prefix {
	uint8_t family;	  /* AF_INET or AF_INET6 */
	uint8_t len;	  /* 0..32 or 0..128 */
	uint8_t addr[16]; /* network order */
};

/* Room for any prefix as text with its NUL: 45 characters of address, '/', 3 digits. */
#define SL_PREFIX_STRLEN 50

/* Bits of an address of the family: 32 or 128; 0 for any other family. */
uint8_t sl_addr_bits(uint8_t family);

/*
 * Read "192.0.2.1" or "2001:db8::1": with nothing before or after it, without a zone, and in IPv4
 * without leading zeros. addr receives 16 bytes, those beyond the address are zero. 0 or -EINVAL
 * (outputs untouched).
 */
int sl_addr_parse(const char *text, uint8_t *family, uint8_t addr[16]);

/*
 * Read "192.0.2.0/24" or "2001:db8::/32"; an address without a length is a host prefix. 0; -EINVAL:
 * not an address, or no number after '/'; -ERANGE: the length exceeds the family's bits; -EDOM:
 * bits are set beyond the length. On error *out is untouched.
 */
int sl_prefix_parse(const char *text, struct sl_prefix *out);

/* Write the shortest usual form (RFC 5952 for IPv6) into buf and return buf. */
const char *sl_addr_format(uint8_t family, const uint8_t *addr, char buf[SL_PREFIX_STRLEN]);
const char *sl_prefix_format(const struct sl_prefix *prefix, char buf[SL_PREFIX_STRLEN]);

/* Clear the bits of addr from bit len on, up to the 16 bytes' end. len 0..128. */
void sl_addr_mask(uint8_t addr[16], unsigned int len);
/* Are the first len bits of a and b the same? Reads (len + 7) / 8 bytes of each. */
bool sl_addr_match(const uint8_t *a, const uint8_t *b, unsigned int len);
/* Is its family known, its length within the family's bits, and no bit set beyond the length? */
bool sl_prefix_valid(const struct sl_prefix *prefix);

#endif
