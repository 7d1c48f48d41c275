/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The programs of a generation: one for most netdevs, one more for each netdev whose VLAN tags lie
 * beside the frame, all with the same own elements; and earlier ones, which may still be on a
 * netdev.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

static int note_earlier(struct sl_datapath *dp, const struct sl_programs *programs)
{
	int err = add_copy(dp, programs->fd);

	for (size_t i = 0; i < programs->n_bound && !err; i++)
		err = add_copy(dp, programs->bound[i].fd);
	return err;
}

int sl_earlier_of_generation(struct sl_datapath *dp, const struct sl_datapath *previous)
{
	return note_earlier(dp, &previous->programs);
}

void sl_earlier_forget(struct sl_datapath *dp)
{
	for (size_t i = 0; i < dp->n_earlier; i++)
		close(dp->earlier_fds[i]);
	free(dp->earlier_fds);
	dp->earlier_fds = NULL;
	dp->n_earlier = 0;
}

/* --- Own elements --- */

/* A file that others than root and this user have written, or may write, counts as none. */
static int read_elements(const char *path, struct sl_bpf_bytes *out)
{
	struct stat is;

	*out = (struct sl_bpf_bytes){ 0 };
	if (!path || stat(path, &is))
		return !path || errno == ENOENT ? 0 : -errno;
	if ((is.st_uid && is.st_uid != geteuid()) || is.st_mode & (S_IWGRP | S_IWOTH))
		return 0;
	return sl_bpf_object_read(path, &out->bytes, &out->n_bytes);
}

uint32_t sl_datapath_own_set(const struct sl_datapath *dp)
{
	return dp->programs.own_set;
}

uint32_t sl_datapath_own_set_of(const char *elements_path)
{
	struct sl_bpf_bytes elements;
	uint32_t set = 0;

	if (!read_elements(elements_path, &elements) && elements.n_bytes)
		set = sl_bpf_object_hash(&elements);
	free(elements.bytes);
	return set;
}

int sl_programs_link(struct sl_datapath *dp, const char *elements_path)
{
	struct sl_programs *programs = &dp->programs;
	struct sl_bpf_bytes objects[2] = { dp->file };
	int err = read_elements(elements_path, &objects[1]);

	free(programs->linked.bytes);
	programs->linked = (struct sl_bpf_bytes){ 0 };
	programs->own_set = 0;
	if (!err && objects[1].n_bytes) {
		err = sl_bpf_object_link(objects, 2, &programs->linked);
		if (err == -ENOENT) /* which says that there is no sluice.bpf.o */
			err = -EINVAL;
		if (!err)
			programs->own_set = sl_bpf_object_hash(&objects[1]);
	}
	free(objects[1].bytes);
	return err;
}

int sl_programs_open_object(const struct sl_datapath *dp, struct bpf_object **out)
{
	const struct sl_bpf_bytes *linked = &dp->programs.linked;
	const struct sl_bpf_bytes *from = linked->n_bytes ? linked : &dp->file;

	return sl_bpf_object_open_bytes(from->bytes, from->n_bytes, out);
}

void sl_programs_free(struct sl_programs *programs)
{
	for (size_t i = 0; i < programs->n_bound; i++)
		close(programs->bound[i].fd);
	free(programs->bound);
	if (programs->fd >= 0)
		close(programs->fd);
	free(programs->linked.bytes);
	*programs = (struct sl_programs){ .fd = -1 };
}

/* --- Loading on the maps of the generation --- */

/* Open the object once more, with one program alone; ifindex: bound to that netdev; 0: to none. */
static int load_on_maps(const struct sl_datapath *dp, const char *name, uint32_t ifindex, int *fd)
{
	const uint32_t veth = ifindex && sl_netdev_has_driver(ifindex, "veth");
	struct bpf_program *program, *wanted;
	struct bpf_object *object;
	struct bpf_map *map;
	int err = sl_programs_open_object(dp, &object);

	if (err)
		return err;
	wanted = bpf_object__find_program_by_name(object, name);
	bpf_object__for_each_program(program, object)
		bpf_program__set_autoload(program, program == wanted);
	if (!wanted) {
		err = -EINVAL;
		goto out;
	}
	if (ifindex) {
		bpf_program__set_ifindex(wanted, ifindex);
		err = bpf_program__set_flags(wanted, bpf_program__flags(wanted) | DEV_BOUND_ONLY);
	}
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
		*fd = dup(bpf_program__fd(wanted));
	if (!err && *fd < 0)
		err = -errno;
out:
	bpf_object__close(object);
	return err;
}

/* --- Bound to a netdev --- */

static struct sl_bound *find_bound(const struct sl_datapath *dp, uint32_t ifindex)
{
	const struct sl_programs *programs = &dp->programs;

	for (size_t i = 0; i < programs->n_bound; i++)
		if (programs->bound[i].ifindex == ifindex)
			return &programs->bound[i];
	return NULL;
}

static void pin_name(char name[16], uint32_t ifindex)
{
	snprintf(name, 16, SL_PROG_PIN "_%u", ifindex % 10000000);
}

/*
 * Pinned before it is attached, so that the next daemon knows it whenever this one ends: in the set
 * that is or will be the published one.
 */
static int add_bound(struct sl_datapath *dp, uint32_t ifindex, int fd)
{
	struct sl_programs *programs = &dp->programs;
	struct sl_bound *bound = realloc(programs->bound, (programs->n_bound + 1) * sizeof(*bound));
	char name[16];
	int err = 0;

	if (!bound)
		return -ENOMEM;
	programs->bound = bound;
	pin_name(name, ifindex);
	if (dp->pin_dir)
		err = sl_pins_add(dp->pin_dir, !dp->published, name, fd);
	if (!err)
		bound[programs->n_bound++] = (struct sl_bound){ .ifindex = ifindex, .fd = fd };
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
	err = load_on_maps(dp, PROG_BOUND, ifindex, fd);
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
	*bound = dp->programs.bound[--dp->programs.n_bound];
}

/* --- Others in their place --- */

/* Load them; those that are bound to a netdev, for each netdev that has one now. */
static int load_all(struct sl_datapath *dp, const char *elements_path,
		    const struct sl_programs *former)
{
	int fd, err = sl_programs_link(dp, elements_path);

	if (!err)
		err = load_on_maps(dp, dp->frags ? SL_PROG_FRAGS : SL_PROG_PLAIN, 0,
				   &dp->programs.fd);
	if (!err)
		err = sl_datapath_stage(dp);
	for (size_t i = 0; i < former->n_bound && !err; i++)
		err = sl_program_for(dp, former->bound[i].ifindex, true, &fd);
	return err;
}

int sl_programs_replace(struct sl_datapath *dp, const char *elements_path)
{
	struct sl_programs former = dp->programs;
	const bool published = dp->published;
	int err;

	dp->programs = (struct sl_programs){ .fd = -1 };
	dp->published = false;
	err = load_all(dp, elements_path, &former);
	if (!err)
		err = note_earlier(dp, &former);
	if (err) {
		sl_programs_free(&dp->programs);
		dp->programs = former;
		dp->published = published;
	} else {
		sl_programs_free(&former);
	}
	return err;
}

/* --- Which is it? --- */

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
