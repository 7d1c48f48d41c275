/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whole captures, through reading, merging and matching. The first byte says whether the rest is
 * the bytes of two files, or records from which two well-formed files are made, so that most inputs
 * get inside. Whatever comes, packets leave in the order of their times, and all are accounted for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "delay/capture/capture.h"
#include "delay/capture/match.h"

#define LINKS	     2
#define RECORD_BYTES 8 /* of the input, before the bytes of a record */

static const uint32_t types[] = { 1, 101, 113, 276, 9, 147 };

struct account {
	uint64_t sealed, outputs_matched, inputs_matched;
	int64_t latest_ns;
};

static int take(void *context, const struct sl_matched *p)
{
	struct account *account = context;

	if (p->time_ns < account->latest_ns)
		abort();
	account->latest_ns = p->time_ns;
	account->sealed++;
	if (p->fate == SL_FATE_MATCHED) {
		account->outputs_matched += p->output;
		account->inputs_matched += !p->output;
		if (p->output ? p->other_ns > p->time_ns : p->other_ns < p->time_ns)
			abort();
	}
	return 0;
}

static void put(int file, const void *data, size_t bytes)
{
	if (bytes && write(file, data, bytes) != (ssize_t)bytes)
		abort();
}

/* Records of the input become records of one of the two files: time, length and bytes are given. */
static void make_files(const int file[LINKS], const uint8_t *data, size_t size)
{
	for (uint32_t i = 0; i < LINKS; i++) {
		const uint32_t header[] = {
			0xa1b23c4d,
			0x00040002,
			0,
			0,
			262144,
			size > i ? types[data[i] % (sizeof(types) / sizeof(types[0]))] : 1
		};

		put(file[i], header, sizeof(header));
	}
	for (size_t at = LINKS; at + RECORD_BYTES <= size;) {
		const uint8_t *r = data + at;
		const uint32_t room = (uint32_t)(size - at - RECORD_BYTES),
			       bytes = r[1] < room ? r[1] : room;
		/* Most times are close to each other; the first byte's top bits say otherwise. */
		const uint32_t header[] = { (r[0] & 0xc0) == 0xc0 ? (uint32_t)r[2] << 24 : 0,
					    (uint32_t)r[3] << 8 | r[4], bytes, bytes + r[5] };

		put(file[r[0] & 1], header, sizeof(header));
		put(file[r[0] & 1], r + RECORD_BYTES, bytes);
		at += RECORD_BYTES + bytes;
	}
}

static void read_all(struct sl_captures *captures, const struct sl_tapped_link *links)
{
	struct account account = { .latest_ns = INT64_MIN };
	const struct sl_match_settings settings = { .window_ns = 1000000,
						    .sealed = take,
						    .context = &account };
	struct sl_match *match;
	struct sl_record record;
	int64_t base_ns = 0;
	uint64_t packets = 0;
	char why[512];
	int got;

	if (sl_match_create(&settings, &match))
		abort();
	while ((got = sl_captures_next(captures, &record, why, sizeof(why))) == 1) {
		if (!packets++)
			base_ns = record.time_ns;
		if (sl_match_add(match, record.time_ns - base_ns, record.link,
				 links[record.link].output, &record.packet))
			abort();
	}
	if (sl_match_finish(match) || account.sealed != packets ||
	    account.outputs_matched != account.inputs_matched)
		abort();
	for (uint32_t i = 0; i < LINKS && !got; i++) {
		const struct sl_capture_counts *counts = sl_captures_counts(captures, i);

		packets -= counts->packets;
		if (counts->records !=
		    counts->packets + counts->not_ip + counts->cut + counts->broken)
			abort();
	}
	if (!got && packets)
		abort();
	sl_match_destroy(match);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const options[] = { "", ",stamp=start,rate=10mbit", ",stamp=9,rate=8bit",
					       ",filter=ip" };
	struct sl_tapped_link links[LINKS];
	struct sl_captures_settings settings = { .links = links, .n_links = LINKS };
	struct sl_captures *captures;
	char text[128], why[512];
	int file[LINKS];

	if (size < 1)
		return 0;
	for (int i = 0; i < LINKS; i++) {
		file[i] = memfd_create("capture", 0);
		snprintf(text, sizeof(text), "l%d=/proc/self/fd/%d%s", i, file[i],
			 options[data[0] >> 2 & 3]);
		if (file[i] < 0 || sl_tapped_link_parse(text, i == 1, &links[i], why, sizeof(why)))
			abort();
	}
	if (data[0] & 1) {
		put(file[0], data + 1, size / 2);
		put(file[1], data + 1 + size / 2, size - 1 - size / 2);
	} else {
		make_files(file, data + 1, size - 1);
	}
	settings.partial = data[0] >> 1 & 1;
	settings.no_checksums = data[0] >> 4 & 1;
	settings.late_ns = data[0] >> 5;
	if (!sl_captures_create(&settings, &captures, why, sizeof(why))) {
		read_all(captures, links);
		sl_captures_destroy(captures);
	}
	for (int i = 0; i < LINKS; i++) {
		sl_tapped_link_fini(&links[i]);
		close(file[i]);
	}
	return 0;
}
