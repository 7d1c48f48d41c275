/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "elements/graph/param_text.h"
#include "user/classify/rule_text.h"
#include "user/text/duration.h"

static int parse_number(const char *text, uint64_t *out)
{
	size_t digits = strspn(text, "0123456789");

	if (!digits || text[digits] || digits > 18)
		return -EINVAL;
	*out = strtoull(text, NULL, 10);
	return 0;
}

static int parse_choice(const struct el_param *param, const char *text, uint64_t *out)
{
	for (uint64_t i = 0; param->choices[i]; i++)
		if (strcmp(param->choices[i], text) == 0) {
			*out = i;
			return 0;
		}
	return -EINVAL;
}

static int parse_prefix4(const char *text, bool host, struct sl_prefix *out)
{
	int error = host && strchr(text, '/') ? -EINVAL : sl_prefix_parse(text, out);

	return error || out->family != AF_INET ? -EINVAL : 0;
}

static int parse_kind(const struct el_param *param, const char *text, struct el_value *value)
{
	uint8_t dscp = 0;
	int error;

	switch (param->kind) {
	case EL_PARAM_NUMBER:
		return parse_number(text, &value->number);
	case EL_PARAM_DURATION:
		return sl_duration_parse(text, &value->number);
	case EL_PARAM_RATE:
		return sl_police_rate_parse(text, &value->number);
	case EL_PARAM_BURST:
		return sl_burst_parse(text, &value->number);
	case EL_PARAM_DSCP:
		error = sl_rule_dscp_parse(text, &dscp);
		value->number = dscp;
		return error;
	case EL_PARAM_ADDRESS4:
		return parse_prefix4(text, true, &value->prefix);
	case EL_PARAM_PREFIX4:
		return parse_prefix4(text, false, &value->prefix);
	case EL_PARAM_CHOICE:
		return parse_choice(param, text, &value->number);
	case EL_PARAM_RANGES:
		return sl_ranges_parse(param->field, text, &value->ranges) ? -EINVAL : 0;
	}
	return -EINVAL;
}

int el_param_parse(const struct el_param *param, const char *text, struct el_value *out)
{
	bool bounded = param->kind == EL_PARAM_NUMBER || param->kind == EL_PARAM_DURATION;
	struct el_value value = { .given = true };
	int error = parse_kind(param, text, &value);

	if (error)
		return error;
	if (bounded && (value.number < param->min || value.number > param->max))
		return -ERANGE;
	*out = value;
	return 0;
}

const char *el_param_expects(const struct el_param *param, char text[EL_PARAM_RANGE_BYTES])
{
	char low[SL_DURATION_BYTES], high[SL_DURATION_BYTES];
	size_t at = 0;

	switch (param->kind) {
	case EL_PARAM_NUMBER:
		snprintf(text, EL_PARAM_RANGE_BYTES, "a number, %" PRIu64 " to %" PRIu64,
			 param->min, param->max);
		break;
	case EL_PARAM_DURATION:
		sl_duration_ns_text((int64_t)param->min, low);
		sl_duration_ns_text((int64_t)param->max, high);
		snprintf(text, EL_PARAM_RANGE_BYTES, "a duration, %s to %s", low, high);
		break;
	case EL_PARAM_RATE:
		snprintf(text, EL_PARAM_RANGE_BYTES, "a rate in bits, as 10mbit");
		break;
	case EL_PARAM_BURST:
		snprintf(text, EL_PARAM_RANGE_BYTES, "a number of bytes, as 20k");
		break;
	case EL_PARAM_DSCP:
		snprintf(text, EL_PARAM_RANGE_BYTES, "a DSCP: its name, or 0 to 63");
		break;
	case EL_PARAM_ADDRESS4:
		snprintf(text, EL_PARAM_RANGE_BYTES, "an IPv4 address");
		break;
	case EL_PARAM_PREFIX4:
		snprintf(text, EL_PARAM_RANGE_BYTES, "an IPv4 prefix without host bits");
		break;
	case EL_PARAM_CHOICE:
		for (uint32_t i = 0; param->choices[i] && at < EL_PARAM_RANGE_BYTES; i++)
			at += (size_t)snprintf(text + at, EL_PARAM_RANGE_BYTES - at, "%s%s",
					       i ? " or " : "", param->choices[i]);
		break;
	case EL_PARAM_RANGES:
		snprintf(text, EL_PARAM_RANGE_BYTES, "values of this field, as 80,8000-8080");
		break;
	}
	return text;
}
