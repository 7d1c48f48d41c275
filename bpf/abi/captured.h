/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
/*
 * What the tracing programs of capture.bpf.c tell `sluice capture` and `sluice sflow` of a frame.
 * Each record is one sample of the ring sl_capture_ring; copied_bytes of the frame follow it.
 */
#ifndef SL_CAPTURED_H
#define SL_CAPTURED_H

#include <linux/types.h>

#include "bpf/abi/abi.h"

#define SL_CAPTURE_PORTS_MAX 1024
/* A sample of a perf ring, with its header, has at most 65,535 bytes. */
#define SL_CAPTURE_SNAP_MAX	65000
#define SL_CAPTURE_SAMPLING_MAX (1u << 24)

enum sl_capture_stage {
	SL_CAPTURE_IN,	 /* the frame as it entered; the XDP program runs next */
	SL_CAPTURE_END,	 /* what became of it; with bytes if it leaves by a port that is captured */
	SL_CAPTURE_SENT, /* a frame that an AF_XDP socket sends, such as the bridge's */
	SL_CAPTURE_STAGES
};

/* What became of a frame that entered. */
enum sl_capture_outcome {
	SL_OUTCOME_UNKNOWN, /* the record that would say it was lost, or it is another program's */
	SL_OUTCOME_FORWARD, /* leaves by the port to_ifindex */
	SL_OUTCOME_QUEUED,  /* redirected into the AF_XDP ring of the bridge */
	SL_OUTCOME_DROPPED, /* reason: enum sl_drop + 1, or 0 */
	SL_OUTCOME_KERNEL,  /* reason: enum sl_punt + 1, or 0 */
};

struct sl_captured {
	__u64 time_ns;	    /* CLOCK_MONOTONIC */
	__u64 number;	    /* of the frame on this processor: the same in IN and END */
	__u32 ifindex;	    /* where it entered; SENT: where it leaves */
	__u32 to_ifindex;   /* END: where it leaves, or 0 */
	__u32 frame_bytes;  /* of the whole frame */
	__u32 copied_bytes; /* 0: only the record */
	__u32 queue;	    /* IN, END: receive queue */
	__u32 voq_plus1;    /* END: the VOQ that the metadata names, plus 1, or 0 */
	__u8 stage;	    /* enum sl_capture_stage */
	__u8 outcome;	    /* END: enum sl_capture_outcome */
	__u8 reason;
	__u8 fabric; /* 1: sl_fabric has run, not sl_edge */
	__u8 chosen; /* of a frame with bytes: it surely passes the filter; 0: not known */
	__u8 pad[3];
};
SL_ASSERT_SIZE(struct sl_captured, 48);

/* Per processor, port and direction. */
struct sl_capture_count {
	__u64 seen; /* records with bytes that should be in the ring */
	__u64 lost; /* of those, the ones that did not fit */
	__u64 pool; /* while sampling: frames that entered, sampled or not */
	__u64 left; /* frames that the filter left out, so that they have no such record */
};
SL_ASSERT_SIZE(struct sl_capture_count, 32);

/* Index of a port's count; direction: 0 in, 1 out. */
#define SL_CAPTURE_COUNT(slot, direction) ((slot)*2 + (direction))

/* Read-only data `sl_capture_config` of capture.bpf.o. */
struct sl_capture_config {
	__u64 netns_cookie; /* ports of other namespaces are not captured */
	__u32 snap_bytes;   /* copied of each frame, 1..SL_CAPTURE_SNAP_MAX */
	__u32 fabric;	    /* 1: the program traced is sl_fabric */
	__u32 sampling; /* one in so many frames that enter, at random; 0: all, and those sent */
	__u32 pad;
};
SL_ASSERT_SIZE(struct sl_capture_config, 24);

/* An instruction of classic BPF, as struct sock_filter: BSD's bpf(4) says what it does. */
struct sl_filter_insn {
	__u16 code;
	__u8 jt, jf; /* true and false: so many instructions are passed over */
	__u32 k;
};
SL_ASSERT_SIZE(struct sl_filter_insn, 8);

/*
 * Read-only data `sl_capture_filter` of capture.bpf.o: which frames are copied. n = 0: all. A frame
 * of which the first SL_FILTER_HEAD bytes do not decide is copied, too.
 */
#define SL_FILTER_INSNS_MAX 512
#define SL_FILTER_HEAD	    256
struct sl_capture_filter {
	__u32 n;
	__u32 pad;
	struct sl_filter_insn insn[SL_FILTER_INSNS_MAX];
};
SL_ASSERT_SIZE(struct sl_capture_filter, 8 + 8 * SL_FILTER_INSNS_MAX);

#endif
