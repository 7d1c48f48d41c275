/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes, as messages of rtnetlink: they go through the parsers, and what those accept goes
 * through the mirror, over a fib that aborts when the mirror breaks its contract (user/fib/fib.h):
 * by an unknown next hop, one destroyed while a prefix or a group names it, a group of groups, or a
 * prefix with host bits.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/rtnetlink.h>
#include <linux/xfrm.h>

#include "bpf/abi/forwarding.h"
#include "bpf/abi/l3_port.h"
#include "bpf/abi/reasons.h"
#include "user/mirror/mirror_route.h"
#include "user/mirror/mirror_state.h"
#include "user/mirror/sync/mirror_poll.h"
#include "user/mirror/sync/mirror_sync.h"
#include "user/rtnl/filters.h"

enum { IDS = 1024, PREFIXES = 4096 };

struct sl_fib {
	struct {
		bool known, group;
		uint32_t members;
		uint32_t member[SL_GROUP_BUCKETS];
	} id[IDS];
	struct {
		struct sl_prefix prefix;
		uint32_t id; /* 0: free */
	} route[PREFIXES];
};

static struct sl_fib the_fib;

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void known(const struct sl_fib *fib, uint32_t id)
{
	check(id > 0 && id < IDS && fib->id[id].known);
}

int sl_fib_nexthop_create(struct sl_fib *fib, uint32_t *id)
{
	for (uint32_t i = 1; i < IDS; i++) {
		if (fib->id[i].known)
			continue;
		memset(&fib->id[i], 0, sizeof(fib->id[i]));
		fib->id[i].known = true;
		*id = i;
		return 0;
	}
	return -ENOSPC;
}

static int set(struct sl_fib *fib, uint32_t id)
{
	known(fib, id);
	fib->id[id].group = false;
	fib->id[id].members = 0;
	return 0;
}

int sl_fib_nexthop_set_adj(struct sl_fib *fib, uint32_t id, const struct sl_adj *adj)
{
	check(adj->port_ifindex && adj->vlan_tags <= 2);
	return set(fib, id);
}

int sl_fib_nexthop_set_punt(struct sl_fib *fib, uint32_t id, enum sl_punt reason)
{
	check(reason < SL_PUNT_COUNT);
	return set(fib, id);
}

int sl_fib_nexthop_set_drop(struct sl_fib *fib, uint32_t id, enum sl_drop reason)
{
	check(reason < SL_DROP_COUNT);
	return set(fib, id);
}

int sl_fib_nexthop_set_group(struct sl_fib *fib, uint32_t id, const struct sl_member *members,
			     uint32_t n)
{
	known(fib, id);
	check(n >= 1 && n <= SL_GROUP_BUCKETS);
	fib->id[id].group = true;
	fib->id[id].members = n;
	for (uint32_t i = 0; i < n; i++) {
		known(fib, members[i].nexthop_id);
		check(!fib->id[members[i].nexthop_id].group && members[i].weight >= 1);
		fib->id[id].member[i] = members[i].nexthop_id;
	}
	return 0;
}

void sl_fib_nexthop_destroy(struct sl_fib *fib, uint32_t id)
{
	known(fib, id);
	for (uint32_t i = 0; i < PREFIXES; i++)
		check(fib->route[i].id != id);
	for (uint32_t i = 1; i < IDS; i++)
		for (uint32_t at = 0; fib->id[i].known && i != id && at < fib->id[i].members; at++)
			check(fib->id[i].member[at] != id);
	fib->id[id].known = false;
}

bool sl_fib_nexthop_used(struct sl_fib *fib, uint32_t id)
{
	known(fib, id);
	return id & 1;
}

static bool host_bits(const struct sl_prefix *p)
{
	const int bits = p->family == AF_INET ? 32 : 128;

	for (int bit = p->len; bit < bits; bit++)
		if (p->addr[bit / 8] & 0x80 >> bit % 8)
			return true;
	return false;
}

static uint32_t find(const struct sl_fib *fib, const struct sl_prefix *prefix)
{
	uint32_t i = 0;

	while (i < PREFIXES &&
	       !(fib->route[i].id && !memcmp(&fib->route[i].prefix, prefix, sizeof(*prefix))))
		i++;
	return i;
}

