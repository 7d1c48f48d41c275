/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs-ud: one queue pair of unreliable datagrams, and an address handle for each path. The device
 * puts a global route header of 40 bytes before each datagram, or, with IPv4, the IPv4 header at
 * the end of these bytes. They tell the sender's address and whether the network marked congestion.
 */
#include "rdma-bridge/transport/verbs/verbs_ud.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/abi/fabric_address.h"
#include "rdma-bridge/transport/roce.h"
#include "rdma-bridge/transport/verbs/verbs_shared.h"

#define PATHS_MAX 256
/* The least time between two recoveries of a queue pair. */
#define RECOVER_AGAIN_NS 10000000ULL
/* Offsets in the route header, which is an IPv6 header, or ends with the IPv4 header. */
#define GRH_V4_TOS	 (20 + 1)
#define GRH_V4_TTL	 (20 + 8)
#define GRH_V6_HOP_LIMIT 7

struct rb_path {
	bool open;
	struct ibv_ah *ah; /* owned */
	uint8_t remote_gid[16];
	uint32_t remote_qpn, remote_qkey;
	uint32_t message_max_bytes;
	uint8_t hop_limit; /* of what comes from there; 0: any */
	void *context;
};

struct ud_transport {
	struct rb_verbs v;
	struct rb_verbs_pair *pair; /* owned by v */
	uint32_t message_max_bytes;
	uint64_t recovered_ns;
	struct rb_path *newest; /* of the last message received */
	struct rb_path paths[PATHS_MAX];
};

static struct ud_transport *of(struct rb_transport *t)
{
	return (struct ud_transport *)t;
}

static void ud_close(struct rb_transport *base)
{
	struct ud_transport *t = of(base);

	for (uint32_t i = 0; i < PATHS_MAX; i++)
		if (t->paths[i].ah)
			t->v.lib->destroy_ah(t->paths[i].ah);
	rb_verbs_device_close(&t->v);
	free(t);
}

static void ud_endpoint(struct rb_transport *base, struct rb_endpoint *out)
{
	const struct ud_transport *t = of(base);

	*out = (struct rb_endpoint){ .qpn = t->pair->qp->qp_num,
				     .qkey = t->v.config.qkey,
				     .message_max_bytes = t->message_max_bytes };
	memcpy(out->gid, t->v.config.address, sizeof(out->gid));
}

/* --- Paths --- */

static bool leads_to(const struct rb_path *path, const uint8_t gid[16], uint32_t qpn)
{
	return path->open && path->remote_qpn == qpn && memcmp(path->remote_gid, gid, 16) == 0;
}

static struct rb_path *find_path(struct ud_transport *t, const uint8_t gid[16], uint32_t qpn)
{
	if (t->newest && leads_to(t->newest, gid, qpn))
		return t->newest;
	for (uint32_t i = 0; i < PATHS_MAX; i++)
		if (leads_to(&t->paths[i], gid, qpn))
			return t->newest = &t->paths[i];
	return NULL;
}

/*
 * Find a place for a path. A closed path keeps its address handle until its place is needed,
 * because sends under way use the handle. So a place that was never used comes first.
 */
static struct rb_path *free_path(struct ud_transport *t)
{
	struct rb_path *path = NULL;

	for (uint32_t i = 0; i < PATHS_MAX; i++)
		if (!t->paths[i].open && (!path || (path->ah && !t->paths[i].ah)))
			path = &t->paths[i];
	return path;
}

static int ud_path_create(struct rb_transport *base, const struct rb_endpoint *remote,
			  void *context, struct rb_path **out)
{
	struct ud_transport *t = of(base);
	struct ibv_ah_attr address;
	struct rb_path *path;

	*out = NULL;
	if (!rb_verbs_is_reachable(&t->v, remote))
		return -EINVAL;
	if (find_path(t, remote->gid, remote->qpn))
		return -EEXIST;
	path = free_path(t);
	if (!path)
		return -ENOSPC;
	if (path->ah) {
		rb_verbs_pair_submit(t->pair, RB_VERBS_CHAIN); /* the chain may use the handle */
		t->v.lib->destroy_ah(path->ah);
	}
	*path = (struct rb_path){ .remote_qpn = remote->qpn,
				  .remote_qkey = remote->qkey,
				  .hop_limit = remote->hop_limit,
				  .context = context };
	rb_verbs_address(&t->v, remote->gid, &address);
	errno = 0;
	path->ah = t->v.lib->create_ah(t->v.pd, &address);
	if (!path->ah)
		return errno ? -errno : -ENOMEM;
	memcpy(path->remote_gid, remote->gid, sizeof(path->remote_gid));
	path->message_max_bytes = remote->message_max_bytes < t->message_max_bytes
					  ? remote->message_max_bytes
					  : t->message_max_bytes;
	path->open = true;
	*out = path;
	return 0;
}

