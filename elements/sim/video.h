/* SPDX-License-Identifier: BSD-2-Clause */
/* X9: video whose layers are dropped from the highest on, while processor time is short. */
#ifndef EL_SIM_VIDEO_H
#define EL_SIM_VIDEO_H

#include <stdbool.h>
#include <stdint.h>

#define EL_VIDEO_FRAMES 300u
#define EL_VIDEO_LAYERS 128u /* the base and 127 enhancements, a packet each */

struct el_video_result {
	uint32_t shown;			  /* frames whose base layer came through */
	double psnr_mean;		  /* of those, in dB */
	uint32_t layers[EL_VIDEO_FRAMES]; /* usable ones: all below them came, too; 0: not shown */
};

/*
 * Send the video through one processor, beside a flow that always has packets. share: weight of the
 * video of 1,000,000. scaling: its queue drops layers; false: it drops what comes last. 0 or
 * -errno.
 */
int el_video_run(uint32_t share, bool scaling, struct el_video_result *out);

#endif
