/* SPDX-License-Identifier: BSD-2-Clause */
/* What a package may say of its class: each contradiction is refused by its own reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "elements/classes/classes.h"
#include "elements/core/package.h"

static int process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	(void)state, (void)ctx, (void)packet;
	return 0;
}

static const char *init(void *state, const struct el_value *values)
{
	(void)state, (void)values;
	return NULL;
}

static bool fast_never(const struct el_value *values, struct sl_fast_element *element)
{
	(void)values, (void)element;
	return false;
}

static struct el_packet *dequeue(void *state)
{
	(void)state;
	return NULL;
}

static uint32_t waiting(const void *state)
{
	(void)state;
	return 0;
}

static const char *const choices[] = { "one", NULL };
static const char *const no_choices[] = { NULL };

static const struct el_param right_param = {
	.name = "a_1",
	.kind = EL_PARAM_NUMBER,
	.min = 1,
	.max = 1,
	.choices = choices,
	.what = "a number",
};

/* A class without a mistake, in which each case makes one. */
static const struct el_class right_class = {
	.name = "Right",
	.version = 1,
	.what = "a class",
	.may = EL_MAY_DROP,
	.input = EL_PUSH,
	.output = EL_PUSH,
	.outputs_required = 1,
	.outputs = 2,
	.drop_name = "right",
	.state_bytes = 1,
	.init = init,
	.process = process,
};
EL_PACKAGE(&right_class, NULL, NULL);

#define LETTERS_27 "Abcdefghijklmnopqrstuvwxyza"

static void expect_reason(const char *change, const char *why, const char *reason)
{
	if (!why || !strstr(why, reason))
		fail_msg("%s: expected \"%s\", and it said: %s", change, reason,
			 why ? why : "nothing");
}

/* CHANGE makes a mistake in `class`, and in `param`, its only parameter. */
#define REFUSED(REASON, CHANGE)                                          \
	do {                                                             \
		struct el_param params[2] = { right_param, { 0 } };      \
		struct el_param *param __attribute__((unused)) = params; \
		struct el_class class = right_class;                     \
                                                                         \
		class.params = params;                                   \
		assert_null(el_class_check(&class));                     \
		CHANGE;                                                  \
		expect_reason(#CHANGE, el_class_check(&class), REASON);  \
	} while (0)

static void classes_without_a_mistake_pass(void **state)
{
	struct el_class longest = right_class;

	(void)state;
	longest.name = LETTERS_27;
	assert_null(el_class_check(&longest));
	for (const struct el_class *const *class = el_classes; *class; class ++)
		assert_null(el_class_check(*class));
}

static void mistakes_of_classes_are_refused_by_name(void **state)
{
	(void)state;
	REFUSED("its name is no word", class.name = NULL);
	REFUSED("its name is no word", class.name = "right");
	REFUSED("its name is no word", class.name = "Ri ght");
	REFUSED("its name is no word", class.name = "");
	REFUSED("its name is no word", class.name = LETTERS_27 "b");
	REFUSED("its version is 0", class.version = 0);
	REFUSED("does not say what it is", class.what = "two\nlines");
	REFUSED("does not say what it is", class.what = NULL);
	REFUSED("there is no name for", class.may |= 32);
	REFUSED("a name for drops if", class.drop_name = NULL);
	REFUSED("a name for drops if", class.drop_name = "a b");
	REFUSED("a name for drops if", class.may = 0);
	REFUSED("no function `process`", class.process = NULL);
	REFUSED("larger than 1 MiB", class.state_bytes = (1u << 20) + 1);
	REFUSED("`init` and no state", class.state_bytes = 0);
	REFUSED("neither push nor pull", class.input = (enum el_passing)3);
	REFUSED("neither push nor pull", class.output = (enum el_passing)3);
	REFUSED("more than 2 outputs", class.outputs = 3);
	REFUSED("than it has", class.outputs_required = 3);
	REFUSED("which it may not", class.may = 0; class.drop_name = NULL);
	REFUSED("only one of dequeue and waiting", class.dequeue = dequeue);
	REFUSED("only one of dequeue and waiting", class.waiting = waiting);
	REFUSED("has dequeue if", class.dequeue = dequeue; class.waiting = waiting);
	REFUSED("has dequeue if", class.may |= EL_MAY_HOLD);
	REFUSED("an output that it has not", class.may |= EL_MAY_COPY; class.dequeue = dequeue;
		class.waiting = waiting; class.stage_output = 2);
}

static void mistakes_of_parameters_are_refused_by_name(void **state)
{
	(void)state;
	REFUSED("no word in small letters", param->name = "A");
	REFUSED("no word in small letters", param->name = "a-b");
	REFUSED("no word in small letters", param->name = "");
	REFUSED("of no kind", param->kind = (enum el_param_kind)(EL_PARAM_RANGES + 1));
	REFUSED("above the greatest", param->min = 2);
	REFUSED("above the greatest", param->kind = EL_PARAM_DURATION; param->min = 2);
	REFUSED("nothing to choose from", param->kind = EL_PARAM_CHOICE;
		param->choices = no_choices);
	REFUSED("nothing to choose from", param->kind = EL_PARAM_CHOICE; param->choices = NULL);
	REFUSED("values of no field", param->kind = EL_PARAM_RANGES;
		param->field = (enum sl_field)SL_FIELD_COUNT);
	REFUSED("does not say what it is", param->what = "");
}

static void more_parameters_than_8_are_refused(void **state)
{
	struct el_param params[EL_PARAMS_MAX + 2] = { 0 };
	struct el_class class = right_class;

	(void)state;
	class.params = params;
	for (uint32_t i = 0; i < EL_PARAMS_MAX; i++)
		params[i] = right_param;
	assert_null(el_class_check(&class));
	params[EL_PARAMS_MAX] = right_param;
	assert_string_equal(el_class_check(&class), "it has more than 8 parameters");
}

static void packages_of_other_interfaces_are_refused(void **state)
{
	struct el_package package = el_package;
	struct el_class fast = right_class;
	uint32_t *const sizes[] = { &package.class_bytes, &package.param_bytes,
				    &package.value_bytes, &package.context_bytes,
				    &package.packet_bytes };

	(void)state;
	assert_null(el_package_check(&package));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		*sizes[i] += 8;
		assert_string_equal(el_package_check(&package),
				    "it was built with other headers than this worker");
		*sizes[i] -= 8;
	}
	fast.fast = fast_never;
	package.class = &fast;
	assert_null(el_package_check(&package));
	fast.may |= EL_MAY_RESIZE;
	expect_reason("fast", el_package_check(&package), "drop and write packets, and no more");
	package.class = NULL;
	assert_string_equal(el_package_check(&package), "it has no class");
	package.abi++;
	assert_string_equal(el_package_check(&package),
			    "it was built for another version of the interface");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(classes_without_a_mistake_pass),
		cmocka_unit_test(mistakes_of_classes_are_refused_by_name),
		cmocka_unit_test(mistakes_of_parameters_are_refused_by_name),
		cmocka_unit_test(more_parameters_than_8_are_refused),
		cmocka_unit_test(packages_of_other_interfaces_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
