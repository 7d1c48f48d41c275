/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <linux/rtnetlink.h>

#include "user/cluster/cluster.h"
#include "user/cluster/cluster_kernel.h"
#include "user/cluster/cluster_receive.h"
#include "user/cluster/cluster_send.h"
#include "user/cluster/cluster_state.h"
#include "user/lib/clock.h"
#include "user/lib/log.h"
#include "user/rtnl/rtnl.h"

enum {
	EVENT_BUFFER = 8 << 20, /* bytes of netlink events that may wait */
	EVENT_BATCHES = 16,	/* batches of netlink events in one poll */
	/* a reading of the own state is followed by a pause ten times as long */
	READ_SHARE = 10,
};

int sl_cluster_fd(const struct sl_cluster *c)
{
	return c->epoll_fd;
}

/* --- Events of the kernel --- */

static void read_soon(struct sl_cluster *c)
{
	uint64_t due = sl_now_ns() + SL_CLUSTER_COALESCE_MS * SL_NS_PER_MS;

	if (due < c->read_after_ns)
		due = c->read_after_ns;
	if (due < c->read_ns)
		c->read_ns = due;
}

/*
 * The fabric's netdev, or an address on it, has come. The routes over it vanished with it; now the
 * kernel accepts them again.
 */
static void event_fabric(struct sl_cluster *c, uint32_t ifindex)
{
	if (sl_cluster_has_fabric(c->settings) && ifindex == if_nametoindex(c->settings->device))
		c->refresh_ns = 0;
}

static void event_link(struct sl_cluster *c, const struct nlmsghdr *nlh)
{
	struct sl_remote_port *port;
	struct sl_rtnl_link link;

	if (sl_rtnl_parse_link(nlh, &link))
		return;
	port = sl_cluster_port_by_ifindex(c, link.ifindex);
	if (!port) {
		struct sl_local_port *own = sl_local_port_by_ifindex(&c->local, link.ifindex);

		if (own && !(link.flags & IFF_UP && link.flags & IFF_RUNNING))
			own->fell = true;
		read_soon(c);
		if (!link.removed && link.flags & IFF_UP)
			event_fabric(c, link.ifindex);
		return;
	}
	if (link.removed)
		c->refresh_ns = 0; /* refresh makes it again */
	else if (link.flags & IFF_UP && sl_cluster_peer(c, port->system_port >> 8))
		sl_peer_ensure(c, sl_cluster_peer(c, port->system_port >> 8));
}

static void event_addr(struct sl_cluster *c, const struct nlmsghdr *nlh)
{
	struct sl_rtnl_addr addr;

	read_soon(c);
	if (!sl_rtnl_parse_addr(nlh, &addr) && !addr.removed)
		event_fabric(c, addr.ifindex);
}

static void event_neigh(struct sl_cluster *c, const struct nlmsghdr *nlh)
{
	const struct sl_remote_port *port;
	struct sl_rtnl_neigh neigh;

	if (sl_rtnl_parse_neigh(nlh, &neigh))
		return;
	port = sl_cluster_port_by_ifindex(c, neigh.ifindex);
	if (port && nlh->nlmsg_type == RTM_GETNEIGH)
		sl_cluster_want(c, port->system_port, neigh.family, neigh.addr);
	else if (sl_local_port_by_ifindex(&c->local, neigh.ifindex))
		read_soon(c);
}

static void on_event(void *ctx, const struct nlmsghdr *nlh)
{
	struct sl_cluster *c = ctx;

	switch (nlh->nlmsg_type) {
	case RTM_NEWLINK:
	case RTM_DELLINK:
		event_link(c, nlh);
		break;
	case RTM_NEWADDR:
	case RTM_DELADDR:
		event_addr(c, nlh);
		break;
	case RTM_NEWNEIGH:
	case RTM_DELNEIGH:
	case RTM_GETNEIGH:
		event_neigh(c, nlh);
		break;
	}
}

static int poll_events(struct sl_cluster *c)
{
	int err = 0;

	for (int i = 0; i < EVENT_BATCHES && !err; i++) {
		err = sl_rtnl_receive(c->events, on_event, c);
		if (err == -ENOBUFS) { /* events were lost: read everything again */
			read_soon(c);
			c->refresh_ns = 0;
			err = 0;
		}
	}
	return err == -EAGAIN ? 0 : err;
}

