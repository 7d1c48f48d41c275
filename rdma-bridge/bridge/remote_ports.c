/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/bridge/remote_ports.h"

#include <string.h>

#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/lane_threads.h"
#include "rdma-bridge/bridge/voq_maps.h"
#include "rdma-bridge/port/kernel_egress.h"
#include "rdma-bridge/port/tap.h"
#include "user/ipc/relay.h"
#include "user/lib/log.h"

static void set_carrier(const struct rb_bridge *b, const struct rb_bridge_remote *remote)
{
	bool reachable = rb_bridge_peer_state(b, (uint8_t)(remote->system_port >> 8)) == RB_PEER_UP;
	int err;

	if (!remote->tap)
		return;
	err = rb_tap_carrier(remote->tap, remote->up && reachable);
	if (err)
		sl_warning("remote port n%up%u: cannot set the carrier: %s",
			   remote->system_port >> 8, remote->system_port & 0xff, strerror(-err));
}

void rb_bridge_set_carriers(struct rb_bridge *b, uint8_t node)
{
	for (uint32_t i = 0; i < b->n_remotes; i++)
		if (b->remotes[i].system_port >> 8 == node)
			set_carrier(b, &b->remotes[i]);
}

static void link_tap(struct rb_bridge *b, struct rb_bridge_remote *remote)
{
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		rb_ingress_add_input(rb_bridge_ingress(b, remote), remote->first_voq + c,
				     rb_tap_input(remote->tap, c));
	rb_watch(b->sockets_fd, rb_tap_fd(remote->tap), remote);
}

static void open_tap(struct rb_bridge *b, struct rb_bridge_remote *remote)
{
	const struct rb_lane *lane = rb_bridge_lane(b, remote->system_port);
	char name[IF_NAMESIZE];
	int err;

	sl_relay_tap_name(remote->system_port, name);
	err = rb_tap_open(name, &b->maps, lane->chunks, lane->worker->counters, &remote->tap);
	if (err) {
		sl_warning("remote port %s: cannot open its TAP: %s", name, strerror(-err));
		return;
	}
	link_tap(b, remote);
}

void rb_bridge_close_tap(struct rb_bridge *b, struct rb_bridge_remote *remote)
{
	if (!remote->tap)
		return;
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		rb_ingress_remove_input(rb_bridge_ingress(b, remote), remote->first_voq + c,
					rb_tap_input(remote->tap, c));
	if (remote->kernel)
		rb_kernel_egress_close(remote->kernel);
	else
		rb_tap_close(remote->tap);
	remote->kernel = NULL;
	remote->tap = NULL;
}

void rb_bridge_close_taps(struct rb_bridge *b)
{
	for (uint32_t i = 0; i < b->n_remotes; i++)
		rb_bridge_close_tap(b, &b->remotes[i]);
}

void rb_bridge_remote_port_changed(struct rb_bridge *b, uint16_t system_port, bool up, bool gone)
{
	for (uint32_t i = 0; i < b->n_remotes; i++) {
		struct rb_bridge_remote *remote = &b->remotes[i];

		if (remote->system_port != system_port)
			continue;
		remote->up = up;
		if (gone || !remote->tap) {
			rb_bridge_halt(b);
			if (gone)
				rb_bridge_close_tap(b, remote);
			else
				open_tap(b, remote);
			rb_bridge_release(b);
		}
		set_carrier(b, remote);
	}
}

static struct rb_bridge_remote *own_of(struct rb_bridge *b, const struct rb_bridge_port *port)
{
	for (uint32_t i = 0; i < b->n_remotes; i++)
		if (b->remotes[i].system_port == port->system_port)
			return &b->remotes[i];
	return NULL;
}

bool rb_bridge_is_taken_from_kernel(struct rb_bridge *b, const struct rb_bridge_port *port)
{
	const struct rb_bridge_remote *own = own_of(b, port);

	return !own || own->kernel;
}

void rb_bridge_take_from_kernel(struct rb_bridge *b, const struct rb_bridge_port *port)
{
	struct rb_bridge_remote *own = own_of(b, port);
	const struct rb_lane *lane = rb_bridge_lane(b, port->system_port);
	int err = 0;

	if (!own) {
		rb_kernel_egress_forget(port->ifindex);
		return;
	}
	if (!own->kernel) {
		err = rb_kernel_egress_open((uint8_t)port->settings->number, &b->maps, lane->chunks,
					    lane->worker->counters, &own->kernel);
		own->tap = err ? NULL : rb_kernel_egress_tap(own->kernel);
		if (!err)
			link_tap(b, own);
	}
	if (!err)
		err = rb_kernel_egress_attach(own->kernel, port->ifindex);
	if (err && err != own->kernel_err)
		sl_warning("port %s: what the kernel sends goes past the queues: %s",
			   port->settings->name, strerror(-err));
	own->kernel_err = err;
}

void rb_bridge_leave_to_kernel(struct rb_bridge *b, const struct rb_bridge_port *port)
{
	const struct rb_bridge_remote *own = own_of(b, port);

	if (own && own->kernel)
		rb_kernel_egress_detach(own->kernel);
}

void rb_bridge_kernel_alive(const struct rb_bridge *b, uint64_t now_ns)
{
	const uint64_t until_ns = now_ns + 1000000ULL * b->settings->cluster.liveness_ms;

	for (uint32_t i = 0; i < b->n_remotes; i++)
		if (b->remotes[i].kernel)
			rb_kernel_egress_alive(b->remotes[i].kernel, until_ns);
}

void rb_bridge_tap_ready(struct rb_bridge *b, const void *what)
{
	const uintptr_t first = (uintptr_t)b->remotes, end = (uintptr_t)(b->remotes + b->n_remotes);
	const struct rb_bridge_remote *remote = what;

	/* Events of other sockets name something else, or nothing. */
	if ((uintptr_t)what < first || (uintptr_t)what >= end || !remote->tap)
		return;
	rb_tap_ready(remote->tap);
	rb_bridge_wake(b, remote->system_port);
}
