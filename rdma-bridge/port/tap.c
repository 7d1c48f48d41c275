/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/port/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <linux/if_ether.h>
#include <linux/if_tun.h>

#include "rdma-bridge/wire/bytes.h"
#include "user/lib/clock.h"

#define FRAME_OFFSET  RB_CHUNK_HEADROOM_BYTES
#define VLAN_TAGS_MAX 2

struct waiting {
	struct rb_input input;
	struct rb_tap *tap;		       /* borrowed: the TAP that this is a class of */
	struct rb_frame frame[RB_TAP_WAITING]; /* a ring */
	uint32_t first, n;
	uint64_t moved_ns; /* when a frame last left, or came to an empty class */
};

struct rb_tap {
	struct waiting class[SL_CLASSES];
	const struct rb_maps *maps; /* borrowed */
	struct rb_chunks *chunks;
	struct sl_counter *counters; /* borrowed */
	int fd;
	bool ready;  /* the thread that watches the descriptor sets it, the reader clears it */
	int carrier; /* -1: not set yet */
	bool takes_tags;
};

/*
 * Only unicast IP goes to the remote port. Its own node speaks on its link for itself, so multicast
 * reports, solicitations and the like of this node's kernel stay here.
 */
static bool is_unicast_ip(const uint8_t *frame, uint32_t type_at)
{
	uint16_t ethertype = rb_get16(frame + type_at);

	return !(frame[0] & 1) && (ethertype == ETH_P_IP || ethertype == ETH_P_IPV6);
}

/* Where the EtherType of a frame is. A remote port's own node puts tags on. */
static uint32_t type_offset(const struct rb_tap *tap, const uint8_t *frame, uint32_t len_bytes)
{
	uint32_t at = 12;

	for (int tags = 0; tap->takes_tags && tags < VLAN_TAGS_MAX; tags++) {
		uint16_t ethertype = rb_get16(frame + at);

		if ((ethertype != ETH_P_8021Q && ethertype != ETH_P_8021AD) || len_bytes < at + 8)
			break;
		at += 4;
	}
	return at;
}

/* The class of a frame, by DSCP as XDP has it. */
static uint32_t class_of(const struct rb_tap *tap, const uint8_t *frame, uint32_t type_at)
{
	const uint32_t traffic_class = rb_get16(frame + type_at) == ETH_P_IP
					       ? frame[type_at + 3]
					       : rb_get16(frame + type_at + 2) >> 4 & 0xff;

	return __atomic_load_n(&tap->maps->class_of[traffic_class >> 2], __ATOMIC_RELAXED);
}

/* Is a class full that may soon have room? Then the next frame stays in the TAP's queue. */
static bool must_wait(const struct rb_tap *tap)
{
	for (uint32_t c = 0; c < SL_CLASSES; c++) {
		const struct waiting *w = &tap->class[c];

		if (w->n == RB_TAP_WAITING && sl_now_ns() - w->moved_ns < RB_TAP_PATIENCE_NS)
			return true;
	}
	return false;
}

static uint32_t room_bytes(const struct rb_tap *tap)
{
	return rb_chunk_bytes(tap->chunks) - FRAME_OFFSET;
}

static void take_in(struct rb_tap *tap, uint64_t offset, uint32_t len_bytes)
{
	const uint8_t *frame = rb_chunk_data(tap->chunks, offset + FRAME_OFFSET);
	enum rb_frame_counter drop = RB_COUNT_DROP_NOT_UNICAST;
	const uint64_t now = sl_now_ns();
	const uint32_t type_at = type_offset(tap, frame, len_bytes);
	struct waiting *w;

	if (!is_unicast_ip(frame, type_at))
		goto out;
	drop = RB_COUNT_DROP_TOO_BIG;
	if (len_bytes > room_bytes(tap)) {
		/* It is of no VOQ yet, so it enters and leaves here; what is beyond was not read.
		 */
		rb_count(tap->counters, RB_COUNT_INGRESS, 1, len_bytes);
		goto out;
	}
	w = &tap->class[class_of(tap, frame, type_at)];
	drop = RB_COUNT_DROP_KERNEL_FULL;
	if (w->n == RB_TAP_WAITING)
		goto out;
	if (w->n == 0)
		w->moved_ns = now;
	w->frame[(w->first + w->n++) % RB_TAP_WAITING] = (struct rb_frame){
		.offset = offset + FRAME_OFFSET, .arrival_ns = now, .len_bytes = len_bytes
	};
	return;
out:
	rb_count(tap->counters, drop, 1, len_bytes);
	rb_chunk_release(tap->chunks, offset, RB_OWNER_INGRESS);
}

/*
 * Read a frame into a chunk. Returns its length, one more than the chunk has room for if it is
 * longer than that, or -1.
 */
static ssize_t read_frame(const struct rb_tap *tap, uint64_t offset)
{
	uint8_t beyond;
	const struct iovec parts[] = {
		{ rb_chunk_data(tap->chunks, offset + FRAME_OFFSET), room_bytes(tap) },
		{ &beyond, sizeof(beyond) },
	};

	return readv(tap->fd, parts, 2);
}

