/* SPDX-License-Identifier: BSD-2-Clause */
/* The view `voqs`, asked over a real control socket: every counter under its own name. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rdma-bridge/bridge/bridge.h"
#include "rdma-bridge/views/view_queues.h"
#include "tests/lib/deadline.h"
#include "user/lib/unix_address.h"

#define PEER   2
#define REMOTE SL_SYSTEM_PORT(PEER, 1)
#define CLASS  1

static const struct sl_ctl_command commands[] = {
	{ "voqs", false, rb_view_voqs },
	{ NULL, false, NULL },
};

/* Ask for a view. Returns row n of the answer, whose first line is a hello. */
static json_t *ask(void *bridge, const char *request, int n)
{
	char directory[] = "/tmp/sluice-view-XXXXXX", path[64], *text = calloc(1, 1 << 16), *line;
	struct pollfd fds[2] = { { .events = POLLIN }, { .events = POLLIN } };
	struct sockaddr_un address;
	struct sl_ctl *ctl;
	ssize_t got = 1;
	socklen_t len;
	size_t bytes = 0;
	json_t *row;

	assert_non_null(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/ctl", directory);
	assert_int_equal(sl_ctl_open(path, 0600, NULL, commands, &ctl), 0);
	fds[0].fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	fds[1].fd = sl_ctl_fd(ctl);
	assert_int_equal(sl_unix_address(path, &address, &len), 0);
	assert_int_equal(connect(fds[0].fd, (struct sockaddr *)&address, len), 0);
	assert_int_equal(write(fds[0].fd, request, strlen(request)), strlen(request));
	while (got > 0) { /* until the bridge has answered and hung up */
		assert_true(poll(fds, 2, DEADLINE_S * 1000) > 0);
		sl_ctl_poll(ctl, bridge);
		if (!(fds[0].revents & (POLLIN | POLLHUP)))
			continue;
		got = recv(fds[0].fd, text + bytes, (1 << 16) - 1 - bytes, 0);
		bytes += got > 0 ? (size_t)got : 0;
	}
	line = text;
	for (int i = 0; i <= n; i++)
		assert_non_null(line = strchr(line, '\n') + 1);
	row = json_loads(line, JSON_DISABLE_EOF_CHECK, NULL);
	assert_non_null(row);
	close(fds[0].fd);
	sl_ctl_close(ctl);
	assert_int_equal(rmdir(directory), 0);
	free(text);
	return row;
}

static json_int_t number(const json_t *row, const char *name)
{
	const json_t *value = json_object_get(row, name);

	assert_true(json_is_integer(value));
	return json_integer_value(value);
}

static void each_counter_of_a_voq_stands_under_its_name(void **state)
{
	static struct rb_ingress_todo todo;
	struct sl_settings settings = { 0 };
	struct sl_voq voqs[SL_CLASSES] = { 0 };
	struct sl_backlog backlogs[SL_CLASSES] = { 0 }, *b = &backlogs[CLASS];
	struct rb_bridge_remote remote = { .system_port = REMOTE };
	struct rb_worker_peer peer = { .node = PEER };
	struct rb_worker worker = { .peer = { [PEER] = &peer } };
	struct rb_lane lane = { .worker = &worker };
	struct rb_bridge bridge = { .settings = &settings,
				    .lanes = &lane,
				    .n_lanes = 1,
				    .maps = { .voq = voqs, .backlog = backlogs },
				    .remotes = &remote,
				    .n_remotes = 1 };
	struct rb_frame_pool no_frames = { 0 };
	json_t *row, *dropped;

	(void)state;
	assert_int_equal(
		rb_ingress_open(&todo, &no_frames, 2, SL_CLASSES, 1514, 4096, 8, &peer.ingress), 0);
	for (uint32_t c = 0; c < SL_CLASSES; c++)
		rb_ingress_set_voq(peer.ingress, c, REMOTE, (uint8_t)c, &voqs[c], &backlogs[c], 0);
	*b = (struct sl_backlog){ .enqueued = { 1000, 200000 },
				  .dequeued = { 900, 170000 },
				  .marked = 11,
				  .missed = 12,
				  .peer_down = 13,
				  .too_big = 14 };
	for (uint32_t i = 0; i < SL_VOQ_DROPS; i++)
		b->dropped[i] = 20 + i;
	peer.ingress->voqs[CLASS].taken = (struct sl_counter){ 901, 170100 };

	row = ask(&bridge, "{\"command\":\"voqs\"}\n", CLASS);
	assert_string_equal(json_string_value(json_object_get(row, "port")), "n2p1");
	assert_int_equal(number(row, "class"), CLASS);
	assert_int_equal(number(row, "enqueued_frames"), 1000);
	assert_int_equal(number(row, "enqueued_bytes"), 200000);
	assert_int_equal(number(row, "dequeued_frames"), 900);
	assert_int_equal(number(row, "dequeued_bytes"), 170000);
	assert_int_equal(number(row, "waiting_frames"), 100);
	assert_int_equal(number(row, "waiting_bytes"), 30000);
	assert_int_equal(number(row, "taken_frames"), 901);
	assert_int_equal(number(row, "taken_bytes"), 170100);
	assert_int_equal(number(row, "marked_frames"), 11);
	dropped = json_object_get(row, "dropped");
	assert_int_equal(number(dropped, "missed"), 12);
	assert_int_equal(number(dropped, "peer-down"), 13);
	assert_int_equal(number(dropped, "too-big"), 14);
	assert_int_equal(number(dropped, "voq-full"), 20);
	assert_int_equal(number(dropped, "voq-delay"), 21);
	assert_int_equal(number(dropped, "voq-stopped"), 22);
	assert_int_equal(number(dropped, "voq-memory"), 23);
	assert_int_equal(number(dropped, "no-bridge"), 24);
	json_decref(row);
	rb_ingress_close(peer.ingress, NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_counter_of_a_voq_stands_under_its_name),
	};
	return cmocka_run_group_tests_name("view_queues", tests, NULL, NULL);
}
