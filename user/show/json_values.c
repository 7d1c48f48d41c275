/* SPDX-License-Identifier: BSD-2-Clause */
#include <net/if.h>

#include "user/show/json_values.h"
#include "user/text/prefix.h"

json_t *sl_json_addr(uint8_t family, const uint8_t *addr)
{
	char text[SL_PREFIX_STRLEN];

	return family ? json_string(sl_addr_format(family, addr, text)) : json_null();
}

json_t *sl_json_mac(const uint8_t mac[6])
{
	return json_sprintf("%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4],
			    mac[5]);
}

json_t *sl_json_ifname(uint32_t ifindex)
{
	char name[IF_NAMESIZE];

	if (!ifindex)
		return json_null();
	return if_indextoname(ifindex, name) ? json_string(name) : json_sprintf("if%u", ifindex);
}
