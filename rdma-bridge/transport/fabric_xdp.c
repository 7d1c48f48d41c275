/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/transport/fabric_xdp.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "rdma-bridge/transport/fabric.skel.h"

#define RETRY_NS 10000000L
#define TRIES	 100

struct rb_fabric_xdp {
	struct rb_fabric_bpf *bpf; /* owned */
	int link_fd;		   /* owned; the program is attached while it is open */
	bool native;
};

static int try_attach(struct rb_fabric_xdp *xdp, uint32_t ifindex)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts);
	int prog_fd = bpf_program__fd(xdp->bpf->progs.sl_fabric);

	opts.flags = XDP_FLAGS_DRV_MODE;
	xdp->native = true;
	xdp->link_fd = bpf_link_create(prog_fd, (int)ifindex, BPF_XDP, &opts);
	if (xdp->link_fd == -EOPNOTSUPP || xdp->link_fd == -EINVAL) {
		opts.flags = XDP_FLAGS_SKB_MODE;
		xdp->native = false;
		xdp->link_fd = bpf_link_create(prog_fd, (int)ifindex, BPF_XDP, &opts);
	}
	return xdp->link_fd < 0 ? xdp->link_fd : 0;
}

/* The program of a killed bridge stays until the kernel has cleaned up, so busy may pass. */
static int attach(struct rb_fabric_xdp *xdp, uint32_t ifindex)
{
	const struct timespec pause = { .tv_nsec = RETRY_NS };
	int err;

	for (int i = 0; (err = try_attach(xdp, ifindex)) == -EBUSY && i < TRIES; i++)
		nanosleep(&pause, NULL);
	return err;
}

static int load(struct rb_fabric_xdp *xdp, uint32_t workers, uint32_t first_qpn)
{
	struct rb_fabric_bpf *bpf = xdp->bpf = rb_fabric_bpf__open();
	int err;

	if (!bpf)
		return -errno;
	bpf->rodata->workers = workers;
	bpf->rodata->first_qpn = first_qpn;
	err = bpf_map__set_max_entries(bpf->maps.fabric_xsk, RB_FABRIC_QUEUES_MAX * workers);
	return err ? err : rb_fabric_bpf__load(bpf);
}

int rb_fabric_xdp_open(uint32_t ifindex, const uint8_t address[16], uint32_t workers,
		       uint32_t first_qpn, struct rb_fabric_xdp **out)
{
	struct rb_fabric_xdp *xdp = calloc(1, sizeof(*xdp));
	uint32_t one = 1;
	int err;

	*out = NULL;
	if (!xdp)
		return -ENOMEM;
	xdp->link_fd = -1;
	err = load(xdp, workers, first_qpn);
	if (err)
		goto out;
	if (bpf_map_update_elem(bpf_map__fd(xdp->bpf->maps.fabric_address), address, &one,
				BPF_ANY)) {
		err = -errno;
		goto out;
	}
	err = attach(xdp, ifindex);
out:
	if (err)
		rb_fabric_xdp_close(xdp);
	else
		*out = xdp;
	return err;
}

void rb_fabric_xdp_close(struct rb_fabric_xdp *xdp)
{
	if (!xdp)
		return;
	if (xdp->link_fd >= 0)
		close(xdp->link_fd);
	rb_fabric_bpf__destroy(xdp->bpf);
	free(xdp);
}

int rb_fabric_xdp_map(const struct rb_fabric_xdp *xdp)
{
	return bpf_map__fd(xdp->bpf->maps.fabric_xsk);
}

bool rb_fabric_xdp_is_native(const struct rb_fabric_xdp *xdp)
{
	return xdp->native;
}
