/* SPDX-License-Identifier: BSD-2-Clause */
/* The answers of sluice-elements on its control socket. */
#ifndef EL_VIEWS_H
#define EL_VIEWS_H

#include <stdint.h>

#include "elements/worker/chain_process.h"

struct el_views;

/* Listen at path. 0 or -errno. */
int el_views_open(const char *path, struct el_views **out);
void el_views_close(struct el_views *views); /* NULL is fine */
int el_views_fd(const struct el_views *views);
/* Answer who has asked, and once a second drop who is silent. */
void el_views_poll(struct el_views *views, struct el_process *process, uint64_t now_ns);

#endif
