/* SPDX-License-Identifier: BSD-2-Clause */
/* frr.conf, the integrated configuration of FRR: for zebra, staticd and bgpd */
#include <netinet/in.h>

#include "user/routing/routing.h"
#include "user/text/prefix.h"

/* Each prefix in halves: zebra prefers the kernel's route, which is sluiced's, for the whole. */
static void print_remote(FILE *out, const char *ip, const char *text, const char *netdev)
{
	char half[SL_PREFIX_STRLEN];
	struct sl_prefix prefix;

	if (sl_prefix_parse(text, &prefix) || prefix.len == sl_addr_bits(prefix.family)) {
		fprintf(out, "%s route %s %s\n", ip, text, netdev);
		return;
	}
	prefix.len++;
	fprintf(out, "%s route %s %s\n", ip, sl_prefix_format(&prefix, half), netdev);
	prefix.addr[(prefix.len - 1) / 8] |= (uint8_t)(0x80 >> (prefix.len - 1) % 8);
	fprintf(out, "%s route %s %s\n", ip, sl_prefix_format(&prefix, half), netdev);
}

static void print_remote4(FILE *out, const char *prefix, const char *netdev)
{
	print_remote(out, "ip", prefix, netdev);
}

static void print_remote6(FILE *out, const char *prefix, const char *netdev)
{
	print_remote(out, "ipv6", prefix, netdev);
}

static void print_kernel(const struct sl_routing *routing, FILE *out, uint8_t family)
{
	const char *ip = family == AF_INET ? "ip" : "ipv6";
	char source[SL_PREFIX_STRLEN];

	if (!sl_routing_source(routing, family, source))
		return;
	fprintf(out,
		"route-map to-kernel-%s permit 10\n"
		" set src %s\n"
		"exit\n"
		"%s protocol bgp route-map to-kernel-%s\n"
		"%s protocol static route-map to-kernel-%s\n",
		ip, source, ip, ip, ip, ip);
}

static const char *const groups[] = {
	[SL_ROUTING_MESH] = "inside",
	[SL_ROUTING_CLIENT] = "clients",
	[SL_ROUTING_REFLECTOR] = "reflectors",
};
#define N_GROUPS (sizeof(groups) / sizeof(groups[0]))

static void print_family(const struct sl_routing *routing, FILE *out, uint8_t family)
{
	fprintf(out, " address-family %s unicast\n", family == AF_INET ? "ipv4" : "ipv6");
	for (unsigned int session = SL_ROUTING_MESH; session < N_GROUPS; session++) {
		const char *group = groups[session];

		if (!sl_routing_has_session(routing, session))
			continue;
		fprintf(out, "  neighbor %s activate\n", group);
		if (family == AF_INET6)
			fprintf(out, "  neighbor %s route-map global-next-hop in\n", group);
		if (session == SL_ROUTING_CLIENT)
			fprintf(out, "  neighbor %s route-reflector-client\n", group);
		if (routing->has_reflectors)
			fprintf(out, "  neighbor %s addpath-tx-all-paths\n", group);
	}
	fprintf(out,
		"  maximum-paths %d\n"
		"  maximum-paths ibgp %d\n"
		" exit-address-family\n",
		SL_ROUTING_ECMP_WAYS, SL_ROUTING_ECMP_WAYS);
}

