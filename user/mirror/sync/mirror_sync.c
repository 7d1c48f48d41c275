/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Dumps, with mark and sweep: after a dump the mirror removes what the dump did not list, and
 * leaves alone what it listed unchanged. It never flushes anything. The same code makes the first
 * copy, repairs it after lost events, and dumps again what the kernel changes without a message.
 *
 * Events that arrive during a dump wait in the other socket until it ends. They may be older than
 * what the dump said, but the last event of each entry is the newest, so the mirror converges.
 */
#include <linux/rtnetlink.h>

#include "user/mirror/mirror_route.h"
#include "user/mirror/mirror_state.h"
#include "user/mirror/sync/filter_watch.h"
#include "user/mirror/sync/mirror_settings.h"
#include "user/mirror/sync/mirror_sync.h"
#include "user/rtnl/rtnl_socket.h"

enum {
	DUMP_TRIES = 8,	      /* of one dump, while changes interrupt it */
	DRAIN_BATCHES = 4096, /* of events, between two dumps */
	POSTPONE_MAX = 64,    /* polls that may put a dump off because events keep coming */
};

static void message_route(struct sl_mirror *m, const struct nlmsghdr *nlh, int *err)
{
	struct sl_rtnl_route route;

	*err = sl_rtnl_parse_route(nlh, &route);
	if (!*err)
		sl_route_message(m, &route);
}

static void message_link(struct sl_mirror *m, const struct nlmsghdr *nlh, int *err)
{
	struct sl_rtnl_link link;

	*err = sl_rtnl_parse_link(nlh, &link);
	if (!*err)
		sl_link_message(m, &link);
}

static void message_addr(struct sl_mirror *m, const struct nlmsghdr *nlh, int *err)
{
	struct sl_rtnl_addr addr;

	*err = sl_rtnl_parse_addr(nlh, &addr);
	if (!*err)
		sl_address_message(m, &addr);
}

static void message_neigh(struct sl_mirror *m, const struct nlmsghdr *nlh, int *err)
{
	struct sl_rtnl_neigh neigh;

	*err = sl_rtnl_parse_neigh(nlh, &neigh);
	if (!*err)
		sl_neigh_message(m, &neigh);
}

static void message_nexthop(struct sl_mirror *m, const struct nlmsghdr *nlh, int *err)
{
	struct sl_rtnl_nexthop nexthop;

	*err = sl_rtnl_parse_nexthop(nlh, &nexthop);
	if (!*err)
		sl_nhobject_message(m, &nexthop);
}

static void message_rule(struct sl_mirror *m, const struct nlmsghdr *nlh, int *err)
{
	struct sl_rtnl_rule rule;

	*err = sl_rtnl_parse_rule(nlh, &rule);
	if (*err)
		return;
	if (m->dumping)
		sl_rule_message(m, &rule);
	else
		m->todo.rules = m->todo.any = true;
}

static void message_netconf(struct sl_mirror *m, const struct nlmsghdr *nlh, int *err)
{
	struct sl_rtnl_netconf netconf;

	*err = sl_rtnl_parse_netconf(nlh, &netconf);
	if (!*err)
		sl_netconf_message(m, &netconf);
}

static void message_neightbl(struct sl_mirror *m, const struct nlmsghdr *nlh, int *err)
{
	struct sl_rtnl_neightbl table;

	*err = sl_rtnl_parse_neightbl(nlh, &table);
	if (!*err)
		sl_neightbl_message(m, &table);
}

void sl_mirror_message(void *mirror, const struct nlmsghdr *nlh)
{
	struct sl_mirror *m = mirror;
	int err = 0;

	if (!m->dumping)
		m->stats.events++;
	switch (nlh->nlmsg_type) {
	case RTM_NEWROUTE:
	case RTM_DELROUTE:
		message_route(m, nlh, &err);
		break;
	case RTM_NEWLINK:
	case RTM_DELLINK:
		message_link(m, nlh, &err);
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		message_addr(m, nlh, &err);
		break;
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
		message_neigh(m, nlh, &err);
		break;
	case RTM_NEWNEXTHOP:
	case RTM_DELNEXTHOP:
		message_nexthop(m, nlh, &err);
		break;
	case RTM_NEWRULE:
	case RTM_DELRULE:
		message_rule(m, nlh, &err);
		break;
	case RTM_NEWNETCONF:
		message_netconf(m, nlh, &err);
		break;
	case RTM_NEWNEIGHTBL:
		message_neightbl(m, nlh, &err);
		break;
	}
	if (err == -EPROTO)
		m->stats.parse_errors++;
}

/* --- Events --- */

int sl_sync_drain(struct sl_mirror *m, uint32_t batches)
{
	int err = 0;

	for (uint32_t i = 0; i < batches && !err; i++) {
		err = sl_rtnl_receive(m->events, sl_mirror_message, m);
		if (err == -ENOBUFS) {
			m->stats.overruns++;
			m->todo.everything = m->todo.any = true;
			err = 0;
		}
	}
	return err;
}

