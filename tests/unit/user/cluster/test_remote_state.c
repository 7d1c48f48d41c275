/* SPDX-License-Identifier: BSD-2-Clause */
/* Announcements become generations, generations become entries, entries become changes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <cmocka.h>

#include "user/cluster/remote_state.h"
#include "user/text/prefix.h"

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

static void never(void *ctx, const struct sl_remote_entry *entry, enum sl_remote_refusal why)
{
	(void)ctx;
	(void)entry;
	fail_msg("refused: %s", sl_remote_refusal_name(why));
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
	const struct sl_remote_here here = { .sources.addr4 = { 10, 0, 1, 1 } };
	struct sl_remote_entry e[10];
	size_t n = sl_remote_entries(records, 5, &here, e, never, NULL);

	(void)state;
	assert_int_equal(n, 4);
	assert_int_equal(e[0].kind, SL_REMOTE_PREFIX);
	assert_int_equal(e[0].len, 29);
	assert_memory_equal(e[0].addr, "\xc0\x00\x02\x00", 4);
	assert_memory_equal(e[0].source, here.sources.addr4, 16);
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
	const struct sl_remote_here none = { 0 };
	struct sl_remote_cursor at = { 0 };
	struct sl_remote_entry a[6], b[6];
	size_t n_a = sl_remote_entries(old, 3, &none, a, never, NULL);
	size_t n_b = sl_remote_entries(new, 3, &none, b, never, NULL);

	(void)state;
	n_seen = 0;
	assert_false(sl_remote_diff(a, n_a, b, n_b, &at, 9, see, NULL));
	assert_int_equal(n_seen, 3);
	assert_true(seen[0].what == SL_REMOTE_REMOVE && seen[0].last == 2);
	assert_true(seen[1].what == SL_REMOTE_REPLACE && seen[1].last == 3 && seen[1].mac == 9);
	assert_true(seen[2].what == SL_REMOTE_ADD && seen[2].last == 4);
	n_seen = 0;
	at = (struct sl_remote_cursor){ 0 };
	assert_false(sl_remote_diff(a, n_a, a, n_a, &at, 9, see, NULL));
	assert_int_equal(n_seen, 0);
	at = (struct sl_remote_cursor){ 0 };
	assert_false(sl_remote_diff(a, n_a, NULL, 0, &at, 9, see, NULL));
	assert_int_equal(n_seen, 3);
}

/* After each step, what is there is new[0..new) and old[old..): ascending, none lost. */
static void diff_stops_after_as_many_changes_as_it_may_make(void **state)
{
	const struct sl_announce_record old[] = { neighbour(1, 1), neighbour(2, 2),
						  neighbour(5, 5) };
	const struct sl_announce_record new[] = { neighbour(2, 2), neighbour(3, 3),
						  neighbour(4, 4) };
	const struct sl_remote_here none = { 0 };
	struct sl_remote_cursor at = { 0 };
	struct sl_remote_entry a[6], b[6];

	(void)state;
	assert_int_equal(sl_remote_entries(old, 3, &none, a, never, NULL), 3);
	assert_int_equal(sl_remote_entries(new, 3, &none, b, never, NULL), 3);
	n_seen = 0;
	assert_true(sl_remote_diff(a, 3, b, 3, &at, 2, see, NULL));
	assert_int_equal(n_seen, 2);
	assert_true(seen[0].what == SL_REMOTE_REMOVE && seen[0].last == 1);
	assert_true(seen[1].what == SL_REMOTE_ADD && seen[1].last == 3);
	assert_int_equal(at.old, 2);
	assert_int_equal(at.new, 2);
	assert_false(sl_remote_diff(a, 3, b, 3, &at, 2, see, NULL));
	assert_int_equal(n_seen, 4);
	assert_true(seen[2].what == SL_REMOTE_ADD && seen[2].last == 4);
	assert_true(seen[3].what == SL_REMOTE_REMOVE && seen[3].last == 5);
}

static void peer_address_is_a_prefix_without_a_host(void **state)
{
	struct sl_announce_record r = address(AF_INET, "\xc0\x00\x02\x05", 32);
	const struct sl_remote_here none = { 0 };
	struct sl_remote_entry e[2];

	(void)state;
	r.is_peer = true;
	assert_int_equal(sl_remote_entries(&r, 1, &none, e, never, NULL), 1);
	assert_int_equal(e[0].kind, SL_REMOTE_PREFIX);
	assert_int_equal(e[0].len, 32);
	assert_memory_equal(e[0].addr, "\xc0\x00\x02\x05", 4);
}

/* --- What the kernel must not get --- */

/* This node: 10.0.1.1/24, fd00:1::1/64, and on the fabric 10.9.0.1/24 beside node 10.8.0.7. */
static struct sl_remote_here this_node(void)
{
	static const struct {
		const char *prefix;
		bool fabric;
	} own[] = { { "10.0.1.0/24", false },
		    { "fd00:1::/64", false },
		    { "10.9.0.0/24", true },
		    { "10.8.0.7/32", true } };
	struct sl_remote_here here = { 0 };

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		struct sl_prefix prefix = { 0 };

		assert_int_equal(sl_prefix_parse(own[i].prefix, &prefix), 0);
		assert_int_equal(sl_remote_here_add(&here, &prefix, own[i].fabric), 0);
	}
	sl_remote_here_sort(&here);
	return here;
}

static uint32_t refused_by[SL_REMOTE_REFUSAL_COUNT];
static struct sl_remote_entry last_refused;

static void count_refused(void *ctx, const struct sl_remote_entry *entry,
			  enum sl_remote_refusal why)
{
	(void)ctx;
	refused_by[why]++;
	last_refused = *entry;
}

