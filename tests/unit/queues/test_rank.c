/* SPDX-License-Identifier: BSD-2-Clause */
/* The tournament against a scan of all keys. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "queues/rank.h"

static uint32_t scan(const uint64_t *key, uint32_t n)
{
	uint32_t first = 0;

	for (uint32_t i = 1; i < n; i++)
		if (key[i] > key[first])
			first = i;
	return first;
}

static void rank_agrees_with_a_scan_after_every_change(void **state)
{
	static const uint32_t sizes[] = { 1, 2, 3, 7, 8, 9, 100, 1023, 1024 };
	/* Few different keys make ties; many make none. */
	static const uint64_t ranges[] = { 2, 5, UINT64_MAX };

	(void)state;
	srandom(1);
	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
		for (size_t r = 0; r < sizeof(ranges) / sizeof(ranges[0]); r++) {
			const uint32_t n = sizes[s];
			uint64_t *key = calloc(n, sizeof(*key));
			void *memory = malloc(fq_rank_size(n)); /* ASan watches its end */
			struct fq_rank rank;

			assert_int_equal(fq_rank_size(n) % 8, 0);
			fq_rank_init(&rank, n, memory);
			assert_int_equal(fq_rank_first(&rank), 0);
			for (int i = 0; i < 3000; i++) {
				const uint32_t queue = (uint32_t)random() % n;

				key[queue] =
					((uint64_t)random() << 33 ^ (uint64_t)random()) % ranges[r];
				fq_rank_set(&rank, queue, key[queue]);
				assert_int_equal(fq_rank_first(&rank), scan(key, n));
			}
			free(memory);
			free(key);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rank_agrees_with_a_scan_after_every_change),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
