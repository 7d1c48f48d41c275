/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/bridge/voq_maps.h"

#include <errno.h>
#include <string.h>

#include "rdma-bridge/bridge/lane.h"
#include "rdma-bridge/bridge/lane_threads.h"
#include "rdma-bridge/express/express_paths.h"
#include "rdma-bridge/queue/backlog.h"
#include "user/lib/log.h"

struct rb_ingress *rb_bridge_ingress(const struct rb_bridge *b,
				     const struct rb_bridge_remote *remote)
{
	return rb_bridge_lane(b, remote->system_port)
		->worker->peer[remote->system_port >> 8]
		->ingress;
}

/* Plus 1: the element of sl_express by which the frames leave; 0: there is no express way. */
static uint16_t path_plus1(const struct rb_bridge *b, const struct rb_bridge_remote *remote)
{
	const struct rb_lane *lane = rb_bridge_lane(b, remote->system_port);

	if (!b->lanes[0].express || !remote->express)
		return 0;
	return (uint16_t)((remote->system_port >> 8) * b->n_lanes + lane->index + 1);
}

static struct sl_backlog no_backlog; /* of all VOQs that have none in the maps; nobody reads it */

/* A VOQ in the maps, or without them: then only frames of remote ports' netdevs can come. */
static void point_voq(struct rb_bridge *b, struct rb_bridge_remote *remote, uint32_t class,
		      uint64_t now_ns)
{
	struct rb_ingress *in = rb_bridge_ingress(b, remote);
	const struct rb_lane *lane = rb_bridge_lane(b, remote->system_port);
	const bool known = b->maps.voq && remote->voq_id < b->maps.meta.n_voqs;
	const uint32_t id = remote->voq_id + class, local = remote->first_voq + class;
	struct sl_voq *voq = known ? &b->maps.voq[id] : &remote->open[class];
	struct sl_backlog *backlog = known ? &b->maps.backlog[id] : &no_backlog;

	remote->open[class] =
		(struct sl_voq){ .rate = SL_RATE_UNLIMITED, .burst = RB_BRIDGE_BURST_FRAMES };
	if (known && !voq->controller[0])
		*voq = (struct sl_voq){ .rate = SL_RATE_UNLIMITED,
					.burst = RB_BRIDGE_BURST_FRAMES,
					.limit_frames = b->settings->cluster.bridge.voq_frames,
					.controller = "fixed" };
	if (known) {
		rb_backlog_adopt(backlog, (uint8_t)lane->index);
		b->places[id] = (struct rb_bridge_place){ in, local, lane->index };
		backlog->path_plus1 = path_plus1(b, remote);
		backlog->own.until_ns = 0; /* as a bridge before us has left it */
	}
	rb_ingress_set_voq(in, local, remote->system_port, (uint8_t) class, voq, backlog, now_ns);
	/* Last: from now on sluiced leaves this VOQ to the port. */
	if (known)
		backlog->system_port = remote->system_port;
}

void rb_bridge_point_remote(struct rb_bridge *b, struct rb_bridge_remote *remote, uint64_t now_ns)
{
	remote->voq_id = b->maps.voq ? rb_maps_voq(&b->maps, remote->system_port) : SL_VOQS_MAX;
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		point_voq(b, remote, c, now_ns);
}

void rb_bridge_limit_voqs(struct rb_bridge *b, uint32_t from_frames, uint32_t to_frames)
{
	for (uint32_t i = 0; b->maps.voq && i < b->n_remotes; i++)
		for (uint32_t c = 0; c < SL_CLASSES; c++) {
			const uint32_t id = b->remotes[i].voq_id + c;
			struct sl_voq *voq = &b->maps.voq[id];

			/* XDP reads it meanwhile. One that somebody has set stays. */
			if (b->remotes[i].system_port && id < b->maps.meta.n_voqs &&
			    voq->limit_frames == from_frames)
				__atomic_store_n(&voq->limit_frames, to_frames, __ATOMIC_RELAXED);
		}
}

