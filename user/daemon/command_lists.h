/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Filter lists that commands make and keep, beside those of the configuration file.
 *
 * A command's list lives as a rule of nftables does: over reloads and restarts of sluiced, until a
 * command deletes it or the machine restarts. SL_COMMAND_LISTS_PATH remembers it. A list of the
 * file that a command has changed is the file's again after the next reload.
 */
#ifndef SL_COMMAND_LISTS_H
#define SL_COMMAND_LISTS_H

#include "user/config/config.h"

#define SL_COMMAND_LISTS_PATH "/run/sluice/filters.json"

/*
 * Add to settings, just read, the lists of commands among those in force; where the file has a list
 * of the same name, the file's counts. 0 or -errno; logged.
 */
int sl_filters_keep(struct sl_settings *settings, const struct sl_yaml_list *in_force);
/* The same at start, from SL_COMMAND_LISTS_PATH. What cannot be read is logged and left out. */
void sl_filters_restore(struct sl_settings *settings);
/* Write the lists of commands to SL_COMMAND_LISTS_PATH. 0 or -errno. */
int sl_filters_save(const struct sl_yaml_list *in_force);

#endif
