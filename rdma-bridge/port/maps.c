/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma-bridge/port/maps.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <bpf/bpf.h>

static int get(const char *pin_dir, const char *name)
{
	char path[PATH_MAX];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", pin_dir, name);
	fd = bpf_obj_get(path);
	return fd < 0 ? -errno : fd;
}

static int id_of(int fd, uint32_t *id)
{
	struct bpf_map_info info = { 0 };
	uint32_t len = sizeof(info);

	if (bpf_obj_get_info_by_fd(fd, &info, &len))
		return -errno;
	*id = info.id;
	return 0;
}

static int pinned_id(const char *pin_dir, const char *name, uint32_t *id)
{
	int fd = get(pin_dir, name), err;

	if (fd < 0)
		return fd;
	err = id_of(fd, id);
	close(fd);
	return err;
}

static int read_meta(const char *pin_dir, struct sl_meta *meta)
{
	uint32_t zero = 0;
	int fd = get(pin_dir, "sl_meta"), err = 0;

	if (fd < 0)
		return fd;
	if (bpf_map_lookup_elem(fd, &zero, meta))
		err = -errno;
	else if (meta->abi_version != SL_ABI_VERSION)
		err = -EPROTO;
	else if (meta->n_voqs == 0)
		err = -ENODATA;
	close(fd);
	return err;
}

static int map_elements(const char *pin_dir, const char *name, size_t bytes, void *out)
{
	int fd = get(pin_dir, name);
	void *memory;

	if (fd < 0)
		return fd;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (memory == MAP_FAILED)
		return -errno;
	*(void **)out = memory;
	return 0;
}

static size_t ring_bytes(const struct sl_meta *meta)
{
	return (size_t)meta->n_ports * meta->n_queues * meta->n_workers * sizeof(struct sl_ring);
}

static size_t express_bytes(const struct sl_meta *meta)
{
	return (size_t)SL_EXPRESS_NODES * meta->n_workers * sizeof(struct sl_express_path);
}

int rb_maps_open(const char *pin_dir, struct rb_maps *out)
{
	int err;

	memset(out, 0, sizeof(*out));
	out->xsk_fd = out->dscp_fd = -1;
	err = read_meta(pin_dir, &out->meta);
	if (!err)
		err = map_elements(pin_dir, "sl_voq", out->meta.n_voqs * sizeof(*out->voq),
				   &out->voq);
	if (!err)
		err = map_elements(pin_dir, "sl_backlog", out->meta.n_voqs * sizeof(*out->backlog),
				   &out->backlog);
	if (!err)
		err = map_elements(pin_dir, "sl_ring", ring_bytes(&out->meta), &out->ring);
	if (!err)
		err = map_elements(pin_dir, "sl_express", express_bytes(&out->meta), &out->express);
	if (!err) {
		err = map_elements(pin_dir, "sl_system_ports",
				   SL_SYSTEM_PORTS_MAX * sizeof(*out->system_ports),
				   &out->system_ports);
	}
	if (!err) {
		out->xsk_fd = get(pin_dir, "sl_xsk");
		err = out->xsk_fd < 0 ? out->xsk_fd : id_of(out->xsk_fd, &out->xsk_id);
	}
	if (!err)
		err = pinned_id(pin_dir, "sl_backlog", &out->backlog_id);
	if (!err) {
		out->dscp_fd = get(pin_dir, "sl_dscp");
		err = out->dscp_fd < 0 ? out->dscp_fd : rb_maps_refresh(out);
	}
	if (err)
		rb_maps_close(out);
	return err;
}

void rb_maps_close(struct rb_maps *maps)
{
	if (maps->voq)
		munmap(maps->voq, maps->meta.n_voqs * sizeof(*maps->voq));
	if (maps->backlog)
		munmap(maps->backlog, maps->meta.n_voqs * sizeof(*maps->backlog));
	if (maps->ring)
		munmap(maps->ring, ring_bytes(&maps->meta));
	if (maps->express)
		munmap(maps->express, express_bytes(&maps->meta));
	if (maps->system_ports)
		munmap((void *)maps->system_ports,
		       SL_SYSTEM_PORTS_MAX * sizeof(*maps->system_ports));
	if (maps->xsk_fd >= 0)
		close(maps->xsk_fd);
	if (maps->dscp_fd >= 0)
		close(maps->dscp_fd);
	memset(maps, 0, sizeof(*maps));
	maps->xsk_fd = maps->dscp_fd = -1;
}

int rb_maps_refresh(struct rb_maps *maps)
{
	uint32_t dscps[SL_DSCPS], classes[SL_DSCPS], n = SL_DSCPS, last;

	if (bpf_map_lookup_batch(maps->dscp_fd, NULL, &last, dscps, classes, &n, NULL))
		return -errno;
	for (uint32_t i = 0; i < n; i++)
		__atomic_store_n(&maps->class_of[dscps[i] & (SL_DSCPS - 1)],
				 (uint8_t)(classes[i] & (SL_CLASSES - 1)), __ATOMIC_RELAXED);
	return 0;
}

bool rb_maps_changed(const struct rb_maps *maps, const char *pin_dir)
{
	uint32_t backlog = 0, xsk = 0;

	return pinned_id(pin_dir, "sl_backlog", &backlog) == 0 &&
	       pinned_id(pin_dir, "sl_xsk", &xsk) == 0 &&
	       (backlog != maps->backlog_id || xsk != maps->xsk_id);
}

uint32_t rb_maps_voq(const struct rb_maps *maps, uint16_t system_port)
{
	for (uint32_t i = 0; i < SL_SYSTEM_PORTS_MAX; i++)
		if (__atomic_load_n(&maps->system_ports[i], __ATOMIC_RELAXED) == system_port)
			return i * SL_CLASSES;
	return SL_VOQS_MAX;
}
