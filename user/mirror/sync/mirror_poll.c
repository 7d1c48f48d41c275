/* SPDX-License-Identifier: BSD-2-Clause */
/* The mirror's life: open, wait, poll, close. */
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <linux/rtnetlink.h>

#include "user/lib/clock.h"
#include "user/mirror/mirror_route.h"
#include "user/mirror/mirror_state.h"
#include "user/mirror/sync/filter_watch.h"
#include "user/mirror/sync/mirror_poll.h"
#include "user/mirror/sync/mirror_settings.h"
#include "user/mirror/sync/mirror_sync.h"
#include "user/rtnl/rtnl_socket.h"

enum {
	POLL_BATCHES = 32,  /* of messages, in one poll */
	POLL_ROUTES = 2048, /* whose path changed, in one poll: some milliseconds */
	EVENT_BUFFER_BYTES = 64 * 1024 * 1024, /* a burst of 100,000 route events */
};

/* --- Open and close --- */

static int make_fixed_nexthops(struct sl_mirror *m)
{
	int err = 0;

	for (uint32_t i = 0; i < SL_PUNT_COUNT && !err; i++) {
		err = sl_fib_nexthop_create(m->fib, &m->punt_id[i]);
		if (!err)
			err = sl_fib_nexthop_set_punt(m->fib, m->punt_id[i], (enum sl_punt)i);
	}
	if (!err)
		err = sl_fib_nexthop_create(m->fib, &m->blackhole_id);
	if (!err)
		err = sl_fib_nexthop_set_drop(m->fib, m->blackhole_id, SL_DROP_BLACKHOLE);
	return err;
}

static int open_sockets(struct sl_mirror *m)
{
	static const uint32_t groups[] = {
		RTNLGRP_LINK,	    RTNLGRP_IPV4_IFADDR,  RTNLGRP_IPV6_IFADDR,	RTNLGRP_NEIGH,
		RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,	  RTNLGRP_NEXTHOP,	RTNLGRP_IPV4_RULE,
		RTNLGRP_IPV6_RULE,  RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF,
	};
	int err = sl_rtnl_open_events(groups, sizeof(groups) / sizeof(groups[0]),
				      EVENT_BUFFER_BYTES, &m->events);

	return err ? err : sl_rtnl_open(&m->requests);
}

static int open_epoll(struct sl_mirror *m)
{
	struct epoll_event readable = { .events = EPOLLIN };

	m->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	m->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (m->epoll_fd < 0 || m->timer_fd < 0 ||
	    epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, m->timer_fd, &readable) ||
	    epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, sl_rtnl_fd(m->events), &readable))
		return -errno;
	for (int i = 0; i < SL_FILTER_WATCH_FDS; i++) {
		const int fd = sl_filter_watch_fd(m->filters, i);
		if (fd >= 0 && epoll_ctl(m->epoll_fd, EPOLL_CTL_ADD, fd, &readable))
			return -errno;
	}
	return 0;
}

