/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packets wait in a ring, in the order of their times. Each has a number; a hash of identities
 * leads to the newest packet of a bucket, and each packet to the next older one of its bucket,
 * given as a distance in numbers. So a walk ends at the first packet beyond the window, and what
 * leaves the ring needs no removal. Of one identity, a bucket has only the newest packet of each
 * link: a million copies do not make a chain of a million.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "delay/capture/match.h"

#define FIRST_SIZE 4096u

struct waiting {
	uint64_t id[2];
	int64_t time_ns;
	int64_t other_ns; /* matched: time of the other packet */
	uint32_t older;	  /* distance to the next older packet of the bucket; 0: none */
	uint32_t other;	  /* matched: distance to the other packet, either way */
	uint16_t ip_bytes;
	uint8_t link, other_link;
	uint8_t fate; /* so far */
	uint8_t output : 1, slow : 1;
	uint8_t out_tags : 6; /* see struct sl_matched */
};
_Static_assert(sizeof(struct waiting) == 48, "memory is what the header says");

struct sl_match {
	struct sl_match_settings settings;
	struct waiting *ring; /* owned; `size` of them */
	uint64_t *newest;     /* owned; `size` buckets: number of the newest packet; 0: none */
	uint32_t size;	      /* a power of two */
	uint64_t first, end; /* numbers of those that wait: first..end - 1; the first number is 1 */
};

static struct waiting *at(const struct sl_match *m, uint64_t number)
{
	return &m->ring[number & (m->size - 1)];
}

static uint64_t *bucket_of(const struct sl_match *m, const uint64_t id[2])
{
	return &m->newest[id[0] & (m->size - 1)];
}

int sl_match_create(const struct sl_match_settings *settings, struct sl_match **out)
{
	struct sl_match *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	m->settings = *settings;
	m->size = FIRST_SIZE;
	m->first = m->end = 1;
	m->ring = calloc(m->size, sizeof(*m->ring));
	m->newest = calloc(m->size, sizeof(*m->newest));
	if (!m->ring || !m->newest) {
		sl_match_destroy(m);
		return -ENOMEM;
	}
	*out = m;
	return 0;
}

void sl_match_destroy(struct sl_match *m)
{
	if (!m)
		return;
	free(m->ring);
	free(m->newest);
	free(m);
}

/* The next older packet of the bucket; 0 if it is none, or has left the ring */
static uint64_t older(const struct sl_match *m, uint64_t number)
{
	const uint32_t distance = at(m, number)->older;

	return distance && number - distance >= m->first ? number - distance : 0;
}

static uint64_t newest(const struct sl_match *m, const uint64_t id[2])
{
	const uint64_t number = *bucket_of(m, id);

	return number >= m->first ? number : 0;
}

/* Twice the room. Numbers, and so distances between packets matched, stay; the chains are new. */
static int grow(struct sl_match *m)
{
	struct sl_match big = *m;

	if (m->size >= SL_MATCH_PACKETS_MAX)
		return -E2BIG;
	big.size = 2 * m->size;
	big.ring = malloc(big.size * sizeof(*big.ring));
	big.newest = calloc(big.size, sizeof(*big.newest));
	if (!big.ring || !big.newest) {
		free(big.ring);
		free(big.newest);
		return -ENOMEM;
	}
	for (uint64_t n = m->first; n < m->end; n++)
		*at(&big, n) = *at(m, n);
	/* In a chain, copies replaced by newer ones are missing: only what hangs in one goes over.
	 */
	for (uint32_t bucket = 0; bucket < m->size; bucket++) {
		uint64_t last[2] = { 0, 0 }; /* this chain falls into two */

		for (uint64_t n = m->newest[bucket] >= m->first ? m->newest[bucket] : 0; n;
		     n = older(m, n)) {
			const uint64_t *id = at(m, n)->id;
			const uint32_t half = (id[0] & m->size) != 0;

			at(&big, n)->older = 0;
			if (last[half])
				at(&big, last[half])->older = (uint32_t)(last[half] - n);
			else
				*bucket_of(&big, id) = n;
			last[half] = n;
		}
	}
	free(m->ring);
	free(m->newest);
	*m = big;
	return 0;
}

/* Tell the fate of the oldest packet. */
static int seal_oldest(struct sl_match *m)
{
	const struct waiting *w = at(m, m->first);
	const struct sl_matched packet = {
		.time_ns = w->time_ns,
		.other_ns = w->other_ns,
		.ip_bytes = w->ip_bytes,
		.link = w->link,
		.other_link = w->other_link,
		.fate = w->fate,
		.out_tags = w->out_tags,
		.output = w->output,
		.slow = w->slow,
	};

	m->first++;
	return m->settings.sealed(m->settings.context, &packet);
}

