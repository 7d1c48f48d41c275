/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "delay/semi_experiments.h"
#include "delay/stats/two_stage.h"

#define SECOND_NS   1000000000
#define DIGIT_BITS  15 /* two digits make a time within a second */
#define DIGITS	    (1u << DIGIT_BITS)
#define LENGTH_BITS 24 /* below the time in struct sl_semi's `packets` */
#define FIRST_SIZE  1024u

/* A packet that an input's own queue has let go */
struct leaver {
	int64_t departure_ns;
	uint32_t wire_bytes;
	uint32_t serial; /* in the order of arrival; it may wrap, but not within a heap */
};

struct sl_semi {
	struct sl_semi_result result;
	uint64_t amplitude_ns; /* see sl_semi_take_amplitude_ns() */
	struct sl_two_stage alone[SL_BUSY_INPUTS_MAX], behind, smooth;
	struct leaver *heap; /* owned; leavers that `behind` has not served; the first is on top */
	uint32_t n_heap, heap_size, serial;
	/* of the second under way: time within it << LENGTH_BITS | wire_bytes */
	uint64_t *packets, *sorted; /* owned; packets_size of each */
	uint64_t n_packets, packets_size;
	int64_t second, latest_ns;
	uint64_t random;
	uint64_t place[DIGITS]; /* of sort_by_digit() */
};

int sl_semi_create(uint64_t rate_bps, struct sl_semi **out)
{
	struct sl_semi *semi = calloc(1, sizeof(*semi));

	if (!semi)
		return -ENOMEM;
	for (uint32_t i = 0; i < SL_BUSY_INPUTS_MAX; i++)
		sl_two_stage_init(&semi->alone[i], rate_bps);
	sl_two_stage_init(&semi->behind, rate_bps);
	sl_two_stage_init(&semi->smooth, rate_bps);
	semi->random = 0x9e3779b97f4a7c15;
	*out = semi;
	return 0;
}

void sl_semi_destroy(struct sl_semi *semi)
{
	if (!semi)
		return;
	free(semi->heap);
	free(semi->packets);
	free(semi->sorted);
	free(semi);
}

/* --- Bandwidth --- */

static bool sooner(const struct leaver *a, const struct leaver *b)
{
	if (a->departure_ns != b->departure_ns)
		return a->departure_ns < b->departure_ns;
	return (int32_t)(a->serial - b->serial) < 0;
}

static int push(struct sl_semi *semi, const struct leaver *leaver)
{
	uint32_t at = semi->n_heap;

	if (semi->n_heap == semi->heap_size) {
		const uint32_t size = semi->heap_size ? 2 * semi->heap_size : FIRST_SIZE;
		struct leaver *heap = realloc(semi->heap, size * sizeof(*heap));

		if (!heap)
			return -ENOMEM;
		semi->heap = heap;
		semi->heap_size = size;
	}
	semi->n_heap++;
	for (; at && sooner(leaver, &semi->heap[(at - 1) / 2]); at = (at - 1) / 2)
		semi->heap[at] = semi->heap[(at - 1) / 2];
	semi->heap[at] = *leaver;
	return 0;
}

static struct leaver pop(struct sl_semi *semi)
{
	const struct leaver top = semi->heap[0], last = semi->heap[--semi->n_heap];
	uint32_t at = 0, child;

	while ((child = 2 * at + 1) < semi->n_heap) {
		child += child + 1 < semi->n_heap &&
			 sooner(&semi->heap[child + 1], &semi->heap[child]);
		if (!sooner(&semi->heap[child], &last))
			break;
		semi->heap[at] = semi->heap[child];
		at = child;
	}
	semi->heap[at] = last;
	return top;
}

/* Whatever arrives from now_ns on leaves its own queue later than these. */
static void serve_leavers(struct sl_semi *semi, int64_t now_ns)
{
	while (semi->n_heap && semi->heap[0].departure_ns <= now_ns) {
		const struct leaver leaver = pop(semi);

		semi->result.slow_inputs_ns +=
			sl_two_stage_serve(&semi->behind, leaver.departure_ns, leaver.wire_bytes)
				.wait_ns;
	}
}

/* --- Burstiness --- */

static uint64_t random_below(struct sl_semi *semi, uint64_t end)
{
	/* xorshift64*, which starts the same in each run; the upper half of its product with `end`
	 */
	semi->random ^= semi->random >> 12;
	semi->random ^= semi->random << 25;
	semi->random ^= semi->random >> 27;
	return (uint64_t)((unsigned __int128)(semi->random * 0x2545f4914f6cdd1d) * end >> 64);
}

