/* SPDX-License-Identifier: BSD-2-Clause */
/* bird.conf of BIRD 2 */
#include <netinet/in.h>

#include "user/routing/routing.h"

static void print_own_ports(const struct sl_routing *routing, FILE *out)
{
	for (uint32_t p = 0; p < routing->self->ports.n; p++)
		fprintf(out, "%s\"%s\"", p ? ", " : "", sl_cluster_port(routing->self, p)->name);
}

static void print_remote(FILE *out, const char *prefix, const char *netdev)
{
	fprintf(out, "\troute %s via \"%s\";\n", prefix, netdev);
}

static void print_ports(const struct sl_routing *routing, FILE *out)
{
	fputs("\n# Next hops lie behind ports, and are looked up in tables with nothing else: a default route\n"
	      "# is no way to a port without carrier. Own ports have addresses; remote ones have none, so\n"
	      "# their prefixes stand here. The kernel does not get these tables: sluiced has told it.\n"
	      "ipv4 table ports4;\n"
	      "ipv6 table ports6;\n",
	      out);
	if (routing->self->ports.n) {
		fputs("protocol direct own_ports {\n"
		      "\tipv4 { table ports4; };\n"
		      "\tipv6 { table ports6; };\n"
		      "\tinterface ",
		      out);
		print_own_ports(routing, out);
		fputs(";\n\tcheck link;\n}\n", out);
	}
	fputs("protocol static remote_ports4 {\n"
	      "\tipv4 { table ports4; };\n"
	      "\tcheck link;\n",
	      out);
	sl_routing_each_remote(routing, AF_INET, out, print_remote);
	fputs("}\n"
	      "protocol static remote_ports6 {\n"
	      "\tipv6 { table ports6; };\n"
	      "\tcheck link;\n",
	      out);
	sl_routing_each_remote(routing, AF_INET6, out, print_remote);
	fputs("}\n", out);
}

static void print_kernel(const struct sl_routing *routing, FILE *out, uint8_t family)
{
	const int version = family == AF_INET ? 4 : 6;
	char source[SL_PREFIX_STRLEN];

	fprintf(out,
		"filter to_kernel%d {\n"
		"\tif source != RTS_BGP then reject;\n"
		"\tif dest = RTD_UNREACHABLE then reject;\n",
		version);
	if (sl_routing_source(routing, family, source))
		fprintf(out, "\tkrt_prefsrc = %s;\n", source);
	fprintf(out,
		"\taccept;\n"
		"}\n"
		"protocol kernel kernel%d {\n"
		"\tpersist;\n"
		"\tmetric 32;\n"
		"\tmerge paths yes limit %d;\n"
		"\tnetlink rx buffer %d;\n"
		"\tipv%d { export filter to_kernel%d; };\n"
		"}\n",
		version, SL_ROUTING_ECMP_WAYS, SL_ROUTING_NETLINK_BYTES, version, version);
}

/*
 * A channel of a session with another node. BIRD wants an address of the channel's family, though
 * it never uses it for routes that have a next hop; on the fabric it finds one of the session's
 * family.
 */
static void print_channel(const struct sl_routing *routing, FILE *out, uint8_t family,
			  const char *extra)
{
	const int version = family == AF_INET ? 4 : 6;
	uint8_t session_family, address[16];
	char source[SL_PREFIX_STRLEN];

	fprintf(out, "\tipv%d { igp table ports%d; %s%s", version, version,
		routing->self->drain ? "import filter drained_in; export filter drained_out;"
				     : "import all; export where source = RTS_BGP;",
		extra);
	if (!sl_addr_parse(routing->self->address, &session_family, address) &&
	    session_family != family && sl_routing_source(routing, family, source))
		fprintf(out, " next hop address %s;", source);
	fputs(" };\n", out);
}

/*
 * RFC 8326, section 4: the node tags what it has from outside, and other nodes prefer any other way
 * to LOCAL_PREF 0. What it tells neighbours outside gets the tag where it comes in from the nodes,
 * since the filters towards these neighbours are the operator's; and there the node itself comes to
 * prefer them, but not those of other drained nodes: else two of them would each wait for the other
 * one's. A reflector takes the tag off what it passes on: such a way does not lead through it.
 */
static void print_drain(const struct sl_routing *routing, FILE *out)
{
	const struct sl_cluster_settings *cluster = &routing->settings->cluster;
	const char *comma = "";

	fputs("\n# This node is drained (`drain: true`): its ways have LOCAL_PREF 0 and the community\n"
	      "# GRACEFUL_SHUTDOWN (RFC 8326), by which nodes and neighbours outside prefer others.\n"
	      "define GRACEFUL_SHUTDOWN = (65535, 0);\n"
	      "filter drained_in {\n"
	      "\tif bgp_local_pref > 0 then preference = 110; # before this node's own ways, of 100\n"
	      "\tbgp_community.add(GRACEFUL_SHUTDOWN);\n"
	      "\taccept;\n"
	      "}\n"
	      "filter drained_out {\n"
	      "\tif source != RTS_BGP then reject;\n",
	      out);
	if (routing->reflects[routing->self->id]) {
		fputs("\tif from ~ [ ", out);
		for (uint32_t i = 0; i < cluster->nodes.n; i++, comma = ", ")
			fprintf(out, "%s%s", comma, sl_cluster_node(cluster, i)->address);
		fputs(" ] then { bgp_community.delete(GRACEFUL_SHUTDOWN); accept; }\n", out);
	}
	fputs("\tbgp_local_pref = 0;\n"
	      "\tbgp_community.add(GRACEFUL_SHUTDOWN);\n"
	      "\taccept;\n"
	      "}\n",
	      out);
}

