// SPDX-License-Identifier: BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "netns-lab/gen/destinations.h"

struct prefix {
	uint8_t addr[16];
	uint8_t len;
};

struct prefixes {
	struct prefix *list;
	size_t n, room;
	int family;
};

static unsigned int addr_bits(int family)
{
	return family == AF_INET ? 32 : 128;
}

/* splitmix64: small, and the same numbers everywhere */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static int parse_prefix(const char *text, struct prefix *out, int *family)
{
	char addr[INET6_ADDRSTRLEN + 4], *slash, *end;
	unsigned long len;

	if (strlen(text) >= sizeof(addr))
		return -EINVAL;
	memcpy(addr, text, strlen(text) + 1);
	slash = strchr(addr, '/');
	if (slash)
		*slash = '\0';
	memset(out, 0, sizeof(*out));
	if (inet_pton(AF_INET, addr, out->addr) == 1)
		*family = AF_INET;
	else if (inet_pton(AF_INET6, addr, out->addr) == 1)
		*family = AF_INET6;
	else
		return -EINVAL;
	len = addr_bits(*family);
	if (slash) {
		len = strtoul(slash + 1, &end, 10);
		if (end == slash + 1 || *end || len > addr_bits(*family))
			return -EINVAL;
	}
	out->len = len;
	for (unsigned int bit = len; bit < addr_bits(*family); bit++)
		out->addr[bit / 8] &= ~(0x80 >> bit % 8);
	return 0;
}

/* The address that is `offset` (modulo the size of the prefix) after its first. */
static struct gen_dest address_in(const struct prefix *p, int family, uint64_t offset)
{
	unsigned int host_bits = addr_bits(family) - p->len;
	struct prefix sum = *p;
	struct gen_dest dest;

	if (host_bits < 64)
		offset &= (1ULL << host_bits) - 1;
	for (int i = addr_bits(family) / 8 - 1; i >= 0 && offset; i--) {
		offset += sum.addr[i];
		sum.addr[i] = offset & 0xff;
		offset >>= 8;
	}
	memcpy(dest.addr, sum.addr, sizeof(dest.addr));
	return dest;
}

int destinations_parse(const char *text, uint32_t n, struct destinations *out)
{
	unsigned int host_bits;
	struct prefix p;
	int err;

	memset(out, 0, sizeof(*out));
	err = parse_prefix(text, &p, &out->family);
	if (err)
		return err;
	host_bits = addr_bits(out->family) - p.len;
	if (!n)
		n = 1;
	if (host_bits < 32 && n > 1ULL << host_bits)
		n = 1U << host_bits;
	out->list = calloc(n, sizeof(*out->list));
	if (!out->list)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		out->list[i] = address_in(&p, out->family, i);
	out->n = n;
	return 0;
}

static int add_prefix(struct prefixes *all, const char *text)
{
	struct prefix p, *list;
	int family, err;

	err = parse_prefix(text, &p, &family);
	if (err)
		return err;
	if (all->n && family != all->family)
		return -EINVAL;
	all->family = family;
	if (all->n == all->room) {
		all->room = all->room ? 2 * all->room : 1024;
		list = realloc(all->list, all->room * sizeof(*list));
		if (!list)
			return -ENOMEM;
		all->list = list;
	}
	all->list[all->n++] = p;
	return 0;
}

static int read_prefixes(FILE *file, struct prefixes *all, unsigned int *line)
{
	size_t room = 0;
	char *text = NULL, *word, *rest;
	int err = 0;

	*line = 0;
	while (!err && getline(&text, &room, file) >= 0) {
		(*line)++;
		word = strtok_r(text, " \t\r\n,", &rest);
		if (word && *word != '#')
			err = add_prefix(all, word);
	}
	if (!err && ferror(file))
		err = -EIO;
	if (!err && !all->n) {
		*line = 0;
		err = -EINVAL;
	}
	free(text);
	return err;
}

int destinations_read(const char *path, uint32_t n, uint64_t seed, struct destinations *out,
		      unsigned int *line)
{
	bool standard_input = !strcmp(path, "-");
	FILE *file = standard_input ? stdin : fopen(path, "re");
	struct prefixes all = { 0 };
	struct prefix swap;
	size_t pick;
	int err;

	memset(out, 0, sizeof(*out));
	if (!file)
		return -errno;
	err = read_prefixes(file, &all, line);
	if (err)
		goto out;

	if (!n || n > all.n)
		n = all.n < LAB_FLOWS_MAX ? all.n : LAB_FLOWS_MAX;
	out->family = all.family;
	out->list = calloc(n, sizeof(*out->list));
	if (!out->list) {
		err = -ENOMEM;
		goto out;
	}
	/* The first n steps of a Fisher-Yates shuffle. */
	for (out->n = 0; out->n < n; out->n++) {
		pick = out->n + next_random(&seed) % (all.n - out->n);
		swap = all.list[out->n];
		all.list[out->n] = all.list[pick];
		all.list[pick] = swap;
		out->list[out->n] = address_in(&all.list[out->n], all.family, next_random(&seed));
	}
out:
	if (!standard_input)
		fclose(file);
	free(all.list);
	return err;
}

void destinations_free(struct destinations *d)
{
	free(d->list);
	memset(d, 0, sizeof(*d));
}