static void arm(struct sl_mirror *m)
{
	uint64_t due = m->probe_due_ns < m->period_due_ns ? m->probe_due_ns : m->period_due_ns;
	struct itimerspec at = { 0 };

	if (m->todo.any || m->ports_dirty || sl_route_walk_pending(m) || !due)
		due = 1; /* at once: 0 would disarm */
	if (due == m->armed_ns)
		return;
	m->armed_ns = due;
	at.it_value.tv_sec = (time_t)(due / 1000000000ULL);
	at.it_value.tv_nsec = (long)(due % 1000000000ULL);
	timerfd_settime(m->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
}

int sl_mirror_create(struct sl_fib *fib, const struct sl_mirror_ops *ops, void *ctx,
		     struct sl_mirror **out)
{
	struct sl_mirror *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->fib = fib;
	m->ops = ops;
	m->ctx = ctx;
	m->above = &sl_mirror_above;
	m->epoll_fd = m->timer_fd = -1;
	m->probe_due_ns = UINT64_MAX;
	LIST_INIT(&m->wanted);
	if ((err = sl_htable_init(&m->links)) || (err = sl_htable_init(&m->addresses)) ||
	    (err = sl_htable_init(&m->neighs)) || (err = sl_htable_init(&m->hops)) ||
	    (err = sl_htable_init(&m->nhobjects)) || (err = sl_htable_init(&m->paths)) ||
	    (err = sl_rib_init(&m->rib4, AF_INET)) || (err = sl_rib_init(&m->rib6, AF_INET6)) ||
	    (err = make_fixed_nexthops(m))) {
		sl_mirror_close(m);
		return err;
	}
	*out = m;
	return 0;
}

int sl_mirror_open(struct sl_fib *fib, const struct sl_mirror_ops *ops, void *ctx,
		   struct sl_mirror **out)
{
	struct sl_mirror *m = NULL;
	int err = sl_mirror_create(fib, ops, ctx, &m);

	if (err)
		return err;
	m->busy = true;
	if ((err = sl_filter_watch_open(&m->filters)) || (err = open_sockets(m)) ||
	    (err = open_epoll(m)) || (err = sl_sync_everything(m)))
		goto out;
	m->busy = false;
	m->stats.synced = true;
	arm(m);
	*out = m;
	return 0;
out:
	sl_mirror_close(m);
	return err;
}

static void free_all(struct sl_htable *t, size_t node_offset)
{
	if (!t->bucket)
		return;
	sl_htable_for_each(t, node, next) free((char *)node - node_offset);
	sl_htable_fini(t);
}

/* This only frees memory: the fib stays as it is, so no route is removed from it. */
void sl_mirror_close(struct sl_mirror *m)
{
	if (!m)
		return;
	if (m->nhobjects.bucket)
		sl_htable_for_each(&m->nhobjects, node, next)
		{
			struct sl_nhobject *o = sl_container_of(node, struct sl_nhobject, node);
			free(o->hop); /* private: in no table */
			free(o->member);
		}
	free_all(&m->links, offsetof(struct sl_link, node));
	free_all(&m->addresses, offsetof(struct sl_address, node));
	free_all(&m->neighs, offsetof(struct sl_neigh, node));
	free_all(&m->hops, offsetof(struct sl_hop, node));
	free_all(&m->nhobjects, offsetof(struct sl_nhobject, node));
	free_all(&m->paths, offsetof(struct sl_path, node));
	free(m->path);
	sl_rib_fini(&m->rib4);
	sl_rib_fini(&m->rib6);
	sl_rtnl_close(m->events);
	sl_rtnl_close(m->requests);
	sl_filter_watch_close(m->filters);
	if (m->epoll_fd >= 0)
		close(m->epoll_fd);
	if (m->timer_fd >= 0)
		close(m->timer_fd);
	free(m);
}

/* --- Poll --- */

int sl_mirror_fd(const struct sl_mirror *m)
{
	return m->epoll_fd;
}

/*
 * up_to_date: no event waits. Else a neighbour may have become permanent meanwhile, which our
 * request (NTF_USE) would undo. Then neighbours wait until the events are read.
 */
static int tick(struct sl_mirror *m, bool up_to_date)
{
	const uint64_t now_ns = sl_now_ns();
	uint64_t expirations;
	int err = 0;

	if (read(m->timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations))
		m->armed_ns = 0;
	if (now_ns >= m->period_due_ns)
		err = sl_sync_period(m);
	if (m->retry) {
		m->retry = false;
		sl_hop_retry(m);
		sl_nhobject_update_all(m);
		sl_path_retry(m);
	}
	if (up_to_date && !m->todo.everything)
		sl_neigh_tick(m, now_ns);
	return err;
}

static void update_all(struct sl_mirror *m)
{
	sl_link_update_all(m);
	sl_nhobject_update_all(m);
	sl_path_update_all(m);
}

int sl_mirror_poll(struct sl_mirror *m)
{
	bool up_to_date;
	int err;

	m->busy = true;
	if (m->filters && sl_filter_watch_changed(m->filters))
		sl_sync_filters(m);
	err = sl_sync_drain(m, POLL_BATCHES);
	up_to_date = err == -EAGAIN;
	if (err == -EAGAIN || !err)
		err = sl_sync_todo(m);
	if (err == -EAGAIN || !err)
		err = tick(m, up_to_date);
	/* The kernel is too busy to answer: later, all is read again. */
	if (err == -ETIMEDOUT) {
		m->todo.any = m->todo.everything = true;
		err = 0;
	}
	if (m->ports_dirty) {
		m->ports_dirty = false;
		update_all(m);
	}
	sl_route_walk_changed(m, POLL_ROUTES);
	m->busy = false;
	arm(m);
	return err;
}

static void read_filters(struct sl_mirror *m)
{
	m->busy = true;
	sl_sync_filters(m);
	m->busy = false;
	arm(m);
}

void sl_mirror_tick(struct sl_mirror *m)
{
	char name[SL_FILTER_NAME_BYTES];

	if (sl_filter_watch_due(m->filters) || sl_sync_hooks(m, name) != m->hooks)
		read_filters(m);
	m->busy = true;
	sl_settings_read(m);
	m->busy = false;
	arm(m);
}

void sl_mirror_ignore_netfilter(struct sl_mirror *m, bool ignore)
{
	if (m->ignore_netfilter == ignore)
		return;
	m->ignore_netfilter = ignore;
	read_filters(m);
}

void sl_mirror_ports_changed(struct sl_mirror *m)
{
	if (m->busy) { /* called from a callback: at the end of the poll */
		m->ports_dirty = true;
		return;
	}
	update_all(m);
	arm(m);
}

struct sl_hop *sl_mirror_hop_hold(struct sl_mirror *m, uint32_t ifindex, uint8_t mtu_family,
				  uint8_t family, const uint8_t addr[16], uint32_t *id)
{
	struct sl_hop_key key = { .ifindex = ifindex,
				  .mtu_family = mtu_family,
				  .gateway_family = family };
	struct sl_hop *hop;

	memcpy(key.gateway, addr, sizeof(key.gateway));
	hop = sl_hop_get(m, &key);
	if (hop && !hop->id) {
		sl_hop_put(m, hop);
		hop = NULL;
	}
	if (hop)
		*id = hop->id;
	arm(m);
	return hop;
}

void sl_mirror_hop_release(struct sl_mirror *m, struct sl_hop *hop)
{
	sl_hop_put(m, hop);
}

int sl_mirror_set_receive_buffer(struct sl_mirror *m, uint32_t bytes)
{
	return sl_rtnl_set_buffer(m->events, bytes);
}

void sl_mirror_stats(const struct sl_mirror *m, struct sl_mirror_stats *out)
{
	*out = m->stats;
	out->use_pmtu = m->use_pmtu;
	out->process_bytes =
		sizeof(*m) + sl_rib_bytes(&m->rib4) + sl_rib_bytes(&m->rib6) +
		m->links.n * sizeof(struct sl_link) + m->addresses.n * sizeof(struct sl_address) +
		m->neighs.n * sizeof(struct sl_neigh) + m->hops.n * sizeof(struct sl_hop) +
		m->nhobjects.n * sizeof(struct sl_nhobject) +
		m->paths.n * (sizeof(struct sl_path) + sizeof(struct sl_path_leg));
}
