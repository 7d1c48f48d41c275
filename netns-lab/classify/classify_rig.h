/* SPDX-License-Identifier: BSD-2-Clause */
/* The classifier of the fast path alone: lists put in as sluiced does, and batches of packets. */
#ifndef LAB_CLASSIFY_RIG_H
#define LAB_CLASSIFY_RIG_H

#include <stdint.h>

#include "netns-lab/classify/classify_batch.h"
#include "user/classify/compile.h"
#include "user/daemon/lists.h"

#define LAB_CLASSIFY_OBJECT "build/lab/classify_batch.bpf.o"

struct classify_rig {
	struct bpf_object *object; /* owned */
	struct sl_flow *flows;	   /* owned; mapped, LAB_FLOWS_MAX elements */
	struct sl_list_maps maps;  /* borrowed from object */
	int prog_fd, batch_fd,
		exact_fd;     /* borrowed from object; exact_fd: the map of exact flows */
	uint64_t *exact_puts; /* owned; mapped */
};

/* 0 or -errno */
int classify_rig_open(const char *object_path, struct classify_rig **out);
void classify_rig_close(struct classify_rig *rig); /* NULL is fine */

/* Compile the rules and put them into the slot. As sl_compile and sl_list_put. */
int classify_rig_put(const struct classify_rig *rig, uint32_t slot, const struct sl_rule *rules,
		     uint32_t n, uint8_t family, uint32_t default_action);
/*
 * Classify the first n of rig->flows `repeat` times. *run_ns, if not NULL: the time of one pass
 * over all n. 0 or -errno.
 */
int classify_rig_run(const struct classify_rig *rig, enum lab_classify_mode mode, uint32_t slot,
		     uint32_t n, uint32_t repeat, uint32_t *run_ns);

#endif
