/* SPDX-License-Identifier: BSD-2-Clause */
/* The answer to /v3/watch does not end: an object of JSON a line, the first of which is empty. */
#include "user/etcd/etcd_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FDS_MAX	       8
#define LINE_MAX_BYTES (4u << 20)

struct sl_etcd_watch {
	CURLM *multi;		    /* owned */
	CURL *curl;		    /* owned; NULL: no watch is open */
	struct curl_slist *headers; /* owned, as is body, while it is open */
	char *body;
	unsigned int member;
	char *line; /* owned: what has come of a line */
	size_t n;
	bool changed;
};

int sl_etcd_watch_create(struct sl_etcd_watch **out)
{
	struct sl_etcd_watch *watch = calloc(1, sizeof(*watch));

	*out = NULL;
	if (watch)
		watch->multi = curl_multi_init();
	if (!watch || !watch->multi) {
		free(watch);
		return -ENOMEM;
	}
	*out = watch;
	return 0;
}

void sl_etcd_watch_destroy(struct sl_etcd_watch *watch)
{
	if (!watch)
		return;
	sl_etcd_watch_close(watch);
	curl_multi_cleanup(watch->multi);
	free(watch);
}

/* Anything but the first line, which says that the watch is there, is news. */
static void take_line(struct sl_etcd_watch *watch)
{
	json_t *line = json_loadb(watch->line, watch->n, 0, NULL);
	const json_t *result = json_object_get(line, "result");

	if (!result || json_array_size(json_object_get(result, "events")) ||
	    json_is_true(json_object_get(result, "canceled")))
		watch->changed = true;
	json_decref(line);
	watch->n = 0;
}

static size_t take(char *data, size_t size, size_t n, void *arg)
{
	struct sl_etcd_watch *watch = arg;

	(void)size; /* 1 */
	for (size_t i = 0; i < n; i++) {
		char *more;

		if (data[i] == '\n') {
			take_line(watch);
			continue;
		}
		if (watch->n % 4096 == 0) {
			more = watch->n < LINE_MAX_BYTES ? realloc(watch->line, watch->n + 4096)
							 : NULL;
			if (!more)
				return 0;
			watch->line = more;
		}
		watch->line[watch->n++] = data[i];
	}
	return n;
}

static char *request(const char *prefix, const char *name, long long from_revision)
{
	char key[256], *base64, *text;
	json_t *json;

	snprintf(key, sizeof(key), "%s%s", prefix, name);
	base64 = sl_etcd_base64(key, strlen(key));
	json = json_pack("{s:{s:s, s:I}}", "create_request", "key", base64 ? base64 : "",
			 "start_revision", (json_int_t)from_revision);
	text = base64 && json ? json_dumps(json, JSON_COMPACT) : NULL;
	json_decref(json);
	free(base64);
	return text;
}

int sl_etcd_watch_open(struct sl_etcd_watch *watch, const struct sl_etcd *etcd, const char *prefix,
		       const char *name, long long from_revision)
{
	int err = -ENOMEM;

	sl_etcd_watch_close(watch);
	watch->curl = curl_easy_init();
	watch->body = request(prefix, name, from_revision);
	if (!watch->curl || !watch->body)
		goto out;
	err = sl_etcd_prepare(etcd, watch->curl, "/v3/watch", watch->body, &watch->headers);
	if (err)
		goto out;
	curl_easy_setopt(watch->curl, CURLOPT_WRITEFUNCTION, take);
	curl_easy_setopt(watch->curl, CURLOPT_WRITEDATA, watch);
	watch->member = sl_etcd_chosen(etcd);
	if (curl_multi_add_handle(watch->multi, watch->curl))
		err = -ENOMEM;
out:
	if (err)
		sl_etcd_watch_close(watch);
	return err;
}

void sl_etcd_watch_close(struct sl_etcd_watch *watch)
{
	if (watch->curl)
		curl_multi_remove_handle(watch->multi, watch->curl);
	curl_easy_cleanup(watch->curl);
	curl_slist_free_all(watch->headers);
	free(watch->body);
	free(watch->line);
	watch->curl = NULL;
	watch->headers = NULL;
	watch->body = watch->line = NULL;
	watch->n = 0;
}

bool sl_etcd_watch_is_open(const struct sl_etcd_watch *watch, unsigned int member)
{
	return watch->curl && watch->member == member;
}

bool sl_etcd_watch_wait(struct sl_etcd_watch *watch, const int *fds, unsigned int n, int timeout_ms)
{
	struct curl_waitfd wait[FDS_MAX] = { 0 };
	const CURLMsg *message;
	bool news;
	int left;

	for (unsigned int i = 0; i < n && i < FDS_MAX; i++)
		wait[i] = (struct curl_waitfd){ .fd = fds[i], .events = CURL_WAIT_POLLIN };
	curl_multi_perform(watch->multi, &left);
	curl_multi_poll(watch->multi, wait, n < FDS_MAX ? n : FDS_MAX, timeout_ms, NULL);
	curl_multi_perform(watch->multi, &left);
	while ((message = curl_multi_info_read(watch->multi, &left)))
		if (message->msg == CURLMSG_DONE) {
			sl_etcd_watch_close(watch);
			watch->changed = true;
			break;
		}
	news = watch->changed;
	watch->changed = false;
	return news;
}
