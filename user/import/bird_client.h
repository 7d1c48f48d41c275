/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions to BIRD 2 by its control socket, as birdc puts them. */
#ifndef SL_BIRD_CLIENT_H
#define SL_BIRD_CLIENT_H

#define SL_BIRD_SOCKET	  "/run/bird/bird.ctl"
#define SL_BIRD_WHY_BYTES 256

/*
 * Ask for all chosen routes of each table, `show route table T all primary`. *out: the answers, one
 * after the other, which the caller frees. 0; -EINVAL: a name is that of no table; -EPROTO: BIRD
 * refused, or what answers is not BIRD; -E2BIG: it said more than 64 MiB; -ETIMEDOUT: it was silent
 * for ten seconds; or -errno of the socket. On an error `why` says what, and *out is NULL.
 */
int sl_bird_routes(const char *socket_path, const char *const *tables, char **out,
		   char why[SL_BIRD_WHY_BYTES]);

#endif
