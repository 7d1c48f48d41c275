/* SPDX-License-Identifier: BSD-2-Clause */
#include "netns-lab/lookup/lookup_rig.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "user/datapath/datapath.h"

static int map_lookups(struct lookup_rig *rig)
{
	int fd = sl_datapath_map_fd(rig->datapath, "lookups");
	void *memory;

	if (fd < 0)
		return fd;
	memory = mmap(NULL, LAB_LOOKUPS_MAX * sizeof(*rig->lookups), PROT_READ | PROT_WRITE,
		      MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	rig->lookups = memory;
	return 0;
}

int lookup_rig_open(const char *object_path, enum sl_engine engine, struct lookup_rig **out)
{
	struct sl_datapath_params params = {
		.object_path = object_path,
		.config = { .engine = engine, .managed = 1 },
	};
	struct lookup_rig *rig = calloc(1, sizeof(*rig));
	int rc;

	if (!rig)
		return -ENOMEM;
	rc = sl_datapath_open(&params, &rig->datapath);
	if (rc)
		goto out;
	rc = map_lookups(rig);
	if (rc)
		goto out;
	rig->prog_fd = sl_datapath_prog_fd(rig->datapath);
	rig->batch_fd = sl_datapath_map_fd(rig->datapath, "batch");
	rc = sl_fib_create(sl_datapath_tables(rig->datapath), &rig->fib);
	for (int i = 0; !rc && i < LAB_NEXTHOPS; i++)
		rc = sl_fib_nexthop_create(rig->fib, &rig->nexthop_id[i]);
out:
	if (rc)
		lookup_rig_close(rig);
	else
		*out = rig;
	return rc;
}

void lookup_rig_close(struct lookup_rig *rig)
{
	if (!rig)
		return;
	sl_fib_destroy(rig->fib);
	if (rig->lookups)
		munmap(rig->lookups, LAB_LOOKUPS_MAX * sizeof(*rig->lookups));
	sl_datapath_close(rig->datapath);
	free(rig);
}

int lookup_rig_insert(struct lookup_rig *rig, const struct sl_prefix *prefix, uint32_t nexthop)
{
	return sl_fib_insert(rig->fib, prefix, rig->nexthop_id[nexthop]);
}

int lookup_rig_run(struct lookup_rig *rig, enum lab_lookup_mode mode, uint32_t n, uint32_t repeat,
		   uint32_t *run_ns)
{
	struct lab_batch batch = { .mode = mode, .n = n };
	uint8_t frame[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = sizeof(frame),
		    .repeat = (int)repeat);
	uint32_t zero = 0;
	int rc = bpf_map_update_elem(rig->batch_fd, &zero, &batch, BPF_ANY);

	if (!rc)
		rc = bpf_prog_test_run_opts(rig->prog_fd, &opts);
	if (rc)
		return rc;
	if (run_ns)
		*run_ns = opts.duration;
	return opts.retval == XDP_PASS ? 0 : -EPROTO;
}
