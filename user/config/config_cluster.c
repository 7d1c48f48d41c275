/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "user/config/config_cluster.h"
#include "user/text/prefix.h"

int sl_cluster_settings_init(struct sl_cluster_settings *c)
{
	c->liveness_ms = SL_CONFIG_DEFAULT_LIVENESS_MS;
	c->express = SL_EXPRESS_NEVER;
	c->express_check = SL_EXPRESS_UDP;
	c->fabric_dscp = SL_CONFIG_DEFAULT_FABRIC_DSCP;
	c->key_file = strdup(SL_CONFIG_DEFAULT_KEY);
	c->socket = strdup(SL_CONFIG_DEFAULT_RELAY);
	c->bridge =
		(struct sl_bridge_settings){ .packing = 255,
					     .voq_frames = 1024,
					     .queue_frames = 1024,
					     .delay_sample = 64,
					     .control = strdup(SL_CONFIG_DEFAULT_BRIDGE_CONTROL) };
	return c->key_file && c->socket && c->bridge.control ? 0 : -ENOMEM;
}

const struct sl_cluster_node *sl_cluster_node(const struct sl_cluster_settings *c, uint32_t i)
{
	return &((const struct sl_cluster_node *)c->nodes.items)[i];
}

const struct sl_cluster_node *sl_cluster_find_node(const struct sl_cluster_settings *c, uint32_t id)
{
	for (uint32_t i = 0; i < c->nodes.n; i++)
		if (sl_cluster_node(c, i)->id == id)
			return sl_cluster_node(c, i);
	return NULL;
}

const struct sl_cluster_port *sl_cluster_port(const struct sl_cluster_node *node, uint32_t i)
{
	return &((const struct sl_cluster_port *)node->ports.items)[i];
}

bool sl_cluster_port_is_queued(const struct sl_cluster_port *port)
{
	return port->rate.per_s || port->queues.n || port->control.ops->needs_feedback;
}

uint64_t sl_cluster_reservable_Bps(const struct sl_cluster_settings *c,
				   const struct sl_cluster_port *port)
{
	return port->rate.frames ? 0 : port->rate.per_s / 100 * c->reserve;
}

bool sl_cluster_has_express(const struct sl_cluster_settings *c)
{
	for (uint32_t i = 0; i < c->nodes.n && c->transport == SL_TRANSPORT_ROCE_XDP; i++) {
		const struct sl_cluster_node *node = sl_cluster_node(c, i);

		for (uint32_t p = 0; p < node->ports.n; p++)
			if (sl_cluster_port(node, p)->express != SL_EXPRESS_NEVER)
				return true;
	}
	return false;
}

const struct sl_yaml_choice sl_tags_choices[] = {
	{ "refuse", SL_HIDDEN_TAGS_REFUSE },
	{ "ignore", SL_HIDDEN_TAGS_IGNORE },
	{ NULL, 0 },
};

const struct sl_yaml_choice sl_mode_choices[] = {
	{ "auto", SL_XDP_NONE },
	{ "native", SL_XDP_NATIVE },
	{ "generic", SL_XDP_GENERIC },
	{ NULL, 0 },
};

const struct sl_yaml_choice sl_express_choices[] = {
	{ "never", SL_EXPRESS_NEVER },
	{ "auto", SL_EXPRESS_AUTO },
	{ "always", SL_EXPRESS_ALWAYS },
	{ NULL, 0 },
};

const struct sl_yaml_choice sl_express_check_choices[] = {
	{ "auto", SL_EXPRESS_UDP },
	{ "udp", SL_EXPRESS_UDP },
	{ "header", SL_EXPRESS_HEADER },
	{ "icrc", SL_EXPRESS_ICRC },
	{ NULL, 0 },
};

const struct sl_yaml_choice sl_transport_choices[] = {
	{ "roce-xdp", SL_TRANSPORT_ROCE_XDP },
	{ "verbs-ud", SL_TRANSPORT_VERBS_UD },
	{ "verbs-rc", SL_TRANSPORT_VERBS_RC },
	{ NULL, 0 },
};

const char *sl_transport_name(enum sl_transport transport)
{
	return sl_transport_choices[transport].name;
}

const struct sl_yaml_choice sl_transmit_choices[] = {
	{ "af_xdp", SL_TRANSMIT_AF_XDP },
	{ "inject", SL_TRANSMIT_INJECT },
	{ NULL, 0 },
};

