/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/transport/none.h"

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

struct none {
	struct rb_transport base;
	int fd; /* eventfd that nobody writes */
};

static struct none *of(struct rb_transport *t)
{
	return (struct none *)t;
}

static void none_close(struct rb_transport *t)
{
	close(of(t)->fd);
	free(of(t));
}

static void none_endpoint(struct rb_transport *t, struct rb_endpoint *out)
{
	(void)t;
	memset(out, 0, sizeof(*out));
}

static int none_path_create(struct rb_transport *t, const struct rb_endpoint *remote, void *context,
			    struct rb_path **out)
{
	(void)t;
	(void)remote;
	(void)context;
	*out = NULL;
	return -EINVAL;
}

static void none_path_destroy(struct rb_transport *t, struct rb_path *path)
{
	(void)t;
	(void)path;
}

static uint32_t none_post_receive(struct rb_transport *t, const uint64_t *offsets, uint32_t n)
{
	(void)t;
	(void)offsets;
	(void)n;
	return 0;
}

static int none_post_send(struct rb_transport *t, struct rb_path *path,
			  const struct rb_piece *pieces, uint32_t n, uint64_t cookie)
{
	(void)t;
	(void)path;
	(void)pieces;
	(void)n;
	(void)cookie;
	return -EINVAL;
}

static int none_flush(struct rb_transport *t)
{
	(void)t;
	return 0;
}

static uint32_t none_poll(struct rb_transport *t, struct rb_completion *out, uint32_t max,
			  uint64_t now_ns)
{
	(void)t;
	(void)out;
	(void)max;
	(void)now_ns;
	return 0;
}

static int none_wait_fd(struct rb_transport *t)
{
	return of(t)->fd;
}

static bool none_arm(struct rb_transport *t)
{
	(void)t;
	return false;
}

static void none_stats(struct rb_transport *t, struct rb_transport_stats *out)
{
	(void)t;
	memset(out, 0, sizeof(*out));
}

static const struct rb_transport_ops none_ops = {
	.name = "none",
	.close = none_close,
	.endpoint = none_endpoint,
	.path_create = none_path_create,
	.path_destroy = none_path_destroy,
	.post_receive = none_post_receive,
	.post_send = none_post_send,
	.flush = none_flush,
	.poll = none_poll,
	.wait_fd = none_wait_fd,
	.arm = none_arm,
	.stats = none_stats,
};

int rb_none_open(struct rb_chunks *chunks, struct rb_transport **out)
{
	struct none *t = calloc(1, sizeof(*t));
	int err;

	*out = NULL;
	if (!t)
		return -ENOMEM;
	t->base = (struct rb_transport){ .ops = &none_ops, .chunks = chunks, .pieces_max = 2 };
	t->fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (t->fd < 0) {
		err = -errno;
		free(t);
		return err;
	}
	*out = &t->base;
	return 0;
}
