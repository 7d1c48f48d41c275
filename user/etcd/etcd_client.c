/* SPDX-License-Identifier: BSD-2-Clause */
#include "user/etcd/etcd_client.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ANSWER_MAX_BYTES (64u << 20)
#define TOKEN_BYTES	 1024
#define PASSWORD_BYTES	 1024

/* Of the codes of gRPC */
enum {
	CODE_DEADLINE_EXCEEDED = 4,
	CODE_PERMISSION_DENIED = 7,
	CODE_UNAVAILABLE = 14,
	CODE_UNAUTHENTICATED = 16,
};

struct sl_etcd {
	const struct sl_etcd_settings *settings;     /* borrowed until close */
	char *list;				     /* owned: the endpoints, with NULs between */
	const char *endpoint[SL_ETCD_ENDPOINTS_MAX]; /* borrowed from list */
	unsigned int n, chosen;
	CURLM *multi;		  /* owned: keeps the connections */
	CURL *curl;		  /* owned */
	int serve_fd;		  /* borrowed */
	void (*serve)(void *arg); /* NULL: nobody wants to be served while a call waits */
	void *serve_arg;
	char password[PASSWORD_BYTES];
	char token[TOKEN_BYTES]; /* empty: none yet */
	char why[SL_ETCD_WHY_BYTES];
};

struct answer {
	char *text; /* owned */
	size_t n;
};

/* --- Bytes and numbers --- */

char *sl_etcd_base64(const void *bytes, size_t n)
{
	char *text = n < INT_MAX / 2 ? malloc(4 * ((n + 2) / 3) + 1) : NULL;

	if (text)
		EVP_EncodeBlock((unsigned char *)text, bytes, (int)n);
	return text;
}

char *sl_etcd_bytes(const char *base64, size_t *n)
{
	const size_t bytes = base64 ? strlen(base64) : 0;
	char *out = bytes < INT_MAX ? malloc(bytes + 1) : NULL;
	int decoded;

	if (!out)
		return NULL;
	decoded = bytes ? EVP_DecodeBlock((unsigned char *)out, (const unsigned char *)base64,
					  (int)bytes)
			: 0;
	if (decoded < 0 || bytes % 4) {
		free(out);
		return NULL;
	}
	for (size_t i = 1; i <= 2 && i <= bytes && base64[bytes - i] == '='; i++)
		decoded--;
	*n = (size_t)decoded;
	out[*n] = '\0';
	return out;
}

long long sl_etcd_number(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);

	/* Ids of members and clusters use all 64 bits. */
	return json_is_string(value) ? (long long)strtoull(json_string_value(value), NULL, 10)
				     : json_integer_value(value);
}

/* --- One transfer --- */

static size_t take(char *data, size_t size, size_t n, void *arg)
{
	struct answer *answer = arg;
	char *more;

	(void)size; /* 1 */
	if (answer->n + n > ANSWER_MAX_BYTES)
		return 0;
	more = realloc(answer->text, answer->n + n + 1);
	if (!more)
		return 0;
	memcpy(more + answer->n, data, n);
	answer->text = more;
	answer->n += n;
	return n;
}

int sl_etcd_prepare(const struct sl_etcd *etcd, CURL *curl, const char *path, const char *body,
		    struct curl_slist **headers)
{
	const struct sl_etcd_settings *s = etcd->settings;
	char url[1024], line[TOKEN_BYTES + 32];
	struct curl_slist *more;