/* A template of sessions with other nodes. */
static void print_template(const struct sl_routing *routing, FILE *out, const char *name,
			   const char *session, const char *extra)
{
	fprintf(out, "template bgp %s {\n\tlocal %s as CLUSTER_AS;\n%s", name,
		routing->self->address, session);
	print_channel(routing, out, AF_INET, extra);
	print_channel(routing, out, AF_INET6, extra);
	fputs("}\n", out);
}

static void print_sessions(const struct sl_routing *routing, FILE *out)
{
	static const char *const templates[] = {
		[SL_ROUTING_MESH] = "inside",
		[SL_ROUTING_CLIENT] = "to_client",
		[SL_ROUTING_REFLECTOR] = "to_reflector",
	};
	const struct sl_cluster_settings *cluster = &routing->settings->cluster;

	if (routing->has_reflectors)
		fputs("\n# The other nodes, by their addresses on the fabric. Reflectors tell all ways that they know\n"
		      "# (add paths), not only their own best: else a node would have no other when that one dies.\n",
		      out);
	else
		fputs("\n# The other nodes, by their addresses on the fabric. Next hops stay as they are.\n",
		      out);
	if (sl_routing_has_session(routing, SL_ROUTING_MESH))
		print_template(routing, out, templates[SL_ROUTING_MESH], "",
			       routing->has_reflectors ? " add paths on;" : "");
	if (sl_routing_has_session(routing, SL_ROUTING_CLIENT))
		print_template(routing, out, templates[SL_ROUTING_CLIENT], "\trr client;\n",
			       " add paths on;");
	if (sl_routing_has_session(routing, SL_ROUTING_REFLECTOR))
		print_template(routing, out, templates[SL_ROUTING_REFLECTOR], "", " add paths on;");
	for (uint32_t i = 0; i < cluster->nodes.n; i++) {
		const struct sl_cluster_node *node = sl_cluster_node(cluster, i);
		const enum sl_routing_session session = sl_routing_session(routing, node);

		if (session != SL_ROUTING_NONE)
			fprintf(out, "protocol bgp n%u from %s { neighbor %s as CLUSTER_AS; }\n",
				node->id, templates[session], node->address);
	}
}

static void print_outside(const struct sl_routing *routing, FILE *out)
{
	fputs("\n# Neighbours outside, behind ports of this node. They get nothing unless you say so. For your file:\n"
	      "#\n"
	      "#   protocol bgp customer from outside {\n"
	      "#     neighbor 192.0.2.2 as 64500;\n"
	      "#     ipv4 {\n"
	      "#       import where net ~ [ 198.51.100.0/24 ];\n"
	      "#       export where dest != RTD_UNREACHABLE;\n"
	      "#     };\n"
	      "#     bfd on;\n"
	      "#   }\n"
	      "#   protocol bfd { interface ",
	      out);
	print_own_ports(routing, out);
	fputs("; }\n"
	      "template bgp outside {\n"
	      "\tlocal as CLUSTER_AS;\n"
	      "\tipv4 { igp table ports4; import all; export none; };\n"
	      "\tipv6 { igp table ports6; import all; export none; };\n"
	      "}\n",
	      out);
}

void sl_routing_print_bird(const struct sl_routing *routing, FILE *out)
{
	char id[SL_PREFIX_STRLEN];

	sl_routing_router_id(routing, id);
	sl_routing_print_head(routing, out, "#", "BIRD 2", "--bird");
	fprintf(out,
		"\nrouter id %s;\n"
		"define CLUSTER_AS = %u;\n"
		"\n# The kernel tells of links at once. When a whole table changes, such a message may get lost.\n"
		"protocol device { scan time 2; }\n",
		id, routing->as);
	print_ports(routing, out);
	fputs("\n# What BGP has found goes to the kernel, and from there to the fast path. It stays while BIRD is\n"
	      "# started again. Equal ways share the flows. BIRD keeps a route whose next hop lies "
	      "behind\n"
	      "# a port without carrier, as \"unreachable\": that is no route (RFC 4271, section "
	      "9.1.2.1).\n"
	      "# Remote ports have no address, so what this node itself sends has that of a port.\n",
	      out);
	print_kernel(routing, out, AF_INET);
	print_kernel(routing, out, AF_INET6);
	if (routing->self->drain)
		print_drain(routing, out);
	print_sessions(routing, out);
	print_outside(routing, out);
}
