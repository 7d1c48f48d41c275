/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does a configuration's `cluster:` fit this host? For `sluice check`; the daemons say the same
 * when they start.
 */
#ifndef SL_CHECK_HOST_H
#define SL_CHECK_HOST_H

#include <stdbool.h>

#include "user/config/config.h"

/*
 * The fabric's netdev, this node's address on it, the key file. 0, or -EINVAL with one line in
 * error as the parser writes it. What cannot be looked at for lack of privileges is taken as right.
 * A configuration without `cluster:` fits.
 */
int sl_check_cluster(const struct sl_settings *settings, char error[SL_YAML_ERROR_BYTES]);

/*
 * What is valid, but will not go well: true, and one line in warning as above. The same for the
 * bridge when it starts.
 */
bool sl_doubt_cluster(const struct sl_settings *settings, char warning[SL_YAML_ERROR_BYTES]);

#endif
