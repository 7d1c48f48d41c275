/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <sys/socket.h>

#include "netns-lab/classify/rule_sets.h"
#include "netns-lab/lookup/routes.h"

#define SITES 64 /* networks that the rules of a list are about */

static const char *const names[LAB_RULE_STYLES] = {
	"acl", "fw", "ipc", "hostile", "cross", "exact"
};

const char *lab_rule_style_name(enum lab_rule_style style)
{
	return names[style];
}

struct maker {
	uint64_t random;
	uint8_t family;
	struct sl_prefix site[SITES];
};

static uint32_t below(struct maker *m, uint32_t n)
{
	return lab_random_below(&m->random, n);
}

static bool one_in(struct maker *m, uint32_t n)
{
	return below(m, n) == 0;
}

static struct sl_prefix random_prefix(struct maker *m, uint8_t len)
{
	struct sl_prefix prefix = { .family = m->family, .len = len };
	unsigned int bytes = sl_addr_bits(m->family) / 8;

	for (unsigned int i = 0; i < bytes; i++)
		prefix.addr[i] = (uint8_t)below(m, 256);
	if (m->family == AF_INET6)
		prefix.addr[0] = 0x20 | (prefix.addr[0] & 0x0f);
	sl_addr_mask(prefix.addr, len);
	return prefix;
}

static void make_sites(struct maker *m)
{
	for (unsigned int i = 0; i < SITES; i++)
		m->site[i] = random_prefix(m, m->family == AF_INET ? 12 + (uint8_t)below(m, 9)
								   : 32 + (uint8_t)below(m, 17));
}

/* A network or host in a site. */
static struct sl_prefix inside(struct maker *m, bool host)
{
	struct sl_prefix prefix = m->site[below(m, SITES)];
	uint8_t bits = sl_addr_bits(m->family), longest = m->family == AF_INET ? 28 : 64;
	uint8_t len = host ? bits : (uint8_t)(prefix.len + below(m, longest - prefix.len + 1u));

	lab_routes_address(&prefix, &m->random, prefix.addr);
	prefix.len = len;
	sl_addr_mask(prefix.addr, len);
	return prefix;
}

static void set_range(struct sl_rule *rule, enum sl_field field, uint32_t low, uint32_t high)
{
	struct sl_ranges *ranges = &rule->field[field];

	ranges->range[ranges->n++] = (struct sl_range){ low, high };
}

static void set_one(struct sl_rule *rule, enum sl_field field, uint32_t value)
{
	set_range(rule, field, value, value);
}

static void service(struct maker *m, struct sl_rule *rule, enum sl_field field)
{
	static const uint16_t known[] = {
		22,  25,  53,	80,   110,  123,  143,	161,  179,  443,
		445, 993, 1433, 1521, 3306, 3389, 5060, 5432, 8080, 8443
	};

	switch (below(m, 6)) {
	case 0: /* the ports of clients */
		set_range(rule, field, 1024, 65535);
		break;
	case 1: {
		uint32_t low = below(m, 60000);

		set_range(rule, field, low, low + below(m, 2000));
		break;
	}
	case 2: /* two services */
		set_one(rule, field, known[below(m, 10)]);
		set_one(rule, field, known[10 + below(m, 10)]);
		break;
	default:
		set_one(rule, field, known[below(m, sizeof(known) / sizeof(known[0]))]);
	}
}

static void protocol(struct maker *m, struct sl_rule *rule)
{
	switch (below(m, 10)) {
	case 0:
		set_one(rule, SL_FIELD_PROTOCOL, m->family == AF_INET ? 1 : 58);
		if (one_in(m, 2))
			set_one(rule, SL_FIELD_ICMP_TYPE, below(m, 16));
		if (one_in(m, 4))
			set_one(rule, SL_FIELD_ICMP_CODE, below(m, 4));
		break;
	case 1:
		set_one(rule, SL_FIELD_PROTOCOL, 47 + below(m, 5));
		break;
	case 2:
	case 3:
	case 4:
		set_one(rule, SL_FIELD_PROTOCOL, 17);
		service(m, rule, SL_FIELD_DESTINATION_PORT);
		break;
	default:
		set_one(rule, SL_FIELD_PROTOCOL, 6);
		service(m, rule, SL_FIELD_DESTINATION_PORT);
		if (one_in(m, 8)) { /* established: ACK set; or a new connection: SYN alone */
			rule->flags_mask = one_in(m, 2) ? 0x10 : 0x12;
			rule->flags = rule->flags_mask == 0x10 ? 0x10 : 0x02;
		}
	}
}

/* Every field that there is, sometimes. */
static void rare_fields(struct maker *m, struct sl_rule *rule, uint32_t seldom)
{
	if (one_in(m, seldom))
		service(m, rule, SL_FIELD_SOURCE_PORT);
	if (one_in(m, seldom))
		set_one(rule, SL_FIELD_DSCP, below(m, 64));
	if (one_in(m, seldom))
		set_one(rule, SL_FIELD_FRAGMENT, below(m, 3));
	if (one_in(m, seldom)) {
		uint32_t low = 20 + below(m, 1400);

		set_range(rule, SL_FIELD_LENGTH, low, low + below(m, 200));
	}
	if (m->family == AF_INET6 && one_in(m, seldom))
		set_one(rule, SL_FIELD_FLOW_LABEL, below(m, 1 << 20));
}