/* --- Dumps --- */

static int dump_once(struct sl_mirror *m, uint16_t type, uint8_t family, uint32_t ifindex)
{
	int err;

	m->dumping = true;
	m->dumping_all = !ifindex;
	m->dumping_of = ifindex;
	err = sl_rtnl_dump(m->requests, type, family, ifindex, sl_mirror_message, m);
	m->dumping = m->dumping_all = false;
	m->dumping_of = 0;
	return err;
}

/* Calls `clear` before each try. -EINTR: changes interrupted each try, so nothing may be swept. */
static int dump(struct sl_mirror *m, uint16_t type, uint8_t family,
		void (*clear)(struct sl_mirror *))
{
	int err = -EINTR;

	for (int i = 0; i < DUMP_TRIES && err == -EINTR; i++) {
		clear(m);
		err = dump_once(m, type, family, 0);
	}
	return err;
}

static int dump_and_sweep(struct sl_mirror *m, uint16_t type, void (*clear)(struct sl_mirror *),
			  void (*sweep)(struct sl_mirror *))
{
	int err = dump(m, type, AF_UNSPEC, clear);

	if (!err) {
		m->dumping = true;
		sweep(m);
		m->dumping = false;
	}
	return err == -EINTR ? 0 : err;
}

static int sync_nhobjects(struct sl_mirror *m)
{
	int err = dump_and_sweep(m, RTM_GETNEXTHOP, sl_nhobject_clear_seen, sl_nhobject_sweep);

	return err == -EOPNOTSUPP ? 0 : err; /* a kernel without next-hop objects */
}

static void clear_rules4(struct sl_mirror *m)
{
	m->default_rules[0] = m->other_rules[0] = 0;
}

static void clear_rules6(struct sl_mirror *m)
{
	m->default_rules[1] = m->other_rules[1] = 0;
}

static int sync_rules(struct sl_mirror *m)
{
	int err = dump(m, RTM_GETRULE, AF_INET, clear_rules4);
	int err6 = dump(m, RTM_GETRULE, AF_INET6, clear_rules6);

	/* A kernel without rules, or without IPv6, does as the default rules say. */
	if (err == -EOPNOTSUPP)
		m->default_rules[0] = 7;
	else if (err && err != -EINTR)
		return err;
	if (err6)
		m->default_rules[1] = 3;
	sl_rule_dumped(m);
	return 0;
}

/*
 * When an IPv6 route is deleted during a dump, the kernel may skip others without saying so,
 * because it finds its place again by counting. The mirror repeats such a dump, and does not sweep
 * after it.
 */
static int sync_routes(struct sl_mirror *m, struct sl_rib *s, uint32_t ifindex)
{
	int err = -EINTR;

	for (int i = 0; i < DUMP_TRIES && err == -EINTR; i++) {
		sl_route_clear_seen(s);
		m->removed_route6 = false;
		err = dump_once(m, RTM_GETROUTE, s->family, ifindex);
		if (!err && s->family == AF_INET6) {
			int drained = sl_sync_drain(m, DRAIN_BATCHES);
			if (drained && drained != -EAGAIN)
				return drained;
			if (m->removed_route6)
				err = -EINTR;
		}
	}
	if (err == -ENODEV) /* the link is gone: no route goes through it */
		err = 0;
	if (!err)
		sl_route_sweep(m, s, ifindex);
	if (err == -EINTR) {
		if (s->family == AF_INET6)
			m->todo.routes6 = m->todo.any = true;
		else
			m->todo.routes4 = m->todo.any = true;
	}
	if (err == -EOPNOTSUPP && s->family == AF_INET6)
		return 0; /* a kernel without IPv6 */
	return err == -EINTR ? 0 : err;
}

static void clear_nothing(struct sl_mirror *m)
{
	(void)m;
}

static void forget_patience(struct sl_mirror *m)
{
	m->neigh_patience_ms = UINT32_MAX;
}

int sl_sync_everything(struct sl_mirror *m)
{
	int err;

	memset(&m->todo, 0, sizeof(m->todo));
	if ((err = dump(m, RTM_GETNETCONF, AF_INET, clear_nothing)) && err != -EINTR)
		return err;
	dump(m, RTM_GETNETCONF, AF_INET6, clear_nothing); /* there may be no IPv6 */
	sl_settings_read(m);
	sl_sync_filters(m);
	dump(m, RTM_GETNEIGHTBL, AF_UNSPEC, forget_patience);
	if ((err = dump_and_sweep(m, RTM_GETLINK, sl_link_clear_seen, sl_link_sweep)) ||
	    (err = dump_and_sweep(m, RTM_GETADDR, sl_address_clear_seen, sl_address_sweep)) ||
	    (err = dump_and_sweep(m, RTM_GETNEIGH, sl_neigh_clear_seen, sl_neigh_sweep)))
		return err;
	memset(&m->todo, 0, sizeof(m->todo)); /* what these dumps asked for comes now anyway */
	if ((err = sync_nhobjects(m)) || (err = sync_rules(m)) ||
	    (err = sync_routes(m, &m->rib4, 0)) || (err = sync_routes(m, &m->rib6, 0)))
		return err;
	sl_route_walk_changed(m, UINT32_MAX);
	return 0;
}

