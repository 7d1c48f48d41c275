/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What was measured of a router's delay. Its size does not grow with the number of packets, but
 * with that of intervals and sizes.
 */
#ifndef SL_MEASUREMENT_H
#define SL_MEASUREMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "delay/capture/capture.h"
#include "delay/capture/match.h"
#include "delay/semi_experiments.h"
#include "delay/stats/busy_period.h"
#include "delay/stats/histogram.h"
#include "delay/stats/least_delay.h"
#include "delay/stats/triangle.h"
#include "delay/stats/two_stage.h"
#include "delay/capture/tapped_link.h"

#define SL_MEASURE_INTERVALS_MAX 1000000
#define SL_MEASURE_EPISODES	 100  /* kept, those with the largest amplitude */
#define SL_MEASURE_SAMPLE	 5000 /* points kept for a scatter plot */
#define SL_MEASURE_OCTAVES	 36   /* of a joint histogram: 1 ns to 69 s */

/* How far a pass is: bytes of all captures, and packets so far. */
struct sl_progress {
	unsigned int pass, passes;
	uint64_t bytes, bytes_read, packets;
};

struct sl_measure_settings {
	struct sl_tapped_link *links; /* borrowed */
	uint32_t n_links;
	uint64_t window_ns, interval_ns, guard_ns, clock_error_ns;
	uint64_t episode_ns; /* amplitude from which on a busy period is an episode; 0: ten packets
				of 1,500 */
	uint32_t n_levels;   /* levels of T_L, in rising order; 0: the edges of sl_triangle */
	uint64_t level_ns[SL_ABOVE_LEVELS_MAX];
	bool no_model, no_checksums, partial;
	void (*progress)(const struct sl_progress *progress); /* called now and then; may be NULL */
};

/* A number of packets or bytes per interval, on a link */
struct sl_load {
	uint64_t packets, bytes; /* bytes of IP */
};

struct sl_interval {
	uint64_t number; /* interval 0 begins with the first packet of all */
	uint64_t count;
	int64_t min_ns, max_ns, sum_ns;
	uint64_t p50_ns, p99_ns;
};

/* Packets from one input to one output */
struct sl_pair {
	struct sl_histogram delay;	/* negative delays count as 0 here */
	struct sl_histogram slow;	/* those with IP options, which are in nothing else here */
	int64_t min_ns, max_ns, sum_ns; /* of those in `delay`, with their sign */
	uint64_t negative;
	struct sl_interval *intervals; /* owned; by the time of entry */
	uint32_t n_intervals, intervals_size;
	struct sl_histogram interval_delay; /* of the last of them */
	struct sl_least *least;		    /* owned; by IP bytes; n_least of them */
	uint32_t n_least;
	uint32_t least_tags; /* the fewest VLAN tags on the output of a packet in `least` */
	bool fitted; /* excess(L) = excess_at_zero_ns + excess_per_byte_ns L, over reliable sizes */
	double excess_at_zero_ns, excess_per_byte_ns;
};

struct sl_periods {
	uint64_t count, raw; /* periods; those before merging over guard_ns */
	uint64_t max_amplitude_ns, max_duration_ns;
	uint64_t sum_amplitude_ns, sum_duration_ns;
	struct sl_triangle triangle;
};

struct sl_point {
	int64_t x, y;
};

/* A fair sample of all points offered, and one that is the same in each run */
struct sl_sample {
	uint64_t offered;
	uint64_t random;
	struct sl_point point[SL_MEASURE_SAMPLE];
};

/* A busy period of a queue whose amplitude is large */
struct sl_episode {
	struct sl_busy_period period;
	uint64_t alone_ns; /* the amplitude that the inputs would have, each alone; the largest */
};

struct sl_model {
	uint64_t packets;			 /* matched packets that it predicted */
	uint64_t background;			 /* other packets that took the output's time */
	double sum_error_ns, sum_square_ns2;	 /* predicted less measured */
	struct sl_histogram error;		 /* without its sign */
	struct sl_histogram amplitude_error_ppm; /* of busy periods of two packets or more */
	struct sl_sample delays;		 /* x measured, y predicted */
	struct sl_periods queue;
	struct sl_above above;
	uint64_t bound_checked, bound_broken; /* periods against A <= D (1 - 1/R) + one packet */
	uint64_t episodes;
	uint64_t episode_ns;
	struct sl_episode top[SL_MEASURE_EPISODES]; /* by falling amplitude */
	uint32_t n_top;
	struct sl_sample periods; /* x duration, y amplitude: of two packets or more */
	uint64_t joint[SL_MEASURE_OCTAVES][SL_MEASURE_OCTAVES]; /* [log2 D][log2 A] */
	struct sl_semi_result semi;
	/* over busy periods: sums of A, and of what its largest input alone has of it */
	double sum_amplitude_ns, sum_alone_ns;
};

enum sl_rate_source { SL_RATE_NONE, SL_RATE_GIVEN, SL_RATE_GAPS };

struct sl_output {
	struct sl_load from[SL_LINKS_MAX]; /* matched, by input */
	struct sl_line gaps; /* between departures that lie back to back, over bytes */
	bool gaps_told;	     /* the next two are known */
	double gap_rate_bps, gap_overhead_bytes;
	enum sl_rate_source rate_source;
	uint64_t rate_bps;	 /* used; 0: none is known */
	uint32_t overhead_bytes; /* SL_RATE_GAPS: that goes with the rate */
	uint32_t largest_ip_bytes;
	struct sl_periods system;
	struct sl_model *model; /* owned; NULL without a rate, and with no_model */
};

struct sl_link_result {
	struct sl_capture_counts capture;
	uint64_t fate[SL_FATES]; /* of the packets; their sum is capture.packets */
	struct sl_load *loads;	 /* owned; per interval */
	uint64_t n_loads, loads_size;
};

struct sl_measure {
	struct sl_measure_settings settings;
	int64_t base_ns;     /* time of the first packet, since 1970 */
	int64_t duration_ns; /* from there to the last */
	struct sl_link_result link[SL_LINKS_MAX];
	struct sl_output *output[SL_LINKS_MAX]; /* owned; NULL: an input */
	struct sl_pair
		*pair[SL_LINKS_MAX][SL_LINKS_MAX]; /* owned; [input][output]; NULL: no packet */
};

void sl_measure_destroy(struct sl_measure *measure);

/* What a packet with so many VLAN tags takes of the output's time, in bytes. */
uint32_t sl_measure_wire_bytes(const struct sl_measure *measure, uint32_t output, uint32_t ip_bytes,
			       uint32_t vlan_tags);
/*
 * Least delay less serialisation, for a size that was seen (paper, equation 4). The output has a
 * rate.
 */
int64_t sl_measure_excess_ns(const struct sl_measure *measure, uint32_t input, uint32_t output,
			     uint32_t ip_bytes);

#endif
