/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi/exact_flow.h"
#include "netns-lab/classify/classify_rig.h"
#include "user/datapath/exact_flows.h"

int classify_rig_open(const char *object_path, struct classify_rig **out)
{
	struct classify_rig *rig = calloc(1, sizeof(*rig));
	struct bpf_map *map;
	void *memory;
	int err = -ENOMEM;

	*out = NULL;
	if (!rig)
		return err;
	rig->object = bpf_object__open_file(object_path, NULL);
	err = libbpf_get_error(rig->object);
	if (err) {
		rig->object = NULL;
		goto out;
	}
	bpf_object__for_each_map(map, rig->object)
		bpf_map__set_pin_path(map, NULL);
	map = bpf_object__find_map_by_name(rig->object, "sl_exact_flow");
	err = bpf_map__set_max_entries(map, SL_EXACT_FLOWS_MAX);
	if (!err)
		err = bpf_object__load(rig->object);
	if (err)
		goto out;
	rig->prog_fd = bpf_program__fd(bpf_object__next_program(rig->object, NULL));
	rig->batch_fd = bpf_object__find_map_fd_by_name(rig->object, "batch");
	rig->exact_fd = bpf_map__fd(map);
	rig->maps.small_fd = bpf_object__find_map_fd_by_name(rig->object, "sl_filter_small");
	rig->maps.large_fd = bpf_object__find_map_fd_by_name(rig->object, "sl_filter_large");
	memory = mmap(NULL, LAB_FLOWS_MAX * sizeof(*rig->flows), PROT_READ | PROT_WRITE, MAP_SHARED,
		      bpf_object__find_map_fd_by_name(rig->object, "flows"), 0);
	if (memory == MAP_FAILED)
		err = -errno;
	else
		rig->flows = memory;
	if (!err)
		err = sl_exact_puts_open(
			bpf_object__find_map_fd_by_name(rig->object, "sl_exact_puts"),
			&rig->exact_puts);
out:
	if (err)
		classify_rig_close(rig);
	else
		*out = rig;
	return err;
}

void classify_rig_close(struct classify_rig *rig)
{
	if (!rig)
		return;
	if (rig->flows)
		munmap(rig->flows, LAB_FLOWS_MAX * sizeof(*rig->flows));
	sl_exact_puts_close(rig->exact_puts);
	bpf_object__close(rig->object);
	free(rig);
}

int classify_rig_put(const struct classify_rig *rig, uint32_t slot, const struct sl_rule *rules,
		     uint32_t n, uint8_t family, uint32_t default_action)
{
	struct sl_image image;
	struct sl_list list = { .fd = -1 };
	int err = sl_compile(rules, n, family, default_action, SL_RULE_NONE, &image);

	if (!err)
		err = sl_list_make(image.bytes, image.n_bytes, &list);
	if (!err)
		err = sl_list_put(&rig->maps, slot, &list);
	sl_list_close(&list); /* the kernel keeps it while it is in the slot */
	free(image.bytes);
	return err;
}

int classify_rig_run(const struct classify_rig *rig, enum lab_classify_mode mode, uint32_t slot,
		     uint32_t n, uint32_t repeat, uint32_t *run_ns)
{
	struct lab_classify_batch batch = { .mode = mode, .n = n, .slot = slot };
	uint8_t frame[64] = { 0 };
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = sizeof(frame),
		    .repeat = (int)repeat);
	uint32_t zero = 0;
	int err = bpf_map_update_elem(rig->batch_fd, &zero, &batch, BPF_ANY);

	if (!err)
		err = bpf_prog_test_run_opts(rig->prog_fd, &opts);
	if (err)
		return err;
	if (run_ns)
		*run_ns = opts.duration;
	return opts.retval == XDP_PASS ? 0 : -EPROTO;
}
