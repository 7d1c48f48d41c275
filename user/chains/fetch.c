/* SPDX-License-Identifier: BSD-2-Clause */
#include <curl/curl.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/chains/fetch.h"

#define CONNECT_S     10L
#define WHOLE_S	      60L
#define REDIRECTS_MAX 5L

struct sink {
	uint8_t *bytes; /* owned by who fetches */
	size_t n, max;
	bool too_long;
};

static bool is_url(const char *where)
{
	return strncmp(where, "http://", 7) == 0 || strncmp(where, "https://", 8) == 0 ||
	       strncmp(where, "file://", 7) == 0;
}

static size_t take(char *data, size_t size, size_t n, void *arg)
{
	struct sink *sink = arg;

	(void)size; /* 1 */
	if (n > sink->max - sink->n) {
		sink->too_long = true;
		return 0;
	}
	memcpy(sink->bytes + sink->n, data, n);
	sink->n += n;
	return n;
}

static int fetch_url(const char *url, struct sink *sink, char why[SL_FETCH_WHY_BYTES])
{
	char error[CURL_ERROR_SIZE] = "";
	CURL *curl = curl_easy_init();
	CURLcode code = CURLE_FAILED_INIT;

	if (curl) {
		curl_easy_setopt(curl, CURLOPT_URL, url);
		curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https,file");
		curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
		curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
		curl_easy_setopt(curl, CURLOPT_MAXREDIRS, REDIRECTS_MAX);
		curl_easy_setopt(curl, CURLOPT_FAILONERROR, 1L);
		curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, CONNECT_S);
		curl_easy_setopt(curl, CURLOPT_TIMEOUT, WHOLE_S);
		curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
		curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, error);
		curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
		curl_easy_setopt(curl, CURLOPT_WRITEDATA, sink);
		code = curl_easy_perform(curl);
	}
	curl_easy_cleanup(curl);
	if (code == CURLE_OK)
		return 0;
	snprintf(why, SL_FETCH_WHY_BYTES, "%s", *error ? error : curl_easy_strerror(code));
	return -EIO;
}

static int read_file(const char *path, struct sink *sink, char why[SL_FETCH_WHY_BYTES])
{
	FILE *f = fopen(path, "re");
	int err = f ? 0 : -errno;

	if (f) {
		sink->n = fread(sink->bytes, 1, sink->max, f);
		if (ferror(f))
			err = -EIO;
		else
			sink->too_long = fgetc(f) != EOF;
		fclose(f);
	}
	if (err)
		snprintf(why, SL_FETCH_WHY_BYTES, "%s", strerror(-err));
	return err;
}

int sl_fetch(const char *where, size_t max, uint8_t **out, size_t *n, char why[SL_FETCH_WHY_BYTES])
{
	struct sink sink = { .bytes = malloc(max), .max = max };
	int err;

	*out = NULL;
	if (!sink.bytes) {
		snprintf(why, SL_FETCH_WHY_BYTES, "not enough memory");
		return -ENOMEM;
	}
	err = is_url(where) ? fetch_url(where, &sink, why) : read_file(where, &sink, why);
	if (sink.too_long) {
		snprintf(why, SL_FETCH_WHY_BYTES, "it has more than %zu bytes", max);
		err = -EMSGSIZE;
	}
	if (err) {
		free(sink.bytes);
		return err;
	}
	*out = sink.bytes;
	*n = sink.n;
	return 0;
}
