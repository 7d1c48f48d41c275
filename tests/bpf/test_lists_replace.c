// SPDX-License-Identifier: BSD-2-Clause
/*
 * Lists of 4,096 rules, and a short one, take each other's place while packets go through sl_edge:
 * each packet is judged by one of them, none by parts of two, and none is lost.
 *
 * All deny what no rule decides. The rule for a destination port stands at another place in each,
 * and sets another DSCP, so parts of two would lose a packet or mark it wrongly.
 *
 *   test_lists_replace [TIMES]     replacements; 12 without it
 */
#include <linux/bpf.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <cmocka.h>

#include "bpf/abi/classifier.h"
#include "bpf/abi/l3_port.h"
#include "tests/lib/deadline.h"
#include "tests/lib/edge_case.h"
#include "user/classify/compile.h"
#include "user/daemon/lists.h"
#include "user/lib/clock.h"

#define SLOT	    5
#define FIRST_PORT  1000u
#define LISTS	    3
#define SHORT	    2u /* the list that fits the small map */
#define SHORT_PORTS 64u
#define PACKETS	    100 /* judged by a list, before the next one takes its place */

static uint32_t times = 12;
static struct edge *world;
static struct sl_rule rules[SL_RULES_MAX];

/* What the thread that sends has seen. */
static struct {
	atomic_bool ends;
	/* How many replacements have begun and are done. */
	atomic_uint begun, done;
	atomic_uint judged[LISTS]; /* packets, by the list that judged them */
	atomic_uint lost, mixed, late;
	int first_verdict; /* of a packet that was lost */
} seen;

/* The DSCP that the list gives to packets for port FIRST_PORT + i. */
static uint32_t dscp_of(uint32_t list, uint32_t i)
{
	return list * 20 + (list == SHORT ? i / SHORT_PORTS : i) % 19;
}

/* Of two long lists, and a short one whose rules have several ports each. Returns how many. */
static uint32_t make_rules(uint32_t list)
{
	const uint32_t ports = list == SHORT ? SHORT_PORTS : 1, n = SL_RULES_MAX / ports;

	for (uint32_t place = 0; place < n; place++) {
		const uint32_t i = (list == 0 ? place : n - 1 - place) * ports;
		const uint32_t port = FIRST_PORT + i;
		struct sl_rule *rule = &rules[place];

		*rule = (struct sl_rule){
			.action = SL_FILTER_PERMIT | (dscp_of(list, i) + 1) << SL_RULE_DSCP_SHIFT,
			.number = SL_RULE_NONE,
		};
		rule->field[SL_FIELD_PROTOCOL] = (struct sl_ranges){ 1, { { 17, 17 } } };
		rule->field[SL_FIELD_DESTINATION_PORT] =
			(struct sl_ranges){ 1, { { port, port + ports - 1 } } };
	}
	return n;
}

/* Put the list into its slot. Returns how long that took, without the compilation. */
static uint64_t replace(uint32_t list, uint64_t *compile_ns)
{
	const struct sl_list_maps maps = { edge_map_fd(world, "sl_filter_small"),
					   edge_map_fd(world, "sl_filter_large") };
	uint64_t began_ns = sl_now_ns(), compiled_ns;
	struct sl_image image;
	struct sl_list made;

	assert_int_equal(
		sl_compile(rules, make_rules(list), AF_INET, SL_FILTER_DENY, SL_RULE_NONE, &image),
		0);
	compiled_ns = sl_now_ns();
	*compile_ns = compiled_ns - began_ns;
	assert_int_equal(sl_list_make(image.bytes, image.n_bytes, &made), 0);
	assert_int_equal(made.small, list == SHORT);
	assert_int_equal(sl_list_put(&maps, SLOT * 2 + SL_LIST_IP4, &made), 0);
	sl_list_close(&made);
	free(image.bytes);
	return sl_now_ns() - compiled_ns;
}

