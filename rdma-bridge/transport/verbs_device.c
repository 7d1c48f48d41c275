/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/transport/verbs_device.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "rdma-bridge/transport/roce.h"

#define GIDS_MAX   512
#define PKEY_INDEX 0

/* In the route header before a datagram: an IPv4 header stands at its end. */
#define GRH_V4_SOURCE (20 + 12)
#define GRH_V6_SOURCE 8

/*
 * Of a request: bit 63 for a send, then the generation of its lane, the lane, the number of the
 * message.
 */
#define SEND_BIT (1ULL << 63)

static uint64_t send_id(const struct rb_verbs_lane *lane, uint32_t number)
{
	return SEND_BIT | (uint64_t)(lane->generation & 0x7fff) << 48 |
	       (uint64_t)lane->index << 32 | number;
}

/* --- Lanes -------------------------------------------------------------------------------- */

int rb_verbs_lane_create(struct rb_verbs *v, struct ibv_qp *qp, struct rb_verbs_lane **out)
{
	struct rb_verbs_lane *lane = calloc(1, sizeof(*lane));
	uint32_t index = 0, size = 1;

	*out = NULL;
	while (size < v->config.send_depth)
		size <<= 1;
	if (lane)
		lane->sent = calloc(size, sizeof(*lane->sent));
	while (index < RB_VERBS_LANES_MAX && v->lane[index])
		index++;
	if (!lane || !lane->sent || index == RB_VERBS_LANES_MAX) {
		int err = index == RB_VERBS_LANES_MAX ? -ENOSPC : -ENOMEM;

		if (lane)
			free(lane->sent);
		free(lane);
		v->lib->destroy_qp(qp);
		return err;
	}
	lane->qp = qp;
	lane->mask = size - 1;
	lane->index = index;
	lane->generation = ++v->lane_generation;
	v->lane[index] = lane;
	if (index >= v->n_lanes)
		v->n_lanes = index + 1;
	*out = lane;
	return 0;
}

void rb_verbs_lane_destroy(struct rb_verbs *v, struct rb_verbs_lane *lane)
{
	if (!lane)
		return;
	if (lane->qp)
		v->lib->destroy_qp(lane->qp);
	for (; lane->reported != lane->tail; lane->reported++) {
		uint64_t chunk = lane->sent[lane->reported & lane->mask].chunk;

		if (chunk != RB_CHUNK_NONE)
			rb_chunk_release(v->base.chunks, chunk, RB_OWNER_SEND);
	}
	v->lane[lane->index] = NULL;
	free(lane->sent);
	free(lane);
}

void rb_verbs_lane_close(struct rb_verbs *v, struct rb_verbs_lane *lane)
{
	v->lib->destroy_qp(lane->qp);
	lane->qp = NULL;
	lane->ready = lane->broken = false;
	lane->closing = true;
	rb_verbs_lane_fail(v, lane);
	if (lane->reported == lane->tail)
		rb_verbs_lane_destroy(v, lane);
}

void rb_verbs_lane_fail(struct rb_verbs *v, struct rb_verbs_lane *lane)
{
	v->stats.send_failed += lane->tail - lane->completed;
	lane->completed = lane->posted = lane->tail;
}

static bool in_region(const struct rb_verbs *v, const struct rb_piece *piece)
{
	const uint8_t *area = v->base.chunks->area;

	return piece->data >= area && piece->data + piece->len_bytes <= area + v->config.area_bytes;
}

/* By gather entries, not as one copy? RB_VERBS_COPY_BELOW says what is spared by which. */
static bool may_gather(const struct rb_verbs *v, const struct rb_piece *pieces, uint32_t n,
		       uint32_t len_bytes)
{
	if (len_bytes < (uint64_t)(n - 1) * v->config.copy_below_bytes)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!in_region(v, &pieces[i]))
			return false;
	return true;
}