static void ud_path_destroy(struct rb_transport *base, struct rb_path *path)
{
	(void)base;
	path->open = false;
}

/* --- Sending --- */

static int ud_post_send(struct rb_transport *base, struct rb_path *path,
			const struct rb_piece *pieces, uint32_t n, uint64_t cookie)
{
	struct ud_transport *t = of(base);
	int len_bytes = rb_message_bytes(base, pieces, n, path->message_max_bytes);
	struct ibv_send_wr *wr;
	int err;

	if (len_bytes < 0)
		return len_bytes;
	if (t->pair->tail - t->pair->posted == RB_VERBS_CHAIN)
		rb_verbs_pair_submit(t->pair, RB_VERBS_CHAIN);
	err = rb_verbs_pair_put(&t->v, t->pair, pieces, n, (uint32_t)len_bytes, cookie, &wr);
	if (err < 0)
		return err;
	wr->wr.ud.ah = path->ah;
	wr->wr.ud.remote_qpn = path->remote_qpn;
	wr->wr.ud.remote_qkey = path->remote_qkey;
	return err;
}

static int ud_flush(struct rb_transport *base)
{
	struct ud_transport *t = of(base);

	return rb_verbs_pair_submit(t->pair, RB_VERBS_CHAIN) ? -EAGAIN : 0;
}

/* --- Receiving --- */

static uint32_t ud_post_receive(struct rb_transport *base, const uint64_t *offsets, uint32_t n)
{
	struct ud_transport *t = of(base);

	return rb_verbs_receive(&t->v, t->pair->qp, offsets, n);
}

/* Was a datagram from there forwarded on its way, as far as its hop limit tells? */
static bool was_forwarded(const struct rb_path *path, const uint8_t *grh)
{
	uint8_t hop_limit = grh[rb_ip_is_v4(path->remote_gid) ? GRH_V4_TTL : GRH_V6_HOP_LIMIT];

	return path->hop_limit == SL_FABRIC_HOP_LIMIT && hop_limit != SL_FABRIC_HOP_LIMIT;
}

static void deliver(struct ud_transport *t, const struct ibv_wc *wc, uint64_t offset,
		    struct rb_completion *out)
{
	const uint8_t *grh = rb_chunk_data(t->v.base.chunks, offset);
	uint8_t ecn = rb_ip_is_v4(t->v.config.address) ? grh[GRH_V4_TOS] & 3 : grh[1] >> 4 & 3;
	const struct rb_path *path;
	uint8_t source[16];

	rb_verbs_source(&t->v, grh, source);
	path = wc->wc_flags & IBV_WC_GRH ? find_path(t, source, wc->src_qp) : NULL;
	if (path && was_forwarded(path, grh))
		path = NULL;
	*out = (struct rb_completion){
		.kind = RB_RECEIVED,
		.ce = (wc->wc_flags & IBV_WC_GRH) && ecn == RB_ECN_CE,
		.len_bytes = wc->byte_len - RB_VERBS_GRH_BYTES,
		.offset = offset + RB_VERBS_GRH_BYTES,
		.context = path ? path->context : NULL,
	};
	rb_chunk_move(t->v.base.chunks, offset, RB_OWNER_RECEIVE, RB_OWNER_MESSAGE);
	t->v.stats.received++;
	t->v.stats.received_bytes += out->len_bytes;
	t->v.stats.marked += out->ce;
}

/*
 * Recover from any error of the queue pair: reset it, give up the messages under way, and post the
 * chunks again. Peers see a few lost messages. The number of the queue pair stays, and with it
 * every path.
 */
