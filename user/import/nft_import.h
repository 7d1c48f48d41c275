/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of nftables, as `nft -j list ruleset` prints them, as filter lists. */
#ifndef SL_NFT_IMPORT_H
#define SL_NFT_IMPORT_H

#include <jansson.h>

/*
 * The rules of all base chains at the hooks ingress, prerouting and forward as filter lists, a list
 * for each chain, in *out, a new reference, as `sluice filter replace` takes them. If a list cannot
 * say all that the rules say, there are no lists, but a line on standard error for each rule that
 * is to blame. 0, -EINVAL or -ENOMEM. name: of the text, for messages.
 */
int sl_nft_import(const char *name, const char *text, json_t **out);

#endif
