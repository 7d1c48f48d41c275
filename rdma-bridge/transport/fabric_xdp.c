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

#include "bpf/abi/crc.h"
#include "bpf/lib/endian.bpf.h"
#include "rdma-bridge/transport/fabric.skel.h"
#include "rdma-bridge/transport/fabric_sent.skel.h"

#define RETRY_NS 10000000L
#define TRIES	 100

#define TAKEN_BYTES (sizeof(struct sl_passed) * SL_TAKEN_KEYS)

struct rb_fabric_xdp {
	struct rb_fabric_bpf *bpf;	 /* owned */
	struct rb_fabric_sent_bpf *sent; /* owned; NULL: nobody sees what drivers take */
	int link_fd;			 /* owned; attached while it is open or pinned */
	int pin_err, sent_err;
	struct sl_arrivals *arrivals;  /* owned: mapped, of all nodes and workers */
	struct sl_arrival_port *ports; /* owned: mapped */
	struct sl_passed *taken;       /* owned: mapped */
	struct sl_samples *samples;    /* owned: mapped; NULL: none */
	size_t arrivals_bytes, samples_bytes;
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

/* Is the program attached in the driver? A link does not tell. */
static bool is_native(uint32_t ifindex)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, opts);

	return bpf_xdp_query((int)ifindex, 0, &opts) == 0 && opts.attach_mode == XDP_ATTACHED_DRV;
}

/* Put our program in the place of a former bridge's, whose link is pinned. */
static int replace(struct rb_fabric_xdp *xdp, const struct rb_fabric_xdp_config *config)
{
	struct bpf_link_info info = { 0 };
	uint32_t bytes = sizeof(info);
	int err = 0;

	xdp->link_fd = bpf_obj_get(config->pin);
	if (xdp->link_fd < 0)
		return -errno;
	if (bpf_obj_get_info_by_fd(xdp->link_fd, &info, &bytes))
		err = -errno;
	else if (info.type != BPF_LINK_TYPE_XDP || info.xdp.ifindex != config->ifindex)
		err = -ENODEV; /* the netdev is gone, or the fabric another one now */
	else if (bpf_link_update(xdp->link_fd, bpf_program__fd(xdp->bpf->progs.sl_fabric), NULL))
		err = -errno;
	if (!err) {
		xdp->native = is_native(config->ifindex);
		return 0;
	}
	unlink(config->pin);
	close(xdp->link_fd);
	xdp->link_fd = -1;
	return err;
}

