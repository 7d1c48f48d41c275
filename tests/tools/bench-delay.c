/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What measuring delay and busy periods costs the bridge for a frame: processor time by itself,
 * without a router, for frames of a port that is busy all the time, and for frames that come one at
 * a time, so that each is a busy period.
 *
 *   bench-delay [FRAMES ROUNDS]
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "rdma-bridge/measure/port_busy.h"
#include "rdma-bridge/measure/queue_delay.h"

#define BATCH	   32	/* frames that the port gives back at a time */
#define GAP_LONE   2000 /* ns between frames, of which each leaves before the next one comes */
#define GAP_LOADED 1000
#define STAY_LONE  1500
#define STAY_LOAD  100000

static double processor_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static uint32_t n_frames = 20000000, n_rounds = 5;

/* A `mean` of 0: only what the loop itself costs. */
static double ns_per_frame(uint32_t mean, bool lone)
{
	struct rb_port_delay *delay = NULL;
	struct rb_port_busy *busy = NULL;
	volatile uint64_t seen = 0;
	static const uint8_t bytes[60];
	uint64_t now_ns = 1000000000;
	double started_ns, spent_ns;

	if (mean && (rb_port_delay_create(mean, &delay) || rb_port_busy_create(&busy)))
		return -1;
	started_ns = processor_ns();
	for (uint32_t i = 0; i < n_frames; i++, now_ns += lone ? GAP_LONE : GAP_LOADED) {
		/* stays differ by up to 400 ns, and four ports take turns */
		const uint64_t stay_ns = (lone ? STAY_LONE : STAY_LOAD) + i * 2654435761U % 400;
		const struct rb_frame frame = { .arrival_ns = now_ns - stay_ns,
						.waited_ns = 500,
						.message_ns = 500,
						.len_bytes = 60,
						.ingress_port = (uint16_t)(0x101 + i / BATCH % 4) };

		seen = seen + frame.arrival_ns;
		if (!delay)
			continue;
		rb_port_delay_give(delay, &frame, bytes, now_ns);
		rb_port_busy_leave(busy, &frame, now_ns);
		if (i % BATCH == BATCH - 1)
			rb_port_delay_back(delay, BATCH, now_ns, 0);
	}
	spent_ns = processor_ns() - started_ns;
	rb_port_delay_destroy(delay);
	rb_port_busy_destroy(busy);
	return spent_ns / n_frames;
}

int main(int argc, char **argv)
{
	static const uint32_t means[] = { 0, 64, 1 };

	if (argc == 3) {
		n_frames = (uint32_t)strtoul(argv[1], NULL, 10);
		n_rounds = (uint32_t)strtoul(argv[2], NULL, 10);
	}
	if ((argc != 1 && argc != 3) || !n_frames) {
		fprintf(stderr, "usage: bench-delay [FRAMES ROUNDS]\n");
		return 2;
	}

	printf("ns a frame, rounds in turns\n%-12s%-16s%s\n", "1 frame of", "always busy", "lone");
	for (uint32_t round = 0; round < n_rounds; round++)
		for (size_t i = 0; i < sizeof(means) / sizeof(means[0]); i++)
			printf("%-12u%-16.1f%.1f\n", means[i], ns_per_frame(means[i], false),
			       ns_per_frame(means[i], true));
	return 0;
}
