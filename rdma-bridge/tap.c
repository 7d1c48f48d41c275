/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>

#include "rdma-bridge/bytes.h"

#define FRAME_OFFSET 256 /* as the kernel leaves in chunks of AF_XDP */

struct rb_tap {
	struct rb_input input;
	struct rb_chunks *chunks;
	struct sl_counter *counters; /* borrowed */
	int fd;
	bool ready;  /* set by whoever watches the descriptor, cleared by who reads */
	int carrier; /* -1: not set yet */
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* The owner of the port speaks on its link for itself: reports of groups, solicitations and the like of ours stay here. */
static bool is_unicast_ip(const uint8_t *frame)
{
	uint16_t ethertype = rb_get16(frame + 12);

	return !(frame[0] & 1) && (ethertype == ETH_P_IP || ethertype == ETH_P_IPV6);
}

static uint32_t tap_receive(void *context, struct rb_ingress_frame *out, uint32_t max)
{
	struct rb_tap *tap = context;
	struct rb_chunks *chunks = tap->chunks;
	uint32_t n = 0;

	while (__atomic_load_n(&tap->ready, __ATOMIC_RELAXED) && n < max) {
		uint64_t offset = rb_chunk_take(chunks, RB_OWNER_INGRESS);
		uint8_t *frame;
		ssize_t len;

		if (offset == RB_CHUNK_NONE)
			break;
		/* A longer frame than fits is cut by read(): MTU keeps such from being sent. */
		frame = rb_chunk_data(chunks, offset + FRAME_OFFSET);
		len = read(tap->fd, frame, rb_chunk_bytes(chunks) - FRAME_OFFSET);
		if (len < RB_FRAME_MIN_BYTES) {
			rb_chunk_release(chunks, offset, RB_OWNER_INGRESS);
			__atomic_store_n(&tap->ready, len > 0, __ATOMIC_RELAXED);
			continue;
		}
		if (!is_unicast_ip(frame)) {
			rb_count(tap->counters, RB_COUNT_DROP_NOT_UNICAST, 1, (uint64_t)len);
			rb_chunk_release(chunks, offset, RB_OWNER_INGRESS);
			continue;
		}
		out[n++] = (struct rb_ingress_frame){ .offset = offset + FRAME_OFFSET,
						      .arrival_ns = now_ns(),
						      .len_bytes = (uint32_t)len };
	}
	return n;
}

int rb_tap_open(const char *name, struct rb_chunks *chunks, struct sl_counter *counters,
		struct rb_tap **out)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	struct rb_tap *tap;
	int err = 0;

	*out = NULL;
	if (if_nametoindex(name) == 0)
		return -ENODEV;
	tap = calloc(1, sizeof(*tap));
	if (!tap)
		return -ENOMEM;
	tap->input = (struct rb_input){ tap_receive, tap, NULL };
	tap->chunks = chunks;
	tap->counters = counters;
	tap->carrier = -1;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	tap->fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (tap->fd < 0 || ioctl(tap->fd, TUNSETIFF, &request)) {
		err = -errno;
		rb_tap_close(tap);
		return err;
	}
	*out = tap;
	return rb_tap_carrier(tap, false);
}

void rb_tap_close(struct rb_tap *tap)
{
	if (!tap)
		return;
	if (tap->fd >= 0)
		close(tap->fd);
	free(tap);
}

int rb_tap_fd(const struct rb_tap *tap)
{
	return tap->fd;
}

struct rb_input *rb_tap_input(struct rb_tap *tap)
{
	return &tap->input;
}

void rb_tap_ready(struct rb_tap *tap)
{
	__atomic_store_n(&tap->ready, true, __ATOMIC_RELAXED);
}

int rb_tap_carrier(struct rb_tap *tap, bool on)
{
	int value = on;

	if (tap->carrier == value)
		return 0;
	if (ioctl(tap->fd, TUNSETCARRIER, &value))
		return -errno;
	tap->carrier = value;
	return 0;
}
