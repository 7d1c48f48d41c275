/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * verbs-rc: a reliable connection for each path. The two ends agree on it by datagrams between
 * their endpoints, which are datagram queue pairs (docs/PROTOCOL.md section 2.1).
 *
 * The end with the lower address and queue pair number leads: it numbers the attempts to connect.
 * The follower resets its queue pair for each new number, so that nobody takes an old connection
 * for a new one. An end that finds its queue pair in error asks for the next attempt. Everything
 * else of the path stays.
 *
 * A sender may have no more messages on the way than the receiver has chunks for them. The receiver
 * tells this credit, counted from the beginning of a connection, as immediate data of every
 * message, and by datagram when it has no message to send. So a sender meets a receiver that is not
 * ready (RNR) only if the two disagree, and the device then tries again without end.
 */
#include "rdma-bridge/transport/verbs/verbs_rc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/lib/endian.bpf.h"
#include "rdma-bridge/transport/verbs/verbs_rc_datagram.h"
#include "rdma-bridge/transport/verbs/verbs_shared.h"

_Static_assert(RB_RC_MTU_MIN == IBV_MTU_256 && RB_RC_MTU_MAX == IBV_MTU_4096,
	       "datagrams carry enum ibv_mtu");

#define PATHS_MAX	 256
#define DATAGRAM_BIT	 (1ULL << 62) /* in the id of a request: receives a datagram */
#define DATAGRAMS	 128	      /* datagrams that may wait */
#define DATAGRAM_BYTES	 128	      /* room for each, with its route header */
#define AGAIN_NS	 20000000ULL  /* between repetitions of a datagram */
#define RECOVER_AGAIN_NS 10000000ULL  /* the least time between two recoveries of the endpoint */

/* 0.64 ms: about the time in which a busy bridge posts chunks. */
#define RNR_TIMER 12
/* A full receiver is no fault. RETRIES ends the connection to a dead one. */
#define RNR_FOREVER 7
/* Giving up loses the messages under way. Some devices take 7 for no end. */
#define RETRIES	      6
#define TIMER_UNIT_NS 4096ULL

/* --- State --- */

enum state {
	RC_CONNECTING, /* leader: repeats CONNECT; follower: repeats AGAIN */
	RC_ACCEPTED,   /* follower: connected, repeats ACCEPT until the leader is connected */
	RC_CONNECTED,
};

struct rb_path {
	bool open;
	bool leads;
	enum state state;
	struct rb_verbs_pair *pair;
	struct ibv_ah *ah; /* owned: to the remote endpoint */
	uint8_t remote_gid[16];
	uint32_t remote_qpn, remote_qkey; /* of the remote endpoint */
	uint32_t message_max_bytes;
	uint32_t instance, remote_instance;
	uint32_t attempt;  /* the attempt that state is about */
	uint32_t psn;	   /* our first packet number of this attempt */
	uint64_t again_ns; /* when to repeat the datagram of the state; 0: at once */
	uint64_t want_ns;  /* when to ask for credit; 0: we have credit, or nothing to send */
	/* Since the attempt began. */
	uint32_t first;	   /* number of the attempt's first message on the pair */
	uint32_t allowed;  /* messages that we may send */
	uint32_t received; /* messages that they sent */
	uint32_t granted;  /* messages that they may send */
	uint32_t told;	   /* the value of granted that they were told last */
	void *context;
};

struct rc_transport {
	struct rb_verbs v;
	struct rb_verbs_pair *datagrams; /* owned by v: the endpoint */
	struct ibv_mr *datagram_mr;	 /* owned */
	uint8_t *datagram_area;		 /* owned */
	uint32_t message_max_bytes;
	uint32_t n_open;
	uint32_t n_paths;	      /* every path in use is below */
	uint32_t attempts, instances; /* the last numbers given */
	uint8_t ack_timer;
	uint64_t recovered_ns;
	uint64_t not_expected, no_credit;
	struct rb_path *newest; /* of the last message received */
	struct rb_path paths[PATHS_MAX];
};

static struct rc_transport *of(struct rb_transport *t)
{
	return (struct rc_transport *)t;
}

/* --- Datagrams: sending --- */

