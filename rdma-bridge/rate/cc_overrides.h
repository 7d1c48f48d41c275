/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A setting of `sluice cc set` overrides the configuration, also after a restart of the bridge. The
 * bridge stores it in a file beside its control socket. That is in /run, so the next boot forgets
 * it, as it forgets what `ip` and `tc` set.
 *
 * The file is one JSON object. For each port ("n1p2") it has what the configuration said of its
 * controller at the time of `cc set`, and the setting, both as sl_cc_settings_text writes them. An
 * override holds while the configuration still says the same. A configuration that says something
 * else was edited since, and wins. Setting what the configuration says ends the override, too.
 */
#ifndef RB_CC_OVERRIDES_H
#define RB_CC_OVERRIDES_H

#include <stdint.h>

#include "user/config/cc_settings.h"

/* The file that goes with a control socket. The caller frees it; NULL: no memory. */
char *rb_cc_overrides_path(const char *control_socket);

/*
 * The settings in force for a port: its override, or the configured ones. An override that holds no
 * longer is removed from the file. A file that cannot be parsed is logged and counts as no file.
 */
void rb_cc_overrides_find(const char *path, uint16_t system_port,
			  const struct sl_cc_settings *configured, struct sl_cc_settings *out);

/* Store what was set. 0; after -errno the file is as it was. */
int rb_cc_overrides_put(const char *path, uint16_t system_port,
			const struct sl_cc_settings *configured, const struct sl_cc_settings *set);

#endif
