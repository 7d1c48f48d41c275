/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How an operator says which controller runs the queues of an egress port: the name of the
 * controller and any number of words `name=value`. The configuration file and `sluice cc set` are
 * read by the same code.
 *
 *   price interval_us=500 kappa_ppb=130804447 node2.weight=3
 *
 * A word sets a parameter of the controller itself (`sluice cc list`), or one that all controllers
 * have:
 *
 *   interval_us     T, 100..1000000 microseconds
 *   frame_bytes     a full-size frame, 60..65535
 *   nodeN.weight    of the traffic that enters at node N, 1..255
 *
 * Classes share a port by its scheduler, and by the weights of its queues in the configuration.
 */
#ifndef SL_CC_SETTINGS_H
#define SL_CC_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/abi/voq.h"
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
	uint8_t node_weight[256]; /* by node id */
};

/* Set every value to its default. 0; -ENOENT: there is no controller of that name. */
int sl_cc_settings_init(struct sl_cc_settings *settings, const char *controller);
/*
 * Change to another controller, with its defaults; interval, frame and weights stay. The controller
 * that is set already stays as it is. 0 or -ENOENT.
 */
int sl_cc_settings_switch(struct sl_cc_settings *settings, const char *controller);
/* Read one word. 0; -EINVAL, and why says what is wrong with it and what would be right. */
int sl_cc_settings_set(struct sl_cc_settings *settings, const char *word,
		       char why[SL_CC_WHY_BYTES]);
/* Read words that blanks separate; errors as above. */
int sl_cc_settings_set_all(struct sl_cc_settings *settings, const char *words,
			   char why[SL_CC_WHY_BYTES]);
/* Does the controller accept these parameters together? 0, or -EINVAL and why. */
int sl_cc_settings_check(const struct sl_cc_settings *settings, char why[SL_CC_WHY_BYTES]);
/*
 * Write the controller and each value that is not its default, as sl_cc_settings_read reads them.
 * The caller frees *out. 0 or -ENOMEM.
 */
int sl_cc_settings_text(const struct sl_cc_settings *settings, char **out);
/* Read such a text: a controller, then words. 0; -EINVAL, and why says what is wrong. */
int sl_cc_settings_read(struct sl_cc_settings *settings, const char *text,
			char why[SL_CC_WHY_BYTES]);
/* The names of all controllers, separated by ", ". */
const char *sl_cc_names(void);

/*
 * Make the configuration that cc/ takes, for a port of this capacity and these units. 0, or -EINVAL
 * and *why (static text) as cc_config_prepare.
 */
int sl_cc_settings_config(const struct sl_cc_settings *settings, const struct cc_port *port,
			  struct cc_config *out, const char **why);

#endif