static void copy(const struct rb_piece *pieces, uint32_t n, uint8_t *to)
{
	for (uint32_t i = 0; i < n; i++) {
		memcpy(to, pieces[i].data, pieces[i].len_bytes);
		to += pieces[i].len_bytes;
	}
}

int rb_verbs_lane_put(struct rb_verbs *v, struct rb_verbs_lane *lane, const struct rb_piece *pieces,
		      uint32_t n, uint32_t len_bytes, uint64_t cookie, struct ibv_send_wr **wr_out)
{
	uint32_t slot = lane->tail % RB_VERBS_CHAIN, i = 0;
	struct rb_verbs_sent *sent = &lane->sent[lane->tail & lane->mask];
	struct ibv_sge *sge;
	struct ibv_send_wr *wr;

	if (lane->tail - lane->reported >= v->config.send_depth)
		return -EAGAIN;
	if (lane->tail - lane->posted == RB_VERBS_CHAIN)
		return -EAGAIN;
	wr = &lane->wr[slot];
	sge = lane->sge[slot];
	*sent = (struct rb_verbs_sent){ .cookie = cookie, .chunk = RB_CHUNK_NONE };
	*wr = (struct ibv_send_wr){ .wr_id = send_id(lane, lane->tail),
				    .sg_list = sge,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND };
	if (len_bytes <= v->inline_max_bytes) {
		copy(pieces, n, lane->inline_bytes[slot]);
		sge[0].addr = (uintptr_t)lane->inline_bytes[slot];
		sge[0].length = len_bytes;
		wr->send_flags = IBV_SEND_INLINE;
		v->stats.bytes_copied += len_bytes;
	} else if (may_gather(v, pieces, n, len_bytes)) {
		for (; i < n; i++)
			sge[i] = (struct ibv_sge){ .addr = (uintptr_t)pieces[i].data,
						   .length = pieces[i].len_bytes,
						   .lkey = v->lkey };
		wr->num_sge = (int)n;
		sent->lent = true;
	} else {
		sent->chunk = rb_chunk_take(v->base.chunks, RB_OWNER_SEND);
		if (sent->chunk == RB_CHUNK_NONE)
			return -EAGAIN;
		copy(pieces, n, rb_chunk_data(v->base.chunks, sent->chunk));
		sge[0] = (struct ibv_sge){
			.addr = (uintptr_t)rb_chunk_data(v->base.chunks, sent->chunk),
			.length = len_bytes,
			.lkey = v->lkey,
		};
		v->stats.bytes_copied += len_bytes;
	}
	lane->tail++;
	v->stats.sent++;
	v->stats.sent_bytes += len_bytes;
	*wr_out = wr;
	return sent->lent ? 0 : 1;
}

int rb_verbs_lane_submit(struct rb_verbs_lane *lane, uint32_t max)
{
	uint32_t n = lane->tail - lane->posted;
	struct ibv_send_wr *bad = NULL, *wr = NULL;

	if (n > max)
		n = max;
	if (n == 0)
		return 0;
	if (!lane->ready)
		return -EIO;
	for (uint32_t i = 0; i < n; i++) {
		struct ibv_send_wr *next = &lane->wr[(lane->posted + i) % RB_VERBS_CHAIN];

		if (wr)
			wr->next = next;
		wr = next;
	}
	wr->next = NULL;
	wr->send_flags |= IBV_SEND_SIGNALED;
	if (ibv_post_send(lane->qp, &lane->wr[lane->posted % RB_VERBS_CHAIN], &bad)) {
		/* Only a reset tells which of them the device has done with. */
		lane->broken = true;
		return -EIO;
	}
	lane->posted += n;
	return 0;
}

