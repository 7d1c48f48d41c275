/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of a generation: one for most netdevs, one more for each netdev whose VLAN tags lie
 * beside the frame; and those of earlier generations, which may still be on a netdev.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "user/datapath/bpf_object.h"
#include "user/datapath/datapath_state.h"
#include "user/datapath/pins.h"
#include "user/datapath/vlan_tags.h"

#define PROG_BOUND "sl_edge_bound"

/* Of linux/bpf.h, which may be older than the kernel. */
#define DEV_BOUND_ONLY (1u << 6)

/* --- Of earlier generations --- */

static int add_earlier(void *ctx, int fd)
{
	struct sl_datapath *dp = ctx;
	int *fds = realloc(dp->earlier_fds, (dp->n_earlier + 1) * sizeof(*fds));

	if (!fds) {
		close(fd);
		return -ENOMEM;
	}
	dp->earlier_fds = fds;
	fds[dp->n_earlier++] = fd;
	return 0;
}

int sl_earlier_of_pins(struct sl_datapath *dp)
{
	int err = sl_pins_get_all(dp->pin_dir, 0, SL_PROG_PIN, add_earlier, dp);

	return err ? err : sl_pins_get_all(dp->pin_dir, 1, SL_PROG_PIN, add_earlier, dp);
}

static int add_copy(struct sl_datapath *dp, int of)
{
	int fd = dup(of);

	return fd < 0 ? -errno : add_earlier(dp, fd);
}

int sl_earlier_of_generation(struct sl_datapath *dp, const struct sl_datapath *previous)
{
	int err = add_copy(dp, sl_datapath_prog_fd(previous));

	for (size_t i = 0; i < previous->n_bound && !err; i++)
		err = add_copy(dp, previous->bound[i].fd);
	return err;
}

void sl_earlier_forget(struct sl_datapath *dp)
{
	for (size_t i = 0; i < dp->n_earlier; i++)
		close(dp->earlier_fds[i]);
	free(dp->earlier_fds);
	dp->earlier_fds = NULL;
	dp->n_earlier = 0;
}

/* --- Bound to a netdev --- */

static struct sl_bound *find_bound(const struct sl_datapath *dp, uint32_t ifindex)
{
	for (size_t i = 0; i < dp->n_bound; i++)
		if (dp->bound[i].ifindex == ifindex)
			return &dp->bound[i];
	return NULL;
}

static void pin_name(char name[16], uint32_t ifindex)
{
	snprintf(name, 16, SL_PROG_PIN "_%u", ifindex % 10000000);
}

/* Load the object once more, with the bound program alone, on the maps of the generation. */
static int load_bound(const struct sl_datapath *dp, uint32_t ifindex, int *fd)
{
	struct bpf_program *program, *bound;
	struct bpf_object *object;
	const uint32_t veth = sl_netdev_has_driver(ifindex, "veth");
	struct bpf_map *map;
	int err = sl_bpf_object_open_bytes(dp->file, dp->file_bytes, &object);

	if (err)
		return err;
	bound = bpf_object__find_program_by_name(object, PROG_BOUND);
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, program == bound);
	if (!bound) {
		err = -EINVAL;
		goto out;
	}
	bpf_program__set_ifindex(bound, ifindex);
	err = bpf_program__set_flags(bound, bpf_program__flags(bound) | DEV_BOUND_ONLY);
	if (!err)
		err = sl_datapath_set_constants(dp, object);
	if (!err)
		err = sl_bpf_object_set_rodata(object, "sl_bound_to_veth", &veth, sizeof(veth));
	bpf_object__for_each_map(map, object) {
		int map_fd = sl_datapath_map_fd(dp, bpf_map__name(map));

		if (!err && map_fd >= 0 && map != sl_bpf_object_rodata(object))
			err = bpf_map__reuse_fd(map, map_fd);
	}
	if (!err)
		err = bpf_object__load(object);
	if (!err)
		*fd = dup(bpf_program__fd(bound));
	if (!err && *fd < 0)
		err = -errno;
out:
	bpf_object__close(object);
	return err;
}

/*
 * Pinned before it is attached, so that the next daemon knows it whenever this one ends: in the set
 * that is or will be the published one.
 */
static int add_bound(struct sl_datapath *dp, uint32_t ifindex, int fd)
{
	struct sl_bound *bound = realloc(dp->bound, (dp->n_bound + 1) * sizeof(*bound));
	char name[16];
	int err = 0;

	if (!bound)
		return -ENOMEM;
	dp->bound = bound;
	pin_name(name, ifindex);
	if (dp->pin_dir)
		err = sl_pins_add(dp->pin_dir, !dp->published, name, fd);
	if (!err)
		bound[dp->n_bound++] = (struct sl_bound){ .ifindex = ifindex, .fd = fd };
	return err;
}

int sl_program_for(struct sl_datapath *dp, uint32_t ifindex, bool bound, int *fd)
{
	const struct sl_bound *known = find_bound(dp, ifindex);
	int err;

	if (!bound || known) {
		*fd = bound ? known->fd : sl_datapath_prog_fd(dp);
		return 0;
	}
	err = load_bound(dp, ifindex, fd);
	if (err)
		return err;
	err = add_bound(dp, ifindex, *fd);
	if (err)
		close(*fd);
	return err;
}

void sl_program_unbind(struct sl_datapath *dp, uint32_t ifindex)
{
	struct sl_bound *bound = find_bound(dp, ifindex);
	char name[16];

	if (!bound)
		return;
	pin_name(name, ifindex);
	if (dp->pin_dir)
		sl_pins_drop(dp->pin_dir, !dp->published, name);
	close(bound->fd);
	*bound = dp->bound[--dp->n_bound];
}

void sl_programs_close(struct sl_datapath *dp)
{
	sl_earlier_forget(dp);
	for (size_t i = 0; i < dp->n_bound; i++)
		close(dp->bound[i].fd);
	free(dp->bound);
}

bool sl_program_is_current(const struct sl_datapath *dp, uint32_t ifindex, uint32_t prog_id)
{
	const struct sl_bound *bound = find_bound(dp, ifindex);

	return prog_id == sl_xdp_prog_id(sl_datapath_prog_fd(dp)) ||
	       (bound && prog_id == sl_xdp_prog_id(bound->fd));
}

int sl_program_open_known(const struct sl_datapath *dp, uint32_t ifindex, uint32_t prog_id)
{
	const struct sl_bound *bound = find_bound(dp, ifindex);

	if (bound && sl_xdp_prog_id(bound->fd) == prog_id)
		return dup(bound->fd);
	if (sl_xdp_prog_id(sl_datapath_prog_fd(dp)) == prog_id)
		return dup(sl_datapath_prog_fd(dp));
	for (size_t i = 0; i < dp->n_earlier; i++)
		if (sl_xdp_prog_id(dp->earlier_fds[i]) == prog_id)
			return dup(dp->earlier_fds[i]);
	return -ENOENT;
}