static void recover(struct ud_transport *t, uint64_t now_ns)
{
	if (t->recovered_ns && now_ns - t->recovered_ns < RECOVER_AGAIN_NS)
		return;
	t->recovered_ns = now_ns;
	t->pair->ready = false;
	if (rb_verbs_datagram_up(&t->v, t->pair->qp))
		return;
	rb_verbs_pair_fail(&t->v, t->pair);
	if (rb_verbs_receive_again(&t->v, t->pair->qp))
		return;
	t->pair->broken = false;
	t->pair->ready = true;
	t->v.recoveries++;
}

static uint32_t ud_poll(struct rb_transport *base, struct rb_completion *out, uint32_t max,
			uint64_t now_ns)
{
	struct ud_transport *t = of(base);
	uint32_t n = rb_verbs_report(&t->v, out, max);
	const struct ibv_wc *wc = NULL;

	while (n < max && (wc = rb_verbs_next(&t->v))) {
		uint64_t offset;

		if (rb_verbs_is_send(wc)) {
			rb_verbs_sent(&t->v, wc);
			n += rb_verbs_report(&t->v, out + n, max - n);
		} else if (rb_verbs_received(&t->v, wc, &offset)) {
			if (wc->byte_len > RB_VERBS_GRH_BYTES)
				deliver(t, wc, offset, &out[n++]);
			else /* empty: no sender of ours sends that */
				rb_verbs_receive(&t->v, t->pair->qp, &offset, 1);
		} else if (wc->status != IBV_WC_SUCCESS) {
			t->pair->broken = true;
		}
	}
	/* Recover only when no completion from before the error is left. */
	if (t->pair->broken && !wc && n < max) {
		recover(t, now_ns);
		n += rb_verbs_report(&t->v, out + n, max - n);
	}
	return n;
}

static void ud_stats(struct rb_transport *base, struct rb_transport_stats *out)
{
	*out = of(base)->v.stats;
}

/* --- Opening --- */

static const struct rb_transport_ops ud_ops = {
	.name = "verbs-ud",
	.close = ud_close,
	.endpoint = ud_endpoint,
	.path_create = ud_path_create,
	.path_destroy = ud_path_destroy,
	.post_receive = ud_post_receive,
	.post_send = ud_post_send,
	.flush = ud_flush,
	.poll = ud_poll,
	.wait_fd = rb_verbs_wait_fd,
	.arm = rb_verbs_arm,
	.stats = ud_stats,
};

static int make_queue_pair(struct ud_transport *t)
{
	struct rb_verbs *v = &t->v;
	struct ibv_qp_init_attr attr = {
		.send_cq = v->cq,
		.recv_cq = v->cq,
		.cap = { .max_send_wr = v->config.send_depth,
			 .max_recv_wr = v->config.receive_depth,
			 .max_send_sge = v->base.pieces_max,
			 .max_recv_sge = 1,
			 .max_inline_data = RB_VERBS_INLINE_MAX },
		.qp_type = IBV_QPT_UD,
	};
	struct ibv_qp *qp;
	int err;

	errno = 0;
	qp = v->lib->create_qp(v->pd, &attr);
	if (!qp)
		return errno ? -errno : -ENOMEM;
	v->inline_max_bytes = attr.cap.max_inline_data < RB_VERBS_INLINE_MAX
				      ? attr.cap.max_inline_data
				      : RB_VERBS_INLINE_MAX;
	err = rb_verbs_pair_create(v, qp, &t->pair);
	if (err)
		return err;
	err = rb_verbs_datagram_up(&t->v, t->pair->qp);
	t->pair->ready = !err;
	return err;
}

int rb_verbs_ud_open(const struct rb_verbs_config *config, struct rb_transport **out)
{
	struct ud_transport *t = calloc(1, sizeof(*t));
	uint32_t by_chunk = rb_chunk_bytes(config->chunks) - RB_VERBS_GRH_BYTES;
	int err;

	*out = NULL;
	if (!t)
		return -ENOMEM;
	t->v.base.ops = &ud_ops;
	err = rb_verbs_device_open(&t->v, config, config->receive_depth + config->send_depth);
	if (!err)
		err = make_queue_pair(t);
	t->message_max_bytes = t->v.path_mtu_bytes < by_chunk ? t->v.path_mtu_bytes : by_chunk;
	if (err)
		ud_close(&t->v.base);
	else
		*out = &t->v.base;
	return err;
}