static uint32_t report(struct rb_verbs *v, struct rb_verbs_lane *lane, struct rb_completion *out,
		       uint32_t max)
{
	uint32_t n = 0;

	for (; lane->reported != lane->completed; lane->reported++) {
		const struct rb_verbs_sent *sent = &lane->sent[lane->reported & lane->mask];

		if (sent->chunk != RB_CHUNK_NONE)
			rb_chunk_release(v->base.chunks, sent->chunk, RB_OWNER_SEND);
		if (!sent->lent)
			continue;
		if (n == max)
			break;
		out[n++] = (struct rb_completion){ .kind = RB_SENT, .cookie = sent->cookie };
	}
	return n;
}

uint32_t rb_verbs_report(struct rb_verbs *v, struct rb_completion *out, uint32_t max)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < v->n_lanes; i++) {
		struct rb_verbs_lane *lane = v->lane[(v->lane_turn + i) % v->n_lanes];

		if (lane && lane->reported != lane->completed)
			n += report(v, lane, out + n, max - n);
		if (lane && lane->closing && lane->reported == lane->tail)
			rb_verbs_lane_destroy(v, lane);
	}
	if (v->n_lanes)
		v->lane_turn = (v->lane_turn + 1) % v->n_lanes;
	return n;
}

/* --- Receiving ---------------------------------------------------------------------------- */

/* Post requests for these slots; how many were taken. */
static uint32_t post(struct rb_verbs *v, struct ibv_qp *qp, const uint32_t *slots, uint32_t n)
{
	struct ibv_recv_wr wr[RB_VERBS_BATCH], *bad = NULL;
	struct ibv_sge sge[RB_VERBS_BATCH];

	for (uint32_t i = 0; i < n; i++) {
		uint64_t offset = v->slot[slots[i]];

		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)rb_chunk_data(v->base.chunks, offset),
			.length = rb_chunk_bytes(v->base.chunks),
			.lkey = v->lkey,
		};
		wr[i] = (struct ibv_recv_wr){ .wr_id = slots[i],
					      .sg_list = &sge[i],
					      .num_sge = 1,
					      .next = i + 1 < n ? &wr[i + 1] : NULL };
	}
	if (n == 0 ||
	    (v->srq ? ibv_post_srq_recv(v->srq, wr, &bad) : ibv_post_recv(qp, wr, &bad)) == 0)
		return n;
	return bad ? (uint32_t)(bad - wr) : 0;
}

uint32_t rb_verbs_receive(struct rb_verbs *v, struct ibv_qp *qp, const uint64_t *offsets,
			  uint32_t n)
{
	uint32_t slots[RB_VERBS_BATCH], taken = 0;

	while (taken < n) {
		uint32_t k = n - taken, posted;

		if (k > v->n_free_slots)
			k = v->n_free_slots;
		if (k > RB_VERBS_BATCH)
			k = RB_VERBS_BATCH;
		for (uint32_t i = 0; i < k; i++) {
			slots[i] = v->free_slot[--v->n_free_slots];
			v->slot[slots[i]] = rb_chunk_base(v->base.chunks, offsets[taken + i]);
		}
		posted = post(v, qp, slots, k);
		for (uint32_t i = posted; i < k; i++) {
			v->slot[slots[i]] = RB_CHUNK_NONE;
			v->free_slot[v->n_free_slots++] = slots[i];
		}
		taken += posted;
		if (posted < RB_VERBS_BATCH)
			break;
	}
	return taken;
}

int rb_verbs_receive_again(struct rb_verbs *v, struct ibv_qp *qp)
{
	for (uint32_t i = 0; i < v->config.receive_depth; i++)
		if (v->slot[i] != RB_CHUNK_NONE && post(v, qp, &i, 1) != 1)
			return -EIO;
	return 0;
}

void rb_verbs_repost(struct rb_verbs *v, const struct ibv_wc *wc)
{
	uint32_t slot = (uint32_t)wc->wr_id;

	if (slot < v->config.receive_depth && v->slot[slot] != RB_CHUNK_NONE)
		post(v, NULL, &slot, 1);
}

