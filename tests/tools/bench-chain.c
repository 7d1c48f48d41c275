/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an element of a chain costs in the fast path: sl_edge in a loop over one UDP packet of 60
 * bytes (BPF_PROG_TEST_RUN), whose port has a rule for all packets: into a chain of ELEMENTS of one
 * class, built-in or own_mark.bpf.c, into one of none, or a rule that drops them. Every chain drops
 * what comes, so nothing is routed. A line per class, ns: the median [least-greatest] of the
 * rounds, which take the classes in turn; the cost of one element is the difference to none, of the
 * medians and of the least, divided by ELEMENTS. `none` is there twice. Beside them, a program that
 * only ends, and one that only calls itself by tail calls, as often as the kernel lets it.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi/l3_port.h"
#include "elements/graph/fast_graph.h"
#include "elements/graph/graph_text.h"
#include "tests/lib/edge_rig.h"
#include "tests/lib/frame.h"
#include "tests/lib/own_mark.h"
#include "user/classify/compile.h"
#include "user/daemon/lists.h"

#define ELEMENTS 10
#define ROUNDS	 15
#define REPEATS	 200000
#define SLOT	 5

static const struct {
	const char *name, *text;
} classes[] = {
	{ "no chain", NULL },
	{ "none", NULL },
	{ "none again", NULL },
	{ "Counter", "Counter" },
	{ "Paint", "Paint(colour=1)" },
	{ "Dscp", "Dscp(dscp=46)" },
	{ "Sample", "Sample(one_in=1)" },
	{ "Classifier", "Classifier(protocol=17, destination_port=1000-5000)" },
	{ "own Mark", "Mark(dscp=46)" },
};
#define NONE	1u /* in classes */
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

/* Programs that have nothing to do with sl_edge. */
enum { ENDS, TAIL_CALLS, ENDS_AGAIN, BARE };
#define TAIL_CALLS_MAX 33 /* MAX_TAIL_CALL_CNT of the kernel */

static struct edge *edge;
static double took[CLASSES][ROUNDS]; /* ns of a packet */
static double took_bare[BARE][ROUNDS];

static void need(int err, const char *what)
{
	if (!err)
		return;
	fprintf(stderr, "bench-chain: %s: error %d\n", what, err);
	exit(EXIT_FAILURE);
}

/* For all packets: drop them, or send them into the chain. */
static void set_rule(uint32_t action)
{
	const struct sl_list_maps maps = { edge_map_fd(edge, "sl_filter_small"),
					   edge_map_fd(edge, "sl_filter_large") };
	const struct sl_rule rule = { .action = action };
	struct sl_list list;
	struct sl_image image;

	need(sl_compile(&rule, 1, AF_INET, SL_FILTER_DENY, SL_RULE_NONE, &image), "the rule");
	need(sl_list_make(image.bytes, image.n_bytes, &list), "the list");
	need(sl_list_put(&maps, SLOT * 2, &list), "the list's slot");
	sl_list_close(&list);
	free(image.bytes);
	edge->filter = SLOT + 1;
	need(edge_set_port(edge, EDGE_PORT(1), FRAME_DST_MAC, SL_PORT_FORWARD4), "the port");
}