static void say(struct rc_transport *t, struct rb_path *path, enum rb_rc_say type)
{
	const struct rb_rc_datagram c = {
		.type = (uint8_t)type,
		.mtu = (uint8_t)t->v.path_mtu,
		.attempt = path->attempt,
		.instance = path->instance,
		.qpn = path->pair->qp->qp_num,
		.psn = path->psn,
		.credit = path->granted,
	};
	uint8_t bytes[RB_RC_DATAGRAM_BYTES];
	const struct rb_piece piece = { bytes, sizeof(bytes) };
	struct rb_transport_stats keep = t->v.stats;
	struct ibv_send_wr *wr;
	int err;

	rb_rc_datagram_encode(&c, bytes);
	rb_verbs_pair_submit(t->datagrams, RB_VERBS_CHAIN);
	err = rb_verbs_pair_put(&t->v, t->datagrams, &piece, 1, sizeof(bytes), 0, &wr);
	t->v.stats = keep; /* stats count messages, and this is none */
	if (err < 0)
		return; /* the state repeats it */
	wr->wr.ud.ah = path->ah;
	wr->wr.ud.remote_qpn = path->remote_qpn;
	wr->wr.ud.remote_qkey = path->remote_qkey;
	rb_verbs_pair_submit(t->datagrams, RB_VERBS_CHAIN);
	if (type == RB_RC_CREDIT || type == RB_RC_CONFIRM || type == RB_RC_ACCEPT)
		path->told = path->granted;
}

/* --- Credits --- */

/* Send the messages that credit allows. */
static int pump(struct rc_transport *t, struct rb_path *path)
{
	uint32_t under_way = path->pair->posted - path->first;
	uint32_t waiting = path->pair->tail - path->pair->posted;

	if (path->state != RC_CONNECTED || waiting == 0)
		return 0;
	for (uint32_t i = 0; i < waiting; i++)
		path->pair->wr[(path->pair->posted + i) % RB_VERBS_CHAIN].imm_data =
			sl_htonl(path->granted);
	if (path->allowed != under_way) {
		path->want_ns = 0;
		path->told = path->granted;
	} else {
		t->no_credit++;
	}
	return rb_verbs_pair_submit(path->pair, path->allowed - under_way);
}

/* Grant the posted chunks that are not granted yet to the paths, in equal shares. */
static void grant(struct rc_transport *t)
{
	uint32_t posted = t->v.config.receive_depth - t->v.n_free_slots, promised = 0;
	uint32_t share = t->n_open ? t->v.config.receive_depth / t->n_open : 0;

	for (uint32_t i = 0; i < t->n_paths; i++)
		if (t->paths[i].open)
			promised += t->paths[i].granted - t->paths[i].received;
	for (uint32_t i = 0; i < t->n_paths && promised < posted; i++) {
		struct rb_path *path = &t->paths[i];
		uint32_t out = path->granted - path->received, more;

		if (!path->open || path->state == RC_CONNECTING || out >= share)
			continue;
		more = share - out < posted - promised ? share - out : posted - promised;
		path->granted += more;
		promised += more;
		/* With more than half a share left, they can wait for our next message. */
		if (path->state == RC_CONNECTED && path->told - path->received <= share / 2 &&
		    path->granted != path->told)
			say(t, path, RB_RC_CREDIT);
	}
}

/* --- Connecting --- */

/* Reset the connection of a path, so that its queue pair is in INIT. */
static int reset(struct rc_transport *t, struct rb_path *path)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	struct rb_verbs_pair *pair = path->pair;
	int err = t->v.lib->modify_qp(pair->qp, &attr, IBV_QP_STATE);

	if (!err) {
		attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT, .port_num = t->v.port };
		err = t->v.lib->modify_qp(pair->qp, &attr,
					  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
						  IBV_QP_ACCESS_FLAGS);
	}
	pair->ready = false;
	pair->broken = err != 0;
	/* Messages that the device had are lost. The next connection carries the later ones. */
	t->v.stats.send_failed += pair->posted - pair->completed;
	pair->completed = pair->posted;
	path->first = pair->posted;
	path->allowed = path->received = path->granted = path->told = 0;
	path->state = RC_CONNECTING;
	path->again_ns = 0;
	return -abs(err);
}

