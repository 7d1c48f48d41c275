/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi/copy.h"
#include "user/copies/answer_socket.h"
#include "user/copies/copies.h"
#include "user/lib/clock.h"

#define RING_PAGES	  64 /* of each processor: 256 KiB */
#define NANOSECONDS	  1000000000ULL
#define STAT(c, name, by) atomic_fetch_add_explicit(&(c)->name, by, memory_order_relaxed)

struct target {
	struct sl_copy_target rule;
	uint32_t ifindex;   /* 0: not known, or not there */
	uint64_t looked_ns; /* when it was looked for */
};

struct sl_copies {
	/* Of the main thread. */
	struct perf_buffer *ring; /* owned; the thread polls it */
	uint32_t map_id;
	pthread_t thread;
	int stop_fd; /* owned; -1: there is no thread */

	/* Of both threads. */
	pthread_mutex_t lock;  /* of the targets */
	struct target *target; /* owned; by number, ascending */
	uint32_t n;
	_Atomic uint64_t mirrored, failed, answered, unanswered, lost;

	/* Of the thread, while there is one. */
	int packet_fd;
	struct sl_answer_socket answers;
};

int sl_copies_create(struct sl_copies **out)
{
	struct sl_copies *c = calloc(1, sizeof(*c));

	*out = c;
	if (!c)
		return -ENOMEM;
	c->stop_fd = c->packet_fd = -1;
	c->answers = (struct sl_answer_socket){ -1, -1, -1, -1 };
	pthread_mutex_init(&c->lock, NULL);
	return 0;
}

/* --- In the thread --- */

static int compare_targets(const void *a, const void *b)
{
	const struct target *x = a, *y = b;

	return x->rule.number < y->rule.number ? -1 : x->rule.number > y->rule.number;
}

/* Where copies of the rule go; 0: nowhere. A netdev that is not there is looked for once a second.
 */
static uint32_t ifindex_of(struct sl_copies *c, uint32_t number, bool failed)
{
	const struct target key = { .rule.number = number };
	struct target *found;
	uint32_t ifindex = 0;
	uint64_t now_ns = sl_now_ns();

	pthread_mutex_lock(&c->lock);
	found = c->n ? bsearch(&key, c->target, c->n, sizeof(key), compare_targets) : NULL;
	if (found && (failed || !found->ifindex) && now_ns - found->looked_ns > NANOSECONDS) {
		found->ifindex = if_nametoindex(found->rule.netdev);
		found->looked_ns = now_ns;
	}
	if (found)
		ifindex = found->ifindex;
	pthread_mutex_unlock(&c->lock);
	return ifindex;
}

static bool send_frame(const struct sl_copies *c, uint32_t ifindex, const uint8_t *frame, size_t n)
{
	struct sockaddr_ll to = { .sll_family = AF_PACKET, .sll_ifindex = (int)ifindex };

	return ifindex && sendto(c->packet_fd, frame, n, MSG_DONTWAIT, (struct sockaddr *)&to,
				 sizeof(to)) == (ssize_t)n;
}

static void mirror(struct sl_copies *c, const struct sl_copy *copy, const uint8_t *frame)
{
	uint32_t ifindex = ifindex_of(c, copy->number, false);
	bool whole = copy->copied_bytes == copy->frame_bytes;
	bool sent = whole && send_frame(c, ifindex, frame, copy->copied_bytes);

	/* a netdev of that name may be another one by now */
	if (whole && !sent && ifindex && (errno == ENXIO || errno == ENODEV))
		sent = send_frame(c, ifindex_of(c, copy->number, true), frame, copy->copied_bytes);
	if (sent)
		STAT(c, mirrored, 1);
	else
		STAT(c, failed, 1);
}

static void answer(struct sl_copies *c, const struct sl_copy *copy, const uint8_t *frame)
{
	const uint8_t *packet = frame + copy->l3_offset;
	size_t n = copy->copied_bytes - copy->l3_offset;
	struct sl_reject reject;
	int err = copy->kind == SL_COPY_RESET ? sl_reject_reset(packet, n, &reject)
					      : sl_reject_error(packet, n, &reject);

	if (!err)
		err = sl_answer_socket_send(&c->answers, &reject, copy->l3_ifindex);
	if (err)
		STAT(c, unanswered, 1);
	else
		STAT(c, answered, 1);
}