/*
 * An address is gone. Does a route still prefer it as its source? Then the kernel has removed that
 * route.
 */
static bool lost_source(struct sl_mirror *m)
{
	for (uint32_t i = 0; i < m->path_used; i++) {
		const struct sl_path *path = m->path[i];
		if (path && path->key.family == AF_INET && path->key.has_prefsrc &&
		    sl_path_is_gone(m, path))
			return true;
	}
	return false;
}

static int dump_todo(struct sl_mirror *m, const struct sl_todo *todo)
{
	const uint32_t through4 = todo->routes4 ? 0 : todo->routes_of;
	const uint32_t through6 = todo->routes6 ? 0 : todo->routes_of;
	int err = 0;

	if (todo->links)
		err = dump_and_sweep(m, RTM_GETLINK, sl_link_clear_seen, sl_link_sweep);
	if (!err && todo->rules)
		err = sync_rules(m);
	if (!err && todo->nhobjects)
		err = sync_nhobjects(m);
	if (!err && (todo->routes4 || todo->routes_of))
		err = sync_routes(m, &m->rib4, through4);
	if (!err && (todo->routes6 || todo->routes_of))
		err = sync_routes(m, &m->rib6, through6);
	return err;
}

/*
 * Dump what the kernel changed without a message. It may not have finished, and it may have sent
 * messages that make this unnecessary: so wait for it, and read those first.
 */
int sl_sync_todo(struct sl_mirror *m)
{
	struct sl_todo todo;
	int err = 0;

	if (!m->todo.any)
		return 0;
	sl_rtnl_barrier(m->requests);
	err = sl_sync_drain(m, DRAIN_BATCHES);
	if (err && err != -EAGAIN)
		return err;
	if (err != -EAGAIN && m->todo.postponed++ < POSTPONE_MAX)
		return 0;
	todo = m->todo;
	if (todo.everything) {
		const uint64_t before = m->changes;
		m->stats.resyncs++;
		err = sl_sync_everything(m);
		m->stats.resync_changes += m->changes - before;
		return err;
	}
	memset(&m->todo, 0, sizeof(m->todo));
	if (todo.lost_sources && lost_source(m))
		todo.routes4 = true;
	return dump_todo(m, &todo);
}

int sl_sync_hooks(const struct sl_mirror *m, char name[SL_FILTER_NAME_BYTES])
{
	return m->ops->netfilter_hooks ? m->ops->netfilter_hooks(m->ctx, name) : 0;
}

void sl_sync_filters(struct sl_mirror *m)
{
	char name[SL_FILTER_NAME_BYTES];
	struct sl_filters found;

	sl_filter_watch_read(m->filters, &found);
	m->hooks = sl_sync_hooks(m, name);
	if (m->hooks && !found.netfilter)
		memcpy(found.netfilter_name, name, sizeof(name));
	found.netfilter |= m->hooks;
	if (m->ignore_netfilter)
		found.netfilter = 0;
	m->stats.xfrm4 = found.xfrm & SL_FILTER_IP4;
	m->stats.xfrm6 = found.xfrm & SL_FILTER_IP6;
	m->stats.netfilter4 = found.netfilter & SL_FILTER_IP4;
	m->stats.netfilter6 = found.netfilter & SL_FILTER_IP6;
	memcpy(m->stats.xfrm, found.xfrm_name, sizeof(m->stats.xfrm));
	memcpy(m->stats.netfilter, found.netfilter_name, sizeof(m->stats.netfilter));
	if (found.xfrm == m->xfrm && found.netfilter == m->netfilter)
		return;
	m->xfrm = found.xfrm;
	m->netfilter = found.netfilter;
	m->changes++;
	sl_link_update_all(m);
}

/* Dump everything again: is there memory for all of it now? */
static int find_room(struct sl_mirror *m)
{
	const uint64_t before = m->starvations;
	int err = sl_sync_everything(m);

	if (err)
		return err;
	sl_route_again(m);
	m->stats.starved = m->starvations != before;
	m->ports_dirty = true;
	return 0;
}

/* These may change without a message: settings of links, and how long neighbours are trusted. */
int sl_sync_period(struct sl_mirror *m)
{
	int err = dump(m, RTM_GETLINK, AF_UNSPEC, clear_nothing);

	if (!err)
		err = dump(m, RTM_GETNEIGHTBL, AF_UNSPEC, forget_patience);
	if (!err && m->stats.starved)
		err = find_room(m);
	return err == -EINTR ? 0 : err;
}
