/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tracing programs of txdrops.bpf.o, which count redirected frames that a driver did not take.
 * Their links are pinned with the published set and outlive the daemon. Exactly one pair is active.
 * The pair of an earlier daemon is kept if it runs the same code on the same maps; else it ends
 * before the new pair starts.
 */
#ifndef SL_TXDROPS_H
#define SL_TXDROPS_H

#include <stddef.h>

#include "user/datapath/pins.h"

#define SL_TXDROPS_PINS 3

struct sl_txdrops;

/*
 * Keep the running pair, of `previous` or pinned at pin_dir (either may be NULL), or load another.
 * drops_fd is the map they count in. 0; or -errno, after a log message that says what is lost:
 * nothing else depends on the pair.
 */
int sl_txdrops_open(const char *object_path, int drops_fd, const char *pin_dir,
		    const struct sl_txdrops *previous, struct sl_txdrops **out);
/*
 * The pins that the staged set needs so that a kept pair goes on. Returns their number: 0 for a new
 * pair.
 */
size_t sl_txdrops_pins(const struct sl_txdrops *tx, struct sl_pin pins[SL_TXDROPS_PINS]);
/*
 * Start a new pair and pin it at pin_dir (may be NULL), after the earlier one has gone. 0 or
 * -errno, logged.
 */
int sl_txdrops_start(struct sl_txdrops *tx, const char *pin_dir);
void sl_txdrops_close(struct sl_txdrops *tx); /* what is pinned goes on; NULL is fine */

#endif