static void set_chain(const char *element)
{
	char text[ELEMENTS * 64 + 64], error[EL_ERROR_BYTES];
	const uint32_t rule = 0;
	struct sl_fast_chain chain;
	struct el_chains chains;
	size_t n;
	uint32_t line;

	n = (size_t)snprintf(text, sizeof(text), "chain c fast { input -> ");
	for (int i = 0; element && i < ELEMENTS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s -> ", element);
	n += (size_t)snprintf(text + n, sizeof(text) - n, "drop; }");
	need(el_chains_parse("text", text, n, own_mark_classes, &chains, error), error);
	need(el_fast_graph(&chains.chains[0], 0, &chain, &line, error), error);
	el_chains_free(&chains);
	for (uint32_t i = 0; i < SL_FAST_ELEMENTS_MAX; i++)
		if (chain.element[i].kind == SL_FAST_OWN)
			chain.own_set = EDGE_OWN_SET;
	need(bpf_map_update_elem(edge_map_fd(edge, "sl_rule_chain"), &rule, &chain.of, BPF_ANY),
	     "the rule's chain");
	need(bpf_map_update_elem(edge_map_fd(edge, "sl_fast_chain"), &chain.of.id, &chain, BPF_ANY),
	     "the chain");
}

/*
 * The index of the tail call comes from the packet, so that the kernel cannot make a plain jump of
 * it, as of a constant one.
 */
static int load_bare(bool calls)
{
	const uint32_t zero = 0;
	int array =
		bpf_map_create(BPF_MAP_TYPE_PROG_ARRAY, NULL, sizeof(int), sizeof(int), 1, NULL);
	const struct bpf_insn ends[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_DROP },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	const struct bpf_insn tail_calls[] = {
		{ .code = BPF_LDX | BPF_MEM | BPF_W,
		  .dst_reg = BPF_REG_3,
		  .src_reg = BPF_REG_1,
		  .off = offsetof(struct xdp_md, rx_queue_index) },
		{ .code = BPF_LD | BPF_DW | BPF_IMM,
		  .dst_reg = BPF_REG_2,
		  .src_reg = BPF_PSEUDO_MAP_FD,
		  .imm = array },
		{ 0 },
		{ .code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_tail_call },
		ends[0],
		ends[1],
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "bare", "GPL", calls ? tail_calls : ends,
			       calls ? sizeof(tail_calls) / sizeof(tail_calls[0]) : 2, NULL);

	need(fd < 0 ? fd : 0, "a bare program");
	need(bpf_map_update_elem(array, &zero, &fd, BPF_ANY), "the array of tail calls");
	return fd;
}

static double run(int program_fd)
{
	const struct frame frame = { .dport = 4321 };
	static uint8_t bytes[FRAME_MAX_BYTES];
	struct xdp_md ctx = { .ingress_ifindex = EDGE_PORT(1) };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = bytes, .ctx_in = &ctx,
		    .ctx_size_in = sizeof(ctx), .repeat = REPEATS);

	opts.data_size_in = ctx.data_end = frame_build(&frame, bytes);
	need(bpf_prog_test_run_opts(program_fd, &opts), "the run");
	need(opts.retval != XDP_DROP, "the chain's end");
	return opts.duration;
}

static int by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void print_row(const char *name, double t[ROUNDS])
{
	qsort(t, ROUNDS, sizeof(*t), by_value);
	printf("%-12s %4.0f [%.0f-%.0f] ns a packet", name, t[ROUNDS / 2], t[0], t[ROUNDS - 1]);
}

/* What each of n costs that t has, and `without` not. */
static void print_each(const double t[ROUNDS], const double without[ROUNDS], uint32_t n,
		       const char *what)
{
	printf(", %5.1f ns %s, of the least %.1f", (t[ROUNDS / 2] - without[ROUNDS / 2]) / n, what,
	       (t[0] - without[0]) / n);
}

int main(void)
{
	const struct sl_config config = { .engine = SL_ENGINE_FAST, .managed = 1, .filters = 1 };
	int bare[BARE];

	libbpf_set_print(NULL);
	need(edge_enter_namespace(), "the namespace");
	edge_link(OWN_MARK_OBJECT);
	need(edge_create(&config, &edge), "sl_edge");
	for (size_t i = 0; i < BARE; i++)
		bare[i] = load_bare(i == TAIL_CALLS);
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < BARE; i++)
			took_bare[i][round] = run(bare[i]);
		for (size_t i = 0; i < CLASSES; i++) {
			set_rule(i ? SL_RULE_CHAIN : SL_FILTER_DENY);
			set_chain(classes[i].text);
			took[i][round] = run(edge_program_fd(edge));
		}
	}
	print_row("ends", took_bare[ENDS]);
	putchar('\n');
	print_row("ends again", took_bare[ENDS_AGAIN]);
	putchar('\n');
	print_row("tail calls", took_bare[TAIL_CALLS]);
	print_each(took_bare[TAIL_CALLS], took_bare[ENDS], TAIL_CALLS_MAX, "a tail call");
	putchar('\n');
	for (size_t i = 0; i < CLASSES; i++) {
		print_row(classes[i].name, took[i]);
		if (i > NONE + 1)
			print_each(took[i], took[NONE], ELEMENTS, "an element");
		putchar('\n');
	}
	edge_destroy(edge);
	return 0;
}