/* --- Completions -------------------------------------------------------------------------- */

static bool fill_stash(struct rb_verbs *v)
{
	int n;

	if (v->n_stash > 0)
		return true;
	n = ibv_poll_cq(v->cq, RB_VERBS_BATCH, v->stash);
	v->stash_first = 0;
	v->n_stash = n > 0 ? (uint32_t)n : 0;
	return n > 0;
}

const struct ibv_wc *rb_verbs_next(struct rb_verbs *v)
{
	const struct ibv_wc *wc;
	uint32_t status;

	if (!fill_stash(v))
		return NULL;
	wc = &v->stash[v->stash_first++];
	v->n_stash--;
	status = (uint32_t)wc->status;
	v->statuses[status < RB_VERBS_STATUS_COUNT ? status : IBV_WC_GENERAL_ERR]++;
	return wc;
}

bool rb_verbs_is_send(const struct ibv_wc *wc)
{
	return wc->wr_id & SEND_BIT;
}

struct rb_verbs_lane *rb_verbs_sent(struct rb_verbs *v, const struct ibv_wc *wc)
{
	uint32_t index = wc->wr_id >> 32 & 0xffff, number = (uint32_t)wc->wr_id;
	struct rb_verbs_lane *lane = index < RB_VERBS_LANES_MAX ? v->lane[index] : NULL;

	if (!lane || (lane->generation & 0x7fff) != (wc->wr_id >> 48 & 0x7fff))
		return NULL;
	/* Of before a reset: done with already. */
	if (number - lane->completed >= lane->posted - lane->completed)
		return lane;
	if (wc->status == IBV_WC_SUCCESS) {
		lane->completed = number + 1;
	} else {
		/*
		 * The chain before the one that failed was sent; this one and what follows were
		 * not.
		 */
		lane->completed = number;
		lane->broken = true;
	}
	return lane;
}

bool rb_verbs_received(struct rb_verbs *v, const struct ibv_wc *wc, uint64_t *offset)
{
	uint32_t slot = (uint32_t)wc->wr_id;

	if (slot >= v->config.receive_depth || v->slot[slot] == RB_CHUNK_NONE ||
	    wc->status != IBV_WC_SUCCESS)
		return false;
	*offset = v->slot[slot];
	v->slot[slot] = RB_CHUNK_NONE;
	v->free_slot[v->n_free_slots++] = slot;
	return true;
}

int rb_verbs_wait_fd(struct rb_transport *t)
{
	return rb_verbs_of(t)->epoll_fd;
}

/*
 * Events say that something happened; what it was, completions and the state of queue pairs tell.
 */
static void take_events(struct rb_verbs *v)
{
	struct ibv_async_event event;
	struct ibv_cq *cq;
	void *context;

	while (v->lib->get_cq_event(v->channel, &cq, &context) == 0)
		v->lib->ack_cq_events(cq, 1);
	while (v->lib->get_async_event(v->context, &event) == 0) {
		if (event.event_type == IBV_EVENT_DEVICE_FATAL ||
		    event.event_type == IBV_EVENT_CQ_ERR || event.event_type == IBV_EVENT_SRQ_ERR)
			v->lost = true;
		for (uint32_t i = 0; i < v->n_lanes; i++)
			if (v->lane[i] && event.event_type == IBV_EVENT_QP_FATAL &&
			    v->lane[i]->qp == event.element.qp)
				v->lane[i]->broken = true;
		v->lib->ack_async_event(&event);
	}
}

bool rb_verbs_arm(struct rb_transport *t)
{
	struct rb_verbs *v = rb_verbs_of(t);

	take_events(v);
	if (ibv_req_notify_cq(v->cq, 0) || (v->control_cq && ibv_req_notify_cq(v->control_cq, 0)))
		return true;
	/* What completed before the request for a notice would not be noticed. */
	if (fill_stash(v))
		return true;
	for (uint32_t i = 0; i < v->n_lanes; i++)
		if (v->lane[i] && v->lane[i]->reported != v->lane[i]->completed)
			return true;
	return false;
}

