/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer that the sender of a rejected packet gets. */
#ifndef SL_REJECT_H
#define SL_REJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An ICMPv6 error is at most as long as the least MTU of IPv6, one of IPv4 576 bytes. */
#define SL_REJECT_BYTES_MAX 1280

struct sl_reject {
	uint8_t family; /* AF_INET, AF_INET6 */
	/*
	 * A reset is a whole IP packet, from the address that the packet was sent to. An error is
	 * the ICMP message alone, since the kernel knows the source address that goes with the
	 * route; the checksum of ICMPv6 is left to the kernel, too, which needs that address.
	 */
	bool is_reset;
	uint8_t tos;	/* of an ICMP error for IPv4 */
	uint8_t to[16]; /* whom the answer is for; 4 or 16 bytes in network order */
	uint32_t n_bytes;
	uint8_t bytes[SL_REJECT_BYTES_MAX];
};

/*
 * The ICMP error (destination unreachable, port unreachable) for the IP packet of n bytes at
 * packet, which may have been cut at its end, and begins with a whole header. 0; -ENOENT: such a
 * packet gets no answer (RFC 1812 4.3.2.7, RFC 4443 2.4): one to or from no single host, a fragment
 * but the first, an ICMP error, a wrong checksum. Thread-safe.
 */
int sl_reject_error(const uint8_t *packet, size_t n, struct sl_reject *out);
/*
 * The TCP reset for the packet, which must not have been cut (RFC 9293 3.5.2). 0; -ENOENT as above,
 * and for a packet that is no TCP or a reset itself. Thread-safe.
 */
int sl_reject_reset(const uint8_t *packet, size_t n, struct sl_reject *out);

#endif
