/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/* A batch of packets' fields to classify, shared between BPF and user space. */
#ifndef LAB_CLASSIFY_BATCH_H
#define LAB_CLASSIFY_BATCH_H

#include "bpf/abi/classifier.h"

#define LAB_FLOWS_MAX 65536

enum lab_classify_mode {
	LAB_CLASSIFY_NOTHING, /* the loop alone, to subtract */
	LAB_CLASSIFY_LIST,
	LAB_CLASSIFY_FLOWS, /* exact flows; the slot is the version of IP */
};

struct lab_classify_batch {
	__u32 mode; /* enum lab_classify_mode */
	__u32 n;    /* flows, 0..LAB_FLOWS_MAX */
	__u32 slot;
	__u32 pad;
};

#endif
