/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Any bytes, in two pieces, as the request of a client of the control socket. The client gets whole
 * lines of JSON: a hello first, and one end last if it has sent a whole line.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "user/ipc/control_socket.h"
#include "user/lib/unix_address.h"

static struct sl_ctl *ctl;
static struct sockaddr_un address;
static socklen_t address_len;

static void require(bool ok)
{
	if (!ok)
		abort();
}

static void run_echo(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	(void)ctx;
	sl_ctl_put(answer, json_pack("{s:O}", "request", request));
}

static void run_fail(void *ctx, const json_t *request, struct sl_ctl_answer *answer)
{
	const char *what = json_string_value(json_object_get(request, "what"));

	(void)ctx;
	sl_ctl_fail(answer, "there is no \"%s\"", what ? what : "");
}

static const struct sl_ctl_command commands[] = {
	{ "show", false, run_echo },
	{ "fail", false, run_fail },
	{ NULL, false, NULL },
};

static void open_socket(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/sluice-fuzz-control-%d", (int)getpid());
	require(sl_ctl_open(path, 0600, NULL, commands, &ctl) == 0);
	require(sl_unix_address(path, &address, &address_len) == 0);
}

static void close_socket(void)
{
	sl_ctl_close(ctl);
}

/* Check the lines of an answer; what follows a client's disconnect may be cut short. */
static void check(char *answer, bool whole)
{
	bool ended = false;
	uint32_t n = 0;

	for (char *end, *line = answer; (end = strchr(line, '\n')); line = end + 1, n++) {
		json_t *row = json_loadb(line, (size_t)(end - line), 0, NULL);

		require(row && !ended && (n > 0) == !json_object_get(row, "hello"));
		ended = json_object_get(row, "end");
		json_decref(row);
	}
	require(n > 0 && (!whole || ended));
}

/* The socket accepts all that is written, so one poll after each step does all that is to be done.
 */
static void step(void)
{
	for (int i = 0; i < 4; i++)
		sl_ctl_poll(ctl, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char answer[1 << 16];
	size_t first, n = 0;
	ssize_t got;
	int fd;

	if (size < 1 || size > 2 * SL_CTL_REQUEST_MAX)
		return 0;
	if (!ctl) {
		open_socket();
		atexit(close_socket);
	}
	first = data[0] < size - 1 ? data[0] : size - 1;
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	require(fd >= 0 && connect(fd, (struct sockaddr *)&address, address_len) == 0);
	step();
	require(send(fd, data + 1, first, MSG_NOSIGNAL) == (ssize_t)first);
	step();
	/* The daemon may have closed the connection already. */
	if (send(fd, data + 1 + first, size - 1 - first, MSG_NOSIGNAL) >= 0)
		step();
	while ((got = recv(fd, answer + n, sizeof(answer) - 1 - n, MSG_DONTWAIT)) > 0)
		n += (size_t)got;
	answer[n] = '\0';
	check(answer, memchr(data + 1, '\n', size - 1));
	close(fd);
	step();
	return 0;
}

/* Requests that are JSON at first: few random bytes are. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t size_max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t size_max, unsigned int seed)
{
	static const char *const requests[] = {
		"{\"command\":\"show\",\"what\":\"routes\"}\n",
		"{\"command\":\"fail\",\"what\":\"all\"}\n",
		"{\"command\":1}\n",
		"[\"command\"]\n",
		"{\"command\":\"other\"}\n{}\n",
	};
	const char *request = requests[seed % (sizeof(requests) / sizeof(requests[0]))];

	if (seed % 64 == 63 && size > 1) { /* a request that fills the buffer, or does not fit */
		size_t longer = SL_CTL_REQUEST_MAX - 2 + seed / 64 % 4;

		if (longer <= size_max && longer > size) {
			memset(data + size, ' ', longer - size);
			return longer;
		}
	}
	if (size > 1 || size_max <= 1 + strlen(request))
		return LLVMFuzzerMutate(data, size, size_max);
	data[0] = (uint8_t)(seed >> 16);
	memcpy(data + 1, request, strlen(request));
	return 1 + strlen(request);
}
