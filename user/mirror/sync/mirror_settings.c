/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * State that holds for all interfaces: policy rules, and the settings "all" of IPv4 and IPv6. The
 * settings of one interface come with its link (IFLA_AF_SPEC), and in a message of their own
 * (netconf) when they change between two messages of the link.
 */
#include <stdio.h>
#include <linux/netconf.h>
#include <linux/rtnetlink.h>

#include "user/mirror/mirror_path.h"
#include "user/mirror/mirror_state.h"
#include "user/mirror/sync/mirror_settings.h"

/* --- Rules --- */

/* The rules that the kernel makes. IPv6 has none for table default. */
static const struct {
	uint32_t priority, table;
} kernel_rules[] = { { 0, RT_TABLE_LOCAL }, { 32766, RT_TABLE_MAIN }, { 32767, RT_TABLE_DEFAULT } };
enum { KERNEL_RULES = sizeof(kernel_rules) / sizeof(kernel_rules[0]) };

/*
 * Only from dumps: after the event of a rule, the mirror dumps all rules, which are few. The rule
 * that the kernel makes with the first VRF is for packets at members of VRFs, all of which the
 * kernel gets anyway.
 */
void sl_rule_message(struct sl_mirror *m, const struct sl_rtnl_rule *msg)
{
	const int v6 = msg->family == AF_INET6;

	if (msg->plain && msg->l3mdev)
		return;
	for (uint32_t i = 0; i < KERNEL_RULES; i++) {
		const uint32_t bit = 1u << i;
		if (msg->plain && msg->priority == kernel_rules[i].priority &&
		    msg->table == kernel_rules[i].table && !(m->default_rules[v6] & bit)) {
			m->default_rules[v6] |= bit;
			return;
		}
	}
	m->other_rules[v6]++;
}

void sl_rule_dumped(struct sl_mirror *m)
{
	const bool policy4 = m->other_rules[0] || m->default_rules[0] != 7;
	const bool policy6 = m->other_rules[1] || (m->default_rules[1] & 3) != 3;
	uint64_t rules = m->other_rules[0] + m->other_rules[1];

	for (int v6 = 0; v6 <= 1; v6++)
		rules += (uint64_t)__builtin_popcount(m->default_rules[v6]);
	m->changes += rules != m->stats.rules;
	m->stats.rules = rules;
	if (policy4 == m->stats.policy4 && policy6 == m->stats.policy6)
		return;
	m->stats.policy4 = policy4;
	m->stats.policy6 = policy6;
	sl_link_update_all(m);
}

/* --- Settings --- */

static bool set(uint32_t *where, int32_t value)
{
	if (value < 0 || *where == (uint32_t)value)
		return false;
	*where = (uint32_t)value;
	return true;
}

static void netconf_all(struct sl_mirror *m, const struct sl_rtnl_netconf *msg)
{
	bool differ;

	if (msg->family == AF_INET6) {
		differ = set(&m->forwarding6, msg->forwarding);
	} else {
		differ = set(&m->rp_filter, msg->rp_filter);
		if (set(&m->ignore_linkdown4, msg->ignore_linkdown)) {
			differ = true;
			sl_path_update_all(m);
			/* Messages called legs dead that the kernel only ignored. */
			if (!m->dumping)
				m->todo.routes4 = m->todo.any = true;
		}
	}
	if (!differ)
		return;
	m->changes++;
	sl_link_update_all(m);
}

void sl_netconf_message(struct sl_mirror *m, const struct sl_rtnl_netconf *msg)
{
	const struct sl_link *link;
	struct sl_rtnl_link is;

	if (msg->ifindex == NETCONFA_IFINDEX_ALL) {
		netconf_all(m, msg);
		return;
	}
	link = msg->ifindex > 0 ? sl_link_find(m, (uint32_t)msg->ifindex) : NULL;
	if (!link || !link->present)
		return;
	is = link->is;
	if (msg->family == AF_INET) {
		set(&is.forwarding4, msg->forwarding);
		set(&is.rp_filter, msg->rp_filter);
		set(&is.ignore_linkdown4, msg->ignore_linkdown);
	} else {
		set(&is.ignore_linkdown6, msg->ignore_linkdown);
	}
	sl_link_message(m, &is);
}

/* /proc shows the network namespace of this thread. */
static bool read_setting(const char *name, uint32_t *where)
{
	char path[128];
	int32_t value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/sys/net/%s", name);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fscanf(f, "%d", &value) != 1)
		value = -1;
	fclose(f);
	return set(where, value);
}

static bool read_link_setting(const struct sl_link *link, const char *family, const char *setting,
			      uint32_t *where)
{
	char name[96];

	snprintf(name, sizeof(name), "%s/conf/%s/%s", family, link->is.name, setting);
	return read_setting(name, where);
}

/* What the kernel changes at one interface without a message. */
static void read_ports(struct sl_mirror *m)
{
	sl_htable_for_each(&m->links, node, next)
	{
		const struct sl_link *link = sl_container_of(node, struct sl_link, node);
		struct sl_rtnl_link is = link->is;
		bool differ;

		if (!link->present || !link->on_port)
			continue;
		differ = read_link_setting(link, "ipv4", "send_redirects", &is.send_redirects);
		differ |= read_link_setting(link, "ipv4", "route_localnet", &is.route_localnet);
		differ |= read_link_setting(link, "ipv6", "mtu", &is.mtu6_bytes);
		if (differ)
			sl_link_message(m, &is);
	}
}

void sl_settings_read(struct sl_mirror *m)
{
	bool differ = read_setting("ipv4/conf/all/send_redirects", &m->send_redirects);

	differ |= read_setting("ipv4/conf/all/route_localnet", &m->route_localnet);
	differ |= read_setting("ipv4/ip_forward_use_pmtu", &m->use_pmtu);
	differ |= read_setting("ipv4/fib_multipath_hash_policy", &m->hash_policy4);
	differ |= read_setting("ipv6/fib_multipath_hash_policy", &m->hash_policy6);
	differ |= read_setting("ipv4/fib_multipath_hash_fields", &m->hash_fields4);
	differ |= read_setting("ipv6/fib_multipath_hash_fields", &m->hash_fields6);
	if (differ)
		sl_link_update_all(m);
	read_ports(m);
}

void sl_neightbl_message(struct sl_mirror *m, const struct sl_rtnl_neightbl *msg)
{
	if (msg->reachable_ms && msg->reachable_ms < m->neigh_patience_ms)
		m->neigh_patience_ms = msg->reachable_ms;
	if (msg->stale_ms && msg->stale_ms < m->neigh_patience_ms)
		m->neigh_patience_ms = msg->stale_ms;
}
