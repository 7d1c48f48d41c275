/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/bpf.h>

#include "user/capture/capture_port.h"
#include "user/datapath/xdp.h"

static const char fabric_program[] = "sl_fabric";

int sl_capture_program_open(uint32_t prog_id, char name[16])
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);
	int fd = sl_xdp_open_ours(prog_id, name), err;

	if (fd != -EBUSY)
		return fd;
	/* Not an edge program: the fabric's has its name alone to be known by. */
	fd = bpf_prog_get_fd_by_id(prog_id);
	if (fd < 0)
		return fd;
	err = bpf_obj_get_info_by_fd(fd, &info, &len);
	if (!err && (info.type != BPF_PROG_TYPE_XDP || strcmp(info.name, fabric_program) != 0))
		err = -EBUSY;
	if (err) {
		close(fd);
		return err;
	}
	memcpy(name, info.name, 16);
	return fd;
}

int sl_capture_port_find(const char *name, struct sl_capture_port *out)
{
	uint32_t ifindex = if_nametoindex(name);
	struct sl_xdp_state state;
	char program[16];
	int fd;

	if (!ifindex)
		return -ENODEV;
	fd = sl_xdp_query(ifindex, &state);
	if (fd)
		return fd;
	if (!state.prog_id)
		return -ENOENT;
	fd = sl_capture_program_open(state.prog_id, program);
	if (fd < 0)
		return fd;
	close(fd);
	*out = (struct sl_capture_port){
		.ifindex = ifindex,
		.prog_id = state.prog_id,
		.fabric = strcmp(program, fabric_program) == 0,
	};
	strncpy(out->name, name, sizeof(out->name) - 1);
	return 0;
}

int sl_capture_port_list(struct sl_capture_port **ports, uint32_t *n)
{
	struct if_nameindex *all = if_nameindex(), *dev;
	uint32_t n_all = 0;
	int err = all ? 0 : -errno;

	*ports = NULL;
	*n = 0;
	for (dev = all; dev && dev->if_index; dev++)
		n_all++;
	if (!err) {
		*ports = calloc(n_all + 1, sizeof(**ports));
		err = *ports ? 0 : -ENOMEM;
	}
	for (dev = all; !err && dev && dev->if_index; dev++) {
		err = sl_capture_port_find(dev->if_name, *ports + *n);
		if (!err)
			(*n)++;
		else if (err == -ENODEV || err == -ENOENT || err == -EBUSY)
			err = 0;
	}
	if (all)
		if_freenameindex(all);
	if (err) {
		free(*ports);
		*ports = NULL;
		*n = 0;
	}
	return err;
}