int sl_fib_insert(struct sl_fib *fib, const struct sl_prefix *prefix, uint32_t id)
{
	uint32_t i = find(fib, prefix);

	known(fib, id);
	check(!host_bits(prefix));
	for (uint32_t at = 0; i == PREFIXES && at < PREFIXES; at++)
		if (!fib->route[at].id)
			i = at;
	check(i < PREFIXES); /* no input is long enough for so many */
	fib->route[i].prefix = *prefix;
	fib->route[i].id = id;
	return 0;
}

int sl_fib_delete(struct sl_fib *fib, const struct sl_prefix *prefix)
{
	const uint32_t i = find(fib, prefix);

	if (i == PREFIXES)
		return -ENOENT;
	fib->route[i].id = 0;
	return 0;
}

/* --- The rest of the world --- */

static bool is_port(void *ctx, uint32_t ifindex)
{
	(void)ctx;
	return ifindex % 4 != 0;
}

static void port_set(void *ctx, const struct sl_port *port, const struct sl_vlan_key *vlan)
{
	(void)ctx;
	check(port->ifindex && vlan->port_ifindex);
}

static void port_clear(void *ctx, uint32_t ifindex, const struct sl_vlan_key *vlan)
{
	(void)ctx;
	check(ifindex && vlan->port_ifindex);
}

static void link_event(void *ctx, uint32_t ifindex, const char *name, bool present, bool up)
{
	(void)ctx;
	check(ifindex && strlen(name) < IF_NAMESIZE && (present || !up));
}

static const struct sl_mirror_ops ops = {
	.is_port = is_port, .port_set = port_set, .port_clear = port_clear, .link_event = link_event
};

/*
 * Input: records of a type (an index below), flags, a length of 16 bits, and the payload after the
 * message's header. The first bit of flags makes it part of a dump; two of its types end one.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint16_t types[] = {
		RTM_NEWLINK,
		RTM_DELLINK,
		RTM_NEWADDR,
		RTM_DELADDR,
		RTM_NEWNEIGH,
		RTM_DELNEIGH,
		RTM_NEWROUTE,
		RTM_DELROUTE,
		RTM_NEWNEXTHOP,
		RTM_DELNEXTHOP,
		RTM_NEWRULE,
		RTM_NEWNETCONF,
		RTM_NEWNEIGHTBL,
		/* of other families, whose numbers differ from all of these */
		XFRM_MSG_NEWPOLICY,
		XFRM_MSG_GETDEFAULT,
		NFNL_SUBSYS_NFTABLES << 8 | NFT_MSG_NEWCHAIN,
	};
	enum { TYPES = sizeof(types) / sizeof(types[0]), HEAD = 4 };
	char filter[SL_FILTER_NAME_BYTES];
	struct sl_mirror *m = NULL;

	memset(&the_fib, 0, sizeof(the_fib));
	check(sl_mirror_create(&the_fib, &ops, NULL, &m) == 0);
	while (size > HEAD) {
		const uint8_t type = data[0], flags = data[1];
		uint32_t len = data[2] | (uint32_t)data[3] << 8;
		data += HEAD;
		size -= HEAD;
		if (len > size)
			len = (uint32_t)size;
		/* Exactly as large as the message, so that the sanitizer sees a read beyond it. */
		struct nlmsghdr *nlh = malloc(NLMSG_HDRLEN + len);
		check(nlh != NULL);
		*nlh = (struct nlmsghdr){ .nlmsg_len = NLMSG_HDRLEN + len,
					  .nlmsg_type = types[type % TYPES] };
		if (flags & 2)
			nlh->nlmsg_flags |= NLM_F_REPLACE;
		if (flags & 4)
			nlh->nlmsg_flags |= NLM_F_APPEND;
		memcpy((uint8_t *)nlh + NLMSG_HDRLEN, data, len);
		m->dumping = m->dumping_all = flags & 1;
		sl_mirror_message(m, nlh);
		sl_filters_parse_xfrm(nlh, filter);
		sl_filters_parse_chain(nlh, filter);
		m->dumping = m->dumping_all = false;
		sl_route_walk_changed(m, UINT32_MAX);
		if (flags & 8)
			sl_route_clear_seen(flags & 16 ? &m->rib4 : &m->rib6);
		if (flags & 32)
			sl_route_sweep(m, flags & 16 ? &m->rib4 : &m->rib6, flags >> 6);
		free(nlh);
		data += len;
		size -= len;
	}
	sl_mirror_close(m);
	return 0;
}