/* --- The device --------------------------------------------------------------------------- */

/* Look the address up in the tables of a device. 0: v has port, index and netdev. */
static int find_gid(struct rb_verbs *v)
{
	struct ibv_gid_entry *entries = calloc(GIDS_MAX, sizeof(*entries));
	int err = -ENODEV;
	ssize_t n;

	if (!entries)
		return -ENOMEM;
	n = v->lib->query_gid_table(v->context, entries, GIDS_MAX, 0, sizeof(*entries));
	/* The same address may stand there once for each type. */
	for (ssize_t i = 0; i < n && err; i++) {
		if (memcmp(entries[i].gid.raw, v->config.address, 16) != 0)
			continue;
		err = entries[i].gid_type == IBV_GID_TYPE_ROCE_V1 ? -EPROTONOSUPPORT : 0;
		v->port = (uint8_t)entries[i].port_num;
		v->gid_index = (uint8_t)entries[i].gid_index;
		v->ifindex = entries[i].ndev_ifindex;
	}
	free(entries);
	return err;
}

/* Open the device that has our address. */
static int find_device(struct rb_verbs *v)
{
	struct ibv_device **list;
	int n = 0, err = -ENODEV;

	list = v->lib->get_device_list(&n);
	if (!list)
		return errno == EPERM ? -EPERM : -ENODEV;
	for (int i = 0; i < n && err != 0; i++) {
		int found;

		v->context = v->lib->open_device(list[i]);
		if (!v->context)
			continue;
		found = find_gid(v);
		if (found == 0 || found == -EPROTONOSUPPORT)
			err = found;
		if (found) {
			v->lib->close_device(v->context);
			v->context = NULL;
		}
	}
	v->lib->free_device_list(list);
	return err;
}

static int look_at_device(struct rb_verbs *v)
{
	struct ibv_port_attr port = { 0 };
	struct ibv_device_attr device;
	uint32_t pieces;
	int err;

	/*
	 * The part of the structure that every version of the library knows is all that is needed.
	 */
	err = v->lib->query_port(v->context, v->port, (struct _compat_ibv_port_attr *)&port);
	if (!err)
		err = v->lib->query_device(v->context, &device);
	if (err)
		return -abs(err);
	if (port.state != IBV_PORT_ACTIVE)
		return -ENETDOWN;
	v->path_mtu = port.active_mtu;
	v->path_mtu_bytes = 128U << port.active_mtu;
	pieces = (uint32_t)device.max_sge;
	v->base.pieces_max = pieces < RB_VERBS_PIECES_MAX ? pieces : RB_VERBS_PIECES_MAX;
	if (v->config.receive_depth > (uint32_t)device.max_qp_wr)
		v->config.receive_depth = (uint32_t)device.max_qp_wr;
	if (v->config.send_depth > (uint32_t)device.max_qp_wr)
		v->config.send_depth = (uint32_t)device.max_qp_wr;
	return v->base.pieces_max < 2 ? -EOPNOTSUPP : 0;
}

static int watch(struct rb_verbs *v, int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) ||
	    epoll_ctl(v->epoll_fd, EPOLL_CTL_ADD, fd, &event))
		return -errno;
	return 0;
}

static bool has_path(const struct rb_verbs *v)
{
	return access(v->context->device->dev_path, F_OK) == 0;
}

