/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A client of etcd v3, by its JSON gateway: POST /v3/... with a JSON object, answered by one.
 *
 * A call goes to the member that answered last, and to the next one of the endpoints if that one
 * is away, has no leader, or does not answer in time. Not thread-safe.
 */
#ifndef SL_ETCD_CLIENT_H
#define SL_ETCD_CLIENT_H

#include <curl/curl.h>
#include <jansson.h>

#include "user/etcd/etcd_settings.h"

#define SL_ETCD_WHY_BYTES  2048
#define SL_ETCD_CONNECT_MS 2000L
#define SL_ETCD_CALL_MS	   6000L /* etcd itself gives a write up after 5 s and more */

struct sl_etcd;

/* settings is borrowed until close. 0; -ENOMEM, -errno of the password's file, a line in why. */
int sl_etcd_open(const struct sl_etcd_settings *settings, struct sl_etcd **out,
		 char why[SL_ETCD_WHY_BYTES]);
void sl_etcd_close(struct sl_etcd *etcd); /* NULL is fine */

/*
 * While a call waits for etcd, which may be for SL_ETCD_CALL_MS of each endpoint, call `serve`
 * whenever fd is readable; it makes no call itself. serve NULL: no more.
 */
void sl_etcd_serve(struct sl_etcd *etcd, int fd, void (*serve)(void *arg), void *arg);

/*
 * Call e.g. "/v3/kv/range"; takes the reference to request. *answer is a new reference. 0;
 * -EHOSTUNREACH: no member answers; -EACCES: etcd does not let this user or certificate do it;
 * -EREMOTEIO: it refuses; -EPROTO: what answers is no etcd. Then sl_etcd_why says it in a line.
 */
int sl_etcd_call(struct sl_etcd *etcd, const char *path, json_t *request, json_t **answer);
const char *sl_etcd_why(const struct sl_etcd *etcd);

/* The endpoints, from 0 on, as the settings name them; NULL: no more. */
const char *sl_etcd_endpoint(const struct sl_etcd *etcd, unsigned int i);
/* The one that answered last. */
unsigned int sl_etcd_chosen(const struct sl_etcd *etcd);
/* As sl_etcd_call, of that member alone. */
int sl_etcd_call_at(struct sl_etcd *etcd, unsigned int endpoint, const char *path, json_t *request,
		    json_t **answer);

/*
 * Make a transfer to the chosen member ready, but for what becomes of the answer: URL, TLS, token.
 * body is borrowed until the transfer ends; *headers is the caller's. -ENOMEM.
 */
int sl_etcd_prepare(const struct sl_etcd *etcd, CURL *curl, const char *path, const char *body,
		    struct curl_slist **headers);

/* Bytes as etcd's JSON has them. base64: a new text; bytes: new, with a NUL behind; NULL: no. */
char *sl_etcd_base64(const void *bytes, size_t n);
char *sl_etcd_bytes(const char *base64, size_t *n);
/*
 * A 64-bit number, signed or not, which etcd's JSON has as a text: one of 2^63 or more as the
 * negative number of the same bits. 0: there is none.
 */
long long sl_etcd_number(const json_t *object, const char *key);

#endif
