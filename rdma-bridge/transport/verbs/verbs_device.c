/* SPDX-License-Identifier: BSD-2-Clause */
/* The RDMA device that has our address, and its objects: found, opened, closed, described. */
#include "rdma-bridge/transport/verbs/verbs_shared.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "rdma-bridge/transport/roce.h"

#define GIDS_MAX   512
#define PKEY_INDEX 0

/* Offsets in the route header before a datagram; an IPv4 header is at its end. */
#define GRH_V4_SOURCE (20 + 12)
#define GRH_V6_SOURCE 8

/* Look the address up in the tables of a device. 0: port, gid_index and ifindex are set. */
static int find_gid(struct rb_verbs *v)
{
	struct ibv_gid_entry *entries = calloc(GIDS_MAX, sizeof(*entries));
	int err = -ENODEV;
	ssize_t n;

	if (!entries)
		return -ENOMEM;
	n = v->lib->query_gid_table(v->context, entries, GIDS_MAX, 0, sizeof(*entries));
	/* The table may have the same address once for each type. */
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

	/* We need only the part of the structure that every version of the library fills in. */
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
	/* The bytes of a message may be written in any order: its completion comes after them. */
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
	for (uint32_t i = 0; i < v->n_pairs; i++)
		rb_verbs_pair_destroy(v, v->pair[i]);
	if (v->srq)
		v->lib->destroy_srq(v->srq);
	if (v->datagram_cq)
		v->lib->destroy_cq(v->datagram_cq);
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

	rb_verbs_take_events(v);
	/*
	 * Some drivers cannot take a device from its users, and wait until we close it. That the
	 * device left /sys is then all that we see.
	 */
	return v->lost || (v->has_path && !has_path(v));
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
	for (uint32_t i = 0; i < v->n_pairs; i++)
		out->queue_pairs += v->pair[i] != NULL;
	memcpy(out->statuses, v->statuses, sizeof(out->statuses));
	if (v->info)
		v->info(v, out);
}