static void print_bgp(const struct sl_routing *routing, FILE *out)
{
	const struct sl_cluster_settings *cluster = &routing->settings->cluster;
	char id[SL_PREFIX_STRLEN];

	sl_routing_router_id(routing, id);
	fprintf(out,
		"route-map global-next-hop permit 10\n"
		" set ipv6 next-hop prefer-global\n"
		"exit\n"
		"router bgp %u\n"
		" bgp router-id %s\n"
		" no bgp default ipv4-unicast\n",
		routing->as, id);
	/* Written in both states, so that vtysh changes a bgpd that runs to either. */
	if (routing->self->drain)
		fputs(" ! This node is drained (`drain: true`): its ways have LOCAL_PREF 0 and the community\n"
		      " ! GRACEFUL_SHUTDOWN (RFC 8326), by which nodes and neighbours outside prefer others.\n"
		      " bgp graceful-shutdown\n",
		      out);
	else
		fputs(" no bgp graceful-shutdown\n", out);
	for (unsigned int session = SL_ROUTING_MESH; session < N_GROUPS; session++)
		if (sl_routing_has_session(routing, session))
			fprintf(out,
				" neighbor %s peer-group\n"
				" neighbor %s remote-as %u\n"
				" neighbor %s update-source %s\n",
				groups[session], groups[session], routing->as, groups[session],
				routing->self->address);
	for (uint32_t i = 0; i < cluster->nodes.n; i++) {
		const struct sl_cluster_node *node = sl_cluster_node(cluster, i);
		const enum sl_routing_session session = sl_routing_session(routing, node);

		if (session == SL_ROUTING_NONE)
			continue;
		fprintf(out,
			" neighbor %s peer-group %s\n"
			" neighbor %s description n%u\n",
			node->address, groups[session], node->address, node->id);
	}
	print_family(routing, out, AF_INET);
	print_family(routing, out, AF_INET6);
	fputs("exit\n", out);
}

static void print_outside(const struct sl_routing *routing, FILE *out)
{
	fprintf(out,
		"!\n"
		"! Neighbours outside, behind ports of this node. A neighbour is told nothing unless a\n"
		"! route-map of yours says so, and the same goes for what it tells (RFC 8212). For your file:\n"
		"!\n"
		"!   ip prefix-list customer permit 198.51.100.0/24\n"
		"!   route-map customer-in permit 10\n"
		"!    match ip address prefix-list customer\n"
		"!   exit\n"
		"!   router bgp %u\n"
		"!    neighbor 192.0.2.2 remote-as 64500\n"
		"!    neighbor 192.0.2.2 bfd\n"
		"!    address-family ipv4 unicast\n"
		"!     neighbor 192.0.2.2 activate\n"
		"!     neighbor 192.0.2.2 route-map customer-in in\n"
		"!    exit-address-family\n"
		"!   exit\n",
		routing->as);
}

void sl_routing_print_frr(const struct sl_routing *routing, FILE *out)
{
	sl_routing_print_head(routing, out, "!", "FRR", "--frr");
	fputs("! /etc/frr/daemons: bgpd=yes (and bfdd=yes for BFD), zebra and staticd run anyway.\n"
	      "!\n"
	      "! The kernel forgets next hop objects when a port loses its carrier, and zebra does not notice\n"
	      "! when that returns: so routes have their next hops themselves.\n"
	      "no zebra nexthop kernel enable\n"
	      "!\n"
	      "! Next hops lie behind ports. zebra knows the prefixes of own ports from their addresses;\n"
	      "! remote ports have none, so their prefixes stand here. A port without carrier\n"
	      "! takes its routes out, and the next hops behind it with them. sluiced's own\n"
	      "! routes to these prefixes stay in the kernel for a minute more, and zebra would\n"
	      "! resolve next hops by them: so BGP may use no route that another program than\n"
	      "! FRR gave the kernel, and each prefix is in halves.\n"
	      "route-map no-kernel deny 10\n"
	      " match source-protocol kernel\n"
	      "exit\n"
	      "route-map no-kernel permit 20\n"
	      "exit\n"
	      "ip nht bgp route-map no-kernel\n"
	      "ipv6 nht bgp route-map no-kernel\n",
	      out);
	sl_routing_each_remote(routing, AF_INET, out, print_remote4);
	sl_routing_each_remote(routing, AF_INET6, out, print_remote6);
	fputs("!\n"
	      "! What this node itself sends by a remote port has the address of one of its ports.\n",
	      out);
	print_kernel(routing, out, AF_INET);
	print_kernel(routing, out, AF_INET6);
	fputs(routing->has_reflectors
		      ? "!\n"
			"! The other nodes, by their addresses on the fabric. Reflectors tell all ways that they\n"
			"! know, not only their own best: else a node would have no other when that one dies.\n"
		      : "!\n"
			"! The other nodes, by their addresses on the fabric. Next hops stay as they are.\n",
	      out);
	print_bgp(routing, out);
	print_outside(routing, out);
}