/* Connect a queue pair that was reset to the other end's queue pair. */
static int connect_to(struct rc_transport *t, struct rb_path *path, const struct rb_rc_datagram *c)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = c->mtu < t->v.path_mtu ? (enum ibv_mtu)c->mtu : t->v.path_mtu,
		.dest_qp_num = c->qpn,
		.rq_psn = c->psn,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = RNR_TIMER,
	};
	int err;

	rb_verbs_address(&t->v, path->remote_gid, &attr.ah_attr);
	err = t->v.lib->modify_qp(path->pair->qp, &attr,
				  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					  IBV_QP_MIN_RNR_TIMER);
	if (err)
		return -abs(err);
	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_RTS,
				     .sq_psn = path->psn,
				     .timeout = t->ack_timer,
				     .retry_cnt = RETRIES,
				     .rnr_retry = RNR_FOREVER,
				     .max_rd_atomic = 1 };
	err = t->v.lib->modify_qp(path->pair->qp, &attr,
				  IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					  IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	path->pair->ready = !err;
	return -abs(err);
}

/* Leader: begin the next attempt. */
static void attempt(struct rc_transport *t, struct rb_path *path)
{
	if (reset(t, path))
		return;
	path->attempt = ++t->attempts;
	/* Packets of the former connection must not fit the new one. */
	path->psn = path->attempt * 0x10001 & 0xffffff;
}

/*
 * Recover from any error of a connection: the next attempt. The path keeps its context, its unsent
 * messages and its place among the others.
 */
static void recover(struct rc_transport *t, struct rb_path *path)
{
	if (path->leads)
		attempt(t, path);
	else
		reset(t, path);
	t->v.recoveries++;
}

static void established(struct rc_transport *t, struct rb_path *path)
{
	path->state = RC_CONNECTED;
	pump(t, path);
}

/* Recover a broken path, and send or repeat the datagram of its state. */
static void talk(struct rc_transport *t, struct rb_path *path, uint64_t now_ns)
{
	if (path->pair->broken)
		recover(t, path);
	if (path->state == RC_CONNECTED) {
		bool starved = path->pair->tail != path->pair->posted;

		if (!starved)
			path->want_ns = 0;
		else if (!path->want_ns)
			path->want_ns = now_ns + AGAIN_NS;
		else if (now_ns >= path->want_ns) {
			path->want_ns = now_ns + AGAIN_NS;
			say(t, path, RB_RC_WANT);
		}
		return;
	}
	if (path->again_ns && now_ns < path->again_ns)
		return;
	path->again_ns = now_ns + AGAIN_NS;
	if (path->state == RC_ACCEPTED)
		say(t, path, RB_RC_ACCEPT);
	else
		say(t, path, path->leads ? RB_RC_CONNECT : RB_RC_AGAIN);
}

/* The leader wants to connect: a new attempt, or the repetition of one. */
static void hear_connect(struct rc_transport *t, struct rb_path *path,
			 const struct rb_rc_datagram *c)
{
	bool seen = path->attempt == c->attempt && path->remote_instance == c->instance;

	if (path->leads || (seen && path->state == RC_CONNECTING))
		return; /* that attempt failed here; our AGAIN says so */
	if (!seen) {
		if (reset(t, path))
			return;
		path->attempt = c->attempt;
		path->remote_instance = c->instance;
		path->psn = (c->psn ^ 0x5a5a5a) & 0xffffff;
		if (connect_to(t, path, c)) {
			path->pair->broken = true;
			return;
		}
		path->allowed = c->credit;
		path->state = RC_ACCEPTED;
		grant(t);
	}
	say(t, path, RB_RC_ACCEPT);
}

static void hear_accept(struct rc_transport *t, struct rb_path *path,
			const struct rb_rc_datagram *c)
{
	if (!path->leads || c->attempt != path->attempt)
		return;
	if (path->state == RC_CONNECTING) {
		if (connect_to(t, path, c)) {
			path->pair->broken = true;
			return;
		}
		path->remote_instance = c->instance;
		path->allowed = c->credit;
		path->state = RC_ACCEPTED; /* grant() passes over paths that are still connecting */
		grant(t);
		established(t, path);
	}
	say(t, path, RB_RC_CONFIRM);
}

static void allow(struct rc_transport *t, struct rb_path *path, uint32_t credit)
{
	/* Credit that comes late may be lower than credit that came before it. */
	if ((int32_t)(credit - path->allowed) > 0)
		path->allowed = credit;
	pump(t, path);
}

