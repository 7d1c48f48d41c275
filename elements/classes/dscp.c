/* SPDX-License-Identifier: BSD-2-Clause */
/* Dscp: writes the DSCP of IPv4 and IPv6 packets, and leaves ECN alone (RFC 2474, RFC 3168 5). */
#include "elements/classes/classes.h"
#include "elements/core/ip_rewrite.h"

struct dscp {
	uint8_t dscp;
};

static const char *dscp_init(void *state, const struct el_value *values)
{
	((struct dscp *)state)->dscp = (uint8_t)values[0].number;
	return NULL;
}

static int dscp_process(void *state, struct el_context *ctx, struct el_packet *packet)
{
	enum el_ip version = el_ip_parse(packet);

	(void)ctx;
	if (version != EL_IP_NONE)
		el_ip_set_dscp(packet, version, ((const struct dscp *)state)->dscp);
	return 0;
}

static bool dscp_fast(const struct el_value *values, struct sl_fast_element *element)
{
	element->kind = SL_FAST_DSCP;
	element->argument = (uint8_t)values[0].number;
	return true;
}

static const struct el_param params[] = {
	{ "dscp", EL_PARAM_DSCP, true, 0, 63, 0, NULL, 0, "name or number, as in filters" },
	{ 0 },
};

const struct el_class el_dscp = {
	.name = "Dscp",
	.version = 1,
	.what = "sets the DSCP of IP packets",
	.may = EL_MAY_WRITE,
	.input = EL_EITHER,
	.output = EL_EITHER,
	.outputs_required = 1,
	.outputs = 1,
	.params = params,
	.state_bytes = sizeof(struct dscp),
	.init = dscp_init,
	.process = dscp_process,
	.fast = dscp_fast,
};
