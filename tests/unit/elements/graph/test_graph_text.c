/* SPDX-License-Identifier: BSD-2-Clause */
/* Chains as text: what a text means, and the line and reason of each that is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "elements/classes/classes.h"
#include "elements/graph/graph_text.h"

static void text_becomes_instances_links_and_stages(void **state)
{
	static const char text[] = "# two chains\n"
				   "chain video share 20 quantum 7us limit 9 {\n"
				   "  rate :: Police(rate=8kbit, burst=20k);\n"
				   "  q :: Queue(limit=5);\n"
				   "  input -> rate -> q -> Counter -> output;\n"
				   "  rate[1] -> drop;\n"
				   "}\n"
				   "chain plain rate 30% { input -> output; }\n";
	char error[EL_ERROR_BYTES];
	const struct el_graph *g;
	struct el_chains chains;

	(void)state;
	assert_int_equal(el_chains_parse("f", text, sizeof(text) - 1, NULL, &chains, error), 0);
	assert_int_equal(chains.n, 2);
	g = el_chains_find(&chains, "video");
	assert_ptr_equal(g, &chains.chains[0]);
	assert_int_equal(g->line, 2);
	assert_int_equal(g->grant.kind, EL_GRANT_SHARE);
	assert_int_equal(g->grant.value, 20);
	assert_int_equal(g->quantum_ns, 7000);
	assert_int_equal(g->limit_packets, 9);
	assert_int_equal(g->n_instances, EL_AT_FIRST + 3);
	assert_ptr_equal(g->instances[3].class, &el_police);
	assert_int_equal(g->instances[3].values[0].number, 1000);
	assert_int_equal(g->instances[3].values[1].number, 20000);
	assert_int_equal(g->instances[3].line, 3);
	assert_string_equal(g->instances[5].name, "Counter@3");
	assert_int_equal(g->instances[EL_AT_INPUT].to[0], 3);
	assert_int_equal(g->instances[3].to[0], 4);
	assert_int_equal(g->instances[3].to[1], EL_AT_DROP);
	assert_int_equal(g->instances[4].to[0], 5);
	assert_int_equal(g->instances[5].to[0], EL_AT_OUTPUT);
	assert_int_equal(g->n_stages, 2);
	assert_int_equal(g->stages[1], 4);
	g = el_chains_find(&chains, "plain");
	assert_int_equal(g->grant.kind, EL_GRANT_RATE);
	assert_int_equal(g->grant.value, 300000000);
	assert_int_equal(g->quantum_ns, 5000);
	assert_int_equal(g->instances[EL_AT_INPUT].to[0], EL_AT_OUTPUT);
	assert_null(el_chains_find(&chains, "other"));
	el_chains_free(&chains);
}

#define CHAIN(body) "chain c {\n" body "\n}\n"

static const struct refused {
	const char *name, *text, *error;
} refused[] = {
	{ "no_chain", "queue c {}", "f:1: \"queue\" where \"chain\" should be" },
	{ "no_name", "chain {}", "f:1: \"{\" is not the name of a chain, of 1 to 31 characters" },
	{ "two_of_one_name", "chain a { input -> output; }\nchain a {}",
	  "f:2: chain a is there already, on line 1" },
	{ "unknown_option", "chain a weight 3 {",
	  "f:1: \"weight\" is not an option of a chain: share, rate, quantum, limit, fast "
	  "or ceiling" },
	{ "fast_with_share", "chain a fast share 2 {",
	  "f:1: chain a is fast, and uses no time of the worker: leave out its options but "
	  "ceiling" },
	{ "ceiling_without_fast", "chain a ceiling 5% {",
	  "f:1: chain a has a ceiling, and is not fast" },
	{ "ceiling_of_nothing", "chain a fast ceiling 0% {",
	  "f:1: ceiling \"0%\" is not 1% to 100%" },
	{ "ceiling_without_percent", "chain a fast ceiling 5 {",
	  "f:1: ceiling \"5\" is not a part of the processor, as 20%" },
	{ "fast_with_a_queue", "chain a fast {\ninput ->\nQueue -> output; }",
	  "f:3: chain a is fast, and Queue@1, a Queue, needs the worker" },
	{ "fast_with_two_ranges",
	  "chain a fast {\ninput -> Classifier(length=\"1-5,9\") -> output; }",
	  "f:2: chain a is fast, and Classifier@1, a Classifier with such values, needs the "
	  "worker" },
	{ "fast_with_fourteen",
	  "chain a fast { input -> Counter -> Counter -> Counter -> Counter -> Counter -> "
	  "Counter -> Counter -> Counter -> Counter -> Counter -> Counter -> Counter -> "
	  "Counter ->\nCounter -> output; }",
	  "f:1: chain a is fast, and has more than 13 elements" },
	{ "share_of_nothing", "chain a share 0 {", "f:1: share \"0\" is not 1 to 1000000" },
	{ "rate_without_percent", "chain a rate 30 {",
	  "f:1: rate \"30\" is not a part of the processor, as 20%" },
	{ "rate_beyond_all", "chain a rate 101% {", "f:1: rate \"101%\" is not 1% to 100%" },
	{ "quantum_of_2ms", "chain a quantum 2ms {",
	  "f:1: quantum \"2ms\" is not a duration of up to 1ms" },
	{ "end_within", "chain a {\ninput -> output;\n",
	  "f:3: \"end\" where a statement should be" },
	{ "unknown_class", CHAIN("x :: Kounter;"), "f:2: \"Kounter\" is not a class of elements" },
	{ "unknown_element", CHAIN("input -> x -> output;"), "f:2: no element is called \"x\"" },
	{ "named_twice", CHAIN("x :: Counter;\nx :: Counter;"),
	  "f:3: x is there already, on line 2" },
	{ "named_as_an_end", CHAIN("drop :: Counter;"), "f:2: \"drop\" is an end of every chain" },
	{ "unknown_parameter", CHAIN("x :: Dscp(tos=3);"),
	  "f:2: \"tos\" is not a parameter of Dscp" },
	{ "parameter_twice", CHAIN("x :: Paint(colour=3, colour=4);"),
	  "f:2: colour is there twice" },
	{ "parameter_missing", CHAIN("x :: Police(rate=2mbit);"),
	  "f:2: Police has no burst: bytes: 20k" },
	{ "number_out_of_range", CHAIN("x :: Paint(colour=256);"),
	  "f:2: colour: \"256\" is not a number, 0 to 255" },
	{ "no_dscp", CHAIN("x :: Dscp(dscp=64);"),
	  "f:2: dscp: \"64\" is not a DSCP: its name, or 0 to 63" },
	{ "host_bits", CHAIN("x :: Nat44(side=source, from=10.0.0.1/8, to=11.0.0.0/8);"),
	  "f:2: from: \"10.0.0.1/8\" is not an IPv4 prefix without host bits" },
	{ "prefixes_of_two_lengths",
	  CHAIN("x :: Nat44(side=source, from=10.0.0.0/8, to=11.0.0.0/16);\n"
		"input -> x -> output;"),
	  "f:2: x: from and to are prefixes of different lengths" },
	{ "no_choice", CHAIN("x :: Nat44(side=both"),
	  "f:2: side: \"both\" is not source or destination" },
	{ "classifier_of_nothing", CHAIN("input -> Classifier -> output;"),
	  "f:2: Classifier@1: it asks for no field" },
	{ "leads_nowhere", CHAIN("x :: Counter;\ninput -> x;"),
	  "f:2: x[0] leads nowhere: write "
	  "x[0] -> ..." },
	{ "input_leads_nowhere", CHAIN(""), "f:1: input[0] leads nowhere: write input[0] -> ..." },
	{ "nothing_leads_there", CHAIN("x :: Counter;\ninput -> output;\nx -> output;"),
	  "f:2: nothing leads to x" },
	{ "leads_to_two", CHAIN("x :: Counter;\ninput -> x -> output;\nx -> drop;"),
	  "f:4: x[0] leads to output already, on line 3" },
	{ "leads_to_input", CHAIN("input -> Counter -> input;"), "f:2: nothing may lead to input" },
	{ "no_such_output", CHAIN("x :: Counter;\ninput -> x -> output; x[1] -> drop;"),
	  "f:3: x has no output 1" },
	{ "circle",
	  CHAIN("x :: Counter; y :: Sample(one_in=2);\ninput -> x -> y -> output;\n"
		"y[1] -> x;"),
	  "f:2: x lies on a circle, or behind one" },
	{ "pull_without_queue", CHAIN("input -> Unqueue -> output;"),
	  "f:2: Unqueue@1 asks for packets, and input does not hold them: put a Queue between "
	  "them" },
	{ "push_behind_queue", CHAIN("input -> Queue -> Police(rate=1mbit, burst=2k) -> output;"),
	  "f:2: Queue@1 gives packets only when asked, and Police@2 does not ask: put an Unqueue "
	  "between them" },
	{ "push_behind_queue_and_counter",
	  CHAIN("input -> Queue -> Counter -> Sample(one_in=2) -> output;"),
	  "f:2: Counter@2 gives packets only when asked, and Sample@3 does not ask: put an Unqueue "
	  "between them" },
	{ "pushed_and_pulled",
	  CHAIN("s :: Sample(one_in=2); x :: Counter;\n"
		"input -> s -> Queue -> x -> output;\ns[1] -> x;"),
	  "f:3: s pushes packets into x, which asks for those of Queue@3, or the other way round" },
	{ "odd_character", CHAIN("x :: Counter; $"), "f:2: '$' has no meaning here" },
	{ "odd_byte", "chain \x01", "f:1: a byte 0x01 has no meaning here" },
	{ "open_quote", CHAIN("x :: Classifier(protocol=\"udp"),
	  "f:2: a quote does not end on its line, or a character in it is not printable" },
	{ "no_arrow", CHAIN("input output;"), "f:2: \"output\" where -> should be" },
	{ "no_semicolon", CHAIN("x :: Counter y"), "f:2: \"y\" where ; should be" },
};

static void refusal_names_line_and_reason(void **state)
{
	const struct refused *r = *state;
	char error[EL_ERROR_BYTES];
	struct el_chains chains;

	assert_int_equal(el_chains_parse("f", r->text, strlen(r->text), NULL, &chains, error),
			 -EINVAL);
	assert_string_equal(error, r->error);
	assert_int_equal(chains.n, 0);
}

static void too_many_elements_are_refused(void **state)
{
	static char text[4096] = "chain c {\n";
	char error[EL_ERROR_BYTES];
	struct el_chains chains;
	size_t n = strlen(text);

	(void)state;
	n += (size_t)snprintf(text + n, sizeof(text) - n, "input");
	for (int i = 0; i < 62; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "\n-> Counter");
	snprintf(text + n, sizeof(text) - n, " -> output; }");
	assert_int_equal(el_chains_parse("f", text, strlen(text), NULL, &chains, error), -EINVAL);
	assert_string_equal(error, "f:64: more than 61 elements in a chain");
}

/* A graph may ask for each class with nothing but its required parameters. */
static void class_tables_are_sound(void **state)
{
	(void)state;
	for (const struct el_class *const *class = el_classes; *class; class ++) {
		uint32_t n = 0;

		assert_ptr_equal(el_class_find(NULL, (*class)->name), *class);
		assert_true((*class)->name[0] >= 'A' && (*class)->name[0] <= 'Z');
		assert_true((*class)->version > 0 && (*class)->what && (*class)->process);
		assert_true((*class)->outputs_required <= (*class)->outputs);
		assert_true((*class)->outputs <= EL_OUTPUTS_MAX);
		assert_int_equal(!!((*class)->may & EL_MAY_DROP), (*class)->drop_name != NULL);
		assert_int_equal((*class)->dequeue != NULL, (*class)->waiting != NULL);
		for (const struct el_param *p = (*class)->params; p && p->name; p++, n++)
			assert_non_null(p->what);
		assert_true(n <= EL_PARAMS_MAX);
	}
}

int main(void)
{
	struct CMUnitTest tests[sizeof(refused) / sizeof(refused[0]) + 3] = {
		cmocka_unit_test(text_becomes_instances_links_and_stages),
		cmocka_unit_test(too_many_elements_are_refused),
		cmocka_unit_test(class_tables_are_sound),
	};

	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		tests[i + 3] = (struct CMUnitTest){ .name = refused[i].name,
						    .test_func = refusal_names_line_and_reason,
						    .initial_state = (void *)&refused[i] };
	return cmocka_run_group_tests(tests, NULL, NULL);
}