/* Sort by one digit of the time; the order within a digit stays. */
static void sort_by_digit(uint64_t *place, const uint64_t *from, uint64_t *to, uint64_t n,
			  uint32_t shift)
{
	uint64_t sum = 0;

	memset(place, 0, DIGITS * sizeof(*place));
	for (uint64_t i = 0; i < n; i++)
		place[from[i] >> shift & (DIGITS - 1)]++;
	for (uint32_t digit = 0; digit < DIGITS; digit++) {
		const uint64_t here = place[digit];

		place[digit] = sum;
		sum += here;
	}
	for (uint64_t i = 0; i < n; i++)
		to[place[from[i] >> shift & (DIGITS - 1)]++] = from[i];
}

/* Give each packet of the second a time within its first span_ns, and serve them. */
static void end_second(struct sl_semi *semi, int64_t span_ns)
{
	const int64_t start_ns = semi->second * SECOND_NS;

	for (uint64_t i = 0; i < semi->n_packets; i++)
		semi->packets[i] |= random_below(semi, (uint64_t)span_ns) << LENGTH_BITS;
	sort_by_digit(semi->place, semi->packets, semi->sorted, semi->n_packets, LENGTH_BITS);
	sort_by_digit(semi->place, semi->sorted, semi->packets, semi->n_packets,
		      LENGTH_BITS + DIGIT_BITS);
	for (uint64_t i = 0; i < semi->n_packets; i++) {
		const uint64_t packet = semi->packets[i];

		semi->result.smooth_ns +=
			sl_two_stage_serve(&semi->smooth,
					   start_ns + (int64_t)(packet >> LENGTH_BITS),
					   (uint32_t)(packet & ((1u << LENGTH_BITS) - 1)))
				.wait_ns;
	}
	semi->n_packets = 0;
}

static int keep_packet(struct sl_semi *semi, uint32_t wire_bytes)
{
	if (semi->n_packets == semi->packets_size) {
		const uint64_t size = semi->packets_size ? 2 * semi->packets_size : FIRST_SIZE;
		uint64_t *packets = realloc(semi->packets, size * sizeof(*packets)), *sorted;

		if (!packets)
			return -ENOMEM;
		semi->packets = packets;
		sorted = realloc(semi->sorted, size * sizeof(*sorted));
		if (!sorted)
			return -ENOMEM;
		semi->sorted = sorted;
		semi->packets_size = size;
	}
	semi->packets[semi->n_packets++] = wire_bytes;
	return 0;
}

/* --- All of them --- */

int sl_semi_add(struct sl_semi *semi, int64_t arrival_ns, uint32_t input, uint32_t wire_bytes,
		uint64_t wait_ns)
{
	const int64_t second = arrival_ns / SECOND_NS - (arrival_ns % SECOND_NS < 0);
	const struct sl_service own =
		sl_two_stage_serve(&semi->alone[input], arrival_ns, wire_bytes);
	const struct leaver leaver = { own.departure_ns, wire_bytes, semi->serial++ };
	const uint64_t stay_ns = (uint64_t)(own.departure_ns - arrival_ns);
	int err;

	semi->result.packets++;
	semi->result.wait_ns += wait_ns;
	semi->result.alone_ns += own.wait_ns;
	semi->result.input_packets[input]++;
	semi->result.input_alone_ns[input] += own.wait_ns;
	if (stay_ns > semi->amplitude_ns)
		semi->amplitude_ns = stay_ns;
	serve_leavers(semi, arrival_ns);
	err = push(semi, &leaver);
	if (err)
		return err;
	if (semi->n_packets && second != semi->second)
		end_second(semi, SECOND_NS);
	semi->second = second;
	semi->latest_ns = arrival_ns;
	return keep_packet(semi, wire_bytes);
}

void sl_semi_finish(struct sl_semi *semi)
{
	serve_leavers(semi, INT64_MAX);
	/* The last second ends with its last packet, lest its packets thin out. */
	if (semi->n_packets)
		end_second(semi, semi->latest_ns - semi->second * SECOND_NS + 1);
}

const struct sl_semi_result *sl_semi_result(const struct sl_semi *semi)
{
	return &semi->result;
}

uint64_t sl_semi_take_amplitude_ns(struct sl_semi *semi)
{
	const uint64_t amplitude_ns = semi->amplitude_ns;

	semi->amplitude_ns = 0;
	return amplitude_ns;
}
