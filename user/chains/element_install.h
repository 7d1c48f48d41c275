/* SPDX-License-Identifier: BSD-2-Clause */
/* sluice element install|remove, which change what sluice-elements has. */
#ifndef SL_ELEMENT_INSTALL_H
#define SL_ELEMENT_INSTALL_H

#include "user/cli/cmd.h"

/* where: a path or URL; the signature is `where` with .sig behind. Returns an exit status. */
int sl_element_install(const struct sl_cmd_options *options, const char *where);
int sl_element_remove(const struct sl_cmd_options *options, const char *class);

#endif
