/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/transport/fabric_xdp.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/if_link.h>

#include "bpf/lib/endian.bpf.h"
#include "rdma-bridge/transport/fabric.skel.h"

#define RETRY_NS 10000000L
#define TRIES	 100

struct rb_fabric_xdp {
	struct rb_fabric_bpf *bpf;     /* owned */
	int link_fd;		       /* owned; the program is attached while it is open */
	struct sl_arrivals *arrivals;  /* owned: mapped, of all nodes and workers */
	struct sl_arrival_port *ports; /* owned: mapped */
	size_t arrivals_bytes;
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

static int load(struct rb_fabric_xdp *xdp, const struct rb_fabric_xdp_config *config)
{
	struct rb_fabric_bpf *bpf = xdp->bpf = rb_fabric_bpf__open();
	int err;

	if (!bpf)
		return -errno;
	bpf->rodata->workers = config->workers;
	bpf->rodata->first_qpn = config->first_qpn;
	bpf->rodata->arrival.express = config->express;
	bpf->rodata->arrival.node = config->node;
	bpf->rodata->arrival.qkey = sl_htonl(config->qkey);
	err = bpf_map__set_max_entries(bpf->maps.fabric_xsk, config->queues * config->workers);
	if (!err)
		err = bpf_map__set_max_entries(bpf->maps.fabric_arrivals,
					       config->express ? SL_EXPRESS_NODES * config->workers
							       : 1);
	return err ? err : rb_fabric_bpf__load(bpf);
}

static int map_memory(const struct bpf_map *map, size_t bytes, void *out)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, bpf_map__fd(map), 0);

	if (memory == MAP_FAILED)
		return -errno;
	*(void **)out = memory;
	return 0;
}

static int map_arrivals(struct rb_fabric_xdp *xdp, uint32_t workers)
{
	size_t bytes = sizeof(*xdp->arrivals) * SL_EXPRESS_NODES * workers;
	int err = map_memory(xdp->bpf->maps.fabric_arrivals, bytes, &xdp->arrivals);

	xdp->arrivals_bytes = bytes;
	return err ? err
		   : map_memory(xdp->bpf->maps.fabric_ports, sizeof(*xdp->ports) * SL_ARRIVAL_PORTS,
				&xdp->ports);
}

int rb_fabric_xdp_open(const struct rb_fabric_xdp_config *config, struct rb_fabric_xdp **out)
{
	struct rb_fabric_xdp *xdp = calloc(1, sizeof(*xdp));
	uint32_t one = 1;
	int err;

	*out = NULL;
	if (!xdp)
		return -ENOMEM;
	xdp->link_fd = -1;
	err = load(xdp, config);
	if (!err && config->express)
		err = map_arrivals(xdp, config->workers);
	if (err)
		goto out;
	if (bpf_map_update_elem(bpf_map__fd(xdp->bpf->maps.fabric_address), config->address, &one,
				BPF_ANY)) {
		err = -errno;
		goto out;
	}
	err = attach(xdp, config->ifindex);
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
	if (xdp->arrivals)
		munmap(xdp->arrivals, xdp->arrivals_bytes);
	if (xdp->ports)
		munmap(xdp->ports, sizeof(*xdp->ports) * SL_ARRIVAL_PORTS);
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

struct sl_arrivals *rb_fabric_xdp_arrivals(const struct rb_fabric_xdp *xdp)
{
	return xdp->arrivals;
}

struct sl_arrival_port *rb_fabric_xdp_ports(const struct rb_fabric_xdp *xdp)
{
	return xdp->ports;
}

bool rb_fabric_xdp_lacks_meta(const struct rb_fabric_xdp *xdp)
{
	return __atomic_load_n(&xdp->bpf->bss->without_meta, __ATOMIC_RELAXED);
}
