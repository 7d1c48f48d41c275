/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/reserve/flow_words.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "bpf/lib/endian.bpf.h"
#include "user/classify/rule_text.h"
#include "user/text/prefix.h"

static const char *text_of(const json_t *words, const char *key)
{
	const char *text = json_string_value(json_object_get(words, key));

	return text ? text : "";
}

static int refuse(char why[SL_FLOW_WHY_BYTES], const char *key, const char *text, const char *what)
{
	snprintf(why, SL_FLOW_WHY_BYTES, "%s: \"%.48s\" is not %s", key, text, what);
	return -EINVAL;
}

static int read_address(const json_t *words, const char *key, uint8_t *family, __be32 out[4],
			char why[SL_FLOW_WHY_BYTES])
{
	uint8_t addr[16];

	if (sl_addr_parse(text_of(words, key), family, addr))
		return refuse(why, key, text_of(words, key), "an IPv4 or IPv6 address");
	memcpy(out, addr, sizeof(addr));
	return 0;
}

/* One value of a field of filter rules. */
static int read_value(const json_t *words, enum sl_field field, const char *key, uint32_t *out,
		      char why[SL_FLOW_WHY_BYTES])
{
	struct sl_ranges ranges;

	if (sl_ranges_parse(field, text_of(words, key), &ranges) || ranges.n != 1 ||
	    ranges.range[0].low != ranges.range[0].high)
		return refuse(why, key, text_of(words, key), "one value");
	*out = ranges.range[0].low;
	return 0;
}

static bool has_ports(uint32_t protocol)
{
	return protocol == IPPROTO_TCP || protocol == IPPROTO_UDP || protocol == IPPROTO_SCTP ||
	       protocol == IPPROTO_DCCP || protocol == IPPROTO_UDPLITE;
}

int sl_flow_read(const json_t *words, struct sl_flow_key *out, char why[SL_FLOW_WHY_BYTES])
{
	static const char *const keys[] = { "source", "destination", "protocol", "source_port",
					    "destination_port" };
	uint32_t protocol, source_port, destination_port;
	uint8_t family, other;
	int err = 0;

	*out = (struct sl_flow_key){ 0 };
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!json_object_get(words, keys[i])) {
			snprintf(why, SL_FLOW_WHY_BYTES,
				 "a flow needs %s: write source, destination, protocol, "
				 "source_port and destination_port",
				 keys[i]);
			return -EINVAL;
		}
	if (json_object_size(words) != sizeof(keys) / sizeof(keys[0])) {
		snprintf(why, SL_FLOW_WHY_BYTES,
			 "a flow has source, destination, protocol, source_port and "
			 "destination_port, and nothing else");
		return -EINVAL;
	}
	err = read_address(words, "source", &family, out->source, why);
	if (!err)
		err = read_address(words, "destination", &other, out->destination, why);
	if (!err && family != other)
		err = refuse(why, "destination", text_of(words, "destination"),
			     "of the source's family");
	if (!err)
		err = read_value(words, SL_FIELD_PROTOCOL, "protocol", &protocol, why);
	if (!err && !has_ports(protocol))
		err = refuse(why, "protocol", text_of(words, "protocol"),
			     "one that has ports: write tcp, udp, 33, 132 or 136");
	if (!err)
		err = read_value(words, SL_FIELD_SOURCE_PORT, "source_port", &source_port, why);
	if (!err)
		err = read_value(words, SL_FIELD_DESTINATION_PORT, "destination_port",
				 &destination_port, why);
	if (err)
		return err;
	out->version = family == AF_INET ? 4 : 6;
	out->protocol = (uint8_t)protocol;
	out->source_port = sl_htons((uint16_t)source_port);
	out->destination_port = sl_htons((uint16_t)destination_port);
	return 0;
}

uint8_t sl_flow_family(const struct sl_flow_key *flow)
{
	return flow->version == 4 ? AF_INET : AF_INET6;
}

json_t *sl_flow_json(const struct sl_flow_key *flow)
{
	const uint8_t family = sl_flow_family(flow);
	char source[SL_PREFIX_STRLEN], destination[SL_PREFIX_STRLEN], number[8];
	const char *protocol = number;

	sl_addr_format(family, (const uint8_t *)flow->source, source);
	sl_addr_format(family, (const uint8_t *)flow->destination, destination);
	snprintf(number, sizeof(number), "%u", flow->protocol);
	if (flow->protocol == IPPROTO_TCP)
		protocol = "tcp";
	if (flow->protocol == IPPROTO_UDP)
		protocol = "udp";
	return json_pack("{s:s, s:s, s:s, s:o, s:o}", "source", source, "destination", destination,
			 "protocol", protocol, "source_port",
			 json_sprintf("%u", sl_ntohs(flow->source_port)), "destination_port",
			 json_sprintf("%u", sl_ntohs(flow->destination_port)));
}
