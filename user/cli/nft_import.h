/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of nftables, as `nft -j list ruleset` prints them, as filter lists. */
#ifndef SL_NFT_IMPORT_H
#define SL_NFT_IMPORT_H

/*
 * Print the rules of all base chains at the hooks ingress, prerouting and forward as filter lists,
 * a list for each chain, in JSON that `sluice filter replace` takes. If a list cannot say all that
 * the rules say, print no lists, but a line on standard error for each rule that is to blame.
 * Returns an exit status. name: of the text, for messages.
 */
int sl_nft_import(const char *name, const char *text);

#endif