static void hear(struct rc_transport *t, struct rb_path *path, const struct rb_rc_datagram *c)
{
	bool current = c->attempt == path->attempt && c->instance == path->remote_instance;

	if (c->type == RB_RC_CONNECT) {
		hear_connect(t, path, c);
	} else if (c->type == RB_RC_ACCEPT) {
		hear_accept(t, path, c);
	} else if (c->type == RB_RC_AGAIN) {
		/* From a new end of the path, or about this very connection. */
		if (path->leads && path->state != RC_CONNECTING &&
		    (c->instance != path->remote_instance || c->attempt == path->attempt))
			attempt(t, path);
	} else if (!current || path->state == RC_CONNECTING) {
		t->not_expected++;
	} else if (c->type == RB_RC_WANT) {
		say(t, path, RB_RC_CREDIT);
	} else {
		if (c->type == RB_RC_CONFIRM && path->state == RC_ACCEPTED)
			established(t, path);
		allow(t, path, c->credit);
	}
}

/* --- Datagrams: receiving --- */

static bool leads_to(const struct rb_path *path, const uint8_t gid[16], uint32_t qpn)
{
	return path->open && path->remote_qpn == qpn && memcmp(path->remote_gid, gid, 16) == 0;
}

static struct rb_path *find_path(struct rc_transport *t, const uint8_t gid[16], uint32_t qpn)
{
	for (uint32_t i = 0; i < t->n_paths; i++)
		if (leads_to(&t->paths[i], gid, qpn))
			return &t->paths[i];
	return NULL;
}

static int post_datagram(struct rc_transport *t, uint32_t i)
{
	struct ibv_sge sge = { .addr = (uintptr_t)(t->datagram_area + i * DATAGRAM_BYTES),
			       .length = DATAGRAM_BYTES,
			       .lkey = t->datagram_mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = DATAGRAM_BIT | i, .sg_list = &sge, .num_sge = 1 }, *bad;

	return -abs(ibv_post_recv(t->datagrams->qp, &wr, &bad));
}

static void receive_datagram(struct rc_transport *t, const struct ibv_wc *wc)
{
	const uint8_t *bytes = t->datagram_area + (wc->wr_id & 0xffff) * DATAGRAM_BYTES;
	struct rb_path *path = NULL;
	uint8_t source[16];
	struct rb_rc_datagram c;

	rb_verbs_source(&t->v, bytes, source);
	if (wc->byte_len >= RB_VERBS_GRH_BYTES && (wc->wc_flags & IBV_WC_GRH) &&
	    rb_rc_datagram_decode(bytes + RB_VERBS_GRH_BYTES, wc->byte_len - RB_VERBS_GRH_BYTES,
				  &c))
		path = find_path(t, source, wc->src_qp);
	if (path)
		hear(t, path, &c);
	else
		t->not_expected++;
}

static void recover_datagrams(struct rc_transport *t, uint64_t now_ns)
{
	if (t->recovered_ns && now_ns - t->recovered_ns < RECOVER_AGAIN_NS)
		return;
	t->recovered_ns = now_ns;
	t->datagrams->ready = false;
	if (rb_verbs_datagram_up(&t->v, t->datagrams->qp))
		return;
	t->datagrams->completed = t->datagrams->posted = t->datagrams->tail;
	for (uint32_t i = 0; i < DATAGRAMS; i++)
		if (post_datagram(t, i))
			return;
	t->datagrams->broken = false;
	t->datagrams->ready = true;
	t->v.recoveries++;
}

/* Receive datagrams, and keep every path's connection going. */
static void serve_connections(struct rc_transport *t, uint64_t now_ns)
{
	struct ibv_wc wc[DATAGRAMS];
	int n = ibv_poll_cq(t->v.datagram_cq, DATAGRAMS, wc);

	for (int i = 0; i < n; i++) {
		t->v.statuses[wc[i].status < (enum ibv_wc_status)RB_VERBS_STATUS_COUNT
				      ? wc[i].status
				      : IBV_WC_GENERAL_ERR]++;
		if (!(wc[i].wr_id & DATAGRAM_BIT) || rb_verbs_is_send(&wc[i]))
			rb_verbs_sent(&t->v, &wc[i]);
		else if (wc[i].status != IBV_WC_SUCCESS)
			t->datagrams->broken = true;
		else {
			receive_datagram(t, &wc[i]);
			if (post_datagram(t, wc[i].wr_id & 0xffff))
				t->datagrams->broken = true;
		}
	}
	if (t->datagrams->broken && n <= 0)
		recover_datagrams(t, now_ns);
	for (uint32_t i = 0; i < t->n_paths; i++)
		if (t->paths[i].open)
			talk(t, &t->paths[i], now_ns);
}

