/* SPDX-License-Identifier: BSD-2-Clause */
#include "elements/core/package.h"

#define CLASS_NAME_MAX	27u /* `NAME@63` is a name of 31 characters */
#define PARAM_NAME_MAX	31u
#define DROP_NAME_MAX	31u
#define STATE_BYTES_MAX (1u << 20)
#define WORDS_MAX	127u

#define MAY_ALL (EL_MAY_DROP | EL_MAY_WRITE | EL_MAY_RESIZE | EL_MAY_COPY | EL_MAY_HOLD)

static bool is_lower(char c)
{
	return c >= 'a' && c <= 'z';
}

static bool is_alnum(char c)
{
	return is_lower(c) || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

/* Letters, digits, and the sign; 1 to max of them. */
static bool is_word(const char *text, char sign, uint32_t max)
{
	uint32_t n = 0;

	while (text[n] && n <= max) {
		if (!is_alnum(text[n]) && text[n] != sign)
			return false;
		n++;
	}
	return n && n <= max;
}

/* A line of ASCII for people, 1 to WORDS_MAX characters. */
static bool is_line(const char *text)
{
	uint32_t n = 0;

	while (text && text[n] && n <= WORDS_MAX) {
		if (text[n] < ' ' || text[n] > '~')
			return false;
		n++;
	}
	return n && n <= WORDS_MAX;
}

static const char *check_params(const struct el_param *params)
{
	for (uint32_t i = 0; params && params[i].name; i++) {
		const struct el_param *param = &params[i];

		if (i == EL_PARAMS_MAX)
			return "it has more than 8 parameters";
		if (!is_word(param->name, '_', PARAM_NAME_MAX) || !is_lower(param->name[0]))
			return "the name of a parameter is no word in small letters";
		if ((uint32_t)param->kind > EL_PARAM_RANGES)
			return "a parameter is of no kind that there is";
		if ((param->kind == EL_PARAM_NUMBER || param->kind == EL_PARAM_DURATION) &&
		    param->min > param->max)
			return "the least value of a parameter is above the greatest";
		if (param->kind == EL_PARAM_CHOICE && (!param->choices || !param->choices[0]))
			return "a parameter has nothing to choose from";
		if (param->kind == EL_PARAM_RANGES && (uint32_t)param->field >= SL_FIELD_COUNT)
			return "a parameter has values of no field that there is";
		if (!is_line(param->what))
			return "a parameter does not say what it is";
	}
	return NULL;
}

static const char *check_ports(const struct el_class *class)
{
	if ((uint32_t) class->input > EL_EITHER || (uint32_t) class->output > EL_EITHER)
		return "its input or output is neither push nor pull";
	if (class->outputs > EL_OUTPUTS_MAX)
		return "it has more than 2 outputs";
	if (class->outputs_required > class->outputs)
		return "more of its outputs must lead somewhere than it has";
	if (class->outputs_required < class->outputs && !(class->may & EL_MAY_DROP))
		return "packets of an output that leads nowhere are dropped, which it may not";
	if (!class->dequeue != !class->waiting)
		return "it has only one of dequeue and waiting";
	if (!class->dequeue != !(class->may & (EL_MAY_HOLD | EL_MAY_COPY)))
		return "an element has dequeue if, and only if, it may hold or copy packets";
	if (class->fast && class->may & ~(EL_MAY_DROP | EL_MAY_WRITE))
		return "an element of the fast path may drop and write packets, and no more";
	if (class->dequeue && class->stage_output >= class->outputs)
		return "what it holds would go on by an output that it has not";
	return NULL;
}

const char *el_class_check(const struct el_class *class)
{
	const char *why;

	if (!class->name || !is_word(class->name, '_', CLASS_NAME_MAX) ||
	    !(class->name[0] >= 'A' && class->name[0] <= 'Z'))
		return "its name is no word of up to 27 characters that begins with a capital";
	if (!class->version)
		return "its version is 0";
	if (!is_line(class->what))
		return "it does not say what it is";
	if (class->may & ~MAY_ALL)
		return "it may do what there is no name for";
	if (class->may & EL_MAY_DROP
		    ? !class->drop_name || !is_word(class->drop_name, '-', DROP_NAME_MAX)
		    : class->drop_name != NULL)
		return "an element has a name for drops if, and only if, it may drop";
	if (!class->process)
		return "it has no function `process`";
	if (class->state_bytes > STATE_BYTES_MAX)
		return "its state is larger than 1 MiB";
	if (class->init && !class->state_bytes)
		return "it has a function `init` and no state";
	why = check_ports(class);
	return why ? why : check_params(class->params);
}

const char *el_package_check(const struct el_package *package)
{
	if (package->abi != EL_PACKAGE_ABI)
		return "it was built for another version of the interface";
	if (package->class_bytes != sizeof(struct el_class) ||
	    package->param_bytes != sizeof(struct el_param) ||
	    package->value_bytes != sizeof(struct el_value) ||
	    package->context_bytes != sizeof(struct el_context) ||
	    package->packet_bytes != sizeof(struct el_packet))
		return "it was built with other headers than this worker";
	if (!package->class)
		return "it has no class";
	return el_class_check(package->class);
}
