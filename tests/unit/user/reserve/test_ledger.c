/* SPDX-License-Identifier: BSD-2-Clause */
/* What is let in at a port, and what ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bpf/lib/endian.bpf.h"
#include "user/reserve/ledger.h"

#define PORT  0x0201
#define LIMIT 1000
#define LIFE  7

static struct sl_claim_record record_of(uint16_t flow, uint16_t port, uint64_t rate_Bps)
{
	return (struct sl_claim_record){ .flow = { .source_port = sl_htons(flow), .version = 4 },
					 .system_port = port,
					 .rate_Bps = rate_Bps };
}

/* Ask for a flow; the verdict. *changed, if not NULL: what the ledger says of itself. */
static enum sl_claim_verdict ask(struct sl_ledger *ledger, uint16_t flow, uint64_t rate_Bps,
				 uint64_t now_ns, bool *changed)
{
	struct sl_claim_record record = record_of(flow, PORT, rate_Bps);
	const bool has = sl_ledger_ask(ledger, 1, LIMIT, now_ns, &record);

	if (changed)
		*changed = has;
	return record.verdict;
}

static uint64_t reserved(const struct sl_ledger *ledger, uint16_t port)
{
	uint32_t n;

	return sl_ledger_reserved_Bps(ledger, port, &n);
}

static void claims_are_let_in_up_to_the_limit_of_their_port(void **state)
{
	struct sl_claim_record other = record_of(9, 0x0202, LIMIT), more;
	struct sl_ledger ledger = { 0 };
	bool changed;

	(void)state;
	assert_int_equal(ask(&ledger, 1, 600, 0, &changed), SL_CLAIM_GRANTED);
	assert_true(changed);
	assert_int_equal(ask(&ledger, 2, 401, 0, &changed), SL_CLAIM_NO_RATE);
	assert_false(changed);
	assert_int_equal(ask(&ledger, 2, UINT64_MAX, 0, NULL), SL_CLAIM_NO_RATE);
	assert_int_equal(ask(&ledger, 2, 400, 0, NULL), SL_CLAIM_GRANTED);
	assert_true(sl_ledger_ask(&ledger, 2, LIMIT, 0, &other));
	assert_int_equal(reserved(&ledger, PORT), 1000);
	assert_int_equal(reserved(&ledger, 0x0202), 1000);
	more = record_of(3, PORT, 1);
	sl_ledger_ask(&ledger, 1, LIMIT, 0, &more);
	assert_int_equal(more.limit_Bps, LIMIT);
	assert_int_equal(more.reserved_Bps, 1000);
	sl_ledger_free(&ledger);
}

static void repeated_claim_counts_once_and_may_change_its_rate(void **state)
{
	struct sl_ledger ledger = { 0 };
	bool changed;

	(void)state;
	ask(&ledger, 1, 600, 0, NULL);
	assert_int_equal(ask(&ledger, 1, 600, 1, &changed), SL_CLAIM_GRANTED);
	assert_false(changed);
	assert_int_equal(reserved(&ledger, PORT), 600);
	assert_int_equal(ask(&ledger, 1, 1000, 1, &changed), SL_CLAIM_GRANTED);
	assert_true(changed);
	assert_int_equal(ask(&ledger, 1, 1001, 1, &changed), SL_CLAIM_NO_RATE);
	assert_false(changed);
	assert_int_equal(reserved(&ledger, PORT), 1000);
	sl_ledger_free(&ledger);
}

static void repeated_claim_ends_when_the_port_offers_less(void **state)
{
	struct sl_claim_record record = record_of(1, PORT, 600);
	struct sl_ledger ledger = { 0 };

	(void)state;
	ask(&ledger, 1, 600, 0, NULL);
	assert_true(sl_ledger_ask(&ledger, 1, 0, 0, &record));
	assert_int_equal(record.verdict, SL_CLAIM_NO_OFFER);
	assert_int_equal(ledger.n, 0);
	sl_ledger_free(&ledger);
}

static void port_has_so_many_queues(void **state)
{
	struct sl_ledger ledger = { 0 };

	(void)state;
	for (uint16_t i = 0; i < SL_RESERVED_PORT_MAX; i++)
		assert_int_equal(ask(&ledger, i, 1, 0, NULL), SL_CLAIM_GRANTED);
	assert_int_equal(ask(&ledger, 5000, 1, 0, NULL), SL_CLAIM_NO_QUEUE);
	assert_int_equal(ask(&ledger, 7, 1, 0, NULL), SL_CLAIM_GRANTED);
	sl_ledger_free(&ledger);
}

static void claim_ends_when_it_is_given_back_by_its_node_or_not_repeated(void **state)
{
	struct sl_ledger ledger = { 0 };
	const struct sl_flow_key flow = record_of(1, PORT, 0).flow;
	struct sl_claim over;

	(void)state;
	ask(&ledger, 1, 100, 0, NULL);
	ask(&ledger, 2, 100, 0, NULL);
	ask(&ledger, 1, 100, 1, NULL);
	assert_false(sl_ledger_give_back(&ledger, 2, &flow, PORT));
	assert_false(sl_ledger_expire(&ledger, LIFE, LIFE - 1, &over));
	assert_true(sl_ledger_expire(&ledger, LIFE, LIFE, &over));
	assert_int_equal(sl_ntohs(over.flow.source_port), 2);
	assert_false(sl_ledger_expire(&ledger, LIFE, LIFE, &over));
	assert_true(sl_ledger_give_back(&ledger, 1, &flow, PORT));
	assert_int_equal(ledger.n, 0);
	sl_ledger_free(&ledger);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(claims_are_let_in_up_to_the_limit_of_their_port),
		cmocka_unit_test(repeated_claim_counts_once_and_may_change_its_rate),
		cmocka_unit_test(repeated_claim_ends_when_the_port_offers_less),
		cmocka_unit_test(port_has_so_many_queues),
		cmocka_unit_test(claim_ends_when_it_is_given_back_by_its_node_or_not_repeated),
	};
	return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
