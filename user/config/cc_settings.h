/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How the queues of an egress port are controlled, as a person says it: a controller by its name
 * and any number of words `name=value`. The configuration file and `sluice cc set` are read by the
 * same lines.
 *
 *   price interval_us=500 kappa_ppb=130804447 node2.weight=3 class3.weight=4
 *
 * Words are the controller's own parameters (`sluice cc list`), and for all of them:
 *
 *   interval_us     T, 100..1000000 microseconds
 *   frame_bytes     a full-size frame, 60..65535
 *   nodeN.weight    of what enters at node N, 1..255
 *   classC.weight   of class C beside the node's, 1..255
 */
#ifndef SL_CC_SETTINGS_H
#define SL_CC_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/sluice.h"
#include "cc/cc.h"

#define SL_CC_INTERVAL_DEFAULT_US 1000
#define SL_CC_INTERVAL_MIN_US	  100
#define SL_CC_INTERVAL_MAX_US	  1000000
#define SL_CC_FRAME_DEFAULT_BYTES 1514
#define SL_CC_WHY_BYTES		  384

struct sl_cc_settings {
	const struct cc_ops *ops;
	int64_t param[CC_PARAMS_MAX];
	uint32_t interval_us;
	uint32_t frame_bytes;
	uint8_t class_weight[SL_CLASSES];
	uint8_t node_weight[256]; /* by node id */
};

/* Every value at its default. -ENOENT: no controller of that name. */
int sl_cc_settings_init(struct sl_cc_settings *settings, const char *controller);
/*
 * Another controller with its defaults; T, frame and weights stay. The same one again changes
 * nothing. -ENOENT.
 */
int sl_cc_settings_switch(struct sl_cc_settings *settings, const char *controller);
/* One word. -EINVAL, and why says what is wrong with it and what would be right. */
int sl_cc_settings_set(struct sl_cc_settings *settings, const char *word,
		       char why[SL_CC_WHY_BYTES]);
/* Words parted by blanks. */
int sl_cc_settings_set_all(struct sl_cc_settings *settings, const char *words,
			   char why[SL_CC_WHY_BYTES]);
/* Do the parameters go together? -EINVAL and why. */
int sl_cc_settings_check(const struct sl_cc_settings *settings, char why[SL_CC_WHY_BYTES]);
/*
 * The controller and what is not at its default, as sl_cc_settings_read takes it. The caller frees
 * *out. 0 or -ENOMEM.
 */
int sl_cc_settings_text(const struct sl_cc_settings *settings, char **out);
/* Such a text: a controller and words. -EINVAL, and why says what is wrong. */
int sl_cc_settings_read(struct sl_cc_settings *settings, const char *text,
			char why[SL_CC_WHY_BYTES]);
/* The names of all controllers, parted by ", ". */
const char *sl_cc_names(void);

/*
 * As cc/ takes them, for a port of such capacity and units. 0, -EINVAL and *why (static text) as
 * cc_config_prepare.
 */
int sl_cc_settings_config(const struct sl_cc_settings *settings, const struct cc_port *port,
			  struct cc_config *out, const char **why);

#endif
