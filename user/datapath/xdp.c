/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>
#include <net/if.h>

#include "user/datapath/xdp.h"

#define MAPS_OF_A_PROGRAM_MAX 64

const char *sl_xdp_mode_name(enum sl_xdp_mode mode)
{
	static const char *const names[] = { "none", "native", "generic" };

	return names[mode];
}

static uint32_t mode_flag(enum sl_xdp_mode mode)
{
	return mode == SL_XDP_GENERIC ? XDP_FLAGS_SKB_MODE : XDP_FLAGS_DRV_MODE;
}

int sl_xdp_query(uint32_t ifindex, struct sl_xdp_state *state)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, opts);
	int err = bpf_xdp_query((int)ifindex, 0, &opts);
	char name[IF_NAMESIZE];

	*state = (struct sl_xdp_state){ 0 };
	if (err)
		return err;
	switch (opts.attach_mode) {
	case XDP_ATTACHED_NONE:
		/*
		 * libbpf searches a list of all netdevs, and does not report that this one is
		 * missing.
		 */
		return if_indextoname(ifindex, name) ? 0 : -ENODEV;
	case XDP_ATTACHED_DRV:
		*state = (struct sl_xdp_state){ SL_XDP_NATIVE, opts.drv_prog_id };
		return 0;
	case XDP_ATTACHED_SKB:
		*state = (struct sl_xdp_state){ SL_XDP_GENERIC, opts.skb_prog_id };
		return 0;
	default:
		return -EBUSY;
	}
}

int sl_xdp_attach(uint32_t ifindex, enum sl_xdp_mode mode, int prog_fd, int old_fd)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts);
	uint32_t flags = mode_flag(mode);

	if (old_fd >= 0)
		opts.old_prog_fd = old_fd;
	else
		flags |= XDP_FLAGS_UPDATE_IF_NOEXIST;
	return bpf_xdp_attach((int)ifindex, prog_fd, flags, &opts);
}

int sl_xdp_detach(uint32_t ifindex, enum sl_xdp_mode mode, int old_fd)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = old_fd);

	return bpf_xdp_detach((int)ifindex, mode_flag(mode), &opts);
}

uint32_t sl_xdp_prog_id(int prog_fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(prog_fd, &info, &len) ? 0 : info.id;
}

static int has_map_named(const uint32_t *ids, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++) {
		struct bpf_map_info info = { 0 };
		uint32_t len = sizeof(info);
		int fd = bpf_map_get_fd_by_id(ids[i]), err;

		if (fd < 0)
			continue;
		err = bpf_obj_get_info_by_fd(fd, &info, &len);
		close(fd);
		if (!err && strcmp(info.name, name) == 0)
			return 1;
	}
	return 0;
}

int sl_xdp_open_ours(uint32_t prog_id, char name[16])
{
	uint32_t ids[MAPS_OF_A_PROGRAM_MAX] = { 0 };
	struct bpf_prog_info info = {
		.map_ids = (uintptr_t)ids,
		.nr_map_ids = MAPS_OF_A_PROGRAM_MAX,
	};
	uint32_t len = sizeof(info), n_maps;
	int fd = bpf_prog_get_fd_by_id(prog_id), err;

	name[0] = '\0';
	if (fd < 0)
		return fd;
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	if (err)
		goto out;
	memcpy(name, info.name, 16);
	n_maps = info.nr_map_ids < MAPS_OF_A_PROGRAM_MAX ? info.nr_map_ids : MAPS_OF_A_PROGRAM_MAX;
	/* Kernels cut the name to 15 characters, so both of our programs' names survive whole. */
	if (strncmp(name, "sl_edge", 7) != 0 || !has_map_named(ids, n_maps, "sl_stats") ||
	    !has_map_named(ids, n_maps, "sl_punts"))
		err = -EBUSY;
out:
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}