	*headers = curl_slist_append(NULL, "Content-Type: application/json");
	if (*headers && etcd->token[0]) {
		snprintf(line, sizeof(line), "Authorization: %s", etcd->token);
		more = curl_slist_append(*headers, line);
		if (!more)
			curl_slist_free_all(*headers);
		*headers = more;
	}
	if (!*headers)
		return -ENOMEM;
	snprintf(url, sizeof(url), "%s%s", etcd->endpoint[etcd->chosen], path);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(curl, CURLOPT_PROXY, "");
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT_MS, SL_ETCD_CONNECT_MS);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPALIVE, 1L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPIDLE, 5L);
	curl_easy_setopt(curl, CURLOPT_TCP_KEEPINTVL, 5L);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, *headers);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)strlen(body));
	if (s->ca) {
		curl_easy_setopt(curl, CURLOPT_CAINFO, s->ca);
		curl_easy_setopt(curl, CURLOPT_CAPATH, NULL);
	}
	if (s->certificate) {
		curl_easy_setopt(curl, CURLOPT_SSLCERT, s->certificate);
		curl_easy_setopt(curl, CURLOPT_SSLKEY, s->key);
	}
	return 0;
}

/* What a member says besides 200; 0: nothing. May another member do better? -EHOSTUNREACH. */
static int judge(struct sl_etcd *etcd, long status, const json_t *answer)
{
	const char *text = json_string_value(json_object_get(answer, "error"));
	const long long code = sl_etcd_number(answer, "code");

	if (status == 200 && answer)
		return 0;
	if (!text)
		text = json_string_value(json_object_get(answer, "message"));
	if (!answer || !text) {
		snprintf(etcd->why, sizeof(etcd->why),
			 "status %ld of HTTP and no answer of etcd's gateway", status);
		return status >= 500 ? -EHOSTUNREACH : -EPROTO;
	}
	snprintf(etcd->why, sizeof(etcd->why), "%s", text);
	if (code == CODE_UNAVAILABLE || code == CODE_DEADLINE_EXCEEDED)
		return -EHOSTUNREACH;
	if (code == CODE_UNAUTHENTICATED || code == CODE_PERMISSION_DENIED ||
	    strstr(text, "authentication failed") || strstr(text, "user name is empty"))
		return -EACCES;
	return -EREMOTEIO;
}

/* A certificate that one side refuses is no member that is away: say so at once. */
static int judge_transfer(struct sl_etcd *etcd, CURLcode code, const char *detail)
{
	const bool closed = code != CURLE_COULDNT_CONNECT && code != CURLE_COULDNT_RESOLVE_HOST &&
			    code != CURLE_OPERATION_TIMEDOUT && code != CURLE_OUT_OF_MEMORY &&
			    code != CURLE_PEER_FAILED_VERIFICATION;

	/* In TLS 1.3 a member refuses a certificate only behind the handshake. */
	snprintf(etcd->why, sizeof(etcd->why), "%s%s", *detail ? detail : curl_easy_strerror(code),
		 closed && strncmp(etcd->endpoint[etcd->chosen], "https", 5) == 0
			 ? " (does it want a certificate, or another one?)"
			 : "");
	switch (code) {
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_PEER_FAILED_VERIFICATION:
		return -EACCES;
	case CURLE_OUT_OF_MEMORY:
		return -ENOMEM;
	default:
		return -EHOSTUNREACH;
	}
}

/* What curl_easy_perform() does, and the serving meanwhile. */
static CURLcode perform(struct sl_etcd *etcd)
{
	struct curl_waitfd wait = { .fd = etcd->serve_fd, .events = CURL_WAIT_POLLIN };
	const unsigned int n = etcd->serve ? 1 : 0;
	CURLcode code = CURLE_OUT_OF_MEMORY;
	const CURLMsg *message;
	int runs = 1, left;

	if (curl_multi_add_handle(etcd->multi, etcd->curl))
		return code;
	while (!curl_multi_perform(etcd->multi, &runs) && runs) {
		wait.revents = 0;
		if (curl_multi_poll(etcd->multi, &wait, n, SL_ETCD_CALL_MS, NULL))
			break;
		if (n && wait.revents)
			etcd->serve(etcd->serve_arg);
	}
	while ((message = curl_multi_info_read(etcd->multi, &left)))
		if (message->msg == CURLMSG_DONE)
			code = message->data.result;
	curl_multi_remove_handle(etcd->multi, etcd->curl);
	return code;
}