static int make_objects(struct rb_verbs *v, uint32_t completions)
{
	/*
	 * Ordering among the bytes of a message is of no use to us; the completion comes after all
	 * of them.
	 */
	unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING;
	int err;

	errno = 0;
	v->pd = v->lib->alloc_pd(v->context);
	if (v->pd)
		v->mr = v->lib->reg_mr_iova2(v->pd, v->base.chunks->area, v->config.area_bytes,
					     (uintptr_t)v->base.chunks->area, access);
	if (v->mr)
		v->channel = v->lib->create_comp_channel(v->context);
	if (v->channel)
		v->cq = v->lib->create_cq(v->context, (int)completions, NULL, v->channel, 0);
	if (!v->cq)
		return errno ? -errno : -ENOMEM;
	v->lkey = v->mr->lkey;
	v->has_path = has_path(v);
	v->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (v->epoll_fd < 0)
		return -errno;
	err = watch(v, v->channel->fd);
	return err ? err : watch(v, v->context->async_fd);
}

int rb_verbs_device_open(struct rb_verbs *v, const struct rb_verbs_config *config,
			 uint32_t completions)
{
	int err;

	v->config = *config;
	v->epoll_fd = -1;
	v->base.chunks = config->chunks;
	if (v->config.copy_below_bytes == 0)
		v->config.copy_below_bytes = RB_VERBS_COPY_BELOW;
	if (config->qkey >> 31 || config->service_level > 7 || config->hop_limit == 0 ||
	    config->receive_depth == 0 || config->send_depth == 0)
		return -EINVAL;
	v->lib = rb_verbs_library();
	if (!v->lib)
		return -ENOSYS;
	err = find_device(v);
	if (!err)
		err = look_at_device(v);
	if (!err)
		err = make_objects(v, completions);
	if (err)
		return err;
	v->slot = calloc(v->config.receive_depth, sizeof(*v->slot));
	v->free_slot = calloc(v->config.receive_depth, sizeof(*v->free_slot));
	if (!v->slot || !v->free_slot)
		return -ENOMEM;
	for (uint32_t i = 0; i < v->config.receive_depth; i++) {
		v->slot[i] = RB_CHUNK_NONE;
		v->free_slot[v->n_free_slots++] = i;
	}
	return 0;
}

void rb_verbs_device_close(struct rb_verbs *v)
{
	for (uint32_t i = 0; i < v->n_lanes; i++)
		rb_verbs_lane_destroy(v, v->lane[i]);
	if (v->srq)
		v->lib->destroy_srq(v->srq);
	if (v->control_cq)
		v->lib->destroy_cq(v->control_cq);
	if (v->cq)
		v->lib->destroy_cq(v->cq);
	if (v->channel)
		v->lib->destroy_comp_channel(v->channel);
	if (v->mr)
		v->lib->dereg_mr(v->mr);
	if (v->pd)
		v->lib->dealloc_pd(v->pd);
	if (v->context)
		v->lib->close_device(v->context);
	if (v->epoll_fd >= 0)
		close(v->epoll_fd);
	free(v->slot);
	free(v->free_slot);
}