/* --- What is due --- */

static void read_local(struct sl_cluster *c)
{
	const uint32_t before = c->local.here_changes;
	const uint64_t begin_ns = sl_now_ns();
	int changed = sl_local_read(&c->local, c->dumps);
	uint64_t end_ns = sl_now_ns();

	c->read_ns = SL_NEVER;
	c->read_after_ns = end_ns + READ_SHARE * (end_ns - begin_ns);
	if (changed < 0) {
		if (changed != -EINTR)
			sl_warning("cluster: cannot read this node's state: %s",
				   strerror(-changed));
		c->read_ns = c->read_after_ns;
	}
	if (changed <= 0)
		return;
	c->generation++;
	c->repeat_ns = 0;
	if (c->local.here_changes != before)
		for (uint32_t i = 0; i < c->n_peers; i++)
			sl_peer_apply(c, &c->peers[i]);
}

static int want_used(void *ctx, const struct sl_neighbour_view *view)
{
	struct sl_cluster *c = ctx;
	const struct sl_remote_port *port =
		view->in_use ? sl_cluster_port_by_ifindex(c, view->l3_ifindex) : NULL;

	if (!port)
		return 0;
	if (c->n_wanted == SL_WANTED_MAX)
		sl_cluster_send_wanted(c);
	sl_cluster_want(c, port->system_port, view->family, view->addr);
	return 0;
}

static void peer_expire(struct sl_cluster *c, struct sl_peer *peer)
{
	if (peer->up || peer->changing || !peer->n_entries ||
	    sl_now_ns() - peer->down_since_ns < SL_CLUSTER_EXPIRY_S * 1000 * SL_NS_PER_MS)
		return;
	sl_event("peer-removed", SL_LOG_FIELDS({ "node", NULL, peer->node }),
		 "cluster: node %u: its routes and neighbours are removed", peer->node);
	sl_peer_forget(c, peer);
}

static void refresh(struct sl_cluster *c)
{
	const struct sl_mirror *mirror = c->ops->mirror(c->ctx);

	c->refresh_ns = sl_now_ns() + SL_CLUSTER_REFRESH_S * 1000 * SL_NS_PER_MS;
	sl_cluster_make_ports(c);
	for (uint32_t i = 0; i < c->n_peers; i++) {
		sl_peer_ensure(c, &c->peers[i]);
		peer_expire(c, &c->peers[i]);
	}
	if (mirror)
		sl_mirror_each_neighbour(mirror, want_used, c);
	read_soon(c);
}

static void do_due(struct sl_cluster *c)
{
	const uint64_t now = sl_now_ns();

	if (now >= c->connect_ns)
		sl_cluster_connect(c);
	if (now >= c->refresh_ns)
		refresh(c);
	if (now >= c->read_ns)
		read_local(c);
	sl_cluster_send_wanted(c);
	c->work_ns = SL_NEVER;
	for (uint32_t i = 0; i < c->n_peers; i++)
		if (sl_peer_work(c, &c->peers[i]))
			c->work_ns = 0;
	if (now >= c->repeat_ns) {
		sl_cluster_announce(c, 0);
		c->repeat_ns = now + SL_CLUSTER_REPEAT_MS * SL_NS_PER_MS;
	}
}

static int arm(struct sl_cluster *c)
{
	const uint64_t due[] = { c->read_ns, c->repeat_ns, c->connect_ns, c->refresh_ns,
				 c->work_ns };
	struct itimerspec spec = { 0 };
	uint64_t first = SL_NEVER;

	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		first = due[i] < first ? due[i] : first;
	if (first == c->armed_ns)
		return 0;
	c->armed_ns = first;
	first = first ? first : 1; /* 0 would disarm it */
	spec.it_value.tv_sec = (time_t)(first / 1000000000ULL);
	spec.it_value.tv_nsec = (long)(first % 1000000000ULL);
	return timerfd_settime(c->timer_fd, TFD_TIMER_ABSTIME, &spec, NULL) ? -errno : 0;
}