static int transfer(struct sl_etcd *etcd, const char *path, const char *body, json_t **out)
{
	char detail[CURL_ERROR_SIZE] = "";
	struct curl_slist *headers = NULL;
	struct answer answer = { 0 };
	long status = 0;
	CURLcode code;
	int err;

	curl_easy_reset(etcd->curl);
	err = sl_etcd_prepare(etcd, etcd->curl, path, body, &headers);
	if (err)
		return err;
	curl_easy_setopt(etcd->curl, CURLOPT_TIMEOUT_MS, SL_ETCD_CALL_MS);
	curl_easy_setopt(etcd->curl, CURLOPT_ERRORBUFFER, detail);
	curl_easy_setopt(etcd->curl, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(etcd->curl, CURLOPT_WRITEDATA, &answer);
	code = perform(etcd);
	curl_easy_getinfo(etcd->curl, CURLINFO_RESPONSE_CODE, &status);
	curl_slist_free_all(headers);
	/* The buffer is of this function. */
	curl_easy_setopt(etcd->curl, CURLOPT_ERRORBUFFER, NULL);
	if (code == CURLE_OK)
		*out = json_loadb(answer.text ? answer.text : "", answer.n, JSON_REJECT_DUPLICATES,
				  NULL);
	free(answer.text);
	if (code != CURLE_OK)
		return judge_transfer(etcd, code, detail);
	err = judge(etcd, status, *out);
	if (err) {
		json_decref(*out);
		*out = NULL;
	}
	return err;
}

/* --- A user --- */

static int log_in(struct sl_etcd *etcd)
{
	json_t *request =
		json_pack("{s:s, s:s}", "name", etcd->settings->user, "password", etcd->password);
	char *body = request ? json_dumps(request, JSON_COMPACT) : NULL;
	json_t *answer = NULL;
	const char *token;
	int err = -ENOMEM;

	etcd->token[0] = '\0';
	if (body)
		err = transfer(etcd, "/v3/auth/authenticate", body, &answer);
	token = json_string_value(json_object_get(answer, "token"));
	if (!err && token)
		snprintf(etcd->token, sizeof(etcd->token), "%s", token);
	/* A user's name at an etcd that asks for none does no harm. */
	if (err == -EREMOTEIO && strstr(etcd->why, "authentication is not enabled"))
		err = 0;
	if (body)
		explicit_bzero(body, strlen(body));
	free(body);
	json_decref(request);
	json_decref(answer);
	return err;
}

/* Tokens end after a while, and when a member starts anew. */
static bool token_ended(const struct sl_etcd *etcd)
{
	return etcd->settings->user &&
	       (strstr(etcd->why, "invalid auth token") || strstr(etcd->why, "user name is empty"));
}

static int transfer_as_user(struct sl_etcd *etcd, const char *path, const char *body,
			    json_t **answer)
{
	const bool fresh = etcd->settings->user && !etcd->token[0];
	int err = fresh ? log_in(etcd) : 0;

	if (!err)
		err = transfer(etcd, path, body, answer);
	if (err && err != -EHOSTUNREACH && !fresh && token_ended(etcd)) {
		err = log_in(etcd);
		if (!err)
			err = transfer(etcd, path, body, answer);
	}
	return err;
}

/* --- Calls --- */

static int call_body(struct sl_etcd *etcd, const char *path, const char *body, json_t **answer)
{
	const unsigned int first = etcd->chosen;
	char whys[SL_ETCD_WHY_BYTES] = "";
	size_t used = 0;
	int err;

	for (unsigned int i = 0; i < etcd->n; i++) {
		etcd->chosen = (first + i) % etcd->n;
		err = transfer_as_user(etcd, path, body, answer);
		if (err != -EHOSTUNREACH)
			return err;
		if (used < sizeof(whys))
			used += (size_t)snprintf(whys + used, sizeof(whys) - used, "%s%s: %s",
						 i ? "; " : "", etcd->endpoint[etcd->chosen],
						 etcd->why);
	}
	/* Begin with another one next time. */
	etcd->chosen = (first + 1) % etcd->n;
	memcpy(etcd->why, whys, sizeof(whys));
	return -EHOSTUNREACH;
}

int sl_etcd_call(struct sl_etcd *etcd, const char *path, json_t *request, json_t **answer)
{
	char *body = request ? json_dumps(request, JSON_COMPACT) : NULL;
	int err = -ENOMEM;

	*answer = NULL;
	if (body)
		err = call_body(etcd, path, body, answer);
	if (err == -ENOMEM)
		snprintf(etcd->why, sizeof(etcd->why), "not enough memory");
	free(body);
	json_decref(request);
	return err;
}

int sl_etcd_call_at(struct sl_etcd *etcd, unsigned int endpoint, const char *path, json_t *request,
		    json_t **answer)
{
	const unsigned int chosen = etcd->chosen;
	char *body = request ? json_dumps(request, JSON_COMPACT) : NULL;
	int err = -ENOMEM;

	*answer = NULL;
	etcd->chosen = endpoint;
	if (body)
		err = transfer_as_user(etcd, path, body, answer);
	etcd->chosen = chosen;
	free(body);
	json_decref(request);
	return err;
}

const char *sl_etcd_why(const struct sl_etcd *etcd)
{
	return etcd->why;
}

const char *sl_etcd_endpoint(const struct sl_etcd *etcd, unsigned int i)
{
	return i < etcd->n ? etcd->endpoint[i] : NULL;
}

unsigned int sl_etcd_chosen(const struct sl_etcd *etcd)
{
	return etcd->chosen;
}

void sl_etcd_serve(struct sl_etcd *etcd, int fd, void (*serve)(void *arg), void *arg)
{
	etcd->serve_fd = fd;
	etcd->serve = serve;
	etcd->serve_arg = arg;
}

/* --- Open and close --- */

static int read_password(struct sl_etcd *etcd)
{
	FILE *f = fopen(etcd->settings->password_file, "re");
	int err = f ? 0 : -errno;

	if (f && !fgets(etcd->password, sizeof(etcd->password), f))
		err = ferror(f) ? -EIO : -ENODATA;
	if (f)
		fclose(f);
	etcd->password[strcspn(etcd->password, "\r\n")] = '\0';
	return err;
}

static void split(struct sl_etcd *etcd)
{
	char *rest = NULL;

	for (char *word = strtok_r(etcd->list, ",", &rest); word && etcd->n < SL_ETCD_ENDPOINTS_MAX;
	     word = strtok_r(NULL, ",", &rest))
		etcd->endpoint[etcd->n++] = word;
}

int sl_etcd_open(const struct sl_etcd_settings *settings, struct sl_etcd **out,
		 char why[SL_ETCD_WHY_BYTES])
{
	struct sl_etcd *etcd = calloc(1, sizeof(*etcd));
	int err = -ENOMEM;

	*out = NULL;
	snprintf(why, SL_ETCD_WHY_BYTES, "not enough memory");
	if (!etcd)
		return err;
	etcd->settings = settings;
	etcd->list = strdup(settings->endpoints);
	etcd->curl = curl_easy_init();
	etcd->multi = curl_multi_init();
	if (!etcd->list || !etcd->curl || !etcd->multi)
		goto out;
	split(etcd);
	err = settings->user ? read_password(etcd) : 0;
	if (err)
		snprintf(why, SL_ETCD_WHY_BYTES, "password_file: cannot read \"%.200s\": %s",
			 settings->password_file, err == -ENODATA ? "it is empty" : strerror(-err));
out:
	if (err)
		sl_etcd_close(etcd);
	else
		*out = etcd;
	return err;
}

void sl_etcd_close(struct sl_etcd *etcd)
{
	if (!etcd)
		return;
	curl_easy_cleanup(etcd->curl);
	curl_multi_cleanup(etcd->multi);
	explicit_bzero(etcd->password, sizeof(etcd->password));
	free(etcd->list);
	free(etcd);
}
