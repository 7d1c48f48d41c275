/* SPDX-License-Identifier: BSD-2-Clause */
/* State that holds for all interfaces: policy rules, and the settings "all" of IPv4 and IPv6. */
#ifndef SL_MIRROR_SETTINGS_H
#define SL_MIRROR_SETTINGS_H

#include "user/rtnl/rtnl.h"

struct sl_mirror;

/* A rule of a dump; sl_rule_dumped ends the dump of both families. */
void sl_rule_message(struct sl_mirror *m, const struct sl_rtnl_rule *msg);
void sl_rule_dumped(struct sl_mirror *m);
void sl_netconf_message(struct sl_mirror *m, const struct sl_rtnl_netconf *msg);
void sl_neightbl_message(struct sl_mirror *m, const struct sl_rtnl_neightbl *msg);
void sl_settings_read(struct sl_mirror *m); /* the settings that no message has */

#endif