/* Set a packet aside; one that it was matched with is free again. */
static void set_aside(struct sl_match *m, uint64_t number, enum sl_fate fate)
{
	struct waiting *w = at(m, number);

	if (w->fate == SL_FATE_MATCHED)
		at(m, w->output ? number - w->other : number + w->other)->fate = SL_FATE_UNMATCHED;
	w->fate = (uint8_t)fate;
}

static bool same(const struct waiting *a, const struct waiting *b)
{
	return a->id[0] == b->id[0] && a->id[1] == b->id[1];
}

/* What the packets of one bucket have to do with a new one */
struct company {
	uint64_t copy;	      /* the newest on its own link; 0: none */
	uint64_t before_copy; /* the packet that leads to it; 0: the bucket does */
	uint64_t candidate;   /* on an input, not matched; the newest of them */
	uint32_t n_candidates;
};

static struct company find_company(const struct sl_match *m, const struct waiting *new)
{
	const int64_t oldest_ns = new->time_ns - (int64_t)m->settings.window_ns;
	struct company c = { 0, 0, 0, 0 };
	uint64_t before = 0;

	for (uint64_t n = newest(m, new->id); n && at(m, n)->time_ns >= oldest_ns;
	     before = n, n = older(m, n)) {
		const struct waiting *w = at(m, n);

		if (!same(w, new))
			continue;
		if (w->link == new->link) {
			c.copy = n;
			c.before_copy = before;
		} else if (!w->output && w->fate == SL_FATE_UNMATCHED && !c.n_candidates++) {
			c.candidate = n;
		}
	}
	return c;
}

static void unchain(struct sl_match *m, const struct company *c)
{
	const uint64_t next = older(m, c->copy);

	if (c->before_copy)
		at(m, c->before_copy)->older = next ? (uint32_t)(c->before_copy - next) : 0;
	else
		*bucket_of(m, at(m, c->copy)->id) = next;
}

static void make_ambiguous(struct sl_match *m, struct waiting *new)
{
	const int64_t oldest_ns = new->time_ns - (int64_t)m->settings.window_ns;

	for (uint64_t n = newest(m, new->id); n && at(m, n)->time_ns >= oldest_ns;
	     n = older(m, n)) {
		struct waiting *w = at(m, n);

		if (same(w, new) && !w->output && w->fate == SL_FATE_UNMATCHED)
			w->fate = SL_FATE_AMBIGUOUS;
	}
	new->fate = SL_FATE_AMBIGUOUS;
}

int sl_match_add(struct sl_match *m, int64_t time_ns, uint8_t link, bool output,
		 const struct sl_identity *packet)
{
	const int64_t sealed_ns = time_ns - 2 * (int64_t)m->settings.window_ns;
	struct waiting *new;
	struct company c;
	uint64_t chained;
	int err;

	while (m->first < m->end && at(m, m->first)->time_ns < sealed_ns) {
		err = seal_oldest(m);
		if (err)
			return err;
	}
	if (m->end - m->first == m->size) {
		err = grow(m);
		if (err)
			return err;
	}
	new = at(m, m->end);
	*new = (struct waiting){
		.id = { packet->id[0], packet->id[1] },
		.time_ns = time_ns,
		.ip_bytes = packet->ip_bytes,
		.link = link,
		.output = output,
		.slow = packet->slow,
		.out_tags = packet->vlan_tags < 63 ? packet->vlan_tags : 63,
	};
	c = find_company(m, new);
	if (c.copy) {
		set_aside(m, c.copy, SL_FATE_DUPLICATE);
		new->fate = SL_FATE_DUPLICATE;
		unchain(m, &c);
	} else if (output && c.n_candidates == 1) {
		struct waiting *in = at(m, c.candidate);

		in->fate = new->fate = SL_FATE_MATCHED;
		in->other = new->other = (uint32_t)(m->end - c.candidate);
		in->other_ns = time_ns;
		in->other_link = link;
		in->out_tags = new->out_tags;
		new->other_ns = in->time_ns;
		new->other_link = in->link;
	} else if (output && c.n_candidates > 1) {
		make_ambiguous(m, new);
	}
	chained = newest(m, new->id);
	new->older = chained ? (uint32_t)(m->end - chained) : 0;
	*bucket_of(m, new->id) = m->end++;
	return 0;
}

int sl_match_finish(struct sl_match *m)
{
	int err = 0;

	while (m->first < m->end && !err)
		err = seal_oldest(m);
	return err;
}