const struct sl_yaml_choice sl_scheduler_choices[] = {
	{ "mixed", SL_SCHEDULER_MIXED },
	{ "drr", SL_SCHEDULER_DRR },
	{ "strict", SL_SCHEDULER_STRICT },
	{ NULL, 0 },
};

const char *sl_scheduler_name(enum sl_scheduler scheduler)
{
	return sl_scheduler_choices[scheduler].name;
}

const struct sl_yaml_choice sl_poll_choices[] = {
	{ "adaptive", SL_POLL_ADAPTIVE },
	{ "busy", SL_POLL_BUSY },
	{ NULL, 0 },
};

const char *sl_poll_name(enum sl_poll poll)
{
	return sl_poll_choices[poll].name;
}

uint32_t sl_scheduler_level(enum sl_scheduler scheduler, uint32_t class)
{
	switch (scheduler) {
	case SL_SCHEDULER_STRICT:
		return class;
	case SL_SCHEDULER_DRR:
		return 0;
	default:
		return class == SL_CLASSES - 1;
	}
}

int sl_dscp_parse(const char *text, uint64_t *mask)
{
	*mask = 0;
	for (const char *p = text;; p++) {
		unsigned long from, to;
		char *end;

		/* strtoul would accept signs and blanks. */
		if (!isdigit((unsigned char)*p))
			return -EINVAL;
		from = to = strtoul(p, &end, 10);
		if (*end == '-') {
			if (!isdigit((unsigned char)end[1]))
				return -EINVAL;
			to = strtoul(end + 1, &end, 10);
		}
		if (from > to || to >= SL_DSCPS)
			return -EINVAL;
		for (; from <= to; from++)
			*mask |= 1ULL << from;
		if (*end == '\0')
			return 0;
		if (*end != ',')
			return -EINVAL;
		p = end;
	}
}

uint32_t sl_cores_parse(const char *text, uint32_t cores[SL_WORKERS_MAX])
{
	uint32_t n = 0;

	for (const char *p = text; n < SL_WORKERS_MAX; p++) {
		unsigned long core;
		char *end;

		if (!isdigit((unsigned char)*p))
			return 0;
		core = strtoul(p, &end, 10);
		if (core >= CPU_SETSIZE)
			return 0;
		cores[n++] = (uint32_t)core;
		if (*end == '\0')
			return n;
		if (*end != ',')
			return 0;
		p = end;
	}
	return 0;
}

bool sl_valid_host_address(const char *text)
{
	static const uint8_t zero[16];
	uint8_t family, a[16];

	if (sl_addr_parse(text, &family, a) || !memcmp(a, zero, sizeof(zero)))
		return false;
	if (sl_addr_bits(family) == 32)
		return a[0] != 127 && a[0] < 224 && a[0] != 0;
	return a[0] != 0xff && !(a[0] == 0xfe && (a[1] & 0xc0) == 0x80) &&
	       (memcmp(a, zero, 15) || a[15] != 1);
}

static int parse_port_address(const char *word, size_t length, struct sl_port_address *out)
{
	char text[SL_PREFIX_STRLEN], *slash, *end;
	unsigned long len;

	if (length >= sizeof(text))
		return -EINVAL;
	memcpy(text, word, length);
	text[length] = '\0';
	slash = strchr(text, '/');
	if (!slash || !isdigit((unsigned char)slash[1]))
		return -EINVAL;
	len = strtoul(slash + 1, &end, 10);
	*slash = '\0';
	if (*end || !sl_valid_host_address(text) || sl_addr_parse(text, &out->family, out->addr) ||
	    len < 1 || len > sl_addr_bits(out->family))
		return -EINVAL;
	out->len = (uint8_t)len;
	return 0;
}

int sl_port_addresses_parse(const char *text, struct sl_port_address out[SL_PORT_ADDRESSES_MAX],
			    uint32_t *n)
{
	static const char blanks[] = " \t\n";

	*n = 0;
	if (!text)
		return 0;
	for (text += strspn(text, blanks); *text; text += strspn(text, blanks)) {
		const size_t length = strcspn(text, blanks);

		if (*n == SL_PORT_ADDRESSES_MAX || parse_port_address(text, length, &out[*n]))
			return -EINVAL;
		text += length;
		++*n;
	}
	return *n ? 0 : -EINVAL;
}

bool sl_port_address_same_prefix(const struct sl_port_address *a, const struct sl_port_address *b)
{
	return a->family == b->family && a->len == b->len &&
	       sl_addr_match(a->addr, b->addr, a->len);
}
