/* SPDX-License-Identifier: BSD-2-Clause */
/* Announcements become generations, generations become entries, entries become changes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "user/cluster/remote_state.h"

enum { SOURCE = 2, SELF = 1 };

static struct sl_announce_record neighbour(uint8_t last, uint8_t mac)
{
	return (struct sl_announce_record){ .type = SL_ANNOUNCE_NEIGHBOUR,
					    .system_port = 0x0201,
					    .family = AF_INET,
					    .mac = { 2, 0, 0, 0, 0, mac },
					    .addr = { 10, 0, 2, last } };
}

static struct sl_announce_record address(uint8_t family, const char *bytes, uint8_t len)
{
	struct sl_announce_record r = { .type = SL_ANNOUNCE_ADDRESS,
					.system_port = 0x0201,
					.family = family,
					.prefix_len = len };

	memcpy(r.addr, bytes, family == AF_INET ? 4 : 16);
	return r;
}

/* Part `part` of `parts` with one neighbour whose address ends in `last`. */
static int give(struct sl_assembly *a, uint32_t generation, uint16_t part, uint16_t parts,
		uint8_t last)
{
	const struct sl_announce_header header = {
		.kind = SL_ANNOUNCE_STATE, .generation = generation, .part = part, .parts = parts
	};
	const struct sl_announce_record record = neighbour(last, last);
	struct sl_announce_part p;

	sl_announce_begin(&p, &header);
	assert_true(sl_announce_add(&p, &record));
	return sl_assembly_input(a, p.bytes, p.len_bytes, SOURCE, SELF);
}

static void generation_is_complete_with_its_last_part_in_any_order(void **state)
{
	struct sl_assembly a = { 0 };

	(void)state;
	assert_int_equal(give(&a, 7, 2, 3, 12), 0);
	assert_int_equal(give(&a, 7, 0, 3, 10), 0);
	assert_int_equal(give(&a, 7, 2, 3, 12), 0); /* again */
	assert_int_equal(give(&a, 7, 1, 3, 11), 1);
	assert_true(a.complete);
	assert_int_equal(a.n, 3);
	assert_int_equal(a.records[0].addr[3], 12);
	assert_int_equal(a.records[2].addr[3], 11);
	/* A repetition of it changes nothing. */
	assert_int_equal(give(&a, 7, 0, 3, 10), 0);
	assert_int_equal(a.n, 3);
	sl_assembly_reset(&a);
}

static void newer_generation_replaces_an_unfinished_one_and_older_parts_are_ignored(void **state)
{
	struct sl_assembly a = { 0 };

	(void)state;
	assert_int_equal(give(&a, 0xffffffff, 0, 2, 10), 0);
	assert_int_equal(give(&a, 0, 0, 1, 20), 1); /* it wraps */
	assert_int_equal(give(&a, 0xffffffff, 1, 2, 11), 0);
	assert_true(a.complete);
	assert_int_equal(a.n, 1);
	assert_int_equal(a.records[0].addr[3], 20);
	/* After a restart of the sender, any generation is new. */
	sl_assembly_reset(&a);
	assert_int_equal(give(&a, 5, 0, 1, 30), 1);
	sl_assembly_reset(&a);
}

static void bad_parts_change_nothing(void **state)
{
	const struct sl_announce_header resolve = { .kind = SL_ANNOUNCE_RESOLVE, .parts = 1 };
	struct sl_announce_record record = neighbour(1, 1);
	struct sl_announce_header next = { .kind = SL_ANNOUNCE_STATE, .generation = 8, .parts = 1 };
	struct sl_assembly a = { 0 };
	struct sl_announce_part p;

	(void)state;
	assert_int_equal(give(&a, 7, 0, 2, 10), 0);
	assert_int_equal(give(&a, 7, 1, 3, 11), -EPROTO); /* three parts instead of two */
	sl_announce_begin(&p, &resolve);
	assert_int_equal(sl_assembly_input(&a, p.bytes, p.len_bytes, SOURCE, SELF), -EPROTO);
	record.system_port = 0x0301; /* not the sender's */
	sl_announce_begin(&p, &next);
	sl_announce_add(&p, &record);
	assert_int_equal(sl_assembly_input(&a, p.bytes, p.len_bytes, SOURCE, SELF), -EINVAL);
	assert_int_equal(sl_assembly_input(&a, p.bytes, p.len_bytes - 1, SOURCE, SELF), -EMSGSIZE);
	assert_int_equal(give(&a, 7, 1, 2, 11), 1);
	sl_assembly_reset(&a);
}