void rb_bridge_disown_remote(struct rb_bridge *b, struct rb_bridge_remote *remote, uint64_t now_ns)
{
	const uint32_t id = remote->voq_id;

	for (uint32_t c = 0; b->maps.voq && id < SL_VOQS_MAX && c < SL_CLASSES; c++) {
		b->places[id + c] = (struct rb_bridge_place){ 0 };
		b->maps.backlog[id + c].path_plus1 = 0;
		b->maps.backlog[id + c].own.until_ns = 0;
		b->maps.backlog[id + c].system_port = 0;
	}
	remote->voq_id = SL_VOQS_MAX;
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		point_voq(b, remote, c, now_ns);
}

void rb_bridge_set_path(struct rb_bridge *b, const struct rb_bridge_remote *remote)
{
	for (uint32_t c = 0; b->maps.voq && remote->voq_id < SL_VOQS_MAX && c < SL_CLASSES; c++)
		b->maps.backlog[remote->voq_id + c].path_plus1 = path_plus1(b, remote);
}

static bool is_pointed(const struct rb_bridge *b, const struct rb_bridge_remote *remote)
{
	return remote->voq_id < SL_VOQS_MAX &&
	       b->maps.system_ports[remote->voq_id / SL_CLASSES] == remote->system_port;
}

void rb_bridge_renew_voqs(struct rb_bridge *b, uint64_t now_ns)
{
	for (uint32_t i = 0; i < b->n_remotes; i++) {
		struct rb_bridge_remote *remote = &b->remotes[i];

		if (!remote->system_port || is_pointed(b, remote) ||
		    rb_maps_voq(&b->maps, remote->system_port) == remote->voq_id)
			continue;
		rb_bridge_halt(b);
		rb_bridge_disown_remote(b, remote, now_ns);
		rb_bridge_point_remote(b, remote, now_ns);
		rb_bridge_release(b);
	}
}

/* A bridge before us may have served other VOQs than we do: its configuration was another one. */
static void disown_voqs(struct rb_bridge *b)
{
	for (uint32_t i = 0; b->maps.voq && i < b->maps.meta.n_voqs; i++)
		if (!b->places[i].ingress)
			b->maps.backlog[i].system_port = 0;
}

void rb_bridge_point_voqs(struct rb_bridge *b, uint64_t now_ns)
{
	memset(b->places, 0, SL_VOQS_MAX * sizeof(*b->places));
	for (uint32_t i = 0; i < b->n_remotes; i++) {
		struct rb_bridge_remote *remote = &b->remotes[i];

		if (!remote->system_port)
			continue;
		remote->voq_id =
			b->maps.voq ? rb_maps_voq(&b->maps, remote->system_port) : SL_VOQS_MAX;
		for (uint32_t c = 0; c < SL_CLASSES; c++)
			point_voq(b, remote, c, now_ns);
	}
	disown_voqs(b);
	for (uint32_t i = 0; i < b->n_lanes; i++)
		rb_express_set_map(b->lanes[i].express, b->maps.express);
	for (uint32_t i = 0; i < b->n_lanes; i++)
		rb_rates_rewrite(b->lanes[i].worker->rates);
}

static void log_maps(const struct rb_bridge *b, int err)
{
	const char *dir = b->settings->pin_dir;

	if (!err)
		sl_info("maps of \"%s\": VOQs of %u ports", dir, b->settings->cluster.table.n);
	else if (err == -ENOENT)
		sl_info("waiting for sluiced to pin its maps in \"%s\"", dir);
	else if (err == -EPROTO)
		sl_warning("the maps in \"%s\" are of another version of sluice than %u", dir,
			   SL_ABI_VERSION);
	else if (err == -ENODATA)
		sl_warning("the maps in \"%s\" are not for this cluster: sluiced has another "
			   "configuration",
			   dir);
	else
		sl_warning("cannot open the maps in \"%s\": %s", dir, strerror(-err));
}

int rb_bridge_open_maps(struct rb_bridge *b, uint64_t now_ns)
{
	struct rb_maps maps;
	int err = rb_maps_open(b->settings->pin_dir, &maps);

	if (!err && maps.meta.n_workers != b->n_lanes) {
		rb_maps_close(&maps);
		err = -ENODATA;
	}
	if (!err) {
		rb_bridge_halt(b);
		b->maps = maps;
		rb_bridge_point_voqs(b, now_ns);
		rb_bridge_release(b);
	}
	if (err != b->maps_err)
		log_maps(b, err);
	b->maps_err = err;
	return err;
}
