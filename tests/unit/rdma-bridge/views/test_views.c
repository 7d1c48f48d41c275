/* SPDX-License-Identifier: BSD-2-Clause */
/* The bridge's control socket: when it is served, and when not. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rdma-bridge/bridge/bridge.h"
#include "rdma-bridge/views/views.h"
#include "user/lib/unix_address.h"

static uint32_t polls;

/* In the place of the C library's function: nothing has come yet, and then it comes. */
int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
	(void)fds;
	(void)n;
	(void)timeout_ms;
	polls++;
	return 0;
}

/* The other lanes run: a client that comes after the look at the socket finds nobody halted. */
static void client_that_comes_while_lanes_run_is_not_served(void **state)
{
	char directory[] = "/tmp/sluice-views-XXXXXX", path[64], byte;
	struct rb_bridge bridge = { .n_lanes = 2 };
	int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	struct rb_views *views;
	socklen_t len;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/ctl", directory);
	assert_int_equal(rb_views_open(path, &views), 0);
	assert_int_equal(sl_unix_address(path, &address, &len), 0);
	assert_int_equal(connect(client, (struct sockaddr *)&address, len), 0);
	rb_views_poll(views, &bridge, 1);
	assert_int_equal(polls, 1);
	assert_int_equal(recv(client, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN); /* not even the hello */
	close(client);
	rb_views_close(views);
	assert_int_equal(rmdir(directory), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(client_that_comes_while_lanes_run_is_not_served),
	};
	return cmocka_run_group_tests_name("views", tests, NULL, NULL);
}
