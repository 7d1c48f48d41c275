/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Route tables to test and measure with: the Internet's, parts of it, and larger ones made from it.
 */
#ifndef LAB_ROUTES_H
#define LAB_ROUTES_H

#include <stdint.h>

#include "user/text/prefix.h"

#define LAB_ROUTES_V4 "netns-lab/data/internet-v4.txt.xz"
#define LAB_ROUTES_V6 "netns-lab/data/internet-v6.txt.xz"

struct lab_routes {
	struct sl_prefix *prefix; /* owned; no two alike */
	uint32_t n;
};

/* xorshift64*: the same seed gives the same numbers anywhere. *state is never 0. */
uint32_t lab_random(uint64_t *state);
/* 0..n-1 */
uint32_t lab_random_below(uint64_t *state, uint32_t n);

/*
 * Read an xz-compressed file that has a prefix at the start of each line, sorted. A repeated prefix
 * is read once. 0, -ENOMEM, -errno of opening, or -EINVAL (a line that is no prefix, or xz failed).
 */
int lab_routes_read(const char *path, struct lab_routes *out);
void lab_routes_free(struct lab_routes *routes);

/* Bring them into a random order, so that the first n are a fair sample. */
void lab_routes_shuffle(struct lab_routes *routes, uint64_t *state);
/*
 * Add prefixes 1 to 8 bits longer than random ones of the list (IPv4 up to /24, IPv6 up to /64, as
 * the Internet accepts them) until there are n. 0, -ENOMEM.
 */
int lab_routes_grow(struct lab_routes *routes, uint32_t n, uint64_t *state);

/* A random address under the prefix. */
void lab_routes_address(const struct sl_prefix *prefix, uint64_t *state, uint8_t addr[16]);
/* A number below n for a prefix that looks random and is always the same. */
uint32_t lab_routes_hash(const struct sl_prefix *prefix, uint32_t n);

#endif
