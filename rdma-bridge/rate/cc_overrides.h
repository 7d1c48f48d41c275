/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What `sluice cc set` said, kept for the next life of the bridge: a file beside its control
 * socket, which lies in /run and so is gone with the next boot, as is what `ip` and `tc` said.
 *
 * A file of JSON, one object: for each port ("n1p2") what the configuration said of its controller
 * at that time, and what was set, both as sl_cc_settings_text writes them. While the configuration
 * says the same, what was set holds; a configuration that says something else has been edited
 * since, and wins. Setting what the configuration says ends it, too.
 */
#ifndef RB_CC_OVERRIDES_H
#define RB_CC_OVERRIDES_H

#include <stdint.h>

#include "user/config/cc_settings.h"

/* The file that goes with a control socket. The caller frees it; NULL: no memory. */
char *rb_cc_overrides_path(const char *control_socket);

/*
 * What holds for a port: what was set, or what is configured. What no longer holds is taken out of
 * the file, and a file that makes no sense says so in the log and counts as none.
 */
void rb_cc_overrides_find(const char *path, uint16_t system_port,
			  const struct sl_cc_settings *configured, struct sl_cc_settings *out);

/* Keep what was set. 0 or -errno; then the file is as it was. */
int rb_cc_overrides_put(const char *path, uint16_t system_port,
			const struct sl_cc_settings *configured, const struct sl_cc_settings *set);

#endif
