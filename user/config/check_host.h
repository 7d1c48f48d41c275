/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does `cluster:` of a configuration fit this host? `sluice check` answers that; the daemons check
 * the same when they start.
 */
#ifndef SL_CHECK_HOST_H
#define SL_CHECK_HOST_H

#include <stdbool.h>

#include "user/config/config.h"

/*
 * Check the fabric's netdev, this node's address on it, and the key file. 0, or -EINVAL with one
 * line in error, as the parser writes it. A file that the caller may not look at counts as right. A
 * configuration without `cluster:` fits.
 */
int sl_check_cluster(const struct sl_settings *settings, char error[SL_YAML_ERROR_BYTES]);

/*
 * Is it valid, but bound to give trouble? True with one line in warning, as above. The bridge warns
 * of it when it starts, too.
 */
bool sl_doubt_cluster(const struct sl_settings *settings, char warning[SL_YAML_ERROR_BYTES]);

#endif