/* --- Operations --- */

static void rc_close(struct rb_transport *base)
{
	struct rc_transport *t = of(base);

	/* The queue pairs go first, because they use everything else. */
	for (uint32_t i = 0; i < t->v.n_pairs; i++)
		rb_verbs_pair_destroy(&t->v, t->v.pair[i]);
	for (uint32_t i = 0; i < t->n_paths; i++)
		if (t->paths[i].ah)
			t->v.lib->destroy_ah(t->paths[i].ah);
	if (t->datagram_mr)
		t->v.lib->dereg_mr(t->datagram_mr);
	rb_verbs_device_close(&t->v);
	free(t->datagram_area);
	free(t);
}

static void rc_endpoint(struct rb_transport *base, struct rb_endpoint *out)
{
	const struct rc_transport *t = of(base);

	*out = (struct rb_endpoint){ .qpn = t->datagrams->qp->qp_num,
				     .qkey = t->v.config.qkey,
				     .message_max_bytes = t->message_max_bytes };
	memcpy(out->gid, t->v.config.address, sizeof(out->gid));
}

static int make_pair(struct rc_transport *t, struct rb_verbs_pair **out)
{
	struct rb_verbs *v = &t->v;
	struct ibv_qp_init_attr attr = {
		.send_cq = v->cq,
		.recv_cq = v->cq,
		.srq = v->srq,
		.cap = { .max_send_wr = v->config.send_depth,
			 .max_send_sge = v->base.pieces_max,
			 .max_inline_data = RB_VERBS_INLINE_MAX },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_qp *qp;

	errno = 0;
	qp = v->lib->create_qp(v->pd, &attr);
	if (!qp)
		return errno ? -errno : -ENOMEM;
	if (attr.cap.max_inline_data < v->inline_max_bytes)
		v->inline_max_bytes = attr.cap.max_inline_data;
	return rb_verbs_pair_create(v, qp, out);
}

static int rc_path_create(struct rb_transport *base, const struct rb_endpoint *remote,
			  void *context, struct rb_path **out)
{
	struct rc_transport *t = of(base);
	struct rb_path *path = NULL;
	struct ibv_ah_attr address;
	uint32_t self = t->datagrams->qp->qp_num;
	int order, err;

	*out = NULL;
	if (!rb_verbs_is_reachable(&t->v, remote))
		return -EINVAL;
	if (find_path(t, remote->gid, remote->qpn))
		return -EEXIST;
	for (uint32_t i = 0; i < t->n_paths && !path; i++)
		if (!t->paths[i].open)
			path = &t->paths[i];
	if (!path && t->n_paths < PATHS_MAX)
		path = &t->paths[t->n_paths++];
	if (!path)
		return -ENOSPC;
	if (path->ah)
		t->v.lib->destroy_ah(path->ah);
	order = memcmp(t->v.config.address, remote->gid, 16);
	*path = (struct rb_path){ .remote_qpn = remote->qpn,
				  .remote_qkey = remote->qkey,
				  .leads = order < 0 || (order == 0 && self < remote->qpn),
				  .instance = ++t->instances,
				  .context = context };
	memcpy(path->remote_gid, remote->gid, sizeof(path->remote_gid));
	path->message_max_bytes = remote->message_max_bytes < t->message_max_bytes
					  ? remote->message_max_bytes
					  : t->message_max_bytes;
	rb_verbs_address(&t->v, remote->gid, &address);
	errno = 0;
	path->ah = t->v.lib->create_ah(t->v.pd, &address);
	if (!path->ah)
		return errno ? -errno : -ENOMEM;
	err = make_pair(t, &path->pair);
	if (!err)
		err = reset(t, path);
	if (err) {
		rb_verbs_pair_destroy(&t->v, path->pair);
		path->pair = NULL;
		return err;
	}
	if (path->leads)
		attempt(t, path);
	path->open = true;
	t->n_open++;
	*out = path;
	return 0;
}

static void rc_path_destroy(struct rb_transport *base, struct rb_path *path)
{
	struct rc_transport *t = of(base);

	rb_verbs_pair_close(&t->v, path->pair);
	path->pair = NULL;
	path->open = false;
	t->n_open--;
}

static uint32_t rc_post_receive(struct rb_transport *base, const uint64_t *offsets, uint32_t n)
{
	struct rc_transport *t = of(base);
	uint32_t taken = rb_verbs_receive(&t->v, NULL, offsets, n);

	grant(t);
	return taken;
}

static int rc_post_send(struct rb_transport *base, struct rb_path *path,
			const struct rb_piece *pieces, uint32_t n, uint64_t cookie)
{
	struct rc_transport *t = of(base);
	int len_bytes = rb_message_bytes(base, pieces, n, path->message_max_bytes);
	struct ibv_send_wr *wr;
	int err;

	if (len_bytes < 0)
		return len_bytes;
	if (path->pair->tail - path->pair->posted == RB_VERBS_CHAIN)
		pump(t, path);
	err = rb_verbs_pair_put(&t->v, path->pair, pieces, n, (uint32_t)len_bytes, cookie, &wr);
	if (err >= 0)
		wr->opcode = IBV_WR_SEND_WITH_IMM;
	return err;
}

static int rc_flush(struct rb_transport *base)
{
	struct rc_transport *t = of(base);

	/* Messages that wait for credit need no flush: credit sends them when it comes. */
	for (uint32_t i = 0; i < t->n_paths; i++)
		if (t->paths[i].open)
			pump(t, &t->paths[i]);
	return 0;
}

static struct rb_path *path_of(struct rc_transport *t, uint32_t qpn)
{
	struct rb_path *path = t->newest;

	if (path && path->open && path->pair->qp->qp_num == qpn)
		return path;
	for (uint32_t i = 0; i < t->n_paths; i++)
		if (t->paths[i].open && t->paths[i].pair->qp->qp_num == qpn)
			return t->newest = &t->paths[i];
	return NULL;
}

static void deliver(struct rc_transport *t, const struct ibv_wc *wc, uint64_t offset,
		    struct rb_completion *out)
{
	struct rb_path *path = path_of(t, wc->qp_num);

	*out = (struct rb_completion){ .kind = RB_RECEIVED,
				       .len_bytes = wc->byte_len,
				       .offset = offset,
				       .context = path ? path->context : NULL };
	rb_chunk_move(t->v.base.chunks, offset, RB_OWNER_RECEIVE, RB_OWNER_MESSAGE);
	t->v.stats.received++;
	t->v.stats.received_bytes += wc->byte_len;
	if (!path || path->state == RC_CONNECTING)
		return;
	path->received++;
	if (path->state == RC_ACCEPTED)
		established(t, path);
	if (wc->wc_flags & IBV_WC_WITH_IMM)
		allow(t, path, sl_ntohl(wc->imm_data));
}

static uint32_t rc_poll(struct rb_transport *base, struct rb_completion *out, uint32_t max,
			uint64_t now_ns)
{
	struct rc_transport *t = of(base);
	const struct ibv_wc *wc;
	uint32_t n;

	serve_connections(t, now_ns);
	n = rb_verbs_report(&t->v, out, max);
	while (n < max && (wc = rb_verbs_next(&t->v))) {
		uint64_t offset;

		if (rb_verbs_is_send(wc)) {
			rb_verbs_sent(&t->v, wc);
			n += rb_verbs_report(&t->v, out + n, max - n);
		} else if (rb_verbs_received(&t->v, wc, &offset)) {
			deliver(t, wc, offset, &out[n++]);
		} else if (wc->status != IBV_WC_SUCCESS) {
			struct rb_path *path = path_of(t, wc->qp_num);

			/* The broken connection had taken the request from the shared queue. */
			rb_verbs_repost(&t->v, wc);
			if (path)
				path->pair->broken = true;
		}
	}
	return n;
}

static void rc_stats(struct rb_transport *base, struct rb_transport_stats *out)
{
	*out = of(base)->v.stats;
}

static void rc_info(const struct rb_verbs *v, struct rb_verbs_info *out)
{
	const struct rc_transport *t = (const struct rc_transport *)v;

	out->not_expected = t->not_expected;
	out->no_credit = t->no_credit;
	for (uint32_t i = 0; i < t->n_paths; i++)
		out->connected += t->paths[i].open && t->paths[i].state == RC_CONNECTED;
}

/* --- Opening --- */

static const struct rb_transport_ops rc_ops = {
	.name = "verbs-rc",
	.close = rc_close,
	.endpoint = rc_endpoint,
	.path_create = rc_path_create,
	.path_destroy = rc_path_destroy,
	.post_receive = rc_post_receive,
	.post_send = rc_post_send,
	.flush = rc_flush,
	.poll = rc_poll,
	.wait_fd = rb_verbs_wait_fd,
	.arm = rb_verbs_arm,
	.stats = rc_stats,
};

static int make_datagrams(struct rc_transport *t)
{
	struct rb_verbs *v = &t->v;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = v->config.send_depth,
			 .max_recv_wr = DATAGRAMS,
			 .max_send_sge = 1,
			 .max_recv_sge = 1,
			 .max_inline_data = RB_VERBS_INLINE_MAX },
		.qp_type = IBV_QPT_UD,
	};
	struct ibv_qp *qp;
	int err;

	t->datagram_area = aligned_alloc(4096, DATAGRAMS * DATAGRAM_BYTES);
	if (!t->datagram_area)
		return -ENOMEM;
	memset(t->datagram_area, 0, DATAGRAMS * DATAGRAM_BYTES);
	errno = 0;
	t->datagram_mr = v->lib->reg_mr_iova2(v->pd, t->datagram_area, DATAGRAMS * DATAGRAM_BYTES,
					      (uintptr_t)t->datagram_area, IBV_ACCESS_LOCAL_WRITE);
	if (t->datagram_mr)
		v->datagram_cq = v->lib->create_cq(
			v->context, (int)(DATAGRAMS + v->config.send_depth), NULL, v->channel, 0);
	if (!v->datagram_cq)
		return errno ? -errno : -ENOMEM;
	attr.send_cq = attr.recv_cq = v->datagram_cq;
	qp = v->lib->create_qp(v->pd, &attr);
	if (!qp)
		return errno ? -errno : -ENOMEM;
	v->inline_max_bytes = attr.cap.max_inline_data < RB_VERBS_INLINE_MAX
				      ? attr.cap.max_inline_data
				      : RB_VERBS_INLINE_MAX;
	err = rb_verbs_pair_create(v, qp, &t->datagrams);
	if (!err)
		err = rb_verbs_datagram_up(v, qp);
	for (uint32_t i = 0; i < DATAGRAMS && !err; i++)
		err = post_datagram(t, i);
	if (!err)
		t->datagrams->ready = true;
	return err;
}

