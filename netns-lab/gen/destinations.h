/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses that the generator sends to. */
#ifndef LAB_DESTINATIONS_H
#define LAB_DESTINATIONS_H

#include <stdint.h>

#include "netns-lab/gen/traffic.h"

struct destinations {
	struct gen_dest *list; /* owned */
	uint32_t n;
	int family; /* AF_INET or AF_INET6 */
};

/*
 * An address, or `address/length`: then the first n addresses of the prefix, or all if there are
 * fewer (n = 0 means 1). -EINVAL: not an address or prefix. -ENOMEM.
 */
int destinations_parse(const char *text, uint32_t n, struct destinations *out);

/*
 * A file of addresses or prefixes, one a line; the rest of a line is ignored; "-" is standard
 * input. Draws n lines without repeating one (0: all, at most LAB_FLOWS_MAX) and an address from
 * each prefix, both by `seed`; the same seed draws the same. All lines are of one family. *line is
 * the line at fault for -EINVAL (0: the file is empty). -errno of open and read; -ENOMEM.
 */
int destinations_read(const char *path, uint32_t n, uint64_t seed, struct destinations *out,
		      unsigned int *line);

void destinations_free(struct destinations *d);

#endif
