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

struct rb_ingress *rb_bridge_voq_ingress(const struct rb_bridge *b, uint32_t i, uint32_t *local)
{
	const struct rb_bridge_remote *remote = &b->remotes[i / SL_CLASSES];

	*local = remote->first_voq + i % SL_CLASSES;
	return rb_bridge_ingress(b, remote);
}

/* Plus 1: the element of sl_express by which VOQ i leaves; 0: there is no express way. */
static uint16_t path_plus1(const struct rb_bridge *b, uint32_t i)
{
	const struct rb_bridge_remote *remote = &b->remotes[i / SL_CLASSES];

	if (!b->lanes[0].express || !remote->express)
		return 0;
	return (uint16_t)((remote->system_port >> 8) * b->n_lanes + b->voq_lanes[i] + 1);
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
	static struct sl_backlog no_backlog;

	disown_voqs(b);
	for (uint32_t i = 0; i < b->n_voqs; i++) {
		struct sl_voq *voq = b->maps.voq ? &b->maps.voq[b->voqs[i]] : NULL;
		struct sl_backlog *backlog = voq ? &b->maps.backlog[b->voqs[i]] : &no_backlog;
		uint32_t local;
		struct rb_ingress *in = rb_bridge_voq_ingress(b, i, &local);

		/* In use without maps, when only frames of remote ports' netdevs can come. */
		b->open_voqs[i] = (struct sl_voq){ .rate = SL_RATE_UNLIMITED,
						   .burst = RB_BRIDGE_BURST_FRAMES };
		if (voq && !voq->controller[0])
			*voq = (struct sl_voq){ .rate = SL_RATE_UNLIMITED,
						.burst = RB_BRIDGE_BURST_FRAMES,
						.limit_frames =
							b->settings->cluster.bridge.voq_frames,
						.controller = "fixed" };
		rb_backlog_adopt(backlog, b->voq_lanes[i]);
		backlog->system_port = b->remotes[i / SL_CLASSES].system_port;
		rb_ingress_set_voq(in, local, b->remotes[i / SL_CLASSES].system_port,
				   (uint8_t)(i % SL_CLASSES), voq ? voq : &b->open_voqs[i], backlog,
				   now_ns);
		backlog->path_plus1 = path_plus1(b, i);
	}
	for (uint32_t i = 0; i < b->n_lanes; i++)
		rb_express_set_map(b->lanes[i].express, b->maps.express);
	for (uint32_t i = 0; i < b->n_lanes; i++)
		rb_rates_rewrite(b->lanes[i].worker->rates);
}

static void log_maps(const struct rb_bridge *b, int err)
{
	const char *dir = b->settings->pin_dir;

	if (!err)
		sl_info("maps of \"%s\": %u VOQs", dir, b->maps.meta.n_voqs);
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

	for (uint32_t i = 0; i < b->n_voqs && !err; i++)
		if (b->voqs[i] >= maps.meta.n_voqs || maps.meta.n_workers != b->n_lanes) {
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
