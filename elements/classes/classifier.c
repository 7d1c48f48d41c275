/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Classifier: packets that have all the values asked for go by output 0, the others by output 1.
 * Fields and their words are those of filters; a packet that does not have a field, such as the
 * port of a later fragment, does not match. IPv6 ports are read without extension headers only.
 */
#include "elements/classes/classes.h"
#include "elements/core/ip_rewrite.h"

enum { BY_PAINT, BY_PROTOCOL, BY_SOURCE_PORT, BY_DESTINATION_PORT, BY_DSCP, BY_LENGTH, BY_COUNT };

struct classifier {
	uint32_t asked; /* bit by the enumeration above */
	uint8_t paint;
	struct sl_ranges ranges[BY_COUNT];
};

static const char *classifier_init(void *state, const struct el_value *values)
{
	struct classifier *c = state;

	for (uint32_t i = 0; i < BY_COUNT; i++) {
		if (!values[i].given)
			continue;
		c->asked |= 1u << i;
		c->ranges[i] = values[i].ranges;
	}
	c->paint = (uint8_t)values[BY_PAINT].number;
	return c->asked ? NULL : "it asks for no field";
}

static bool has_ports(uint8_t protocol)
{
	return protocol == 6 || protocol == 17 || protocol == 33 || protocol == 132 ||
	       protocol == 136;
}

/* Where the ports lie in the frame; 0: it has none. */
static uint32_t ports_at(const struct el_packet *packet, enum el_ip version)
{
	const uint8_t *ip = packet->data + packet->l3_offset;
	uint8_t protocol;
	uint32_t at;

	if (version == EL_IP_4) {
		at = el_ip4_transport(packet, 4, &protocol);
	} else {
		protocol = ip[6];
		at = el_read16(ip + 4) >= 4 ? packet->l3_offset + EL_IP6_BYTES : 0;
	}
	return has_ports(protocol) ? at : 0;
}

/* The packet's value, or UINT32_MAX: it does not have the field. */
static uint32_t value_of(const struct el_packet *packet, enum el_ip version, uint32_t field)
{
	const uint8_t *ip = packet->data + packet->l3_offset;
	uint32_t at;

	switch (field) {
	case BY_PROTOCOL:
		return version == EL_IP_4 ? ip[9] : ip[6];
	case BY_DSCP:
		return el_ip_traffic_class(packet, version) >> 2;
	case BY_LENGTH:
		return version == EL_IP_4 ? el_read16(ip + 2) : el_read16(ip + 4) + EL_IP6_BYTES;
	default:
		at = ports_at(packet, version);
		if (!at)
			return UINT32_MAX;
		return el_read16(packet->data + at + (field == BY_DESTINATION_PORT ? 2 : 0));
	}
}

static bool within(const struct sl_ranges *ranges, uint32_t value)
{
	for (uint32_t i = 0; i < ranges->n; i++)
		if (value >= ranges->range[i].low && value <= ranges->range[i].high)
			return true;
	return false;
}

static int classifier_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	const struct classifier *c = state;
	enum el_ip version;

	(void)ctx;
	if (c->asked & 1u << BY_PAINT && packet->paint != c->paint)
		return 1;
	if (c->asked == 1u << BY_PAINT)
		return 0;
	version = el_ip_parse(packet);
	if (version == EL_IP_NONE)
		return 1;
	for (uint32_t i = BY_PROTOCOL; i < BY_COUNT; i++)
		if (c->asked & 1u << i && !within(&c->ranges[i], value_of(packet, version, i)))
			return 1;
	return 0;
}

_Static_assert((int)BY_LENGTH == (int)SL_FAST_BY_LENGTH && (int)BY_COUNT == (int)SL_FAST_FIELDS,
	       "the fields of the fast path in the same order");

/* There each field has one range. */
static bool classifier_fast(const struct el_value *values, struct sl_fast_element *element)
{
	element->kind = SL_FAST_CLASSIFY;
	for (uint32_t i = 0; i < BY_COUNT; i++) {
		struct sl_fast_range *range = &element->range[i];
		const uint32_t paint = (uint32_t)values[i].number;

		*range = (struct sl_fast_range){ 0, UINT32_MAX };
		if (!values[i].given)
			continue;
		if (i != BY_PAINT && values[i].ranges.n != 1)
			return false;
		*range = i == BY_PAINT ? (struct sl_fast_range){ paint, paint }
				       : (struct sl_fast_range){ values[i].ranges.range[0].low,
								 values[i].ranges.range[0].high };
	}
	return true;
}

#define FIELD(key, field)                                                                  \
	{                                                                                  \
		key, EL_PARAM_RANGES, false, 0, 0, 0, NULL, field, "values, as in filters" \
	}

static const struct el_param params[] = {
	[BY_PAINT] = { "paint", EL_PARAM_NUMBER, false, 0, 255, 0, NULL, 0, "the colour" },
	[BY_PROTOCOL] = FIELD("protocol", SL_FIELD_PROTOCOL),
	[BY_SOURCE_PORT] = FIELD("source_port", SL_FIELD_SOURCE_PORT),
	[BY_DESTINATION_PORT] = FIELD("destination_port", SL_FIELD_DESTINATION_PORT),
	[BY_DSCP] = FIELD("dscp", SL_FIELD_DSCP),
	[BY_LENGTH] = FIELD("length", SL_FIELD_LENGTH),
	[BY_COUNT] = { 0 },
};

const struct el_class el_classifier = {
	.name = "Classifier",
	.version = 1,
	.what = "packets that match by output 0, the others by output 1",
	.may = EL_MAY_DROP,
	.input = EL_PUSH,
	.output = EL_PUSH,
	.outputs_required = 1,
	.outputs = 2,
	.drop_name = "no-match",
	.params = params,
	.state_bytes = sizeof(struct classifier),
	.init = classifier_init,
	.process = classifier_process,
	.fast = classifier_fast,
};