/* Read what the kernel has sent into the classes, as far as there is room. */
static void read_frames(struct rb_tap *tap)
{
	for (uint32_t i = 0; i < RB_TAP_WAITING && tap->chunks->n_free > RB_TAP_RESERVE; i++) {
		uint64_t offset;
		ssize_t len;

		if (!__atomic_load_n(&tap->ready, __ATOMIC_RELAXED) || must_wait(tap))
			return;
		offset = rb_chunk_take(tap->chunks, RB_OWNER_INGRESS);
		len = read_frame(tap, offset);
		if (len >= RB_FRAME_MIN_BYTES) {
			take_in(tap, offset, (uint32_t)len);
			continue;
		}
		rb_chunk_release(tap->chunks, offset, RB_OWNER_INGRESS);
		__atomic_store_n(&tap->ready, len > 0, __ATOMIC_RELAXED);
	}
}

static uint32_t give(struct waiting *w, struct rb_frame *out, uint32_t max)
{
	uint32_t n = 0;

	for (; n < max && w->n > 0; n++) {
		out[n] = w->frame[w->first];
		w->first = (w->first + 1) % RB_TAP_WAITING;
		w->n--;
	}
	if (n > 0)
		w->moved_ns = sl_now_ns();
	return n;
}

/*
 * Ask the classes that have frames to be read; if the kernel may have some, all of them. Whichever
 * is read reads for all, and a class whose VOQ may not send now is not read.
 */
static void ask(struct rb_tap *tap)
{
	bool kernel_may_have = __atomic_load_n(&tap->ready, __ATOMIC_RELAXED);

	for (uint32_t c = 0; c < SL_CLASSES; c++)
		if (kernel_may_have || tap->class[c].n > 0)
			rb_input_ask(&tap->class[c].input);
}

static uint32_t tap_receive(void *context, struct rb_frame *out, uint32_t max)
{
	struct waiting *w = context;

	read_frames(w->tap);
	ask(w->tap);
	return give(w, out, max);
}

/* Take the queue of a netdev, or make one. */
static int take_queue(const char *name, const struct rb_maps *maps, struct rb_chunks *chunks,
		      struct sl_counter *counters, struct rb_tap **out)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	struct rb_tap *tap;
	int err = 0;

	tap = calloc(1, sizeof(*tap));
	if (!tap)
		return -ENOMEM;
	for (uint32_t c = 0; c < SL_CLASSES; c++) {
		tap->class[c].input =
			(struct rb_input){ .receive = tap_receive, .context = &tap->class[c] };
		tap->class[c].tap = tap;
	}
	tap->maps = maps;
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

int rb_tap_open(const char *name, const struct rb_maps *maps, struct rb_chunks *chunks,
		struct sl_counter *counters, struct rb_tap **out)
{
	*out = NULL;
	return if_nametoindex(name) ? take_queue(name, maps, chunks, counters, out) : -ENODEV;
}

/* Without this the kernel would give it an address, and announce that. */
static int disable_ipv6(const char *name)
{
	char path[64];
	int fd, err = 0;

	snprintf(path, sizeof(path), "/proc/sys/net/ipv6/conf/%s/disable_ipv6", name);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno; /* a kernel without IPv6 */
	if (write(fd, "1", 1) != 1)
		err = -errno;
	close(fd);
	return err;
}

static int bring_up(const char *name)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;

	if (fd < 0)
		return -errno;
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (ioctl(fd, SIOCGIFFLAGS, &request))
		err = -errno;
	request.ifr_flags = (short)((request.ifr_flags | IFF_UP | IFF_NOARP) & ~IFF_MULTICAST);
	if (!err && ioctl(fd, SIOCSIFFLAGS, &request))
		err = -errno;
	close(fd);
	return err;
}

int rb_tap_create(const char *name, const struct rb_maps *maps, struct rb_chunks *chunks,
		  struct sl_counter *counters, struct rb_tap **out)
{
	int err;

	*out = NULL;
	if (if_nametoindex(name))
		return -EBUSY;
	err = take_queue(name, maps, chunks, counters, out);
	if (err)
		return err;
	(*out)->takes_tags = true;
	err = disable_ipv6(name);
	if (!err)
		err = bring_up(name);
	if (!err)
		err = rb_tap_carrier(*out, true);
	if (err) {
		rb_tap_close(*out);
		*out = NULL;
	}
	return err;
}

void rb_tap_close(struct rb_tap *tap)
{
	if (!tap)
		return;
	for (uint32_t c = 0; c < SL_CLASSES; c++) {
		struct rb_frame frame;

		while (give(&tap->class[c], &frame, 1) == 1) {
			rb_count(tap->counters, RB_COUNT_INGRESS, 1, frame.len_bytes);
			rb_count(tap->counters, RB_COUNT_DROP_PEER_DOWN, 1, frame.len_bytes);
			rb_chunk_release(tap->chunks, frame.offset, RB_OWNER_INGRESS);
		}
	}
	if (tap->fd >= 0)
		close(tap->fd);
	free(tap);
}

int rb_tap_fd(const struct rb_tap *tap)
{
	return tap->fd;
}

struct rb_input *rb_tap_input(struct rb_tap *tap, uint32_t class)
{
	return &tap->class[class].input;
}

void rb_tap_ready(struct rb_tap *tap)
{
	__atomic_store_n(&tap->ready, true, __ATOMIC_RELAXED);
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		rb_input_ask(&tap->class[c].input);
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