static void judge(uint32_t i)
{
	struct frame frame = { .src = "10.1.7.2",
			       .dst = "10.2.0.2",
			       .dport = (uint16_t)(FIRST_PORT + i) };
	uint8_t in[FRAME_MAX_BYTES], out[FRAME_MAX_BYTES];
	const uint32_t len = frame_build(&frame, in), done = atomic_load(&seen.done);
	uint32_t out_len, dscp;
	int verdict = edge_run(world, EDGE_PORT(1), in, len, out, &out_len);

	dscp = out[frame_l3_offset(&frame) + 1] >> 2;
	if (verdict != XDP_REDIRECT) {
		if (!atomic_fetch_add(&seen.lost, 1))
			seen.first_verdict = verdict;
		return;
	}
	for (uint32_t list = 0; list < LISTS; list++)
		if (dscp == dscp_of(list, i)) {
			atomic_fetch_add(&seen.judged[list], 1);
			/* Once a replacement is done, and no other begun, only the new list counts.
			 */
			if (atomic_load(&seen.begun) == done && list != done % LISTS)
				atomic_fetch_add(&seen.late, 1);
			return;
		}
	atomic_fetch_add(&seen.mixed, 1);
}

static void *send_packets(void *arg)
{
	(void)arg;
	for (uint32_t i = 0; !atomic_load(&seen.ends); i = (i + 1009) % SL_RULES_MAX)
		judge(i);
	return NULL;
}

static void no_packet_is_lost_or_judged_by_parts_of_two_lists(void **state)
{
	uint64_t put_ns = 0, longest_ns = 0, compile_ns, ns;
	pthread_t sender;

	(void)state;
	replace(0, &compile_ns);
	world->filter = SLOT + 1;
	assert_int_equal(edge_set_port(world, EDGE_PORT(1), FRAME_DST_MAC,
				       SL_PORT_FORWARD4 | SL_PORT_FORWARD6),
			 0);
	judge(0);
	assert_int_equal(atomic_load(&seen.judged[0]), 1);
	assert_int_equal(pthread_create(&sender, NULL, send_packets, NULL), 0);
	for (uint32_t n = 1; n <= times; n++) {
		const uint32_t list = n % LISTS, before = atomic_load(&seen.judged[list]);

		atomic_store(&seen.begun, n);
		ns = replace(list, &compile_ns);
		atomic_store(&seen.done, n);
		put_ns += ns;
		longest_ns = ns > longest_ns ? ns : longest_ns;
		for (uint64_t end_ns = sl_now_ns() + DEADLINE_NS;
		     atomic_load(&seen.judged[list]) < before + PACKETS;) {
			usleep(1000);
			assert_true(sl_now_ns() < end_ns);
		}
	}
	atomic_store(&seen.ends, true);
	pthread_join(sender, NULL);
	print_message("%u replacements, %u packets; into the slot %.1f ms, at most %.1f, and "
		      "the compilation %.1f\n",
		      times, seen.judged[0] + seen.judged[1] + seen.judged[2],
		      (double)put_ns / times / 1e6, (double)longest_ns / 1e6,
		      (double)compile_ns / 1e6);
	if (atomic_load(&seen.lost))
		print_message("a packet that was lost: verdict %d\n", seen.first_verdict);
	assert_int_equal(atomic_load(&seen.lost), 0);
	assert_int_equal(atomic_load(&seen.mixed), 0);
	assert_int_equal(atomic_load(&seen.late), 0);
}

static int setup(void **state)
{
	int err = edge_enter_namespace();

	(void)state;
	return err ? err : edge_world_filters(SL_ENGINE_LPM, &world);
}

static int teardown(void **state)
{
	(void)state;
	edge_destroy(world);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_packet_is_lost_or_judged_by_parts_of_two_lists),
	};

	if (argc > 1)
		times = (uint32_t)strtoul(argv[1], NULL, 10);
	return cmocka_run_group_tests_name("lists_replace", tests, setup, teardown);
}