static void addresses_are_a_host_and_a_prefix_with_our_source(void **state)
{
	const struct sl_announce_record records[] = {
		address(AF_INET, "\xc0\x00\x02\x05", 29),
		address(AF_INET, "\x0a\x00\x00\x01", 32),
		address(AF_INET6, "\xfe\x80\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 64),
		address(AF_INET6, "\xfe\xbf\0\0\0\0\0\0\0\0\0\0\0\0\0\x01", 64),
		address(AF_INET, "\xc0\x00\x02\x06", 29), /* the same prefix */
	};
	const struct sl_remote_sources sources = { .addr4 = { 10, 0, 1, 1 } };
	struct sl_remote_entry e[8];
	size_t n = sl_remote_entries(records, 5, &sources, e);

	(void)state;
	assert_int_equal(n, 4);
	assert_int_equal(e[0].kind, SL_REMOTE_PREFIX);
	assert_int_equal(e[0].len, 29);
	assert_memory_equal(e[0].addr, "\xc0\x00\x02\x00", 4);
	assert_memory_equal(e[0].source, sources.addr4, 16);
	for (size_t i = 1; i < n; i++) {
		assert_int_equal(e[i].kind, SL_REMOTE_HOST);
		assert_int_equal(e[i].len, 32);
		assert_int_equal(e[i].source[0], 0);
	}
	assert_memory_equal(e[1].addr, "\x0a\x00\x00\x01", 4);
	assert_memory_equal(e[3].addr, "\xc0\x00\x02\x06", 4);
}

struct change {
	enum sl_remote_change what;
	uint8_t last, mac;
};
static struct change seen[8];
static size_t n_seen;

static void see(void *ctx, enum sl_remote_change what, const struct sl_remote_entry *was,
		const struct sl_remote_entry *now)
{
	const struct sl_remote_entry *e = now ? now : was;

	(void)ctx;
	assert_true((was == NULL) == (what == SL_REMOTE_ADD));
	assert_true((now == NULL) == (what == SL_REMOTE_REMOVE));
	seen[n_seen++] = (struct change){ what, e->addr[3], e->mac[5] };
}

static void diff_reports_each_change_from_old_to_new(void **state)
{
	const struct sl_announce_record old[] = { neighbour(1, 1), neighbour(2, 2),
						  neighbour(3, 3) };
	const struct sl_announce_record new[] = { neighbour(4, 4), neighbour(3, 9),
						  neighbour(1, 1) };
	const struct sl_remote_sources none = { 0 };
	struct sl_remote_entry a[6], b[6];
	size_t n_a = sl_remote_entries(old, 3, &none, a), n_b = sl_remote_entries(new, 3, &none, b);

	(void)state;
	n_seen = 0;
	sl_remote_diff(a, n_a, b, n_b, see, NULL);
	assert_int_equal(n_seen, 3);
	assert_true(seen[0].what == SL_REMOTE_REMOVE && seen[0].last == 2);
	assert_true(seen[1].what == SL_REMOTE_REPLACE && seen[1].last == 3 && seen[1].mac == 9);
	assert_true(seen[2].what == SL_REMOTE_ADD && seen[2].last == 4);
	n_seen = 0;
	sl_remote_diff(a, n_a, a, n_a, see, NULL);
	assert_int_equal(n_seen, 0);
	sl_remote_diff(a, n_a, NULL, 0, see, NULL);
	assert_int_equal(n_seen, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(generation_is_complete_with_its_last_part_in_any_order),
		cmocka_unit_test(
			newer_generation_replaces_an_unfinished_one_and_older_parts_are_ignored),
		cmocka_unit_test(bad_parts_change_nothing),
		cmocka_unit_test(addresses_are_a_host_and_a_prefix_with_our_source),
		cmocka_unit_test(diff_reports_each_change_from_old_to_new),
	};
	return cmocka_run_group_tests_name("remote_state", tests, NULL, NULL);
}