/* The program of a killed bridge stays until the kernel has cleaned up, so busy may pass. */
static int attach(struct rb_fabric_xdp *xdp, const struct rb_fabric_xdp_config *config)
{
	const struct timespec pause = { .tv_nsec = RETRY_NS };
	int err;

	if (config->pin && replace(xdp, config) == 0)
		return 0;
	for (int i = 0; (err = try_attach(xdp, config->ifindex)) == -EBUSY && i < TRIES; i++)
		nanosleep(&pause, NULL);
	if (!err && config->pin && bpf_obj_pin(xdp->link_fd, config->pin))
		xdp->pin_err = -errno;
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
	if (config->express)
		sl_crc_table_fill(&bpf->rodata->sl_crc_table);
	bpf->rodata->arrival.express = config->express;
	bpf->rodata->arrival.node = config->node;
	bpf->rodata->arrival.qkey = sl_htonl(config->qkey);
	bpf->rodata->arrival.sample = config->sample;
	err = bpf_map__set_max_entries(bpf->maps.fabric_xsk, config->queues * config->workers);
	if (!err)
		err = bpf_map__set_max_entries(bpf->maps.fabric_arrivals,
					       config->express ? SL_EXPRESS_NODES * config->workers
							       : 1);
	if (!err)
		err = bpf_map__set_max_entries(bpf->maps.fabric_taken,
					       config->express ? SL_TAKEN_KEYS : 1);
	if (!err && config->express && config->sample)
		err = bpf_map__set_max_entries(bpf->maps.fabric_samples, config->workers);
	if (!err && !(config->express && config->sample))
		err = bpf_map__set_max_entries(bpf->maps.fabric_bulks, 1);
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

static int map_arrivals(struct rb_fabric_xdp *xdp, const struct rb_fabric_xdp_config *config)
{
	int err;

	xdp->arrivals_bytes = sizeof(*xdp->arrivals) * SL_EXPRESS_NODES * config->workers;
	err = map_memory(xdp->bpf->maps.fabric_arrivals, xdp->arrivals_bytes, &xdp->arrivals);
	if (!err)
		err = map_memory(xdp->bpf->maps.fabric_ports,
				 sizeof(*xdp->ports) * SL_ARRIVAL_PORTS, &xdp->ports);
	if (!err)
		err = map_memory(xdp->bpf->maps.fabric_taken, TAKEN_BYTES, &xdp->taken);
	if (err || !config->sample)
		return err;
	xdp->samples_bytes = sizeof(*xdp->samples) * config->workers;
	return map_memory(xdp->bpf->maps.fabric_samples, xdp->samples_bytes, &xdp->samples);
}

/* See when drivers take the frames that the program redirects. */
static int trace_sent(struct rb_fabric_xdp *xdp)
{
	struct rb_fabric_sent_bpf *sent = rb_fabric_sent_bpf__open();
	struct bpf_prog_info info = { 0 };
	uint32_t bytes = sizeof(info);
	int err;

	if (!sent)
		return -errno;
	err = bpf_obj_get_info_by_fd(bpf_program__fd(xdp->bpf->progs.sl_fabric), &info, &bytes);
	sent->rodata->sent_config.program = info.id;
	if (!err)
		err = bpf_map__reuse_fd(sent->maps.fabric_samples,
					bpf_map__fd(xdp->bpf->maps.fabric_samples));
	if (!err)
		err = bpf_map__reuse_fd(sent->maps.fabric_bulks,
					bpf_map__fd(xdp->bpf->maps.fabric_bulks));
	if (!err)
		err = rb_fabric_sent_bpf__load(sent);
	if (!err)
		err = rb_fabric_sent_bpf__attach(sent);
	if (err) {
		rb_fabric_sent_bpf__destroy(sent);
		return err;
	}
	xdp->sent = sent;
	__atomic_store_n(&xdp->bpf->bss->flushes_are_traced, 1, __ATOMIC_RELAXED);
	return 0;
}

int rb_fabric_xdp_open(const struct rb_fabric_xdp_config *config, struct rb_fabric_xdp **out)
{
	struct rb_fabric_xdp *xdp = calloc(1, sizeof(*xdp));
	uint32_t first = 0;
	int err;

	*out = NULL;
	if (!xdp)
		return -ENOMEM;
	xdp->link_fd = -1;
	err = load(xdp, config);
	if (!err && config->express)
		err = map_arrivals(xdp, config);
	if (err)
		goto out;
	if (bpf_map_update_elem(bpf_map__fd(xdp->bpf->maps.fabric_address), &first, config->address,
				BPF_ANY)) {
		err = -errno;
		goto out;
	}
	err = attach(xdp, config);
	/* The kernel gathers no frames of a generic program. */
	if (!err && config->express && config->sample)
		xdp->sent_err = xdp->native ? trace_sent(xdp) : -EOPNOTSUPP;
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
	for (uint32_t i = 0; xdp->ports && i < SL_ARRIVAL_PORTS; i++)
		__atomic_store_n(&xdp->ports[i].ifindex, 0, __ATOMIC_RELAXED);
	if (xdp->link_fd >= 0)
		close(xdp->link_fd);
	rb_fabric_sent_bpf__destroy(xdp->sent);
	if (xdp->arrivals)
		munmap(xdp->arrivals, xdp->arrivals_bytes);
	if (xdp->ports)
		munmap(xdp->ports, sizeof(*xdp->ports) * SL_ARRIVAL_PORTS);
	if (xdp->taken)
		munmap(xdp->taken, TAKEN_BYTES);
	if (xdp->samples)
		munmap(xdp->samples, xdp->samples_bytes);
	rb_fabric_bpf__destroy(xdp->bpf);
	free(xdp);
}

int rb_fabric_xdp_map(const struct rb_fabric_xdp *xdp)
{
	return bpf_map__fd(xdp->bpf->maps.fabric_xsk);
}

int rb_fabric_xdp_pin_error(const struct rb_fabric_xdp *xdp)
{
	return xdp->pin_err;
}

int rb_fabric_xdp_sent_error(const struct rb_fabric_xdp *xdp)
{
	return xdp->sent_err;
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

const struct sl_passed *rb_fabric_xdp_taken(const struct rb_fabric_xdp *xdp)
{
	return xdp->taken;
}

struct sl_samples *rb_fabric_xdp_samples(const struct rb_fabric_xdp *xdp)
{
	return xdp->samples;
}

bool rb_fabric_xdp_lacks_meta(const struct rb_fabric_xdp *xdp)
{
	return __atomic_load_n(&xdp->bpf->bss->without_meta, __ATOMIC_RELAXED);
}