static void on_copy(void *arg, int cpu, void *data, uint32_t bytes)
{
	const uint8_t *frame = (const uint8_t *)data + sizeof(struct sl_copy);
	struct sl_copies *c = arg;
	struct sl_copy copy;

	(void)cpu;
	if (bytes < sizeof(copy))
		return;
	memcpy(&copy, data, sizeof(copy));
	/* the kernel pads records */
	if (copy.copied_bytes > bytes - sizeof(copy) || copy.l3_offset > copy.copied_bytes)
		return;
	if (copy.kind == SL_COPY_MIRROR)
		mirror(c, &copy, frame);
	else
		answer(c, &copy, frame);
}

static void on_lost(void *arg, int cpu, unsigned long long n)
{
	(void)cpu;
	STAT((struct sl_copies *)arg, lost, n);
}

static void *run(void *arg)
{
	struct sl_copies *c = arg;
	struct pollfd fds[] = { { .fd = perf_buffer__epoll_fd(c->ring), .events = POLLIN },
				{ .fd = c->stop_fd, .events = POLLIN } };

	while (!fds[1].revents) {
		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		/* not perf_buffer__poll: that the ring has something, its descriptor says once */
		if (fds[0].revents)
			perf_buffer__consume(c->ring);
	}
	return NULL;
}

/* --- In the main thread --- */

static uint32_t id_of(int map_fd)
{
	struct bpf_map_info info = { 0 };
	uint32_t bytes = sizeof(info);

	return map_fd >= 0 && !bpf_obj_get_info_by_fd(map_fd, &info, &bytes) ? info.id : 0;
}

static void stop(struct sl_copies *c)
{
	if (c->stop_fd >= 0) {
		eventfd_write(c->stop_fd, 1);
		pthread_join(c->thread, NULL);
		close(c->stop_fd);
	}
	c->stop_fd = -1;
	perf_buffer__free(c->ring);
	c->ring = NULL;
	c->map_id = 0;
	if (c->packet_fd >= 0)
		close(c->packet_fd);
	c->packet_fd = -1;
	sl_answer_socket_close(&c->answers);
}

static int start(struct sl_copies *c, int map_fd)
{
	int err;

	c->packet_fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0); /* 0: it receives nothing */
	err = c->packet_fd < 0 ? -errno : sl_answer_socket_open(&c->answers);
	if (err)
		return err;
	c->ring = perf_buffer__new(map_fd, RING_PAGES, on_copy, on_lost, c, NULL);
	if (!c->ring)
		return -errno;
	c->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (c->stop_fd < 0)
		return -errno;
	err = -pthread_create(&c->thread, NULL, run, c);
	if (err) {
		close(c->stop_fd);
		c->stop_fd = -1;
	} else {
		c->map_id = id_of(map_fd);
	}
	return err;
}

static int set_targets(struct sl_copies *c, const struct sl_copy_target *targets, uint32_t n)
{
	struct target *all = calloc(n + 1, sizeof(*all)), *old = c->target;

	if (!all)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		all[i].rule = targets[i];
		all[i].ifindex = if_nametoindex(targets[i].netdev);
		all[i].looked_ns = sl_now_ns();
	}
	qsort(all, n, sizeof(*all), compare_targets);
	pthread_mutex_lock(&c->lock);
	c->target = all;
	c->n = n;
	pthread_mutex_unlock(&c->lock);
	free(old);
	return 0;
}

int sl_copies_serve(struct sl_copies *c, int map_fd, const struct sl_copy_target *targets,
		    uint32_t n)
{
	int err;

	if (map_fd < 0) {
		stop(c);
		return 0;
	}
	err = set_targets(c, targets, n);
	if (!err && c->map_id != id_of(map_fd)) {
		stop(c);
		err = start(c, map_fd);
	}
	if (err)
		stop(c);
	return err;
}

void sl_copies_stats(struct sl_copies *c, struct sl_copy_stats *out)
{
	*out = (struct sl_copy_stats){ .mirrored = c->mirrored,
				       .failed = c->failed,
				       .answered = c->answered,
				       .unanswered = c->unanswered,
				       .lost = c->lost };
}

void sl_copies_destroy(struct sl_copies *c)
{
	if (!c)
		return;
	stop(c);
	pthread_mutex_destroy(&c->lock);
	free(c->target);
	free(c);
}