void sl_cluster_send_claims(struct sl_cluster *c, uint8_t node, const struct sl_announce_part *part)
{
	const struct sl_peer *peer = sl_cluster_peer(c, node);

	if (peer && peer->up)
		sl_cluster_send_part(c, node, part);
}

void sl_cluster_send_flow(struct sl_cluster *c, uint16_t system_port,
			  const struct sl_flow_key *flow, uint32_t weight)
{
	if (c->relay.fd >= 0)
		sl_cluster_tell_flow(c, system_port, flow, weight);
}

bool sl_cluster_has_bridge(const struct sl_cluster *c)
{
	return c->relay.fd >= 0;
}

int sl_cluster_poll(struct sl_cluster *c)
{
	uint64_t expirations;
	int err;

	if (read(c->timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations))
		c->armed_ns = SL_NEVER;
	sl_cluster_poll_relay(c);
	err = poll_events(c);
	if (err)
		return err;
	do_due(c);
	return arm(c);
}

/* --- Opening --- */

static int watch(const struct sl_cluster *c, int fd)
{
	struct epoll_event event = { .events = EPOLLIN, .data.fd = fd };

	return epoll_ctl(c->epoll_fd, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

static int open_sockets(struct sl_cluster *c)
{
	static const uint32_t groups[] = { RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_IPV4_IFADDR,
					   RTNLGRP_IPV6_IFADDR };
	int err;

	c->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	c->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (c->epoll_fd < 0 || c->timer_fd < 0)
		return -errno;
	err = sl_rtnl_open_events(groups, sizeof(groups) / sizeof(groups[0]), EVENT_BUFFER,
				  &c->events);
	if (!err)
		err = sl_rtnl_open(&c->dumps);
	if (!err)
		err = sl_rtnl_request_open(&c->requests);
	if (!err)
		err = watch(c, c->timer_fd);
	return err ? err : watch(c, sl_rtnl_fd(c->events));
}

/*
 * A generation rises by less than one a millisecond. A daemon that starts from the uptime in
 * milliseconds begins above all generations of its earlier lives.
 */
static uint32_t first_generation(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint32_t)((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000);
}

int sl_cluster_open(const struct sl_cluster_settings *settings, const struct sl_cluster_ops *ops,
		    void *ctx, struct sl_cluster **out)
{
	struct sl_cluster *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;

	*out = NULL;
	if (!c)
		return err;
	c->settings = settings;
	c->ops = ops;
	c->ctx = ctx;
	c->relay.fd = c->epoll_fd = c->timer_fd = -1;
	c->armed_ns = SL_NEVER;
	c->generation = first_generation();
	c->refresh_ns = sl_now_ns() + SL_CLUSTER_REFRESH_S * 1000 * SL_NS_PER_MS;
	err = sl_cluster_make_lists(c);
	if (!err)
		err = open_sockets(c);
	if (!err) {
		sl_cluster_make_ports(c); /* a failure was logged; refresh tries again */
		err = sl_cluster_adopt(c);
	}
	if (!err)
		err = arm(c);
	if (err) {
		sl_error("cluster: cannot start: %s", strerror(-err));
		sl_cluster_close(c);
	} else {
		*out = c;
	}
	return err;
}

void sl_cluster_take_charge(struct sl_cluster *c)
{
	sl_cluster_delete_stale_ports(c);
	sl_cluster_make_ports(c);
	for (uint32_t i = 0; i < c->n_peers; i++)
		sl_peer_ensure(c, &c->peers[i]);
	c->work_ns = 0;
	arm(c);
}

void sl_cluster_close(struct sl_cluster *c)
{
	if (!c)
		return;
	sl_cluster_free_lists(c);
	sl_relay_disconnect(&c->relay);
	sl_rtnl_request_close(c->requests);
	sl_rtnl_close(c->dumps);
	sl_rtnl_close(c->events);
	if (c->timer_fd >= 0)
		close(c->timer_fd);
	if (c->epoll_fd >= 0)
		close(c->epoll_fd);
	free(c);
}

void sl_cluster_remove_all(struct sl_cluster *c)
{
	for (uint32_t i = 0; i < c->n_peers; i++) {
		sl_peer_forget(c, &c->peers[i]);
		while (sl_peer_work(c, &c->peers[i]))
			;
	}
	sl_cluster_delete_ports(c);
}