static int make_shared_queue(struct rc_transport *t)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = t->v.config.receive_depth,
						    .max_sge = 1 } };

	errno = 0;
	t->v.srq = t->v.lib->create_srq(t->v.pd, &attr);
	return t->v.srq ? 0 : errno ? -errno : -ENOMEM;
}

/*
 * The device sends a lost packet again within a quarter of patience_ns, and gives the connection up
 * after RETRIES of those: about twice patience_ns.
 */
static uint8_t ack_timer(uint64_t patience_ns)
{
	uint8_t e = 1;

	while (e < 31 && (TIMER_UNIT_NS << (e + 1)) <= patience_ns / 4)
		e++;
	return e;
}

int rb_verbs_rc_open(const struct rb_verbs_config *config, struct rb_transport **out)
{
	struct rc_transport *t = calloc(1, sizeof(*t));
	uint32_t completions = config->receive_depth + 4 * config->send_depth;
	int err;

	*out = NULL;
	if (!t)
		return -ENOMEM;
	t->v.base.ops = &rc_ops;
	t->v.info = rc_info;
	t->message_max_bytes = rb_chunk_bytes(config->chunks);
	t->ack_timer = ack_timer(config->patience_ns ? config->patience_ns : RB_VERBS_PATIENCE_NS);
	err = rb_verbs_device_open(&t->v, config, completions);
	if (!err)
		err = make_shared_queue(t);
	if (!err)
		err = make_datagrams(t);
	if (err)
		rc_close(&t->v.base);
	else
		*out = &t->v.base;
	return err;
}