#define ALL_WELL SL_REMOTE_REFUSAL_COUNT
static const struct {
	const char *address; /* of a peer's port */
	uint8_t len;
	enum sl_remote_refusal prefix, host;
} judged[] = {
	{ "10.0.2.1", 24, ALL_WELL, ALL_WELL },
	{ "172.16.0.1", 8, ALL_WELL, ALL_WELL },
	{ "10.0.0.1", 23, ALL_WELL, ALL_WELL }, /* wider than ours: ours is longer, and wins */
	{ "128.0.0.1", 1, SL_REMOTE_REFUSAL_SHORT, ALL_WELL },
	{ "0.0.0.1", 0, SL_REMOTE_REFUSAL_SHORT, SL_REMOTE_REFUSAL_RESERVED },
	{ "172.16.0.1", 7, SL_REMOTE_REFUSAL_SHORT, ALL_WELL },
	{ "127.1.0.1", 16, SL_REMOTE_REFUSAL_RESERVED, SL_REMOTE_REFUSAL_RESERVED },
	{ "224.1.0.1", 16, SL_REMOTE_REFUSAL_RESERVED, SL_REMOTE_REFUSAL_RESERVED },
	{ "10.9.0.3", 32, ALL_WELL, SL_REMOTE_REFUSAL_FABRIC }, /* another node's address */
	{ "10.9.0.129", 25, SL_REMOTE_REFUSAL_FABRIC, SL_REMOTE_REFUSAL_FABRIC },
	{ "10.9.9.9", 16, SL_REMOTE_REFUSAL_FABRIC, ALL_WELL },
	{ "10.8.0.9", 24, SL_REMOTE_REFUSAL_FABRIC, ALL_WELL }, /* over a node's address */
	{ "10.0.1.2", 24, SL_REMOTE_REFUSAL_OWN, SL_REMOTE_REFUSAL_OWN },
	{ "10.0.1.129", 25, SL_REMOTE_REFUSAL_OWN, SL_REMOTE_REFUSAL_OWN },
	{ "fd00:2::1", 64, ALL_WELL, ALL_WELL },
	{ "fd00:2::1", 16, ALL_WELL, ALL_WELL },
	{ "fd00:2::1", 15, SL_REMOTE_REFUSAL_SHORT, ALL_WELL },
	{ "fd00:1::2", 80, SL_REMOTE_REFUSAL_OWN, SL_REMOTE_REFUSAL_OWN },
	{ "ff02::1", 64, SL_REMOTE_REFUSAL_RESERVED, SL_REMOTE_REFUSAL_RESERVED },
	{ "::1", 128, ALL_WELL, SL_REMOTE_REFUSAL_RESERVED },
};

static void announced_prefix_that_takes_what_is_not_the_peers_is_refused(void **state)
{
	struct sl_remote_here here = this_node();

	(void)state;
	for (size_t i = 0; i < sizeof(judged) / sizeof(judged[0]); i++) {
		struct sl_announce_record r = { .type = SL_ANNOUNCE_ADDRESS,
						.system_port = 0x0201,
						.prefix_len = judged[i].len };
		uint32_t want[SL_REMOTE_REFUSAL_COUNT + 1] = { 0 };
		struct sl_remote_entry e[2];
		size_t n;

		assert_int_equal(sl_addr_parse(judged[i].address, &r.family, r.addr), 0);
		memset(refused_by, 0, sizeof(refused_by));
		n = sl_remote_entries(&r, 1, &here, e, count_refused, NULL);
		if (judged[i].len < sl_addr_bits(r.family))
			want[judged[i].prefix]++;
		want[judged[i].host]++;
		print_message("%s/%u\n", judged[i].address, judged[i].len);
		assert_memory_equal(refused_by, want, sizeof(refused_by));
		assert_int_equal(n, want[ALL_WELL]);
	}
	sl_remote_here_free(&here);
}

static void port_that_announces_too_much_is_cut_at_its_limit(void **state)
{
	enum { N = SL_REMOTE_ROUTES_MAX + 3 };
	struct sl_announce_record *records = calloc(N + 1, sizeof(*records));
	struct sl_remote_entry *e = calloc(2 * (N + 1), sizeof(*e));
	const struct sl_remote_here none = { 0 };

	(void)state;
	for (int i = 0; i < N; i++) {
		records[i] = address(AF_INET, "\x0a\x01\x00\x00", 32);
		records[i].addr[2] = (uint8_t)(i >> 8);
		records[i].addr[3] = (uint8_t)i;
	}
	records[N] = records[N - 1]; /* of another port */
	records[N].system_port = 0x0202;
	memset(refused_by, 0, sizeof(refused_by));
	assert_int_equal(sl_remote_entries(records, N + 1, &none, e, count_refused, NULL),
			 SL_REMOTE_ROUTES_MAX + 1);
	assert_int_equal(refused_by[SL_REMOTE_REFUSAL_MANY], 3);
	assert_int_equal(last_refused.system_port, 0x0201);
	assert_memory_equal(last_refused.addr, records[N - 1].addr, 16); /* the last ones */
	free(records);
	free(e);
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
		cmocka_unit_test(diff_stops_after_as_many_changes_as_it_may_make),
		cmocka_unit_test(peer_address_is_a_prefix_without_a_host),
		cmocka_unit_test(announced_prefix_that_takes_what_is_not_the_peers_is_refused),
		cmocka_unit_test(port_that_announces_too_much_is_cut_at_its_limit),
	};
	return cmocka_run_group_tests_name("remote_state", tests, NULL, NULL);
}