int rb_verbs_datagram_up(struct rb_verbs *v, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	int err = v->lib->modify_qp(qp, &attr, IBV_QP_STATE);

	attr = (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT,
				     .pkey_index = PKEY_INDEX,
				     .port_num = v->port,
				     .qkey = v->config.qkey };
	if (!err)
		err = v->lib->modify_qp(
			qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	attr.qp_state = IBV_QPS_RTR;
	if (!err)
		err = v->lib->modify_qp(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	if (!err)
		err = v->lib->modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
	return -abs(err);
}

void rb_verbs_address(const struct rb_verbs *v, const uint8_t gid[16], struct ibv_ah_attr *out)
{
	*out = (struct ibv_ah_attr){
		.is_global = 1,
		.port_num = v->port,
		.sl = v->config.service_level,
		.grh = { .sgid_index = v->gid_index,
			 .hop_limit = v->config.hop_limit,
			 .traffic_class = v->config.traffic_class },
	};
	memcpy(out->grh.dgid.raw, gid, sizeof(out->grh.dgid.raw));
}

void rb_verbs_source(const struct rb_verbs *v, const uint8_t *grh, uint8_t gid[16])
{
	if (rb_ip_is_v4(v->config.address)) {
		memset(gid, 0, 10);
		memset(gid + 10, 0xff, 2);
		memcpy(gid + 12, grh + GRH_V4_SOURCE, 4);
	} else {
		memcpy(gid, grh + GRH_V6_SOURCE, 16);
	}
}

bool rb_verbs_is_reachable(const struct rb_verbs *v, const struct rb_endpoint *remote)
{
	return remote->message_max_bytes > 0 && remote->qpn >= 2 && remote->qpn < 0xffffff &&
	       remote->qkey <= RB_QKEY_MAX &&
	       rb_ip_is_v4(remote->gid) == rb_ip_is_v4(v->config.address);
}

/* --- What is the same for both ------------------------------------------------------------ */

int rb_verbs_open(const struct rb_verbs_config *config, struct rb_transport **out)
{
	*out = NULL;
	return config->kind == RB_VERBS_UD ? rb_verbs_ud_open(config, out)
					   : rb_verbs_rc_open(config, out);
}

int rb_verbs_find(const uint8_t address[16])
{
	struct rb_verbs v = { .lib = rb_verbs_library() };
	int err;

	if (!v.lib)
		return -ENOSYS;
	memcpy(v.config.address, address, sizeof(v.config.address));
	err = find_device(&v);
	if (!err)
		err = look_at_device(&v);
	if (v.context)
		v.lib->close_device(v.context);
	return err;
}

bool rb_verbs_is_lost(struct rb_transport *t)
{
	struct rb_verbs *v = rb_verbs_of(t);

	take_events(v);
	/*
	 * A driver that cannot take a device from its users waits for them to close it, and this is
	 * all that they see.
	 */
	return v->lost || (v->has_path && !has_path(v));
}

const char *rb_verbs_problem(int err)
{
	switch (-err) {
	case ENOSYS:
		return "libibverbs is not installed: package libibverbs1";
	case ENODEV:
		return "no RDMA device has this address: see `rdma link` and `ibv_devinfo -v`";
	case EPROTONOSUPPORT:
		return "the RDMA device has this address for RoCE v1 only";
	case ENETDOWN:
		return "the port of the RDMA device is not active";
	case EPERM:
	case EACCES:
		return "no access to /dev/infiniband, or too little locked memory (ulimit -l)";
	default:
		return NULL;
	}
}

const char *rb_verbs_status_name(uint32_t status)
{
#define NAME(name) name,
	static const char *const names[] = { RB_VERBS_STATUSES(NAME) };

	return names[status];
}

void rb_verbs_info(struct rb_transport *t, struct rb_verbs_info *out)
{
	const struct rb_verbs *v = rb_verbs_of(t);

	*out = (struct rb_verbs_info){
		.path_mtu_bytes = v->path_mtu_bytes,
		.send_pieces_max = v->base.pieces_max,
		.inline_max_bytes = v->inline_max_bytes,
		.region_address = (uintptr_t)v->mr->addr,
		.region_bytes = v->mr->length,
		.recoveries = v->recoveries,
	};
	strncpy(out->device, v->lib->get_device_name(v->context->device), sizeof(out->device) - 1);
	for (uint32_t i = 0; i < v->n_lanes; i++)
		out->queue_pairs += v->lane[i] != NULL;
	memcpy(out->statuses, v->statuses, sizeof(out->statuses));
	if (v->config.kind == RB_VERBS_RC)
		rb_verbs_rc_info(v, out);
}

int rb_verbs_break(struct rb_transport *t)
{
	struct rb_verbs *v = rb_verbs_of(t);
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	int err = 0;

	for (uint32_t i = 0; i < v->n_lanes && !err; i++)
		if (v->lane[i] && v->lane[i]->qp)
			err = v->lib->modify_qp(v->lane[i]->qp, &attr, IBV_QP_STATE);
	return -abs(err);
}