static void make_rule(struct maker *m, enum lab_rule_style style, uint32_t i, struct sl_rule *rule)
{
	struct sl_prefix *src = &rule->prefix[SL_SIDE_SOURCE];
	struct sl_prefix *dst = &rule->prefix[SL_SIDE_DESTINATION];
	uint8_t bits = sl_addr_bits(m->family);

	switch (style) {
	case LAB_RULES_ACL:
		if (one_in(m, 3))
			*src = inside(m, one_in(m, 3));
		*dst = inside(m, !one_in(m, 3));
		protocol(m, rule);
		break;
	case LAB_RULES_FW:
		if (one_in(m, 2))
			*src = inside(m, one_in(m, 3));
		if (!one_in(m, 4))
			*dst = inside(m, one_in(m, 2));
		protocol(m, rule);
		rare_fields(m, rule, 12);
		break;
	case LAB_RULES_IPC:
		if (!one_in(m, 4))
			*src = inside(m, one_in(m, 2));
		if (!one_in(m, 4))
			*dst = inside(m, one_in(m, 2));
		if (!one_in(m, 5))
			protocol(m, rule);
		rare_fields(m, rule, 30);
		break;
	case LAB_RULES_HOSTILE:
		*src = random_prefix(m, (uint8_t)below(m, bits + 1u));
		*dst = random_prefix(m, (uint8_t)below(m, bits + 1u));
		protocol(m, rule);
		rare_fields(m, rule, 4);
		break;
	case LAB_RULES_EXACT: /* the source port tells it from all others */
		*src = m->site[below(m, 8)];
		*dst = m->site[8 + below(m, 8)];
		src->len = dst->len = bits;
		set_one(rule, SL_FIELD_PROTOCOL, one_in(m, 2) ? 6 : 17);
		set_one(rule, SL_FIELD_SOURCE_PORT, i);
		set_one(rule, SL_FIELD_DESTINATION_PORT, below(m, 65536));
		break;
	default: /* a source port each and the same destination: every rule is a candidate */
		set_one(rule, SL_FIELD_PROTOCOL, 6);
		set_one(rule, i % 2 ? SL_FIELD_SOURCE_PORT : SL_FIELD_DESTINATION_PORT,
			i * 16 % 65536);
	}
}

void lab_rules_make(enum lab_rule_style style, uint8_t family, uint32_t n, uint64_t seed,
		    struct sl_rule *rules)
{
	static const uint32_t actions[] = { SL_FILTER_PERMIT, SL_FILTER_DENY, SL_FILTER_KERNEL };
	struct maker m = { .random = seed * 2 + 1, .family = family };

	make_sites(&m);
	for (uint32_t i = 0; i < n; i++) {
		rules[i] = (struct sl_rule){ .number = i, .action = actions[below(&m, 3)] };
		make_rule(&m, style, i, &rules[i]);
	}
}

static uint32_t value_near(uint64_t *random, const struct sl_ranges *ranges)
{
	const struct sl_range *range = &ranges->range[lab_random_below(random, ranges->n)];

	switch (lab_random_below(random, 6)) {
	case 0:
		return range->low;
	case 1:
		return range->high;
	case 2: /* just outside, where that is a value */
		return range->high + 1;
	default:
		return range->low + lab_random_below(random, range->high - range->low + 1);
	}
}

void lab_rules_flow(const struct sl_rule *rules, uint32_t n, uint8_t family, uint64_t *random,
		    struct sl_flow *flow)
{
	const struct sl_prefix any = { .family = family };
	const struct sl_rule *rule = NULL;

	if (n && lab_random_below(random, 2))
		rule = &rules[lab_random_below(random, n)];
	for (unsigned int side = 0; side < SL_SIDES; side++) {
		const struct sl_prefix *prefix = rule ? &rule->prefix[side] : &any;
		uint8_t addr[16];

		lab_routes_address(prefix->family ? prefix : &any, random, addr);
		sl_flow_address(family, addr, flow->address[side]);
	}
	for (enum sl_field field = 0; field < SL_FIELD_COUNT; field++) {
		uint32_t values = sl_field_values(field);

		flow->field[field] = lab_random_below(random, values + 1);
		if (rule && rule->field[field].n)
			flow->field[field] = value_near(random, &rule->field[field]);
		if (flow->field[field] > values)
			flow->field[field] = values;
	}
	if (rule && rule->flags_mask && lab_random_below(random, 4))
		flow->field[SL_FIELD_TCP_FLAGS] =
			rule->flags | (lab_random_below(random, 256) & (uint8_t)~rule->flags_mask);
}
