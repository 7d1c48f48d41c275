/* SPDX-License-Identifier: BSD-2-Clause */
#include "netns-lab/lookup/routes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/fib/fib_store.h"

uint32_t lab_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return (uint32_t)(*state * 0x2545f4914f6cdd1dULL >> 32);
}

uint32_t lab_random_below(uint64_t *state, uint32_t n)
{
	return (uint32_t)((uint64_t)lab_random(state) * n >> 32);
}

void lab_routes_free(struct lab_routes *routes)
{
	free(routes->prefix);
	*routes = (struct lab_routes){ 0 };
}

static int append(struct lab_routes *routes, uint32_t *room, const struct sl_prefix *prefix)
{
	if (routes->n == *room) {
		uint32_t more = *room ? *room * 2 : 4096;
		struct sl_prefix *grown = realloc(routes->prefix, more * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		routes->prefix = grown;
		*room = more;
	}
	routes->prefix[routes->n++] = *prefix;
	return 0;
}

static int read_lines(FILE *lines, struct lab_routes *routes)
{
	uint32_t room = 0;
	char line[256];
	int rc = 0;

	while (!rc && fgets(line, sizeof(line), lines)) {
		struct sl_prefix prefix;

		line[strcspn(line, " \t\n")] = '\0';
		if (sl_prefix_parse(line, &prefix))
			return -EINVAL;
		if (routes->n == 0 ||
		    memcmp(&routes->prefix[routes->n - 1], &prefix, sizeof(prefix)) != 0)
			rc = append(routes, &room, &prefix);
	}
	return rc;
}

int lab_routes_read(const char *path, struct lab_routes *out)
{
	struct lab_routes routes = { 0 };
	char command[4096];
	FILE *lines;
	int rc;

	if (access(path, R_OK))
		return -errno;
	snprintf(command, sizeof(command), "xz -dc -- '%s'", path);
	lines = popen(command, "re");
	if (!lines)
		return -errno;
	rc = read_lines(lines, &routes);
	if (pclose(lines) && !rc)
		rc = -EINVAL;
	if (!rc && routes.n == 0)
		rc = -EINVAL;
	if (rc)
		lab_routes_free(&routes);
	else
		*out = routes;
	return rc;
}

void lab_routes_shuffle(struct lab_routes *routes, uint64_t *state)
{
	for (uint32_t i = routes->n; i > 1; i--) {
		uint32_t j = lab_random_below(state, i);
		struct sl_prefix swap = routes->prefix[i - 1];

		routes->prefix[i - 1] = routes->prefix[j];
		routes->prefix[j] = swap;
	}
}

static struct sl_prefix longer(const struct sl_prefix *parent, uint64_t *state)
{
	struct sl_prefix prefix = *parent;
	uint8_t limit = parent->family == AF_INET ? 24 : 64;
	uint32_t len = parent->len + 1u + lab_random_below(state, 8);

	prefix.len = (uint8_t)(len < limit ? len : limit);
	lab_routes_address(parent, state, prefix.addr);
	sl_addr_mask(prefix.addr, prefix.len);
	return prefix;
}

int lab_routes_grow(struct lab_routes *routes, uint32_t n, uint64_t *state)
{
	const uint8_t family = routes->prefix[0].family;
	const uint8_t limit = family == AF_INET ? 24 : 64;
	uint32_t known = routes->n, room = routes->n;
	struct sl_store seen;
	int rc = sl_store_init(&seen, family);

	for (uint32_t i = 0; !rc && i < known; i++)
		rc = sl_store_insert(&seen, routes->prefix[i].addr,
				     sl_word(routes->prefix[i].len, 1));
	while (!rc && routes->n < n) {
		const struct sl_prefix *parent = &routes->prefix[lab_random_below(state, known)];
		struct sl_prefix prefix;

		if (parent->len >= limit)
			continue;
		prefix = longer(parent, state);
		if (sl_store_find(&seen, prefix.addr, prefix.len))
			continue;
		rc = sl_store_insert(&seen, prefix.addr, sl_word(prefix.len, 1));
		if (!rc)
			rc = append(routes, &room, &prefix);
	}
	sl_store_fini(&seen);
	return rc;
}

void lab_routes_address(const struct sl_prefix *prefix, uint64_t *state, uint8_t addr[16])
{
	uint8_t random[16] = { 0 };
	unsigned int whole = prefix->len / 8;

	for (unsigned int i = 0; i < sl_addr_bits(prefix->family) / 8u; i += 4) {
		uint32_t word = lab_random(state);

		memcpy(random + i, &word, 4);
	}
	memcpy(addr, random, 16);
	memcpy(addr, prefix->addr, whole);
	if (whole < 16) {
		uint8_t mask = (uint8_t)(0xff >> prefix->len % 8);

		addr[whole] = (uint8_t)(prefix->addr[whole] | (random[whole] & mask));
	}
}

uint32_t lab_routes_hash(const struct sl_prefix *prefix, uint32_t n)
{
	uint64_t h = prefix->len;

	for (int i = 0; i < 16; i++)
		h = (h ^ prefix->addr[i]) * 0x100000001b3ULL;
	h ^= h >> 29;
	return (uint32_t)((h * 0x9e3779b97f4a7c15ULL >> 32) % n);
}
