/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/reserve/setup_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "user/datapath/counters.h"
#include "user/lib/clock.h"

struct sl_setup_ring {
	const struct sl_datapath *dp; /* borrowed until close */
	struct ring_buffer *ring;     /* owned */
	void (*on_setup)(void *ctx, const struct sl_flow_setup *setup);
	void *ctx;
};

static int on_record(void *arg, void *data, size_t bytes)
{
	const struct sl_setup_ring *ring = arg;
	struct sl_flow_setup setup;

	if (bytes < sizeof(setup))
		return 0;
	memcpy(&setup, data, sizeof(setup));
	ring->on_setup(ring->ctx, &setup);
	return 0;
}

int sl_setup_ring_open(const struct sl_datapath *dp,
		       void (*on_setup)(void *ctx, const struct sl_flow_setup *setup), void *ctx,
		       struct sl_setup_ring **out)
{
	struct sl_setup_ring *ring = calloc(1, sizeof(*ring));
	int err = 0;

	*out = NULL;
	if (!ring)
		return -ENOMEM;
	*ring = (struct sl_setup_ring){ .dp = dp, .on_setup = on_setup, .ctx = ctx };
	ring->ring = ring_buffer__new(sl_datapath_map_fd(dp, "sl_setups"), on_record, ring, NULL);
	if (!ring->ring) {
		err = -errno;
		sl_setup_ring_close(ring);
		return err;
	}
	*out = ring;
	return 0;
}

void sl_setup_ring_close(struct sl_setup_ring *ring)
{
	if (ring)
		ring_buffer__free(ring->ring);
	free(ring);
}

int sl_setup_ring_fd(const struct sl_setup_ring *ring)
{
	return ring_buffer__epoll_fd(ring->ring);
}

void sl_setup_ring_poll(struct sl_setup_ring *ring)
{
	ring_buffer__consume(ring->ring);
}

void sl_setup_ring_tick(const struct sl_setup_ring *ring)
{
	const int fd = sl_datapath_map_fd(ring->dp, "sl_setup_told");
	const uint64_t now_ns = sl_now_ns();
	struct sl_flow_key told[SL_SETUP_TOLD_MAX], *before = NULL;
	uint32_t n = 0;
	uint64_t told_ns;

	while (n < SL_SETUP_TOLD_MAX && !bpf_map_get_next_key(fd, before, &told[n]))
		before = &told[n++];
	for (uint32_t i = 0; i < n; i++)
		if (!bpf_map_lookup_elem(fd, &told[i], &told_ns) &&
		    (int64_t)(now_ns - told_ns) >= (int64_t)SL_SETUP_TOLD_NS)
			bpf_map_delete_elem(fd, &told[i]);
}

uint64_t sl_setup_ring_missed(const struct sl_setup_ring *ring)
{
	struct sl_counter missed = { 0 };

	if (sl_counter_read(sl_datapath_map_fd(ring->dp, "sl_setup_missed"), 0, &missed))
		return 0;
	return missed.packets;
}
